"""From a prefilled cache and a policy to a keep mask (D1, D20).

Layers stream through one at a time. Each is scored and sorted once, and every compression ratio and budget reads its mask
off that one order, so a whole grid costs about as much as one mask. Masks are bool tensors on the CPU, whatever the
device and dtype of the cache; scores are computed in float32.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import torch

from routelens.policies import Policy, Selection, make_policy
from routelens.policies.budget import Budget, Number
from routelens.types import KeepMask, LayerState

PolicyLike = str | Mapping[str, Any] | Policy
"""A registry name, a configuration, or a policy."""


@runtime_checkable
class HasLayers(Protocol):
    """Anything that yields one LayerState a layer, in order."""

    def layers(self) -> Iterable[LayerState]:
        """The prefilled layers."""
        ...


def evict(
    cache: HasLayers,
    policy: PolicyLike = "adakv",
    *,
    compression_ratio: Number | None = None,
    budget: SupportsIndex | None = None,
    rounding: str = "floor",
    seed: int | None = None,
) -> KeepMask:
    """Which KV entries of the cache's prefix survive (D1, D2, D20).

    Exactly one of ``compression_ratio`` (the fraction removed, in [0, 1)) and ``budget`` (entries kept per KV head) is
    given. ``rounding="kvpress"`` counts as kvpress 0.5.5 does. ``seed`` replaces a random policy's seed; other policies
    have none to replace.

    Raises:
        ValueError: for an unknown policy, or a ratio or budget out of range.
    """
    chosen = _resolve(policy, seed)
    return evict_layers(
        cache.layers(),
        chosen,
        compression_ratio=compression_ratio,
        budget=budget,
        rounding=rounding,
    )


def evict_many(
    cache: HasLayers,
    policy: PolicyLike = "adakv",
    *,
    compression_ratios: Sequence[Number] = (),
    budgets: Sequence[SupportsIndex] = (),
    rounding: str = "floor",
    seed: int | None = None,
) -> list[KeepMask]:
    """One mask per compression ratio, then one per budget, in the order given, from one scoring pass (D1, D20).

    Raises:
        ValueError: as :func:`evict`, and for an empty grid.
    """
    chosen = _resolve(policy, seed)
    who = type(chosen).__name__
    grid = [Budget(ratio, None, rounding, who) for ratio in compression_ratios]
    grid += [Budget(None, entries, rounding, who) for entries in budgets]
    if not grid:
        raise ValueError(
            f"{who}: evict_many needs compression_ratios or budgets; got neither. "
            "Pass for example compression_ratios=(0.5, 0.9)."
        )
    return _masks(cache.layers(), chosen, grid)


def evict_layers(
    layers: Iterable[LayerState],
    policy: Policy,
    *,
    compression_ratio: Number | None = None,
    budget: SupportsIndex | None = None,
    rounding: str = "floor",
) -> KeepMask:
    """The keep mask of layers that arrive one at a time (D1, D20); see :func:`evict`."""
    who = type(policy).__name__
    return _masks(layers, policy, [Budget(compression_ratio, budget, rounding, who)])[0]


def _resolve(policy: PolicyLike, seed: int | None) -> Policy:
    chosen = make_policy(policy)
    return chosen if seed is None else chosen.reseeded(seed)


def _masks(layers: Iterable[LayerState], policy: Policy, grid: Sequence[Budget]) -> list[KeepMask]:
    columns: list[list[Selection]] = [[] for _ in grid]
    n_seen, n_layers = 0, 0
    for layer in layers:
        if layer.layer != n_seen:
            raise ValueError(
                f"evict: layers arrive in order, each once; got layer {layer.layer} where {n_seen} was due."
            )
        n_seen, n_layers = n_seen + 1, layer.n_layers
        ranking = policy.rank_layer(layer)
        for column, budget in zip(columns, grid, strict=True):
            column.append(ranking.select(budget))
    if n_seen == 0 or n_seen != n_layers:
        raise ValueError(
            f"evict: a mask covers every layer of the model; got {n_seen} of {n_layers}."
        )
    return [
        KeepMask(
            torch.stack([selection.keep for selection in column]),
            all(selection.attainable for selection in column),
        )
        for column in columns
    ]
