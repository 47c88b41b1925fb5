"""What would have to come back: the smallest set found of evicted KV entries whose return repairs an answer (D17, D23 [C]).

It is the search for a ticket with the kept entries as its base: they are there in every set, and the units are the evicted entries, masked
before the softmax unless they return. The search asks for D17's criterion, which one forward judges: the tokens of the full cache's greedy
answer, with ``margin`` of its mean margin. D23 calls a failure *repaired* when the outcome is ``correct``. So the certificate asks for both, in
fresh greedy decoding: with the set returned the answer is the full cache's and its outcome is correct; without any one
entry of it the full cache's answer is gone. That other answer can be correct too, in other words; ``n_still_correct`` counts the removals
where it is, and where it is 0 no smaller repair lies one entry away in D23's sense either.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from routelens.cache import ContextCache, prefill
from routelens.decoding import answer_many
from routelens.models import model_info
from routelens.routes.criterion import TOLERANCE, Criterion
from routelens.routes.repairs import Restoration, places_of
from routelens.routes.results import Certificate
from routelens.routes.statement import Search, cache_and_item
from routelens.routes.ticket import Seeker, space_of
from routelens.types import Answer, Item, KeepMask

_MASKS_AT_ONCE = 24


def restoration_set(
    model: Any,
    item: Item | None,
    keep: KeepMask,
    *,
    cache: ContextCache | None = None,
    margin: float = 0.0,
    budget: float = 4000.0,
    ranking: str = "gradient",
    seed: int = 0,
    max_new_tokens: int = 32,
    progress: Callable[[int, float], None] = lambda size, cost: None,
) -> Restoration:
    """A certified set of evicted entries whose return repairs the answer, or why there is none (D17, D23 [C]).

    Args:
        model: What ``load_model`` returned.
        item: The question on its passage; None: the cache's.
        keep: The mask under which the answer fails. What it keeps stays.
        cache: The prefilled passage, if it is there already.
        margin: Share of the full cache's mean margin that must come back, in [0, 1]. By default the tokens alone count.
        budget: Forward equivalents at most.
        ranking: "gradient", "recompute", "attention" or "random".
        seed: Of the random ranking and of the certificate's order.
        max_new_tokens: Tokens of an answer at most.
        progress: Called with the size of each smaller set found, and the cost so far.

    Raises:
        ValueError: An unknown ranking, a margin outside [0, 1], a mask of another shape, no item.
    """
    search = Search("kv", "renorm", margin, budget=budget, ranking=ranking, seed=seed)
    cache, item = cache_and_item("restoration_set", model, item, cache)
    if not isinstance(keep, KeepMask):
        raise ValueError(
            f"restoration_set: keep is the KeepMask under which the answer fails; got {type(keep).__name__}."
        )
    full, failed = answer_many(cache, [None, keep], [item], max_new_tokens=max_new_tokens)
    blank = _blank(cache, item, search, keep, full, failed)
    if full.outcome != "correct" or not full.token_ids:
        reason = f"the full cache's own answer is {full.outcome}"
        return replace(blank, status="baseline_failure", reason=reason)
    if failed.outcome == "correct":
        return replace(blank, status="not_a_failure")
    if not all(map(math.isfinite, full.margins)):
        return replace(blank, status="baseline_failure", reason="the full margins are not finite")

    kept = keep.keep.cpu().flatten()
    criterion = Criterion(
        cache,
        cache.prompt_of(item).suffix_ids,
        full.token_ids,
        blank.space,
        ablation="renorm",
        margin=margin,
        always=kept,
    )
    seeker = Seeker(criterion, search, progress)
    status, reason = seeker.run(~kept)
    numbers = () if seeker.best is None else tuple(sorted(seeker.best.tolist()))
    found = replace(
        blank,
        status=status,
        reason=reason,
        numbers=numbers,
        places=places_of(cache, blank.space, numbers),
        full_margin=criterion.full_margin,
        forward_equivalents=dict(criterion.cost.by_stage),
    )
    if status == "no_route_needed":
        begins = "the compressed answer begins as the full cache's does and goes wrong after it"
        return replace(found, reason=begins)
    return certified(cache, item, keep, found, max_new_tokens) if status == "certified" else found


def certified(
    cache: ContextCache, item: Item, keep: KeepMask, found: Restoration, max_new_tokens: int
) -> Restoration:
    """The restoration with its proof: a new prefill, greedy decoding with the set returned and without each of its entries."""
    fresh = prefill(
        cache.model,
        item,
        regime=cache.regime,
        questions=cache.questions,
        format=cache.format,
        hidden=cache.hidden,
    )
    (full,) = answer_many(fresh, [None], [item], max_new_tokens=max_new_tokens)
    whole, *smaller = _decoded(fresh, item, _masks(keep, found), max_new_tokens)
    wanted = found.answer_ids
    tolerance = TOLERANCE * max(1.0, abs(_mean(full.margins)))
    needed = found.search.margin * _mean(full.margins)
    lead = whole.margins[: len(wanted)]
    able = sum(not _broken(one, wanted, needed, tolerance) for one in smaller)
    reason = ""
    if full.token_ids != wanted:
        reason = "the full cache gave another answer"
    elif whole.token_ids[: len(wanted)] != wanted or min(lead) <= tolerance:
        reason = "the set does not give the answer"
    elif _mean(lead) <= needed + tolerance:
        reason = f"the margin is {_mean(lead):.6g}; more than {needed + tolerance:.6g} is needed"
    elif whole.outcome != "correct":
        reason = f"the answer begins as the full cache's does, and is {whole.outcome} all the same"
    elif able:
        reason = f"{able} of {len(smaller)} entries can stay away, or change too little to tell"
    unchanged = [
        _mean(one.margins[: len(wanted)])
        for one in smaller
        if one.token_ids[: len(wanted)] == wanted
    ]
    certificate = Certificate(
        holds=not reason,
        margin=_mean(lead),
        worst_removal=max(unchanged, default=-math.inf),
        n_removals=len(smaller),
        forward_equivalents=float(len(smaller) + 2),
        reason=reason,
    )
    return replace(
        found,
        status="budget_exhausted" if reason else "certified",
        reason=reason,
        certificate=certificate,
        repaired=whole.text,
        n_still_correct=sum(one.outcome == "correct" for one in smaller),
    )


def _blank(
    cache: ContextCache, item: Item, search: Search, keep: KeepMask, full: Answer, failed: Answer
) -> Restoration:
    info = model_info(cache.model)
    n_rows = len(cache.prompt_of(item).suffix_ids) + max(0, len(full.token_ids) - 1)
    return Restoration(
        item_id=item.id,
        model=info.name,
        model_revision=info.revision,
        search=search,
        space=space_of(cache, "kv", n_rows),
        status="baseline_failure",
        numbers=(),
        keep_hash=keep.hash,
        n_evicted=keep.keep.numel() - keep.n_kept,
        answer=full.text,
        answer_ids=full.token_ids,
        compressed=failed.text,
        compressed_outcome=failed.outcome,
        evidence_positions=cache.prompt_of(item).evidence.answer_positions,
    )


def _masks(keep: KeepMask, found: Restoration) -> Iterator[KeepMask]:
    """The mask with the set returned, then without each of its entries, in an order of its own."""
    flat = found.restored(keep).keep.flatten()
    yield KeepMask(flat.reshape(found.space.shape))
    generator = torch.Generator().manual_seed(found.search.seed)
    for at in torch.randperm(len(found.numbers), generator=generator).tolist():
        smaller = flat.clone()
        smaller[found.numbers[at]] = False
        yield KeepMask(smaller.reshape(found.space.shape))


def _decoded(
    cache: ContextCache, item: Item, masks: Iterator[KeepMask], max_new_tokens: int
) -> list[Answer]:
    every = list(masks)
    return [
        one
        for at in range(0, len(every), _MASKS_AT_ONCE)
        for one in answer_many(
            cache, every[at : at + _MASKS_AT_ONCE], [item], max_new_tokens=max_new_tokens
        )
    ]


def _broken(one: Answer, wanted: tuple[int, ...], needed: float, tolerance: float) -> bool:
    """Whether the wanted answer is gone for certain: other tokens by more than the tolerance, or too small a margin."""
    if one.token_ids[: len(wanted)] == wanted:
        return _mean(one.margins[: len(wanted)]) < needed - tolerance
    for token, expected, margin in zip(one.token_ids, wanted, one.margins, strict=False):
        if token != expected:
            return margin > tolerance
    return True  # it ended early


def _mean(margins: tuple[float, ...]) -> float:
    return sum(margins) / len(margins) if margins else math.nan
