"""How a long passage is laid out: which subjects it has, what each tells in which round, and filler spread between.

Two subjects of one sort tell the same attributes in different orders and wordings, so that each is the other's distractor; from
a certain length on there is a third, of another sort, with the distractors of its own sort. All are introduced near the
beginning; then each round tells one attribute of each, so that every subject speaks in all parts of the passage.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from routelens.tasks.base_task import PRONOUNS
from routelens.tasks.draws import Draw
from routelens.tasks.filler import TOPICS, Filler
from routelens.tasks.lexicon import Lexicon, Value
from routelens.tasks.subjects import SUBJECTS, Subject
from routelens.tasks.templates import Ask, Passage, draw_values, fill, slots_of

ROUNDS = (2, 6)
WORDS_PER_ROUND = 150
WORDS_PER_TOPIC = 150
WORDS_FOR_THREE_SUBJECTS = 250
WORDS_PER_ASIDE = 500
_HALF_SENTENCE = 9
CONNECTIVES: tuple[str, ...] = (
    "As it happens, ",
    "By all accounts, ",
    "In fact, ",
    "To come back to more serious matters, ",
    "It should also be said that ",
    "On another note, ",
    "As is well known, ",
)
# Attributes in which the two subjects of a sort are compared.
COMPARED = {
    "person": ("home", "spouse", "pet"),
    "organization": ("head", "emblem", "event"),
    "creature": ("region", "prey", "enemy"),
    "place": ("region", "mayor", "emblem"),
    "thing": ("material", "town", "owner"),
    "event": ("town", "mascot", "winner"),
}
_LAST_CLAUSE = re.compile(r",[^{}<>]*\.$")
TURNS = (
    "A few words about <topic> are in order here.",
    "The talk then turns to <topic>, as it often does.",
    "Much can also be said about <topic>.",
    "From here it is not far to the subject of <topic>.",
    "That is more than anybody ever says about <topic>.",
)


@dataclass(frozen=True)
class Member:
    """One subject of a passage: its sentences in order, the opening first, and the prefix that its slots bear.

    ``asides`` holds the distractor that follows a sentence, by the sentence's number.
    """

    sort: str
    prefix: str
    told: tuple[str, ...]
    asides: Mapping[int, str] = field(default_factory=dict)

    @property
    def subject(self) -> Subject:
        """What the base task knows about its sort."""
        return SUBJECTS[self.sort]

    @property
    def slots(self) -> dict[str, str]:
        """The class of value of each of its slots."""
        return {self.prefix + slot: kind for slot, kind in self.subject.slots.items()}

    @property
    def sentences(self) -> tuple[str, ...]:
        """All its sentences with the passage's slots."""
        return tuple(self.local(sentence) for sentence in (*self.told, *self.asides.values()))

    def local(self, template: str) -> str:
        """The template with the passage's slots."""
        return re.sub(r"\{(a )?", lambda brace: brace[0] + self.prefix, template)

    def local_ask(self, ask: Ask) -> Ask:
        """The ask with the passage's slots."""
        return replace(
            ask,
            slots=tuple(self.prefix + slot for slot in ask.slots),
            wordings=tuple(self.local(wording) for wording in ask.wordings),
            answer=self.local(ask.answer),
        )

    def beat(
        self, turn: int, values: Mapping[str, Value], connectives: list[str], draw: Draw
    ) -> str:
        """Sentence number ``turn`` with the subject named in it, and the aside that follows it.

        So far from the last mention a pronoun would refer to nobody; the full or the short name stands in its place. A
        connective is taken from the list, so that none comes twice.
        """
        name = values[f"{self.prefix}name"]
        short = self.subject.refs[-1].replace("<noun>", name.parts.get("noun", ""))
        full = "{name}" if self.sort in ("person", "place") else "the {name}"
        ref = full if draw.chance(0.5) else short
        sentence = self.told[turn]
        if connectives and sentence.startswith("<Ref") and draw.chance(0.4):
            sentence = connectives.pop() + sentence.replace("<Ref", "<ref", 1)
        glue = {
            "<Ref>": _capital(ref),
            "<ref>": ref,
            "<Ref's>": f"{_capital(ref)}'s",
            "<ref's>": f"{ref}'s",
            "<Name>": ref,
            "<they>": PRONOUNS[name.parts.get("pronoun", "it")][0],
        }
        for mark, text in glue.items():
            sentence = sentence.replace(mark, text)
        aside = self.asides.get(turn, "")
        return self.local(f"{sentence} {aside}".strip())


