"""No eviction: every entry stays, at every budget. The control that must be flat."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.policies.base import Policy
from routelens.policies.selection import KeepAllRanking, Ranking
from routelens.types import LayerState


@dataclass(frozen=True)
class Full(Policy):
    """Keep everything; the budget is checked, then ignored."""

    name: ClassVar[str] = "full"
    pointwise: ClassVar[bool] = True
    deviations: ClassVar[str] = "not a method: a control that ignores the budget"

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        return torch.zeros(layer.n_kv_heads, layer.n_prefix)

    def rank(
        self, scores: Float[Tensor, "n_kv_heads k_pos"], protected: Bool[Tensor, " k_pos"]
    ) -> Ranking:
        return KeepAllRanking(*scores.shape)
