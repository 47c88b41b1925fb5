"""Do the query heads of a layer look at the same token (D8), and do they find what survived (D9)?

Input is D7's attention row: [n_layers, n_heads, k_pos] over the prefix, at the last prompt token,
evicted columns at 0; leading batch axes are welcome. The paper (https://arxiv.org/abs/2603.01426)
calls distinct argmaxes / heads "consensus", which is low when heads agree; here every name says its
sign. Sinks are left out unless asked for: position 0 takes most argmaxes.

A head whose remaining mass is 0 (everything it could look at is evicted) has no argmax and is left
out of its layer; a layer with fewer than two heads left is NaN. Ties go to the lowest position.
Sums run in fp32 or better.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.types import KeepMask, Trace

Rows = Float[Tensor, "*batch n_layers n_heads k_pos"]
N_SINK = 4
"""Without a trace that says more, the first four tokens are the sinks (D8)."""


@dataclass(frozen=True)
class Agreement:
    """Every measure of D8, per layer. ``n_heads_used`` counts the heads that have an argmax."""

    head_agreement: Float[Tensor, "*batch n_layers"]
    argmax_diversity: Float[Tensor, "*batch n_layers"]
    consensus_norm: Float[Tensor, "*batch n_layers"]
    diversity_ratio: Float[Tensor, "*batch n_layers"]
    n_heads_used: Int[Tensor, "*batch n_layers"]


@dataclass(frozen=True)
class UseOfSurvivors:
    """What attention does with what was kept (D9); NaN where it cannot be said."""

    reroute_rate: Float[Tensor, "*batch"]
    answer_mass: Float[Tensor, "*batch"]


def agreement_summary(
    trace_or_rows: Trace | Rows,
    exclude_sinks: bool = True,
    *,
    sink_positions: Iterable[int] | None = None,
) -> Agreement:
    """All of D8 at once, per layer.

    Args:
        trace_or_rows: a trace (its ``prompt_attention`` and ``sink_positions`` are used), or rows.
        exclude_sinks: leave the sinks out (primary [C]).
        sink_positions: the sinks; default the trace's, else the first four tokens.
    """
    rows = _candidates(trace_or_rows, exclude_sinks, sink_positions)
    top, has = _argmax(rows)
    same = (top[..., :, None] == top[..., None, :]) & has[..., :, None] & has[..., None, :]
    n_used = has.sum(dim=-1)
    largest = same.sum(dim=-1).amax(dim=-1)
    repeats = same.tril(diagonal=-1).any(dim=-1)
    distinct = (has & ~repeats).sum(dim=-1)
    enough = n_used >= 2

    def per_layer(values: Tensor) -> Tensor:
        return torch.where(enough, values, torch.nan)

    # The null draws from every position that some head of the layer can look at.
    n_candidates = (rows > 0).any(dim=-2).sum(dim=-1)
    return Agreement(
        head_agreement=per_layer(largest / n_used),
        argmax_diversity=per_layer(distinct / n_used),
        consensus_norm=per_layer(1 - (distinct - 1) / (n_used - 1)),
        diversity_ratio=per_layer(distinct / _expected_distinct(n_used, n_candidates)),
        n_heads_used=n_used,
    )


def head_agreement(
    trace_or_rows: Trace | Rows,
    exclude_sinks: bool = True,
    *,
    sink_positions: Iterable[int] | None = None,
) -> Float[Tensor, "*batch n_layers"]:
    """ρ per layer: the largest number of heads with one argmax / heads; high = agree (D8 [S], Proposition 3)."""
    summary = agreement_summary(trace_or_rows, exclude_sinks, sink_positions=sink_positions)
    return summary.head_agreement


def argmax_diversity(
    trace_or_rows: Trace | Rows,
    exclude_sinks: bool = True,
    *,
    sink_positions: Iterable[int] | None = None,
) -> Float[Tensor, "*batch n_layers"]:
    """Distinct argmaxes / heads per layer; low = agree (D8 [S], the formula the paper calls consensus)."""
    summary = agreement_summary(trace_or_rows, exclude_sinks, sink_positions=sink_positions)
    return summary.argmax_diversity


def consensus_norm(
    trace_or_rows: Trace | Rows,
    exclude_sinks: bool = True,
    *,
    sink_positions: Iterable[int] | None = None,
) -> Float[Tensor, "*batch n_layers"]:
    """1 - (distinct - 1) / (heads - 1) per layer: 0 all differ, 1 all agree (D8 [C])."""
    summary = agreement_summary(trace_or_rows, exclude_sinks, sink_positions=sink_positions)
    return summary.consensus_norm


def diversity_null(n_heads: int, n_candidates: int) -> float:
    """Distinct positions expected when the heads draw uniformly: m (1 - (1 - 1/m)^n_heads); NaN for m = 0 (D8 [C])."""
    return float(_expected_distinct(torch.tensor(n_heads), torch.tensor(n_candidates)))


def topk_jaccard(
    trace_or_rows: Trace | Rows,
    exclude_sinks: bool = True,
    *,
    k: int = 32,
    sink_positions: Iterable[int] | None = None,
) -> Float[Tensor, "*batch n_layers"]:
    """Mean Jaccard index of two heads' top ``k`` positions, over the layer's pairs of heads; high = agree (D8 [C]).

    Positions without mass are in no top, so a head may have fewer than ``k``.
    """
    if k < 1:
        raise ValueError(f"topk_jaccard: k counts positions and is at least 1; got {k}.")
    rows = _candidates(trace_or_rows, exclude_sinks, sink_positions)
    member = _top(rows, k).to(rows.dtype)
    shared = member @ member.transpose(-1, -2)
    size = member.sum(dim=-1)
    union = size[..., :, None] + size[..., None, :] - shared
    pairs = ((size[..., :, None] > 0) & (size[..., None, :] > 0)).tril(diagonal=-1)
    index = torch.where(pairs, shared / union.clamp(min=1), 0.0)
    n_pairs = pairs.sum(dim=(-1, -2))
    return torch.where(n_pairs > 0, index.sum(dim=(-1, -2)) / n_pairs, torch.nan)


def agreement_drop(by_layer: Float[Tensor, "*batch n_layers"]) -> Float[Tensor, "*batch"]:
    """Mean over the first third of the layers - mean over the last third, of any measure per layer (D8 [C]).

    A third is max(1, n_layers // 3) layers. NaN layers are left out; NaN where a third has none, or
    for one layer.
    """
    n_layers = by_layer.shape[-1]
    if n_layers < 2:
        return torch.full_like(by_layer[..., 0], torch.nan)
    third = max(1, n_layers // 3)
    return by_layer[..., :third].nanmean(dim=-1) - by_layer[..., -third:].nanmean(dim=-1)


def answer_share(
    trace_or_rows: Trace | Rows,
    answer_positions: Iterable[int],
    exclude_sinks: bool = True,
    *,
    sink_positions: Iterable[int] | None = None,
) -> Float[Tensor, "*batch n_layers n_heads"]:
    """The answer tokens' share of each head's attention to the prefix, sinks left out of both (D8's switch).

    NaN where there is no answer token, or no mass at all.
    """
    rows = _candidates(trace_or_rows, exclude_sinks, sink_positions)
    positions = _positions(answer_positions, rows)
    on_answer, total = rows[..., positions].sum(dim=-1), rows.sum(dim=-1)
    known = (total > 0) & bool(positions.numel())
    return torch.where(known, on_answer / total, torch.nan)


def use_of_survivors(
    full_rows: Float[Tensor, "n_layers n_heads k_pos"],
    rows: Rows,
    keep: KeepMask | Bool[Tensor, "*batch n_layers n_kv_heads k_pos"],
    answer_positions: Iterable[int],
    *,
    exclude_sinks: bool = True,
    sink_positions: Iterable[int] | None = None,
) -> UseOfSurvivors:
    """How heads re-route, and how much attention the evidence still gets (D9).

    ``reroute_rate``: among the (layer, head) pairs whose full-cache argmax (without sinks) was
    evicted, the share whose new argmax is an answer token; a head that has no argmax left did not
    re-route; NaN where no argmax was evicted. ``answer_mass``: attention on the answer tokens
    summed over layers and heads, compressed / full. Meant for items without erasure (D6). ``rows``
    and ``keep`` may carry batch axes over one ``full_rows``.
    """
    kept = (keep.keep if isinstance(keep, KeepMask) else keep).to(rows.device)
    heads = kept.repeat_interleave(_group_size(full_rows, kept), dim=-2)
    top, has = _argmax(_candidates(full_rows, exclude_sinks, sink_positions))
    new_top, still = _argmax(_candidates(rows, exclude_sinks, sink_positions))
    heads, top, has = torch.broadcast_tensors(heads, top[..., None], has[..., None])
    evicted = has[..., 0] & ~heads.gather(-1, top[..., :1]).squeeze(-1)
    answer = _positions(answer_positions, rows)
    rerouted = evicted & still & torch.isin(new_top, answer)
    n_evicted = evicted.sum(dim=(-1, -2))
    before = _precise(full_rows)[..., answer].sum(dim=(-1, -2, -3))
    after = _precise(rows)[..., answer].sum(dim=(-1, -2, -3))
    known = torch.tensor(bool(answer.numel()), device=rows.device)
    return UseOfSurvivors(
        reroute_rate=torch.where(
            known & (n_evicted > 0), rerouted.sum(dim=(-1, -2)) / n_evicted, torch.nan
        ),
        answer_mass=torch.where(known & (before > 0), after / before, torch.nan),
    )


def _candidates(
    source: Trace | Tensor, exclude_sinks: bool, sink_positions: Iterable[int] | None
) -> Tensor:
    """The rows, with the sinks' columns at 0 where they are excluded."""
    rows = _precise(source.prompt_attention if isinstance(source, Trace) else source)
    if not exclude_sinks:
        return rows
    if sink_positions is None:
        known = source.sink_positions if isinstance(source, Trace) else ()
        sink_positions = known or range(min(N_SINK, rows.shape[-1]))
    return rows.index_fill(-1, _positions(sink_positions, rows), 0.0)


def _precise(rows: Tensor) -> Tensor:
    return rows if rows.dtype == torch.float64 else rows.float()


def _positions(positions: Iterable[int], rows: Tensor) -> Tensor:
    chosen = torch.as_tensor(list(positions), dtype=torch.long, device=rows.device)
    k_pos = rows.shape[-1]
    outside = chosen[(chosen < 0) | (chosen >= k_pos)]
    if outside.numel():
        raise ValueError(
            f"agreement: positions index the prefix and lie in [0, {k_pos}); got {outside.tolist()}."
        )
    return chosen


def _argmax(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each head's argmax (torch.argmax takes the first of equals), and whether it has one."""
    if not rows.shape[-1]:
        empty = torch.zeros(rows.shape[:-1], dtype=torch.long, device=rows.device)
        return empty, empty.bool()
    top = rows.argmax(dim=-1)
    return top, rows.gather(-1, top[..., None]).squeeze(-1) > 0


def _top(rows: Tensor, k: int) -> Tensor:
    """Whether each entry is among its row's ``k`` largest and above 0; ties go to the lowest position."""
    k_pos = rows.shape[-1]
    if k >= k_pos:
        return rows > 0
    if rows.device.type == "cpu":  # numpy's partition is several times faster here than torch.topk
        parted = np.partition(rows.detach().numpy(), k_pos - k, axis=-1)
        cut = torch.from_numpy(parted[..., k_pos - k, None])
    else:
        cut = rows.topk(k, dim=-1).values[..., -1:]
    member = (rows >= cut) & (rows > 0)
    crowded = member.sum(dim=-1) > k
    if crowded.any():
        row, tie = rows[crowded], rows[crowded] == cut[crowded]
        above = row > cut[crowded]
        room = k - above.sum(dim=-1, keepdim=True)
        member[crowded] = above | (tie & (tie.cumsum(dim=-1) <= room))
    return member


def _expected_distinct(n_heads: Tensor, n_candidates: Tensor) -> Tensor:
    m = n_candidates.float()
    expected = -m * torch.expm1(n_heads * torch.log1p(-1 / m))
    return torch.where(m > 0, expected, torch.nan)


def _group_size(rows: Tensor, kept: Tensor) -> int:
    n_heads, n_kv_heads = rows.shape[-2], kept.shape[-2]
    if n_heads % n_kv_heads:
        raise ValueError(
            f"use_of_survivors: query heads come in equal groups per KV head; got {n_heads} heads and "
            f"{n_kv_heads} KV heads."
        )
    return n_heads // n_kv_heads
