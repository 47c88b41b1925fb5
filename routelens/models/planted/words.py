"""What a planted model reads: one word is one token, and a lexicon says what each word means.

A meaning is a handful of features with weights, such as ``{"tells:Cora": 1, "says:Oslo": 1}`` for "Cora=Oslo"; the weights of
the model give every feature a direction of its own. A passage is made of *facts*, runs of words that stand together, on
filler words; the facts behind the answer stand outside the first four positions, where attention parks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from routelens.types import EvidenceGroup, Item, Role, Span

T = TypeVar("T")
Lexicon = dict[str, dict[str, float]]
"""Word → feature → weight."""

_PEOPLE = (
    "Ada Bela Cora Dario Edda Faye Gero Hanna Ivo Jonas Kira Leon Mara Nils Olga Pavel Quinn Rosa Sven Tilda Ugo Vera "
    "Wanda Yuri"
)
_PLACES = (
    "Aarhus Bergen Cadiz Delft Espoo Faro Ghent Harlem Izmir Jena Kobe Lima Malmo Nice Oslo Porto Quito Riga Siena Turin "
    "Utrecht Varna Wismar York"
)
_FILLERS = "and at but by far for from here in it of on or some the then there they this to was well when with"
PEOPLE, PLACES, FILLERS = (names.split() for names in (_PEOPLE, _PLACES, _FILLERS))
TOWN, UNKNOWN, END, STRANGE = "town", "unknown", "</s>", "<unk>"
N_APART = 4
"""Leading positions without evidence: where attention parks is not where the answer stands."""


class Draws:
    """Every draw of one planted model, in one order, from one generator."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + (high - low) * float(torch.rand((), generator=self.generator))

    def sample(self, values: Sequence[T], k: int | None = None) -> list[T]:
        """``k`` different values (default: all) in random order."""
        order = torch.randperm(len(values), generator=self.generator).tolist()
        return [values[i] for i in order[:k]]

    def choice(self, values: Sequence[T]) -> T:
        """One of the values."""
        return self.sample(values, 1)[0]


@dataclass(frozen=True)
class Fact:
    """Words that stand together. The last is the entry that is read; ``says`` is the evidence in it ("" = none)."""

    words: tuple[str, ...]
    says: str = ""
    group: str = "value"
    role: Role = "payload"


@dataclass(frozen=True)
class Tale:
    """A question, its answer, and the facts behind it."""

    question: str
    answer: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Passage:
    """Words in order, and for each fact of the first tale the position of its last word."""

    words: tuple[str, ...]
    positions: tuple[int, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def groups(self, facts: Sequence[Fact]) -> tuple[EvidenceGroup, ...]:
        """The evidence of the first tale's facts as character spans (D5): facts of one name are alternatives."""
        spans: dict[tuple[str, Role], list[Span]] = {}
        for fact, position in zip(facts, self.positions, strict=True):
            if fact.says:
                word = sum(len(word) + 1 for word in self.words[:position])
                start = word + self.words[position].index(fact.says)
                found = spans.setdefault((fact.group, fact.role), [])
                found.append((start, start + len(fact.says)))
        return tuple(
            EvidenceGroup(tuple(sorted(occurrences)), role, name)
            for (name, role), occurrences in spans.items()
        )


def write_passage(
    draws: Draws, tale: Tale, others: Sequence[Tale], *, n_context: int, ordered: bool
) -> tuple[Passage, tuple[Tale, ...]]:
    """A passage of ``n_context`` words around a tale, and those of the other tales that found room in it.

    Facts stand at drawn places in drawn order (in their own order when ``ordered``). The first word is always a filler.
    """
    free = n_context - N_APART - sum(len(fact.words) for fact in tale.facts)
    if free < 0:
        raise ValueError(
            f"planted: n_context holds {N_APART} words apart and the facts of {tale.question!r}, at least "
            f"{n_context - free} words; got {n_context}."
        )
    order = draws.sample(range(len(tale.facts)))
    slots = sorted(draws.sample(range(free + len(order)), len(order)))
    words: list[str | None] = [None] * N_APART
    ends, at = [0] * len(order), 0
    for fact, slot in zip(sorted(order) if ordered else order, slots, strict=True):
        words += [None] * (slot - at) + list(tale.facts[fact].words)
        ends[fact], at = len(words) - 1, slot + 1
    words += [None] * (n_context - len(words))
    told = tuple(other for other in others if _insert(draws, words, other.facts))
    filled = tuple(word if word is not None else draws.choice(FILLERS) for word in words)
    return Passage(filled, tuple(ends)), told


def _insert(draws: Draws, words: list[str | None], facts: Iterable[Fact]) -> bool:
    """Whether all facts found free places behind the first word; ``words`` is changed only then."""
    trial = list(words)
    for fact in facts:
        length = len(fact.words)
        starts = range(1, len(trial) - length + 1)
        free = [i for i in starts if not any(trial[i : i + length])]
        if not free:
            return False
        start = draws.choice(free)
        trial[start : start + length] = fact.words
    words[:] = trial
    return True


def item_of(tale: Tale, passage: Passage, *, name: str, lead: str) -> Item:
    """The tale asked about on its passage, with its evidence."""
    return Item(
        context=passage.text,
        question=f"{lead}{tale.question}",
        answer=tale.answer,
        required_groups=passage.groups(tale.facts),
        passage_id=name,
        id=f"{name}-{tale.question}",
        task="planted",
    )


def placed(tale: Tale, passage: Passage) -> Passage:
    """The passage with the positions of another tale's facts, each of which stands in it once."""
    ends = []
    for fact in tale.facts:
        length = len(fact.words)
        starts = range(len(passage.words) - length + 1)
        start = next(i for i in starts if passage.words[i : i + length] == fact.words)
        ends.append(start + length - 1)
    return Passage(passage.words, tuple(ends))


def tokenizer_of(lexicon: Lexicon) -> Any:
    """A fast tokenizer with one token a word, no BOS and no chat template."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: index for index, word in enumerate((STRANGE, END, *lexicon))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=STRANGE))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=END,
        unk_token=STRANGE,
        clean_up_tokenization_spaces=False,
    )
