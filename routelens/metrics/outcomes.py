"""What became of an answer: correct, unknown, hallucination or degenerate (D10 [C]), and how that changed under compression.

The classes are tested in a fixed order, so each answer has exactly one and their shares add up to
1. ``degenerate``: no words, or a loop. ``correct``: the gold stands in the answer as whole words
and not negated, or F1 >= 50; on an unanswerable item, an abstention. ``unknown``: an abstention.
``hallucination``: all else.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from routelens.metrics.abstention import ABSTENTION_PATTERNS, check_patterns, is_abstention
from routelens.metrics.intervals import N_RESAMPLES, Interval, bootstrap_mean
from routelens.metrics.negation import asserts, find_words, is_negative, read
from routelens.metrics.text import extract_answer, f1_of_words, word_f1, words
from routelens.types import Item, Outcome

Subclass = Literal["in_context", "fabricated", "empty", "loop"]
Transition = Literal["C->C", "C->W", "W->C", "W->W"]


@dataclass(frozen=True)
class OutcomeResult:
    """An answer's class (D10), its sub-class where the class has one, and its word F1 in 0..100 (D11)."""

    outcome: Outcome
    subclass: Subclass | None
    f1: float


@dataclass(frozen=True)
class Scoring:
    """How answers are judged: choices of D10 and D11 that go with the language of a data set.

    ``language`` (or None) says whose articles F1 leaves out; ``abstentions`` are regular expressions that count as abstentions besides
    ``ABSTENTION_PATTERNS``, in its normalised text.
    """

    language: str | None = "en"
    abstentions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.abstentions, str):
            raise ValueError(
                f"Scoring: abstentions is a list of patterns; got the text {self.abstentions!r}. Pass [text]."
            )
        words("", language=self.language)
        check_patterns(self.abstentions)
        object.__setattr__(self, "abstentions", tuple(self.abstentions))

    @property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """Every pattern in use."""
        own = {"yours": self.abstentions} if self.abstentions else {}
        return {**ABSTENTION_PATTERNS, **own}

    def judge(self, prediction: str, item: Item) -> OutcomeResult:
        """The class of a prediction, as :func:`classify` gives it."""
        return classify(prediction, item, patterns=self.patterns, language=self.language)

    def config(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return {"language": self.language, "abstentions": list(self.abstentions)}


DEFAULT_SCORING = Scoring()


def classify(
    prediction: str,
    item: Item,
    *,
    patterns: Mapping[str, Sequence[str]] = ABSTENTION_PATTERNS,
    language: str | None = "en",
) -> OutcomeResult:
    """The class of a prediction (D10 [C]).

    Loops are looked for in the whole text; everything else in :func:`extract_answer` of it. "I
    don't know, maybe Paris" is correct where Paris is a gold (D10 tests that first) and unknown
    where it is not. Negation is ignored where the question itself is negative. An item whose gold
    is itself an abstention ("I don't know") counts as unanswerable. On unanswerable items F1 is 100
    for an abstention and 0 otherwise, as in SQuAD 2.0 [C].
    """
    answer = extract_answer(prediction)
    abstains = is_abstention(answer, patterns=patterns)
    golds = answerable_golds(item, patterns=patterns)
    f1 = word_f1(answer, golds, language=language) if golds else 100.0 * abstains
    fault = degeneration(prediction)
    if fault is not None:
        return OutcomeResult("degenerate", fault, f1)
    right = _states_a_gold(answer, golds, item.question, f1, language) if golds else abstains
    if right:
        return OutcomeResult("correct", None, f1)
    if golds and abstains:
        return OutcomeResult("unknown", None, f1)
    quoted = find_words(words(item.context, language=language), words(answer, language=language))
    return OutcomeResult("hallucination", "in_context" if quoted else "fabricated", f1)


def answerable_golds(
    item: Item, *, patterns: Mapping[str, Sequence[str]] = ABSTENTION_PATTERNS
) -> tuple[str, ...]:
    """The golds an answer is held against; empty where the item is unanswerable or its gold is an abstention."""
    if item.answer is not None and is_abstention(item.answer, patterns=patterns):
        return ()
    return item.golds


def degeneration(text: str) -> Literal["empty", "loop"] | None:
    """What is degenerate about a text: "empty" (no words), "loop", or None (D10 [C]).

    A loop is any four words in a row that occur four times, overlaps included; scripts without
    blanks count by characters.
    """
    said = words(text, language=None)
    if not said:
        return "empty"
    grams = Counter(zip(said, said[1:], said[2:], said[3:], strict=False))
    return "loop" if max(grams.values(), default=0) >= 4 else None


def _states_a_gold(
    answer: str, golds: Sequence[str], question: str, f1: float, language: str | None
) -> bool:
    heed = not is_negative(question)
    if any(asserts(answer, gold, language=language, heed_negation=heed) for gold in golds):
        return True
    if f1 < 50 or not heed:
        return f1 >= 50
    # What is denied ("not Paris") shares its words with the gold: F1 counts for undenied words only.
    if any(asserts(answer, gold, language=language, heed_negation=False) for gold in golds):
        return False
    undenied = read(answer, language=language).undenied
    return max(f1_of_words(undenied, words(gold, language=language)) for gold in golds) >= 50


def transition(full_outcome: Outcome, outcome: Outcome) -> Transition:
    """Full cache -> compressed as "C->C", "C->W", "W->C" or "W->W"; C is correct, W any other class (D10 [C])."""
    for value in (full_outcome, outcome):
        if value not in get_args(Outcome):
            raise ValueError(
                f"transition: an outcome is one of {get_args(Outcome)}; got {value!r}."
            )
    before, after = ("C" if value == "correct" else "W" for value in (full_outcome, outcome))
    return f"{before}->{after}"  # pyright: ignore[reportReturnType]


def survived_but_wrong(full_outcome: Outcome, outcome: Outcome, erased: bool | None) -> bool | None:
    """Right with the full cache, evidence not erased, wrong compressed; None where erasure is unknown (D9 [C])."""
    if erased is None:
        return None
    return not erased and transition(full_outcome, outcome) == "C->W"


def compression_failure_rate(
    full_outcomes: Sequence[Outcome],
    outcomes: Sequence[Outcome],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The share of C->W among items right with the full cache, with its interval over passages (D10 [C])."""
    if len(full_outcomes) != len(outcomes):
        raise ValueError(
            "compression_failure_rate: full and compressed outcomes pair up; got "
            f"{len(full_outcomes)} and {len(outcomes)}."
        )
    changes = [transition(a, b) for a, b in zip(full_outcomes, outcomes, strict=True)]
    broke = [change == "C->W" if change[0] == "C" else None for change in changes]
    interval = bootstrap_mean(broke, passages, n_resamples=n_resamples, seed=seed, level=level)
    return replace(interval, n_missing=0)  # items wrong from the start are not missing


def outcome_shares(outcomes: Iterable[Outcome]) -> dict[Outcome, float]:
    """The share of each class over all items, in D10's order; they add up to 1 (NaN without items)."""
    counts = Counter(outcomes)
    total = counts.total()
    order: tuple[Outcome, ...] = ("correct", "unknown", "hallucination", "degenerate")
    return {name: counts[name] / total if total else float("nan") for name in order}