def cast(n_words: int, draw: Draw) -> list[Member]:
    """The subjects of a passage of about ``n_words`` words: two of one sort, and from a certain length on a third."""
    n_facts = min(max(n_words // WORDS_PER_ROUND, ROUNDS[0]), ROUNDS[1])
    sort, other = draw.sample(tuple(SUBJECTS), 2)
    first = _shared_facts(sort, n_facts, draw)
    # The fewer the facts, the more it takes to keep two tellings of one apart.
    second = draw.shuffled(first) if n_facts > 3 else first[::-1]
    wording = draw.below(2)
    pair = [_member(sort, 1, first, wording), _member(sort, 2, second, wording + 1)]
    if n_words < WORDS_FOR_THREE_SUBJECTS:
        return pair
    third = _member(other, 3, draw.sample(range(len(SUBJECTS[other].facts)), n_facts), wording)
    n_asides = min(1 + n_words // WORDS_PER_ASIDE, n_facts)
    return [*pair, _with_asides(third, _kinds(pair[0], pair[0].told), n_asides, draw)]


def write(members: Sequence[Member], n_words: int, draw: Draw) -> Passage:
    """The passage: introductions, then round after round, with filler to about ``n_words`` words."""
    lexicon = Lexicon(draw)
    values: dict[str, Value] = {}
    for member in members:
        values |= draw_values(" ".join(member.sentences), member.slots, lexicon)
    connectives = draw.shuffled(CONNECTIVES)
    beats = [
        member.beat(turn, values, connectives, draw)
        for turn in range(len(members[0].told))
        for member in draw.shuffled(members)
    ]
    return fill(" ".join(_spread(beats, values, n_words, draw)), values)


def _shared_facts(sort: str, n_facts: int, draw: Draw) -> list[int]:
    """The numbers of the facts that both subjects tell, one of them (or more) of a compared attribute, in random order."""
    facts = SUBJECTS[sort].facts
    compared = [
        number
        for number, wordings in enumerate(facts)
        if {*COMPARED[sort]} & {*slots_of(wordings[0])}
    ]
    chosen = draw.choice(compared)
    others = [number for number in range(len(facts)) if number != chosen]
    return draw.shuffled([chosen, *draw.sample(others, n_facts - 1)])


def _member(sort: str, place: int, numbers: Sequence[int], wording: int) -> Member:
    """A subject that tells the facts of those numbers; an even and an odd ``wording`` tell each in other words."""
    subject = SUBJECTS[sort]
    opening = subject.openings[wording % len(subject.openings)]
    if place == 2:
        opening = _LAST_CLAUSE.sub(".", opening)
    facts = [
        subject.facts[number][(wording + number) % len(subject.facts[number])] for number in numbers
    ]
    return Member(sort, f"{sort}{place}_", (opening, *facts))


def _with_asides(member: Member, known: set[str], n_asides: int, draw: Draw) -> Member:
    """The member with distractors after some of its facts, those first whose classes of value have no rival yet."""
    alone = _kinds(member, member.told) - known
    left = draw.shuffled(member.subject.distractors)
    turns = draw.sample(range(1, len(member.told)), min(n_asides, len(left)))
    asides: dict[int, str] = {}
    for turn in turns:
        asides[turn] = max(left, key=lambda aside: len(_kinds(member, [aside]) & alone))
        left.remove(asides[turn])
        alone -= _kinds(member, [asides[turn]])
    return replace(member, asides=asides)


def _kinds(member: Member, sentences: Sequence[str]) -> set[str]:
    """The classes of the values in the member's sentences."""
    slots = member.subject.slots
    return {slots[slot] for sentence in sentences for slot in slots_of(sentence)}


def _spread(beats: list[str], values: Mapping[str, Value], n_words: int, draw: Draw) -> list[str]:
    """The beats with about the same amount of filler between any two, and what is left at both ends."""
    missing = max(0, n_words - len(fill(" ".join(beats), values).text.split()))
    gap = missing / len(beats)
    lead = draw.between(0, int(gap))
    talk = _Talk(max(1, missing // WORDS_PER_TOPIC), draw)
    told: list[str] = []
    owed = float(lead)
    for number, beat in enumerate(beats):
        owed -= talk.tell(owed, number / len(beats), told)
        told.append(beat)
        owed += gap if number < len(beats) - 1 else gap - lead
    talk.tell(owed, 1.0, told)
    return told


class _Talk:
    """Filler that goes on to another topic as the passage proceeds, and says so."""

    def __init__(self, n_topics: int, draw: Draw) -> None:
        self._fillers = [Filler(draw, topic) for topic in draw.sample(TOPICS, n_topics)]
        self._turns = draw.shuffled(TURNS)
        self._current = 0

    def tell(self, n_words: float, progress: float, told: list[str]) -> int:
        """Adds about ``n_words`` words to ``told`` and says how many; ``progress`` is the share of the passage told."""
        added = 0
        topic = min(int(progress * len(self._fillers)), len(self._fillers) - 1)
        while added + _HALF_SENTENCE <= n_words:
            if topic != self._current:
                self._current = topic
                turn = self._turns[topic % len(self._turns)]
                sentence = turn.replace("<topic>", self._fillers[topic].topic)
            else:
                sentence = self._fillers[topic].sentence()
            told.append(sentence)
            added += len(sentence.split())
        return added


def _capital(text: str) -> str:
    return text if text.startswith("{") else text[0].upper() + text[1:]
