"""Templates with slots: how a passage is written so that the place of every value is known.

``{slot}`` stands for a value, ``{a slot}`` for the value with its indefinite article (outside the span), and
``{slot.part}`` for a part that names the same thing ("Caldane" for "Hedda Caldane"). Filling a template records where each
value went. A passage is sound when a whole-word search (D5) finds each value exactly there and nowhere else.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from routelens.matching import find_whole_words
from routelens.tasks.base import Question
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon, Value
from routelens.types import EvidenceGroup, Span

_SLOT = re.compile(r"\{(a )?(\w+)(?:\.(\w+))?\}")


@dataclass(frozen=True)
class Passage:
    """A filled template: the text, the value of each slot used, and every place where it stands."""

    text: str
    values: Mapping[str, Value]
    spans: Mapping[str, tuple[Span, ...]]

    def forms(self, slot: str) -> tuple[str, ...]:
        """The different texts by which the slot's value is named, the value itself first."""
        named = dict.fromkeys(self.text[start:end] for start, end in self.spans[slot])
        return tuple(sorted(named, key=lambda form: form != self.values[slot].text))

    @property
    def is_sound(self) -> bool:
        """Whether whole-word search finds each value just where it was put."""
        return all(
            spans == _outermost(span for form in self.forms(slot) for span in self._find(form))
            for slot, spans in self.spans.items()
        )

    def _find(self, form: str) -> tuple[Span, ...]:
        return find_whole_words(self.text, form)


@dataclass(frozen=True)
class Ask:
    """A question that can be put to a passage: the slots that answer it and several wordings.

    With ``part`` the answer is that part of the value (Manipulated); with more than one slot ``answer`` is the template that
    puts the pieces together (Part). ``reverse`` marks attribute → subject.
    """

    slots: tuple[str, ...]
    wordings: tuple[str, ...]
    part: str = ""
    answer: str = ""
    reverse: bool = False

    @property
    def question_type(self) -> str:
        """The question tag (D21)."""
        if self.part:
            return "Manipulated"
        return "Part" if len(self.slots) > 1 else "Standard"

    def fits(self, passage: Passage) -> bool:
        """Whether the passage says all that the question asks for and mentions."""
        mentioned = {slot for wording in self.wordings for slot in slots_of(wording)}
        return mentioned | set(self.slots) <= set(passage.values)


def standard(slot: str, *wordings: str) -> Ask:
    """Asks for a value as it stands."""
    return Ask((slot,), wordings)


def reverse(slot: str, *wordings: str) -> Ask:
    """Asks for the subject that has an attribute."""
    return Ask((slot,), wordings, reverse=True)


def manipulated(slot: str, part: str, *wordings: str, reverse: bool = False) -> Ask:
    """Asks for a part of a value."""
    return Ask((slot,), wordings, part=part, reverse=reverse)


def several(answer: str, *wordings: str) -> Ask:
    """Asks for several values together; ``answer`` names their slots in its order."""
    return Ask(slots_of(answer), wordings, answer=answer)


@cache
def slots_of(template: str) -> tuple[str, ...]:
    """The slots a template uses, in order, each once."""
    return tuple(dict.fromkeys(match[2] for match in _SLOT.finditer(template)))


def draw_values(template: str, slots: Mapping[str, str], lexicon: Lexicon) -> dict[str, Value]:
    """A value for each slot of the template; ``slots`` gives the class of value of each slot."""
    return {slot: lexicon.value(slots[slot]) for slot in slots_of(template)}


def fill(template: str, values: Mapping[str, Value]) -> Passage:
    """The template with its slots filled."""
    pieces: list[str] = []
    spans: dict[str, list[Span]] = defaultdict(list)
    length = read = 0
    for match in _SLOT.finditer(template):
        article, slot, part = match.groups()
        value = values[slot]
        text = value.parts[part] if part else value.text
        before = template[read : match.start()] + (f"{_article(text)} " if article else "")
        pieces += [before, text]
        length += len(before)
        spans[slot].append((length, length + len(text)))
        length += len(text)
        read = match.end()
    pieces.append(template[read:])
    used = {slot: values[slot] for slot in spans}
    return Passage("".join(pieces), used, {slot: tuple(found) for slot, found in spans.items()})


def put(ask: Ask, passage: Passage, draw: Draw) -> Question:
    """The question in one of its wordings, with its answer, its evidence and its tags."""
    wording = draw.below(len(ask.wordings))
    values = [passage.values[slot] for slot in ask.slots]
    answer, aliases = _answer(ask, passage, values)
    return Question(
        text=fill(ask.wordings[wording], passage.values).text,
        answer=answer,
        aliases=aliases,
        groups=tuple(EvidenceGroup(passage.spans[slot], name=slot) for slot in ask.slots),
        answer_type="Numerals" if ask.part == "day" else values[0].answer_type,
        question_type=ask.question_type,
        direction="reverse" if ask.reverse else "forward",
        metadata={
            "attributes": list(ask.slots),
            "kinds": [value.kind for value in values],
            "part": ask.part,
            "wording": wording,
        },
    )


def _answer(ask: Ask, passage: Passage, values: list[Value]) -> tuple[str, tuple[str, ...]]:
    if ask.part:
        return values[0].parts[ask.part], ()
    if len(values) == 1:
        short_forms = passage.forms(ask.slots[0])[1:]
        return values[0].text, (*values[0].aliases, *short_forms)
    answer = fill(ask.answer, passage.values).text
    texts = [value.text for value in values]
    orders = [joint.join(order) for order in (texts, texts[::-1]) for joint in (" and ", ", ")]
    return answer, tuple(alias for alias in orders if alias != answer)


def _article(text: str) -> str:
    return "an" if text[0].lower() in "aeiou" else "a"


def _outermost(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans, ascending, without those that lie inside another."""
    kept: list[Span] = []
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not kept or end > kept[-1][1]:
            kept.append((start, end))
    return tuple(kept)
