"""From scores to a keep mask: protected entries first, then the highest scores.

An entry is protected *by selection*: every protected entry goes before every other one, whatever the scores. A sentinel
score (the maximum, or the maximum plus one) would tie with real scores, or round away in low precision, and lose the
entry. Among equals the lower index goes first (a stable sort), so a mask never depends on the device or the batch. A
ranking is made once per layer and answers every budget; since it keeps the first n_kept of one fixed order, kept sets
nest as the compression ratio grows.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.policies.budget import Budget


class Selection(NamedTuple):
    """One layer's kept entries; ``attainable`` is False where protected entries exceeded the budget."""

    keep: Bool[Tensor, "n_kv_heads k_pos"]
    attainable: bool


class Ranking(ABC):
    """One layer's entries in the order in which they are kept, ready for any number of budgets."""

    k_pos: int

    @abstractmethod
    def take(self, n_kept: int) -> Selection:
        """The entries kept when every KV head may keep ``n_kept`` (on average, where a policy shares)."""

    def select(self, budget: Budget) -> Selection:
        """The entries kept under ``budget`` (D1)."""
        return self.take(budget.n_kept(self.k_pos))


@dataclass(frozen=True)
class HeadRanking(Ranking):
    """Each KV head on its own: ``rank`` counts from 0, the entry kept longest."""

    rank: Int[Tensor, "n_kv_heads k_pos"]
    n_protected: int

    @property
    def k_pos(self) -> int:
        return self.rank.shape[1]

    def take(self, n_kept: int) -> Selection:
        return Selection(self.rank < n_kept, self.n_protected <= n_kept)


@dataclass(frozen=True)
class KeepAllRanking(Ranking):
    """Everything kept, at every budget."""

    n_kv_heads: int
    k_pos: int

    def take(self, n_kept: int) -> Selection:
        return Selection(torch.ones(self.n_kv_heads, self.k_pos, dtype=torch.bool), True)


def select(
    scores: Float[Tensor, "n_kv_heads k_pos"], protected: Bool[Tensor, " k_pos"], n_kept: int
) -> Selection:
    """The ``n_kept`` entries of each KV head: protected ones first, then by score, then by index.

    Infinite scores are ordered like any other. Where more entries are protected than ``n_kept``, the best of those stay
    and the selection is not attainable.

    Raises:
        ValueError: for a NaN score.
    """
    return rank_heads(scores, protected).take(n_kept)


def rank_heads(
    scores: Float[Tensor, "n_kv_heads k_pos"], protected: Bool[Tensor, " k_pos"]
) -> HeadRanking:
    """Each KV head's entries, ranked by :func:`select`'s order."""
    order = best_first(scores, protected.expand(scores.shape))
    return HeadRanking(inverse(order), int(protected.sum()))


def best_first(
    scores: Float[Tensor, "row entry"], protected: Bool[Tensor, "row entry"]
) -> Int[Tensor, "row entry"]:
    """Entry indices of each row in the order in which they are kept, on the CPU."""
    scores, protected = comparable(scores), protected.cpu()
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    if not bool(protected.any()):
        return order
    # Two stable sorts make one lexicographic order: by score, then by protection.
    first = protected.gather(-1, order).to(torch.uint8)
    return order.gather(-1, first.sort(dim=-1, descending=True, stable=True).indices)


def inverse(order: Int[Tensor, "row entry"]) -> Int[Tensor, "row entry"]:
    """The place of each entry in its row's order, from 0."""
    places = torch.arange(order.shape[-1]).expand(order.shape)
    return torch.empty_like(order).scatter_(-1, order, places)


def comparable(scores: Float[Tensor, "row entry"]) -> Float[Tensor, "row entry"]:
    """The scores on the CPU, in float32 or float64.

    Raises:
        ValueError: for a NaN.
    """
    scores = scores.detach().cpu()
    if scores.dtype != torch.float64:
        scores = scores.float()
    n_nan = int(scores.isnan().sum())
    if n_nan:
        raise ValueError(
            f"select: a score orders entries and cannot be NaN; got {n_nan} NaN of {scores.numel()}. "
            "Check the keys, values and queries for overflow."
        )
    return scores
