"""Expected Attention: what queries yet to come should attend to (https://arxiv.org/abs/2510.00636).

Future queries are taken as Gaussian, with the mean µ and covariance Σ of the prefill's queries before RoPE, turned by
R̄, the mean rotation over the ``n_future`` positions that follow. With s the attention scale,
E[exp(s·q·k)] = exp(s·k·R̄µ + s²/2 · kᵀR̄ΣR̄ᵀk), which a softmax over the keys turns into weights; averaged over the query
heads of a KV head, plus ε, times ‖v‖, they are the scores.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.policies.base import Policy
from routelens.policies.budget import Number, check_count
from routelens.policies.rope import rotate
from routelens.types import LayerState


@dataclass(frozen=True)
class ExpectedAttention(Policy):
    """Keep the sinks, and the keys with the largest expected attention times value norm (D20).

    The first ``n_sink`` tokens are protected, score +inf, and are left out of the query statistics and the softmax. A
    prefix no longer than ``n_sink`` is all sinks. Queries of tokens after the prefix (regime score_only) count in the
    statistics, and the future begins after them. The attention's soft cap, where a model has one, is not modelled.
    """

    name: ClassVar[str] = "expected_attention"
    paper: ClassVar[str] = "https://arxiv.org/abs/2510.00636"
    deviations: ClassVar[str] = (
        "as kvpress 0.5.5: the mean rotation stands for the future positions; value norms without the output projection; "
        "no budget across heads (wrap it in AdaKV for that)"
    )

    n_sink: int = 4
    n_future: int = 512
    use_covariance: bool = True
    use_vnorm: bool = True
    epsilon: Number = 0.0

    def __post_init__(self) -> None:
        check_count("ExpectedAttention", "n_sink", self.n_sink, 0)
        check_count("ExpectedAttention", "n_future", self.n_future, 1)
        if not self.epsilon >= 0:
            raise ValueError(
                "ExpectedAttention: epsilon is added to the expected attention and is at least 0; "
                f"got {self.epsilon!r}."
            )

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        scores = torch.full((layer.n_kv_heads, layer.n_prefix), torch.inf, device=layer.keys.device)
        if layer.n_prefix > self.n_sink:
            candidates = slice(self.n_sink, layer.n_prefix)
            weights = self._expected_attention(layer, layer.keys[:, candidates].float())
            if self.use_vnorm:
                norms = layer.values[:, candidates].float().norm(dim=-1)
                weights = (weights + self.epsilon) * norms
            scores[:, candidates] = weights
        return scores

    def protected(self, layer: LayerState) -> Bool[Tensor, " k_pos"]:
        return torch.arange(layer.n_prefix) < self.n_sink

    def _expected_attention(
        self, layer: LayerState, keys: Float[Tensor, "n_kv_heads candidate d_head"]
    ) -> Float[Tensor, "n_kv_heads candidate"]:
        queries = layer.queries[:, self.n_sink :].float()
        queries = queries.view(layer.n_kv_heads, -1, *queries.shape[1:])
        turn = self._mean_rotation(layer)
        mean = queries.mean(dim=2, keepdim=True)
        logits = layer.scale * ((mean @ turn).squeeze(2) @ keys.mT)
        if self.use_covariance:
            centred = queries - mean
            covariance = turn.mT @ (centred.mT @ centred / queries.shape[2] @ turn)
            # Logits reach 1e5 in layers with a query-key bias, where float32 resolves scores to 1e-3: this order of
            # operations is the one that rounds as kvpress does.
            quadratic = torch.einsum("jkd,jgde,jke->jgk", keys, covariance, keys)
            logits = logits + layer.scale**2 / 2 * quadratic
        return logits.softmax(dim=-1).mean(dim=1)

    def _mean_rotation(self, layer: LayerState) -> Float[Tensor, "d_head d_head"]:
        """R̄ᵀ, which turns rows."""
        n_tokens = layer.queries.shape[1]
        future = torch.arange(n_tokens, n_tokens + self.n_future, device=layer.keys.device)
        cos, sin = layer.rotary(future)
        identity = torch.eye(layer.keys.shape[-1], device=layer.keys.device)
        return rotate(identity, cos.float().mean(dim=0), sin.float().mean(dim=0))
