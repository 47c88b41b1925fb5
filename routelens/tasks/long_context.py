"""The long_context task: 1100 ± 200 words, ten questions each, the evidence far apart (D21).

A passage is about three subjects, laid out by ``long_layout.py``: facts of each in the beginning, the middle and the end, and
topical filler between. Questions ask evenly for all thirds of the passage; the pieces of a Part question, two attributes of a
subject or the same attribute of two, lie at least a fifth of the passage apart. Counts and stressor [S]; subjects,
layout and wordings [C].
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.draws import Draw
from routelens.tasks.long_layout import COMPARED, Member, cast, write
from routelens.tasks.templates import Ask, Passage, put, several, slots_of

MIN_WORDS = 150
N_QUESTIONS, N_PARTS, N_MANIPULATED, N_REVERSE = 10, 2, 1, 2
PERSON_PARTS = (
    several(
        "{home} and {pet}",
        "Where does {name} live now, and which animal does {name} keep?",
        "In which town does {name} live these days, and which animal lives there too?",
        "What town is {name}'s home, and what kind of animal does {name} look after?",
    ),
    several(
        "{spouse} and {event}",
        "Who is {name} married to, and at which event did {name} take first prize?",
        "Whom did {name} marry, and at what event was {name} the winner?",
        "What is the name of {name}'s spouse, and which event did {name} win?",
    ),
)


@dataclass(frozen=True)
class LongContext(Task):
    """Facts about three subjects far apart in filler (D21).

    ``words`` is the middle of the range of lengths; the range reaches 200/1100 of it to both sides. Shorter passages tell
    fewer facts, and below 250 words there are only two subjects.
    """

    name: ClassVar[str] = "long_context"
    description: ClassVar[str] = "prose of 1100 words on 3 subjects with filler, 10 questions each"
    stressor: ClassVar[str] = "distant spans"
    default_n_passages: ClassVar[int] = 100

    questions_per_passage: int = N_QUESTIONS
    words: int = 1100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.words < MIN_WORDS:
            raise ValueError(
                f"long_context: words is at least {MIN_WORDS}, to have room for the facts; "
                f"got {self.words}."
            )

    @property
    def word_range(self) -> tuple[int, int]:
        """The least and the greatest length of a passage."""
        reach = self.words * 200 / 1100
        return ceil(self.words - reach), int(self.words + reach)

    def compose(self, draw: Draw) -> Draft | None:
        low, high = self.word_range
        members = cast(self.words, draw)
        n_words = draw.between((2 * low + self.words) // 3, (2 * high + self.words) // 3)
        passage = write(members, n_words, draw)
        if not (low <= len(passage.text.split()) <= high and passage.is_sound):
            return None
        questions = _Asker(members, passage, draw, self.words // 5).questions()
        if len({question.text for question in questions}) < N_QUESTIONS:
            return None
        return Draft(passage.text, tuple(draw.shuffled(questions)))


@dataclass(frozen=True)
class _Asker:
    """Chooses and puts the questions on a passage; pieces of a Part question are ``n_apart`` words apart or more."""

    members: Sequence[Member]
    passage: Passage
    draw: Draw
    n_apart: int

    def questions(self) -> list[Question]:
        """Two Part questions, a Manipulated one, two reverse ones, the rest Standard from all thirds."""
        own = [member.local_ask(ask) for member in self.members for ask in member.subject.asks]
        usable = [ask for ask in (*own, *self._pairs()) if self._wordings(ask)]
        parts = [ask for ask in usable if len(ask.slots) > 1 and self._is_spread(ask)]
        chosen = self.draw.sample(parts, N_PARTS)
        taken = {slot for ask in chosen for slot in ask.slots}
        left = [ask for ask in usable if len(ask.slots) == 1 and ask.slots[0] not in taken]
        chosen += self.draw.sample([ask for ask in left if ask.part], N_MANIPULATED)
        plain = [ask for ask in left if not ask.part]
        chosen += self.draw.sample([ask for ask in plain if ask.reverse], N_REVERSE)
        standard = self._from_all_thirds([ask for ask in plain if not ask.reverse])
        return [self._put(ask) for ask in [*chosen, *standard][:N_QUESTIONS]]

    def _pairs(self) -> list[Ask]:
        """Questions that ask the same of both subjects of a sort, or two things of a person."""
        first, second = self.draw.shuffled(self.members[:2])
        asks = {ask.slots: ask for ask in first.subject.asks if ask.question_type == "Standard"}
        pairs = []
        for slot in COMPARED[first.sort]:
            wordings = asks[(slot,)].wordings
            joined = [
                f"{first.local(one)[:-1]}, and {_small(second.local(two))}"
                for one in wordings
                for two in wordings
            ]
            answer = f"{first.local(f'{{{slot}}}')} and {second.local(f'{{{slot}}}')}"
            pairs.append(several(answer, *joined))
        people = [member for member in self.members if member.sort == "person"]
        return pairs + [member.local_ask(ask) for member in people for ask in PERSON_PARTS]

    def _wordings(self, ask: Ask) -> list[int]:
        """The wordings in which the passage answers the question."""
        return [
            number
            for number, wording in enumerate(ask.wordings)
            if {*ask.slots, *slots_of(wording)} <= self.passage.values.keys()
        ]

    def _start(self, slot: str) -> int:
        return self.passage.spans[slot][0][0]

    def _is_spread(self, ask: Ask) -> bool:
        starts = sorted(map(self._start, ask.slots))
        return len(self.passage.text[starts[0] : starts[-1]].split()) >= self.n_apart

    def _from_all_thirds(self, asks: list[Ask]) -> list[Ask]:
        """The asks, those for values in the first, the middle and the last third of the passage in turn."""
        thirds: list[list[Ask]] = [[], [], []]
        for ask in self.draw.shuffled(asks):
            thirds[3 * self._start(ask.slots[0]) // len(self.passage.text)].append(ask)
        order = self.draw.shuffled(thirds)
        longest = max(map(len, order))
        return [third[turn] for turn in range(longest) for third in order if turn < len(third)]

    def _put(self, ask: Ask) -> Question:
        """The question, with each piece's distance in words from the passage's end (its last mention)."""
        wording = self.draw.choice(self._wordings(ask))
        question = put(replace(ask, wordings=(ask.wordings[wording],)), self.passage, self.draw)
        text = self.passage.text
        n_words = len(text.split())
        ends = [group.occurrences[-1][1] for group in question.groups]
        distances = [n_words - len(text[:end].split()) for end in ends]
        metadata = question.metadata | {
            "attributes": [re.sub(r"\d_", ".", slot, count=1) for slot in ask.slots],
            "wording": wording,
            "distances": distances,
            "distance": max(distances),
        }
        return replace(question, metadata=metadata)


def _small(text: str) -> str:
    return text[0].lower() + text[1:]
