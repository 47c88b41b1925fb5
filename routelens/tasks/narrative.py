"""Facts about several subjects, told as prose: what the tasks multi_presence and multi_entity share (D21).

A setting knows one sort of subject (craftspeople, towns, guilds, …): the sorts of fact that can be told of a subject, each in
several tellings, and what can be asked of such a fact in both directions. A told fact has slots of its own: ``{town}`` of the
seventh fact becomes ``{town_7}``, ``{who}`` the name of its subject, so the place of every value stays known.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from routelens.tasks.base import QUESTION_TYPES, Question
from routelens.tasks.draws import Draw
from routelens.tasks.filler import Filler
from routelens.tasks.lexicon import Lexicon, Value
from routelens.tasks.templates import Ask, Passage, fill, put, slots_of
from routelens.tasks.words import MONTHS

T = TypeVar("T")
_MAX_SHUFFLES = 20
_SLOT = re.compile(r"\{(a )?(\w+)((?:\.\w+)?)\}")
_SUBJECTS = ("who", "other")


@dataclass(frozen=True)
class FactKind:
    """A sort of fact: sentences that tell it, each with all of its slots, and the questions it answers.

    In a telling ``<Who>`` and ``<who>`` stand for the subject where a pronoun may do, ``<whom>`` where it may not, and
    ``[a|b]`` for one of its alternatives. ``{other}`` is a second subject (a link).
    """

    name: str
    tellings: tuple[str, ...]
    asks: tuple[Ask, ...]

    def asks_of(self, question_type: str, *, reverse: bool) -> list[Ask]:
        """Its questions of that type and direction."""
        return [
            ask
            for ask in self.asks
            if ask.question_type == question_type and ask.reverse == reverse
        ]


@dataclass(frozen=True)
class Setting:
    """One sort of subject and what can be told of it.

    ``kind`` is the subjects' class of value and ``slots`` gives the class of each slot. ``named`` is a subject's name in
    running text ("the {who}"), ``short`` a shorter one that is clear after it ("{who.last}", "the <noun>"); ``others``
    introduces subjects beside the first ("a rival, {who},").
    """

    name: str
    kind: str
    slots: Mapping[str, str]
    facts: tuple[FactKind, ...]
    openings: tuple[str, ...]
    topics: tuple[str, ...]
    named: str = "{who}"
    short: str = ""
    others: tuple[str, ...] = ()
    links: tuple[FactKind, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence as a template; one that leans needs the sentence before it to say of whom it speaks."""

    template: str
    leans: bool = False


@dataclass(frozen=True)
class Told:
    """A fact as it is told in one passage: of which subject, in which telling, and its number, which names its slots."""

    kind: FactKind
    telling: str
    subject: int
    number: int
    other: int = -1

    @property
    def who(self) -> str:
        """The slot of its subject."""
        return f"who_{self.subject}"

    def slot(self, name: str) -> str:
        """The passage's slot for a slot of the fact."""
        if name in _SUBJECTS:
            return self.who if name == "who" else f"who_{self.other}"
        return f"{name}_{self.number}"

    def local(self, template: str) -> str:
        """The template with the passage's slots."""
        return _SLOT.sub(
            lambda match: f"{{{match[1] or ''}{self.slot(match[2])}{match[3]}}}", template
        )


def apart(cards: Sequence[T], draw: Draw, clash: Callable[[T, T], bool]) -> list[T]:
    """The cards in random order, no two that clash in a row where that can be had."""
    order: list[T] = []
    for _ in range(_MAX_SHUFFLES):
        left = draw.shuffled(cards)
        order = [left.pop()]
        while left:
            following = next((card for card in left if not clash(order[-1], card)), left[0])
            left.remove(following)
            order.append(following)
        if not any(map(clash, order, order[1:])):
            break
    return order


def draw_fact_values(facts: Sequence[Told], setting: Setting, lexicon: Lexicon) -> dict[str, Value]:
    """A value for each slot of the facts."""
    return {
        told.slot(name): lexicon.value(setting.slots[name])
        for told in facts
        for name in slots_of(told.telling)
        if name not in _SUBJECTS
    }


