"""The controls of a ticket (D17 [C]): does it carry this answer, or does it say this whatever it is asked?

*Value swap*: another value of the same token length at the evidence, same mask → the new value is expected. *Query swap*: another question on the
passage, same mask → the old value is *not* expected; where it comes all the same the ticket is ``hard_wired``, else ``selective``. *Random
sets* of the same size, and the same positions in *other heads*, must not suffice. *Necessity*: the outcome with the ticket taken out of the full
set. A control that cannot be made says so.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from routelens.cache import ContextCache, prefill
from routelens.decoding import answer, answer_many
from routelens.matching import find_whole_words
from routelens.metrics.outcomes import classify
from routelens.routes.results import Ticket
from routelens.types import EvidenceGroup, Item

N_RANDOM = 5


@dataclass(frozen=True)
class Check:
    """One control: whether it came out as a real ticket's would (None: it could not be made), and what was seen."""

    passed: bool | None
    seen: str


@dataclass(frozen=True)
class Controls:
    """All controls of one ticket."""

    value_swap: Check
    query_swap: Check
    random_sets: Check
    other_heads: Check
    necessity: Check

    @property
    def kind(self) -> str | None:
        """``selective`` or ``hard_wired``; None where no other question could be put."""
        if self.query_swap.passed is None:
            return None
        return "selective" if self.query_swap.passed else "hard_wired"

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> "Controls":
        """What :func:`dataclasses.asdict` wrote."""
        return cls(**{name: Check(**check) for name, check in row.items()})

    def __str__(self) -> str:
        marks = {True: "as expected", False: "NOT as expected", None: "not possible"}
        lines = [
            f"  {name.replace('_', ' '):12} {marks[check['passed']]:16} {check['seen']}"
            for name, check in asdict(self).items()
        ]
        return "\n".join([f"controls ({self.kind or 'kind unknown'}):", *lines])


def with_controls(
    cache: ContextCache, item: Item, ticket: Ticket, *, others: Sequence[Item] = ()
) -> Ticket:
    """The ticket with its controls; ``others`` are further questions on the passage."""
    if not ticket.numbers:
        return ticket
    return replace(
        ticket,
        controls=Controls(
            value_swap=value_swap(cache, item, ticket),
            query_swap=query_swap(cache, item, ticket, others),
            random_sets=random_sets(cache, item, ticket),
            other_heads=other_heads(cache, item, ticket),
            necessity=necessity(cache, item, ticket),
        ),
    )


def value_swap(cache: ContextCache, item: Item, ticket: Ticket) -> Check:
    """Under the same mask, another value at the evidence is answered with that value."""
    for value in _other_values(item):
        swapped = _swapped(item, value)
        if swapped is None:
            continue
        questions = cache.questions if cache.regime in ("aware_list", "score_only") else ()
        other = prefill(
            cache.model, swapped, regime=cache.regime, questions=questions, format=cache.format
        )
        if not _same_layout(cache, other, ticket):
            continue
        if answer(other).outcome != "correct":
            continue
        said = answer(other, ticket.edit)
        return Check(said.outcome == "correct", f"{value!r} in its place → {said.text!r}")
    return Check(None, "no other value of the same token length that the full cache answers")


def query_swap(cache: ContextCache, item: Item, ticket: Ticket, others: Sequence[Item]) -> Check:
    """Under the same mask (its KV entries, for edges), another question does not get the old value."""
    asked = [
        other
        for other in others
        if other.id != item.id
        and other.context == item.context
        and other.question != item.question
        and not set(map(str.lower, other.golds)) & set(map(str.lower, item.golds))
        and not _overlap(other, item)
    ]
    if not asked:
        return Check(None, "no other question with another answer was given")
    mask = ticket.entries_edit
    said = answer_many(cache, [mask], asked)
    old = [one for one in said if classify(one.text, item).outcome == "correct"]
    shown = f"{len(old)} of {len(said)} other questions still get the old value"
    return Check(not old, shown)


def random_sets(cache: ContextCache, item: Item, ticket: Ticket) -> Check:
    """Random sets of the same size do not give the answer."""
    generator = torch.Generator().manual_seed(ticket.search.seed + 1)
    sets = []
    for _ in range(N_RANDOM):
        order = torch.randperm(ticket.space.n_units, generator=generator)
        sets.append(
            ticket.space.flat(order[: ticket.size]) | ticket.space.leading(ticket.search.protect)
        )
    same = _n_same(cache, item, ticket, sets)
    return Check(same == 0, f"{same} of {len(sets)} random sets of the same size give the answer")


