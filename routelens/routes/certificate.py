"""The proof of a ticket: a new prefill, greedy decoding token by token, another batch layout, every single removal (D17 [C]).

Nothing of the search is used but the set itself. A margin that lies within the tolerance of the criterion proves neither side, so the certificate
fails there.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from routelens.cache import prefill
from routelens.decoding import answer_many
from routelens.prompts import PromptFormat
from routelens.routes.criterion import TOLERANCE
from routelens.routes.results import Certificate, Ticket
from routelens.types import Answer, AttentionEdit, Item, Regime

_EDITS_AT_ONCE = 24


def certify(
    model: Any,
    item: Item,
    ticket: Ticket,
    *,
    regime: Regime = "agnostic",
    questions: Sequence[str] = (),
    format: PromptFormat | None = None,
) -> Certificate:
    """Whether the ticket suffices and no unit of it can go, on the prompt that these options give (see ``prefill``)."""
    cache = prefill(model, item, regime=regime, questions=questions, format=format)
    n_tokens = len(ticket.answer_ids)
    (full,) = answer_many(cache, [None], max_new_tokens=n_tokens)
    full_margin = _mean(full)
    criterion = ticket.search.margin * full_margin
    tolerance = TOLERANCE * max(1.0, abs(full_margin))

    def decode(sets: Iterator[Bool[Tensor, " n_units"]]) -> Iterator[Answer]:
        edits: list[AttentionEdit] = []
        for flat in sets:
            edits.append(ticket.edit_of(flat))
            if len(edits) == _EDITS_AT_ONCE:
                yield from answer_many(cache, edits, max_new_tokens=n_tokens)
                edits = []
        if edits:
            yield from answer_many(cache, edits, max_new_tokens=n_tokens)

    whole, *smaller = decode(_removals(ticket))
    same = [one.token_ids == ticket.answer_ids for one in smaller]
    left = [_mean(one) for one, unchanged in zip(smaller, same, strict=True) if unchanged]
    worst = max(left, default=float("-inf"))
    tied = any(
        _margin_of_change(one, ticket.answer_ids) <= tolerance
        for one, unchanged in zip(smaller, same, strict=True)
        if not unchanged
    )
    reason = ""
    if full.token_ids != ticket.answer_ids:
        reason = "the full cache gave another answer"
    elif whole.token_ids != ticket.answer_ids or min(whole.margins) <= tolerance:
        reason = "the set does not give the answer"
    elif not _mean(whole) > criterion + tolerance:
        reason = (
            f"the margin is {_mean(whole):.6g}; more than {criterion + tolerance:.6g} is needed"
        )
    elif worst >= criterion - tolerance:
        reason = f"a unit can go: without it the margin is {worst:.6g}"
    elif tied:
        reason = "without a unit the answer changes by a margin within the tolerance"
    return Certificate(
        holds=not reason,
        margin=_mean(whole),
        worst_removal=worst,
        n_removals=len(smaller),
        forward_equivalents=float(len(smaller) + 2),
        reason=reason,
    )


def _removals(ticket: Ticket) -> Iterator[Bool[Tensor, " n_units"]]:
    """The set, then the set without each unit, in an order of its own."""
    flat = ticket.flat
    yield flat
    generator = torch.Generator().manual_seed(ticket.search.seed)
    for at in torch.randperm(len(ticket.numbers), generator=generator).tolist():
        smaller = flat.clone()
        smaller[ticket.numbers[at]] = False
        yield smaller


def _mean(answer: Answer) -> float:
    return sum(answer.margins) / len(answer.margins) if answer.margins else float("nan")


def _margin_of_change(answer: Answer, expected: tuple[int, ...]) -> float:
    """By how much the first token that differs won; infinite where the answer only ended early."""
    for token, wanted, margin in zip(answer.token_ids, expected, answer.margins, strict=False):
        if token != wanted:
            return margin
    return float("inf")
