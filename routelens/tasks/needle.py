"""The needle task: sentences hidden in filler at any length, in the spirit of RULER (https://arxiv.org/abs/2404.06654).

Five variants, each with needles of the same class that are not asked for (but for ``single``):

``single``             one key, one value
``multi_key``          several keys with a value each, one of them asked for
``multi_value``        one key with several values, all of them asked for, and another key with two
``multi_query``        several keys with a value each, all of them asked for in one question, and two more keys
``variable_tracking``  two chains of names that stand for each other's values: the value of a chain's last name is asked for, or
                       (reverse) all names of a value

Keys, names and words are invented, numbers have five digits, and the filler uses none of them. No sentence of the filler comes
twice in a passage, but its clauses do, in new combinations: the longer the passage, the more often (200,000 words take about
11,000 sentences from some 110 clauses). Counts and wordings are this project's [C].
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from routelens.tasks import needle_texts as texts
from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.draws import Draw
from routelens.tasks.filler import TOPICS, Filler
from routelens.tasks.lexicon import Value
from routelens.tasks.templates import Ask, Passage, fill, put, several
from routelens.types import EvidenceGroup, Span

MAX_WORDS = 200_000
NEEDLES = (2, 8)
N_SENTENCES: Mapping[str, Callable[[int], int]] = {
    "single": lambda needles: 1,
    "multi_key": lambda needles: needles,
    "multi_value": lambda needles: needles + 2,
    "multi_query": lambda needles: needles + 2,
    "variable_tracking": lambda needles: 2 * needles,
}
VARIANTS = tuple(N_SENTENCES)
_SECTION = 30  # sentences before the filler goes on to another topic
_HALF_SENTENCE = 9


@dataclass(frozen=True)
class Hidden:
    """What a variant hides: sentences as templates in the order of the passage, their values, and what is asked.

    A bridge is a slot and the number of its mention, counted through the passage.
    """

    sentences: Sequence[str]
    values: Mapping[str, Value]
    ask: Ask
    bridges: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Needle(Task):
    """Needles in filler, in the spirit of RULER.

    ``words`` is the passage's length (within a sentence), ``needles`` how many values are hidden for the question (the
    variant ``single`` always hides one). Making a passage takes time linear in its length.
    """

    name: ClassVar[str] = "needle"
    description: ClassVar[str] = "needles hidden in filler of any length, 1 question each"
    stressor: ClassVar[str] = "single facts far from the question in a long text"
    default_n_passages: ClassVar[int] = 100

    questions_per_passage: int = 1
    variant: str = "single"
    words: int = 400
    needles: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in VARIANTS:
            raise ValueError(
                f"needle: variant is one of {', '.join(VARIANTS)}; got {self.variant!r}."
            )
        if not NEEDLES[0] <= self.needles <= NEEDLES[1]:
            raise ValueError(
                f"needle: needles is between {NEEDLES[0]} and {NEEDLES[1]}; got {self.needles}."
            )
        least = max(50, 20 * N_SENTENCES[self.variant](self.needles))
        if not least <= self.words <= MAX_WORDS:
            raise ValueError(
                f"needle: words is between {least} (for {self.variant} with its needles) and "
                f"{MAX_WORDS}; got {self.words}."
            )

    def compose(self, draw: Draw) -> Draft:
        hidden = _HIDERS[self.variant](self.needles, draw)
        sentences = [fill(sentence, hidden.values) for sentence in hidden.sentences]
        n_needle_words = sum(len(sentence.text.split()) for sentence in sentences)
        passage = _hide(sentences, _hay(self.words - n_needle_words, draw), draw)
        question = put(hidden.ask, passage, draw)
        bridges = tuple(
            EvidenceGroup((passage.spans[slot][mention],), "bridge", f"{slot}.{mention}")
            for slot, mention in hidden.bridges
        )
        depths = _depths(question, passage.text)
        metadata = question.metadata | {
            "attributes": [slot.rstrip("_0123456789") for slot in hidden.ask.slots],
            "variant": self.variant,
            "depths": depths,
            "depth": min(depths),
        }
        groups = (*bridges, *question.groups)
        return Draft(passage.text, (replace(question, groups=groups, metadata=metadata),))


def _hide_one(needles: int, draw: Draw) -> Hidden:
    noun, (key,), (value,) = _noun_keys_values(1, 1, draw)
    ask = Ask(("value",), _worded(texts.QUESTIONS, noun))
    telling = draw.choice(_worded(texts.TELLINGS, noun))
    return Hidden([telling], {"key": key, "value": value}, ask)


def _hide_keys(needles: int, draw: Draw) -> Hidden:
    noun, keys, values = _noun_keys_values(needles, needles, draw)
    sentences = _tell(texts.TELLINGS, noun, [(n, n) for n in range(needles)], draw)
    wordings = tuple(_numbered(wording, 0, 0) for wording in _worded(texts.QUESTIONS, noun))
    return Hidden(sentences, _named(keys, values), Ask(("value_0",), wordings))


def _hide_values(needles: int, draw: Draw) -> Hidden:
    noun, keys, values = _noun_keys_values(2, needles + 2, draw)
    pairs = [(int(n >= needles), n) for n in range(needles + 2)]
    sentences = _tell(texts.SHARED_TELLINGS, noun, pairs, draw)
    wordings = tuple(_numbered(wording, 0, 0) for wording in _worded(texts.QUESTIONS_FOR_ALL, noun))
    return Hidden(sentences, _named(keys, values), several(_list("value", needles), *wordings))


def _hide_queries(needles: int, draw: Draw) -> Hidden:
    noun, keys, values = _noun_keys_values(needles + 2, needles + 2, draw)
    sentences = _tell(texts.TELLINGS, noun, [(n, n) for n in range(needles + 2)], draw)
    asked = _list("key", needles).replace("{", "the {")
    wordings = tuple(
        wording.replace("<keys>", asked) for wording in _worded(texts.QUESTIONS_FOR_SEVERAL, noun)
    )
    return Hidden(sentences, _named(keys, values), several(_list("value", needles), *wordings))


def _hide_chains(needles: int, draw: Draw) -> Hidden:
    """Two chains, each told from its value on, one woven into the other; the first one is asked for."""
    names = [Value(name.capitalize(), "thing") for name in _invented(2 * needles, draw)]
    values = _named([], _numbers(2, draw)) | {f"name_{n}": name for n, name in enumerate(names)}
    chains = [list(range(needles)), list(range(needles, 2 * needles))]
    left = [[_assign(chain[0], number, draw)] for number, chain in enumerate(chains)]
    for links, chain in zip(left, chains, strict=True):
        links += [_copy(name, source, draw) for source, name in pairwise(chain)]
    order = draw.shuffled([0] * needles + [1] * needles)
    sentences = [left[chain].pop(0) for chain in order]
    # Name n is mentioned where it gets its value (0) and where the next name takes it over (1).
    if draw.chance(0.5):
        ask = Ask(("value_0",), tuple(_marked(q, needles - 1) for q in texts.QUESTIONS_FOR_VALUE))
        bridges = [
            (f"name_{n}", mention) for n in reversed(range(needles - 1)) for mention in (1, 0)
        ]
    else:
        wordings = tuple(q.replace("{value}", "{value_0}") for q in texts.QUESTIONS_FOR_NAMES)
        ask = replace(several(_list("name", needles), *wordings), reverse=True)
        bridges = [(f"name_{n}", 1) for n in range(needles - 1)]
    return Hidden(sentences, values, ask, tuple(bridges))


_HIDERS: Mapping[str, Callable[[int, Draw], Hidden]] = {
    "single": _hide_one,
    "multi_key": _hide_keys,
    "multi_value": _hide_values,
    "multi_query": _hide_queries,
    "variable_tracking": _hide_chains,
}


def _noun_keys_values(
    n_keys: int, n_values: int, draw: Draw
) -> tuple[str, list[Value], list[Value]]:
    """Whether numbers or words are hidden, the keys, and the values; no two share a word."""
    parts = (draw.sample(texts.KEY_ADJECTIVES, n_keys), draw.sample(texts.KEY_NOUNS, n_keys))
    keys = [Value(f"{adjective} {noun}", "thing") for adjective, noun in zip(*parts, strict=True)]
    if draw.chance(0.5):
        return "number", keys, _numbers(n_values, draw)
    return "word", keys, [Value(word, "thing") for word in _invented(n_values, draw)]


def _numbers(count: int, draw: Draw) -> list[Value]:
    numbers: dict[int, None] = {}
    while len(numbers) < count:
        numbers[draw.between(10_000, 99_999)] = None
    return [Value(str(number), "number") for number in numbers]


def _invented(count: int, draw: Draw) -> list[str]:
    return [stem + draw.choice(texts.NAME_ENDINGS) for stem in draw.sample(texts.NAME_STEMS, count)]


def _named(keys: list[Value], values: list[Value]) -> dict[str, Value]:
    return {f"key_{n}": key for n, key in enumerate(keys)} | {
        f"value_{n}": value for n, value in enumerate(values)
    }


def _tell(
    tellings: tuple[str, ...], noun: str, pairs: list[tuple[int, int]], draw: Draw
) -> list[str]:
    """A sentence for each pair of key and value, in random order."""
    worded = _worded(tellings, noun)
    return draw.shuffled([_numbered(draw.choice(worded), key, value) for key, value in pairs])


def _assign(name: int, value: int, draw: Draw) -> str:
    return _marked(draw.choice(texts.ASSIGNMENTS), name).replace("{value}", f"{{value_{value}}}")


def _copy(name: int, source: int, draw: Draw) -> str:
    return _marked(draw.choice(texts.COPIES), name).replace("{source}", f"{{name_{source}}}")


def _worded(templates: tuple[str, ...], noun: str) -> tuple[str, ...]:
    return tuple(template.replace("<noun>", noun) for template in templates)


def _numbered(template: str, key: int, value: int) -> str:
    return template.replace("{key}", f"{{key_{key}}}").replace("{value}", f"{{value_{value}}}")


def _marked(template: str, name: int) -> str:
    return template.replace("{name}", f"{{name_{name}}}")


def _list(slot: str, count: int) -> str:
    """The template "{slot_0}, {slot_1} and {slot_2}"."""
    *most, last = [f"{{{slot}_{n}}}" for n in range(count)]
    return f"{', '.join(most)} and {last}"


def _hay(n_words: int, draw: Draw) -> list[str]:
    """Filler sentences of about ``n_words`` words in all, topic after topic."""
    fillers = [Filler(draw, topic) for topic in draw.shuffled(TOPICS)]
    told: list[str] = []
    length = 0
    while length + _HALF_SENTENCE <= n_words:
        told.append(fillers[len(told) // _SECTION % len(fillers)].sentence())
        length += len(told[-1].split())
    return told


def _hide(needles: list[Passage], hay: list[str], draw: Draw) -> Passage:
    """The needles in their order at drawn depths of the hay."""
    places = sorted(draw.between(0, len(hay)) for _ in needles)
    waiting = list(zip(places, needles, strict=True))[::-1]
    pieces: list[str] = []
    values: dict[str, Value] = {}
    spans: dict[str, list[Span]] = defaultdict(list)
    length = 0
    for place in range(len(hay) + 1):
        while waiting and waiting[-1][0] == place:
            needle = waiting.pop()[1]
            values |= needle.values
            for slot, found in needle.spans.items():
                spans[slot] += [(length + start, length + end) for start, end in found]
            pieces.append(needle.text)
            length += len(needle.text) + 1
        if place < len(hay):
            pieces.append(hay[place])
            length += len(hay[place]) + 1
    return Passage(" ".join(pieces), values, {slot: tuple(found) for slot, found in spans.items()})


def _depths(question: Question, text: str) -> list[float]:
    """How far into the text each piece of the answer first stands: 0 at the beginning, 1 at the end."""
    n_words = len(text.split())
    firsts = [group.occurrences[0][0] for group in question.groups]
    return [round(len(text[:start].split()) / n_words, 4) for start in firsts]
