"""Key-norm eviction: keys with a large L2 norm draw little attention (https://arxiv.org/abs/2406.11430)."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from routelens.policies.base import Policy
from routelens.types import LayerState


@dataclass(frozen=True)
class KeyNorm(Policy):
    """Keep the keys with the smallest L2 norm."""

    name: ClassVar[str] = "key_norm"
    paper: ClassVar[str] = "https://arxiv.org/abs/2406.11430"
    pointwise: ClassVar[bool] = True
    deviations: ClassVar[str] = "every layer is compressed, the first ones too"

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        return -layer.keys[:, : layer.n_prefix].float().norm(dim=-1)
