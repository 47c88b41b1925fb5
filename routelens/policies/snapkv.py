"""SnapKV: what the last tokens attend to (https://arxiv.org/abs/2404.14469).

The last ``window_size`` queries attend causally to every key; an earlier key's score is its attention averaged over the
window, over the query heads of its KV head, and over its neighbours (a mean of ``kernel_size`` positions, zeros past the
ends). The window itself is protected. Where the questions follow the prefix (regime score_only), the window lies on the
questions, and only the part of it that reaches into the prefix is protected.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from routelens.policies.base import Policy
from routelens.policies.budget import check_count
from routelens.policies.rope import rotate
from routelens.types import LayerState


@dataclass(frozen=True)
class SnapKV(Policy):
    """Keep the window, and before it the keys that the window attends to most.

    Inside the window later tokens go first: with a budget below the window, its most recent tokens stay, and the
    selection is not attainable. A prefix no longer than the window is all window, so its most recent tokens stay.
    """

    name: ClassVar[str] = "snapkv"
    paper: ClassVar[str] = "https://arxiv.org/abs/2404.14469"
    query_aware: ClassVar[bool] = True
    deviations: ClassVar[str] = (
        "as kvpress 0.5.5: one choice per KV head, by the mean over its query heads (the paper chooses per query head), and "
        "mean pooling; a budget below the window keeps the window's most recent tokens"
    )

    window_size: int = 64
    kernel_size: int = 5

    def __post_init__(self) -> None:
        check_count("SnapKV", "window_size", self.window_size, 1)
        check_count("SnapKV", "kernel_size", self.kernel_size, 1)
        if self.kernel_size % 2 == 0:
            raise ValueError(
                "SnapKV: kernel_size is odd, so that a neighbourhood has a centre; got "
                f"{self.kernel_size}. Pass {self.kernel_size + 1}."
            )

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        start = self._window_start(layer)
        n_before = min(start, layer.n_prefix)
        position = torch.arange(layer.n_prefix, device=layer.keys.device)
        # Attention is at most 1, so a window position (1 to 2, rising) outranks it without a tie.
        scores = (1 + (position - start + 1) / self.window_size).repeat(layer.n_kv_heads, 1)
        if n_before:
            attention = _window_attention(layer, start)[:, :n_before]
            scores[:, :n_before] = functional.avg_pool1d(
                attention, self.kernel_size, stride=1, padding=self.kernel_size // 2
            )
        return scores

    def protected(self, layer: LayerState) -> Bool[Tensor, " k_pos"]:
        return torch.arange(layer.n_prefix) >= self._window_start(layer)

    def _window_start(self, layer: LayerState) -> int:
        return max(0, layer.queries.shape[1] - self.window_size)


def _window_attention(layer: LayerState, start: int) -> Float[Tensor, "n_kv_heads token"]:
    """Attention onto each key, averaged over the queries from ``start`` on and the query heads of its KV head."""
    keys, queries = layer.keys.float(), layer.queries[:, start:].float()
    n_tokens, n_rows = keys.shape[1], queries.shape[1]
    row = torch.arange(start, n_tokens, device=keys.device)
    cos, sin = layer.rotary(row)
    queries = rotate(queries, cos.float(), sin.float()) * layer.scale
    # KV head j serves the query heads j·G to (j+1)·G - 1, so its rows lie side by side: one product per KV head.
    logits = queries.reshape(layer.n_kv_heads, -1, queries.shape[-1]) @ keys.mT
    if layer.softcap is not None:
        logits = layer.softcap * torch.tanh(logits / layer.softcap)
    future = torch.ones(n_rows, n_rows, dtype=torch.bool, device=keys.device).triu(1)
    logits.view(layer.n_kv_heads, -1, n_rows, n_tokens)[..., start:].masked_fill_(
        future, -torch.inf
    )
    return logits.softmax(dim=-1).mean(dim=1)
