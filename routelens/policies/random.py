"""Random eviction: the floor that a method has to beat.

Each (layer, KV head) draws its own order from PCG64's raw output, seeded with (seed, layer, head): the stream is fixed by
NumPy's compatibility guarantee, so a mask is the same on every machine, device and number of layers held at once.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from routelens.policies.base import Policy
from routelens.policies.budget import check_count
from routelens.types import LayerState


@dataclass(frozen=True)
class Random(Policy):
    """Keep entries drawn at random, independently per layer and KV head, the same at each call."""

    name: ClassVar[str] = "random"
    pointwise: ClassVar[bool] = True
    deviations: ClassVar[str] = "not a method: a control"

    seed: int = 0

    def __post_init__(self) -> None:
        check_count("Random", "seed", self.seed, 0)

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        streams = [
            np.random.PCG64([self.seed, layer.layer, head]).random_raw(layer.n_prefix)
            for head in range(layer.n_kv_heads)
        ]
        # The top 53 bits are exact in float64, and ties all but impossible.
        return torch.from_numpy(np.stack(streams) >> np.uint64(11)).double() * 2.0**-53