def in_order_of_time(values: Mapping[str, Value]) -> dict[str, Value]:
    """The values with their years and dates dealt out anew, the earliest first, so that the prose moves forward in time."""
    ordered = dict(values)
    for kind in ("year", "date"):
        slots = [slot for slot, value in values.items() if value.kind == kind]
        moments = sorted((values[slot] for slot in slots), key=_moment)
        ordered |= dict(zip(slots, moments, strict=True))
    return ordered


def with_filler(
    sentences: Sequence[Sentence],
    values: Mapping[str, Value],
    draw: Draw,
    *,
    topic: str,
    n_words: int,
) -> str:
    """The sentences as one template, with filler on the topic between them until ``n_words`` are reached."""
    texts = [sentence.template for sentence in sentences]
    missing = n_words - len(fill(" ".join(texts), values).text.split())
    filler = Filler(draw, topic)
    taken = {word for value in values.values() for word in value.text.lower().split()}
    borders = [place for place in range(1, len(sentences)) if not sentences[place].leans] + [
        len(sentences)
    ]
    before: dict[int, list[str]] = {}
    while missing > 0:
        borders = borders or sorted(before)
        text = filler.sentence()
        if taken & set(re.findall(r"\w+", text.lower())):
            continue
        place = borders.pop(draw.below(len(borders)))
        before.setdefault(place, []).append(text)
        missing -= len(text.split())
    told: list[str] = []
    for place, text in enumerate([*texts, ""]):
        told += [*before.get(place, ()), text]
    return " ".join(told).strip()


def put_fact(told: Told, ask: Ask, setting: Setting, passage: Passage, draw: Draw) -> Question:
    """The question on a told fact.

    A first name is supplied only by mentions that say it, so only those are its evidence.
    """
    local = Ask(
        tuple(told.slot(name) for name in ask.slots),
        tuple(told.local(wording) for wording in ask.wordings),
        part=ask.part,
        answer=told.local(ask.answer),
        reverse=ask.reverse,
    )
    question = put(local, passage, draw)
    if ask.part:
        (group,) = question.groups
        said = [
            (start, end)
            for start, end in group.occurrences
            if question.answer in passage.text[start:end].replace(",", "").split()
        ]
        question = replace(question, groups=(replace(group, occurrences=tuple(said)),))
    metadata = question.metadata | {
        "attributes": [question.answer_type],
        "slots": list(ask.slots),
        "fact": told.kind.name,
        "setting": setting.name,
    }
    return replace(question, metadata=metadata)


def put_both(first: Question, second: Question) -> Question:
    """The two questions as one, which asks for both answers together (Part)."""
    answer, other = first.answer, second.answer
    return replace(
        first,
        text=f"{first.text[:-1]}, and {second.text[0].lower()}{second.text[1:]}",
        answer=f"{answer} and {other}",
        aliases=(f"{answer}, {other}",),
        groups=(*first.groups, *second.groups),
        question_type="Part",
        metadata={
            key: [*value, *second.metadata[key]] if isinstance(value, list) else value
            for key, value in first.metadata.items()
        },
    )


def choose_asks(
    facts: Sequence[Told], n: int, draw: Draw, *, reverse: bool
) -> list[tuple[Told, Ask]]:
    """``n`` questions in that direction, each on a fact of its own, on as many subjects and sorts of fact as there are.

    At least half of them are Standard; the others are of any type that the facts have.
    """
    n_of_any_type = n // 2
    wanted = [draw.choice(QUESTION_TYPES) for _ in range(n_of_any_type)]
    wanted += ["Standard"] * (n - n_of_any_type)
    left = list(facts)
    chosen: list[tuple[Told, Ask]] = []
    for question_type in sorted(wanted, key=lambda name: name == "Standard"):
        n_asked = Counter(label for told, _ in chosen for label in (told.who, told.kind.name))
        fitting = [told for told in left if told.kind.asks_of(question_type, reverse=reverse)]
        told = min(fitting or left, key=lambda told: n_asked[told.who] + n_asked[told.kind.name])
        asks = told.kind.asks_of(question_type, reverse=reverse)
        asks = asks or told.kind.asks_of("Standard", reverse=reverse)
        chosen.append((told, draw.choice(asks)))
        left.remove(told)
    return chosen


def _moment(value: Value) -> tuple[int, int, int]:
    if value.kind == "year":
        return (int(value.text), 0, 0)
    parts = value.parts
    return (int(parts["year"]), MONTHS.index(parts["month"]), int(parts["day"]))
