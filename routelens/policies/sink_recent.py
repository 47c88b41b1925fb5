"""StreamingLLM: the first tokens (attention sinks) and the most recent ones (https://arxiv.org/abs/2309.17453)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.policies.base import Policy
from routelens.policies.budget import check_count
from routelens.types import LayerState


@dataclass(frozen=True)
class SinkRecent(Policy):
    """Keep ``n_sink`` first tokens and a window of the most recent: the same positions in every layer and head.

    Below ``n_sink`` entries the first sinks stay, and the budget is not attainable.
    """

    name: ClassVar[str] = "sink_recent"
    paper: ClassVar[str] = "https://arxiv.org/abs/2309.17453"
    deviations: ClassVar[str] = (
        "kept keys stay at their positions in the text (the paper re-numbers them inside the cache); "
        "one eviction after the prefill, not a rolling one"
    )

    n_sink: int = 4

    def __post_init__(self) -> None:
        check_count("SinkRecent", "n_sink", self.n_sink, 0)

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        position = torch.arange(layer.n_prefix, dtype=torch.float32)
        sink = position < self.n_sink
        # Sinks rank above every recent token, the first one highest.
        score = torch.where(sink, layer.n_prefix + self.n_sink - position, position)
        return score.expand(layer.n_kv_heads, -1)

    def protected(self, layer: LayerState) -> Bool[Tensor, " k_pos"]:
        return torch.arange(layer.n_prefix) < self.n_sink
