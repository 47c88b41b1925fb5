"""The paper's triad as numbers (D24 [C]): is the evidence retained, is it accessible, is it used? And how far states drift.

retention = 1 - soft eviction of the answer tokens; accessibility = share of items whose required
groups are reachable (D15, ε = 1/n); utilisation = share correct among accessible items; drift =
cosine similarity of residual states, full cache against compressed.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from routelens.metrics.eviction import Keep, Positions, global_eviction_ratio
from routelens.metrics.intervals import N_RESAMPLES, Interval, as_numbers, bootstrap_mean


def retention(keep: Keep, answer_positions: Positions) -> float:
    """The share of the answer tokens' KV entries that are kept; NaN where there is none (D24)."""
    return 1.0 - global_eviction_ratio(keep, answer_positions, scope="soft")


def accessibility(
    accessible: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Share of items whose required groups are reachable, with its interval (D24).

    ``accessible`` is :attr:`Reach.groups` per item; items without groups (None) are dropped and
    counted.
    """
    return bootstrap_mean(accessible, passages, n_resamples=n_resamples, seed=seed, level=level)


def utilisation(
    correct: Iterable[Any],
    accessible: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Share correct among accessible items, with its interval; NaN where none is accessible (D24)."""
    right, access = as_numbers(correct), as_numbers(accessible)
    if len(right) != len(access):
        raise ValueError(
            f"utilisation: one value per item each; got {len(right)} correct and {len(access)} accessible."
        )
    used = access == 1
    labels = None if passages is None else np.array(list(passages), dtype=object)
    if labels is not None and len(labels) != len(right):
        raise ValueError(f"utilisation: one passage per item; got {len(labels)} for {len(right)}.")
    return bootstrap_mean(
        right[used],
        None if labels is None else labels[used],
        n_resamples=n_resamples,
        seed=seed,
        level=level,
    )


def drift(
    full_residual: Float[Tensor, "n_layers_plus_1 d_model"],
    residual: Float[Tensor, "n_layers_plus_1 d_model"],
) -> Float[Tensor, " n_layers_plus_1"]:
    """Cosine similarity per layer of the full-cache and the compressed residual state; 1 = no drift (D24 [C]).

    NaN where a state is the zero vector.
    """
    exact = full_residual.dtype == torch.float64
    full, compressed = (
        (full_residual, residual) if exact else (full_residual.float(), residual.float())
    )
    norms = full.norm(dim=-1) * compressed.norm(dim=-1)
    cosine = ((full * compressed).sum(dim=-1) / norms).clamp(-1, 1)
    return torch.where(norms > 0, cosine, torch.nan)