def other_heads(cache: ContextCache, item: Item, ticket: Ticket) -> Check:
    """The same positions in other heads do not give the answer."""
    space = ticket.space
    if space.kind == "token":
        return Check(None, "tokens have no heads")
    numbers = torch.tensor(ticket.numbers)
    heads = space.shape[1]
    if heads == 1 and space.n_layers == 1:
        return Check(None, "there is one head in all")
    axes = list(torch.unravel_index(numbers, space.shape))
    axis = 1 if heads > 1 else 0
    sets = []
    for shift in range(1, min(space.shape[axis], N_RANDOM + 1)):
        moved = [*axes]
        moved[axis] = (axes[axis] + shift) % space.shape[axis]
        flat = torch.zeros(space.shape, dtype=torch.bool)
        flat[tuple(moved)] = True
        sets.append(flat.flatten() | ticket.space.leading(ticket.search.protect))
    same = _n_same(cache, item, ticket, sets)
    what = "heads" if axis == 1 else "layers"
    return Check(same == 0, f"{same} of {len(sets)} shifts to other {what} give the answer")


def necessity(cache: ContextCache, item: Item, ticket: Ticket) -> Check:
    """Without the ticket, everything else being there, the answer is gone; where it is not, there is another route."""
    rest = ~ticket.flat | ticket.space.leading(ticket.search.protect)
    said = answer(cache, ticket.edit_of(rest), item=item)
    gone = said.token_ids[: len(ticket.answer_ids)] != ticket.answer_ids
    return Check(gone, f"without the ticket → {said.text!r} ({said.outcome})")


def _n_same(
    cache: ContextCache, item: Item, ticket: Ticket, sets: Sequence[Bool[Tensor, " n_units"]]
) -> int:
    edits = [ticket.edit_of(flat) for flat in sets]
    n = len(ticket.answer_ids)
    said = answer_many(cache, edits, [item], max_new_tokens=n)
    return sum(one.token_ids == ticket.answer_ids for one in said)


def _overlap(one: Item, other: Item) -> bool:
    """Whether an answer lies within the other ("1923" in "3 May 1923")."""
    pairs = [(a, b) for a in one.golds for b in other.golds]
    return any(find_whole_words(a, b) or find_whole_words(b, a) for a, b in pairs)


def _swapped(item: Item, value: str) -> Item | None:
    """The item with another value at every place of its only payload; None where it has more than one piece."""
    payloads = [group for group in item.required_groups if group.role == "payload"]
    if len(payloads) > 1 or item.answer is None or len(item.required_groups) > 1:
        return None
    places = payloads[0].occurrences if payloads else find_whole_words(item.context, item.answer)
    if not places or any(item.context[a:b].lower() != item.answer.lower() for a, b in places):
        return None
    text, spans, at = "", [], 0
    for start, end in sorted(places):
        text += item.context[at:start]
        spans.append((len(text), len(text) + len(value)))
        text, at = text + value, end
    text += item.context[at:]
    return Item(
        context=text,
        question=item.question,
        answer=value,
        required_groups=(EvidenceGroup(tuple(spans)),),
        answer_type=item.answer_type,
    )


def _same_layout(cache: ContextCache, other: ContextCache, ticket: Ticket) -> bool:
    """Whether only the evidence's tokens differ."""
    ids, new = cache.prompt.prefix_ids, other.prompt.prefix_ids
    evidence = set(ticket.evidence_positions)
    return len(ids) == len(new) and all(
        a == b or position in evidence for position, (a, b) in enumerate(zip(ids, new, strict=True))
    )


def _other_values(item: Item) -> list[str]:
    """Values of the answer's sort, invented, the same for the same item."""
    from routelens.tasks.draws import Draw
    from routelens.tasks.lexicon import KINDS

    draw = Draw("value swap", item.id)
    kinds = item.metadata.get("kinds") or [
        name for name, kind in KINDS.items() if kind.answer_type == item.answer_type
    ]
    if (item.answer or "").isdigit():
        return ["".join(str(draw.below(9) + 1) for _ in item.answer or "") for _ in range(8)]
    kinds = [kind for kind in kinds if kind in KINDS] or ["town", "person", "field", "creature"]
    values = [KINDS[draw.choice(kinds)].make(draw).text for _ in range(60)]
    return [value for value in dict.fromkeys(values) if value not in item.context]
