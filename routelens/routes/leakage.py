"""Leakage (D16 [C]): is the answer still there when its own entries are gone, because later tokens copied it?

Eviction follows a dense prefill, so by the time the answer's KV entries go, later rows of the passage may hold what they said. Three
conditions tell: (i) the entries are *evicted* in every layer and head, which question and answer rows notice; (ii) they are *masked* during
the prefill as well, so that no later row of the passage could read them; (iii) the answer is *deleted* from the text. An answer that
stands under (i) and falls under (ii) came from copies. One that stands under (ii) was known or guessed: position and
length still tell of a masked answer, not of a deleted one. With several groups of evidence only payloads are taken
away; bridges stay.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from routelens.cache import ContextCache, prefill
from routelens.decoding import answer as decode
from routelens.decoding import forced_logits
from routelens.matching import evidence_groups, find_whole_words
from routelens.models import model_info
from routelens.prompts import gold_ids
from routelens.routes.statement import cache_and_item
from routelens.types import Item, KeepMask, Span

CONDITIONS = ("full", "evicted", "masked", "deleted")
_BLANKS = " \t"
_CLOSING = ".,;:!?)"


@dataclass(frozen=True)
class Condition:
    """The answer under one condition.

    ``log_p_gold`` (nats) is the gold answer's log-probability, ``first_margin`` (logits) its first token's lead over the best
    other token; NaN where there is no gold answer.
    """

    outcome: str | None
    text: str
    log_p_gold: float
    first_margin: float

    @property
    def answered(self) -> bool:
        """Whether the outcome is correct (D10)."""
        return self.outcome == "correct"


@dataclass(frozen=True)
class Leakage:
    """One item under the full cache and under the three conditions of D16.

    ``positions`` are the answer's (T_ans). A condition is None where it cannot be made: all three without located evidence, ``deleted``
    where it would leave no passage. ``n_left`` counts whole-word occurrences of the answer that the item does not name as
    evidence: with any, no condition takes the answer away entirely.
    """

    item_id: str
    model: str
    model_revision: str
    positions: tuple[int, ...]
    n_left: int
    full: Condition
    evicted: Condition | None = None
    masked: Condition | None = None
    deleted: Condition | None = None

    @property
    def leaked(self) -> bool | None:
        """Answered with the entries evicted, and not with them masked during the prefill too; None without evidence."""
        if self.evicted is None or self.masked is None:
            return None
        return self.evicted.answered and not self.masked.answered

    @property
    def leaked_nats(self) -> float:
        """(i) − (ii) in log p of the gold answer; NaN without evidence."""
        if self.evicted is None or self.masked is None:
            return float("nan")
        return self.evicted.log_p_gold - self.masked.log_p_gold

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON."""
        Path(path).write_text(json.dumps(asdict(self), ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Leakage":
        """Read what :meth:`save` wrote; ValueError where it is something else."""
        try:
            row = json.loads(Path(path).read_text("utf-8"))
            made: dict[str, Any] = {
                name: row[name] and Condition(**row[name]) for name in CONDITIONS
            }
            made["positions"] = tuple(row["positions"])
            return cls(**row | made)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"Leakage.load: {path} was not written by Leakage.save ({error})."
            ) from error

    def __str__(self) -> str:
        verdict = {True: "leaked", False: "not leaked", None: "no evidence to take away"}
        head = f"{verdict[self.leaked]} · {self.model} · item {self.item_id}"
        if self.n_left:
            head += f" · the answer stands {self.n_left} more times, outside the evidence"
        lines = [head]
        for name in CONDITIONS:
            condition: Condition | None = getattr(self, name)
            if condition is not None:
                lines.append(
                    f"  {name:8} {condition.outcome or '':13} {condition.text!r}  log p "
                    f"{condition.log_p_gold:.2f}, first token {condition.first_margin:+.2f}"
                )
        return "\n".join(lines)


def leakage(
    model: Any,
    item: Item | None = None,
    *,
    cache: ContextCache | None = None,
    max_new_tokens: int = 32,
) -> Leakage:
    """Whether later tokens of the passage hold the item's answer (D16 [C]).

    Args:
        model: What ``load_model`` returned.
        item: The question on its passage; default: the cache's.
        cache: The prefilled passage, if it is there already; the other conditions are prefilled in its regime.
        max_new_tokens: Tokens of an answer at most.

    Raises:
        ValueError: No item, or a prefix computed with positions hidden.
    """
    cache, item = cache_and_item("leakage", model, item, cache)
    if cache.hidden:
        raise ValueError("leakage: the cache's prefill already hid positions; pass a plain one.")
    info = model_info(cache.model)
    positions = cache.prompt_of(item).evidence.answer_positions
    found = Leakage(
        item_id=item.id,
        model=info.name,
        model_revision=info.revision,
        positions=positions,
        n_left=_n_left(item),
        full=_condition(cache, None, item, max_new_tokens),
    )
    if not positions:
        return found
    keep = cache.full_mask.with_positions(positions, keep=False)
    masked = prefill(
        cache.model,
        item,
        regime=cache.regime,
        questions=cache.questions,
        format=cache.format,
        hidden=positions,
    )
    without = without_answer(item)
    return replace(
        found,
        evicted=_condition(cache, keep, item, max_new_tokens),
        masked=_condition(masked, keep, item, max_new_tokens),
        deleted=None if without is None else _deleted(cache, without, max_new_tokens),
    )


def without_answer(item: Item) -> Item | None:
    """The item with its payload spans deleted from the passage, blanks tidied and bridges kept; None where nothing would be left."""
    groups = evidence_groups(item)
    gone = _cuts(
        item.context,
        [span for group in groups if group.role == "payload" for span in group.occurrences],
    )
    bounds = [0, *(at for cut in gone for at in cut), len(item.context)]
    text = "".join(item.context[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True))
    if not text.strip():
        return None
    bridges = [
        replace(group, occurrences=_moved(group.occurrences, gone))
        for group in groups
        if group.role == "bridge"
    ]
    return replace(
        item,
        context=text,
        answer_spans=(),
        required_groups=tuple(group for group in bridges if group.occurrences),
        passage_id="",
        id="",
    )


def _deleted(cache: ContextCache, without: Item, max_new_tokens: int) -> Condition:
    other = prefill(
        cache.model, without, regime=cache.regime, questions=cache.questions, format=cache.format
    )
    return _condition(other, None, without, max_new_tokens)


def _condition(
    cache: ContextCache, keep: KeepMask | None, item: Item, max_new_tokens: int
) -> Condition:
    said = decode(cache, keep, item=item, max_new_tokens=max_new_tokens, log_p_gold=True)
    nan = float("nan")
    return Condition(
        outcome=said.outcome,
        text=said.text,
        log_p_gold=nan if said.log_p_gold is None or not item.answerable else said.log_p_gold,
        first_margin=_first_margin(cache, keep, item),
    )


def _first_margin(cache: ContextCache, keep: KeepMask | None, item: Item) -> float:
    """The gold answer's first token minus the best other, in logits at the last prompt row."""
    if item.answer is None or not item.answer.strip():
        return float("nan")
    prompt = cache.prompt_of(item)
    first = gold_ids(model_info(cache.model).tokenizer, prompt, item.answer)[0]
    logits = forced_logits(cache, keep, prompt.suffix_ids)[-1].float()
    own = float(logits[first])
    logits[first] = -torch.inf
    return own - float(logits.max())


def _n_left(item: Item) -> int:
    """Whole-word occurrences of the answer that no payload span touches."""
    if item.answer is None:
        return 0
    named = [
        span
        for group in evidence_groups(item)
        if group.role == "payload"
        for span in group.occurrences
    ]
    places = find_whole_words(item.context, item.answer)
    return sum(not any(start < b and a < end for a, b in named) for start, end in places)


def _cuts(text: str, spans: list[Span]) -> list[Span]:
    """What to cut: the spans, each with the blank that would stand doubled, or stand before a closing mark or at an end."""
    runs: list[Span] = []
    for start, end in sorted(spans):
        if runs and not text[runs[-1][1] : start].strip(_BLANKS):
            runs[-1] = (runs[-1][0], max(runs[-1][1], end))
        else:
            runs.append((start, end))
    return [_with_blanks(text, start, end) for start, end in runs]


def _with_blanks(text: str, start: int, end: int) -> Span:
    if start == 0 or text[start - 1].isspace():
        while end < len(text) and text[end] in _BLANKS:
            end += 1
    if end == len(text) or text[end] in _CLOSING:
        while start and text[start - 1] in _BLANKS:
            start -= 1
    return start, end


def _moved(spans: Any, cuts: list[Span]) -> tuple[Span, ...]:
    """Spans where they stand after the cuts; what is cut out entirely is dropped."""

    def at(position: int) -> int:
        return position - sum(max(0, min(position, end) - start) for start, end in cuts)

    return tuple((at(start), at(end)) for start, end in spans if at(start) < at(end))
