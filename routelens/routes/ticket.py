"""A token-route lottery ticket: the sparse part of attention that still carries one answer (D17).

The paper defines the ticket and finds none. Here [C] it is a set of units such that with every unit outside it ablated the model still gives its own
full-cache greedy answer, with ``margin`` of its mean logit margin. The search ranks units by the answer's gradient at their gates, takes
the shortest prefix of the ranking that suffices, ranks again under the mask this leaves until it stops shrinking, and eliminates until no
unit can go. A fresh certificate then rechecks sufficiency and 1-minimality by greedy decoding. It is *a* 1-minimal ticket, an upper bound
on the minimum, never *the* ticket.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from routelens.cache import ContextCache
from routelens.decoding import answer as decode
from routelens.models import model_info
from routelens.routes.attribution import scores
from routelens.routes.certificate import Certificate, certify
from routelens.routes.criterion import Criterion
from routelens.routes.results import Status, Ticket
from routelens.routes.search import BudgetError, Judged, Numbers, best_prefix, eliminate
from routelens.routes.statement import Search, cache_and_item
from routelens.routes.units import Space
from routelens.types import Item

SHRINKS = 0.9
"""A new ranking is worth another while it leaves less than this share."""


def find_ticket(
    model: Any,
    item: Item | None = None,
    *,
    cache: ContextCache | None = None,
    unit: str = "kv",
    ablation: str | None = None,
    margin: float = 0.5,
    protect: int = 0,
    budget: float = 4000.0,
    ranking: str = "gradient",
    seed: int = 0,
    require_correct: bool = True,
    max_new_tokens: int = 32,
    progress: Callable[[int, float], None] = lambda size, cost: None,
) -> Ticket:
    """A certified ticket for the item's answer, or why there is none (D17 [C]).

    Args:
        model: What ``load_model`` returned.
        item: The question on its passage; default: the cache's.
        cache: The prefilled passage, if it is there already.
        unit: "kv" (layer, kv_head, pos), "edge" (layer, head, row, pos) or "token" (pos).
        ablation: "renorm" (physical eviction) or "zero"; default renorm, for edges zero.
        margin: Share of the full cache's mean margin that must remain, in [0, 1].
        protect: Leading positions that are always kept and counted apart.
        budget: Forward equivalents at most.
        ranking: "gradient", "recompute", "attention" or "random".
        seed: Of the random ranking and of the certificate's order.
        require_correct: Whether the full cache's answer must be right; False searches for the model's own answer all the same.
        max_new_tokens: Tokens of an answer at most.
        progress: Called with the size of each smaller set found, and the cost so far.

    Raises:
        ValueError: An unknown unit, ablation or ranking, a margin outside [0, 1], no item.
    """
    search = Search(unit, ablation, margin, protect, budget, ranking, seed)
    cache, item = cache_and_item("find_ticket", model, item, cache)
    return search_ticket(
        cache,
        item,
        search,
        require_correct=require_correct,
        max_new_tokens=max_new_tokens,
        progress=progress,
    )


def search_ticket(
    cache: ContextCache,
    item: Item,
    search: Search,
    *,
    require_correct: bool = True,
    max_new_tokens: int = 32,
    without: Bool[Tensor, " n_units"] | None = None,
    progress: Callable[[int, float], None] = lambda size, cost: None,
) -> Ticket:
    """The ticket of :func:`find_ticket`; units in ``without`` stay ablated throughout (disjoint tickets)."""
    full = decode(cache, item=item, max_new_tokens=max_new_tokens)
    suffix = cache.prompt_of(item).suffix_ids
    space = space_of(cache, search.unit, len(suffix) + max(0, len(full.token_ids) - 1))
    blank = _blank(cache, item, search, space, full)
    if not full.token_ids or not all(map(math.isfinite, full.margins)):
        return replace(blank, reason="the full cache gives no answer")
    if require_correct and full.outcome != "correct":
        return replace(blank, reason=f"the full cache's answer is {full.outcome}")

    protected = space.leading(search.protect)
    criterion = Criterion(
        cache,
        suffix,
        full.token_ids,
        space,
        ablation=search.ablation or "renorm",
        margin=search.margin,
        always=protected,
    )
    blank = replace(blank, full_margin=criterion.full_margin)
    candidates = ~protected if without is None else ~protected & ~without
    seeker = Seeker(criterion, search, progress)
    status, reason = seeker.run(candidates)
    blank = replace(blank, n_candidates=int(candidates.sum()), n_protected=int(protected.sum()))
    return _finished(blank, seeker, status, reason, item)


def space_of(cache: ContextCache, unit: str, n_rows: int) -> Space:
    """The units of a cache's prefix."""
    info = model_info(cache.model)
    return Space(unit, info.n_layers, info.n_heads, info.n_kv_heads, n_rows, cache.n_prefix)


