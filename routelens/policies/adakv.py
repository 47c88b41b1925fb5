"""AdaKV: one budget over a layer's KV heads, spent where the scores are (https://arxiv.org/abs/2407.11550).

A layer keeps n_kv_heads · n_kept entries in all. Each head first gets its best max(1, ⌊safeguard · n_kept⌋); the rest of the
budget goes to the best remaining entries of the layer, whichever head they are in.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.policies.base import Policy, Wrapper
from routelens.policies.budget import Number
from routelens.policies.selection import Ranking, Selection, best_first, comparable, inverse
from routelens.types import LayerState


@dataclass(frozen=True)
class AdaKV(Wrapper):
    """Share a layer's budget between its KV heads by the inner policy's scores (D20).

    The inner policy's protected entries go first in every head. Scores of different heads are compared as they are, so
    the inner policy must rank by them: neither Full nor another wrapper.
    """

    name: ClassVar[str] = "adakv"
    paper: ClassVar[str] = "https://arxiv.org/abs/2407.11550"
    deviations: ClassVar[str] = (
        "as kvpress 0.5.5: over the KV heads of one layer, with the safeguard as a floor per head; around Expected Attention "
        "by default (the paper wraps SnapKV and Pyramid)"
    )

    policy: Policy
    safeguard: Number = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.policy).rank is not Policy.rank:
            raise ValueError(
                "AdaKV: the inner policy ranks a layer's entries by score alone; got "
                f"{self.policy.describe()}. For a budget per chunk that heads share write "
                "Chunk(AdaKV(...))."
            )
        if isinstance(self.safeguard, bool) or not 0 <= self.safeguard <= 1:
            raise ValueError(
                "AdaKV: safeguard is the fraction of an even share that every head keeps, in [0, 1]; "
                f"got {self.safeguard!r}."
            )

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        return self.policy.score(layer)

    def protected(self, layer: LayerState) -> Bool[Tensor, " k_pos"]:
        return self.policy.protected(layer)

    def rank(
        self, scores: Float[Tensor, "n_kv_heads k_pos"], protected: Bool[Tensor, " k_pos"]
    ) -> Ranking:
        scores, everywhere = comparable(scores), protected.cpu().expand(scores.shape)
        within = best_first(scores, everywhere)
        # Every head's first entry, every head's second, and so on: between equals the one that ranks higher in its own
        # head goes first, so heads share tied entries (sinks, a window) evenly.
        offset = torch.arange(scores.shape[0])[:, None] * scores.shape[1]
        entry = (within + offset).T.reshape(-1)
        across = best_first(
            scores.gather(1, within).T.reshape(1, -1), everywhere.gather(1, within).T.reshape(1, -1)
        )[0]
        return SharedRanking(
            order=entry[across],
            head_rank=inverse(within),
            n_protected=int(protected.sum()),
            safeguard=float(self.safeguard),
        )


@dataclass(frozen=True)
class SharedRanking(Ranking):
    """A layer's entries in one order over all heads, and each head's own order for the safeguard."""

    order: Int[Tensor, " entry"]
    head_rank: Int[Tensor, "n_kv_heads k_pos"]
    n_protected: int
    safeguard: float

    @property
    def k_pos(self) -> int:
        return self.head_rank.shape[1]

    def take(self, n_kept: int) -> Selection:
        n_safe = max(1, math.floor(self.safeguard * n_kept + 1e-9))
        keep = self.head_rank < min(n_kept, n_safe)
        n_open = self.head_rank.shape[0] * n_kept - int(keep.sum())
        unsafe = self.order[~keep.view(-1)[self.order]]
        keep.view(-1)[unsafe[:n_open]] = True
        return Selection(keep, self.n_protected <= n_kept)