class Seeker:
    """One search, with what it has found so far, so that running out of budget loses nothing."""

    def __init__(
        self, criterion: Criterion, search: Search, progress: Callable[[int, float], None]
    ) -> None:
        self.criterion, self.search, self.progress = criterion, search, progress
        self.best: Numbers | None = None

    def run(self, candidates: Bool[Tensor, " n_units"]) -> tuple[Status, str]:
        """How it ended; ``best`` is the smallest sufficient set found."""
        everything = candidates.nonzero()[:, 0]
        try:
            self._stage("ends")
            ends = self.judge([everything, everything[:0]]).suffices.tolist()
            if ends[1]:
                self.best = everything[:0]
                return "no_route_needed", ""
            if not ends[0]:
                return "budget_exhausted", "the candidates together do not suffice for certain"
            self._found(everything)
            self._narrow(everything)
            self._stage("eliminate")
            assert self.best is not None
            self.best = eliminate(self.best, self.judge, on_smaller=self._found)
        except BudgetError:
            return "budget_exhausted", f"{self.search.budget:g} forward equivalents were not enough"
        return "certified", ""

    def judge(self, sets: Sequence[Numbers]) -> Judged:
        """Verdicts on sets of unit numbers; stops the search where the budget is used up."""
        if self.criterion.cost.forwards >= self.search.budget:
            raise BudgetError
        flat = torch.stack([self.criterion.space.flat(numbers) for numbers in sets])
        verdicts = self.criterion.judge(flat)
        return Judged(self.criterion.suffices(verdicts), verdicts.mean)

    def _narrow(self, everything: Numbers) -> None:
        """Prefixes of a ranking, ranked again under the mask they leave until they stop shrinking."""
        kept = everything
        while len(kept) > 1:
            self._stage("rank")
            order = self._ranked(kept)
            self._stage("prefix")
            found = best_prefix(order, self.judge)
            if found is None:
                self.best = order
                return
            self._found(found)
            done = len(found) > SHRINKS * len(kept) or self.search.ranking == "random"
            kept = found
            if done:
                return

    def _ranked(self, kept: Numbers) -> Numbers:
        flat = self.criterion.space.flat(kept)
        found = scores(self.criterion, flat, ranking=self.search.ranking, seed=self.search.seed)
        return kept[torch.argsort(found[kept], descending=True, stable=True)]

    def _found(self, numbers: Numbers) -> None:
        self.best = numbers
        self.criterion.remember(self.criterion.space.flat(numbers))
        self.progress(len(numbers), self.criterion.cost.forwards)

    def _stage(self, stage: str) -> None:
        self.criterion.cost.stage = stage


def _blank(cache: ContextCache, item: Item, search: Search, space: Space, full: Any) -> Ticket:
    info = model_info(cache.model)
    return Ticket(
        item_id=item.id,
        model=info.name,
        model_revision=info.revision,
        search=search,
        space=space,
        status="not_answered",
        numbers=(),
        answer=full.text,
        answer_ids=full.token_ids,
        outcome=full.outcome,
        tokens=_tokens(cache),
        evidence_positions=cache.prompt_of(item).evidence.answer_positions,
    )


def _tokens(cache: ContextCache) -> tuple[str, ...]:
    tokenizer = model_info(cache.model).tokenizer
    ids = cache.prompt.prefix_ids
    return tuple(str(i) if tokenizer is None else tokenizer.decode([i]) for i in ids)


def _finished(blank: Ticket, seeker: Seeker, status: Status, reason: str, item: Item) -> Ticket:
    criterion = seeker.criterion
    found = seeker.best
    numbers = () if found is None else tuple(sorted(found.tolist()))
    ticket = replace(
        blank,
        status=status,
        reason=reason,
        numbers=numbers,
        forward_equivalents=dict(criterion.cost.by_stage),
    )
    if status != "certified":
        return ticket
    cache = criterion.cache
    certificate: Certificate = certify(
        cache.model,
        item,
        ticket,
        regime=cache.regime,
        questions=cache.questions,
        format=cache.format,
    )
    ticket = replace(ticket, certificate=certificate)
    if not certificate.holds:
        return replace(ticket, status="budget_exhausted", reason=certificate.reason)
    return ticket
