"""Rotary positions, as the scores need them: x·cos + rotate_half(x)·sin over the first d_rotary dimensions.

The half-split form of RoPE (https://arxiv.org/abs/2104.09864), which LayerState's ``rotary`` promises; dimensions past
d_rotary pass through. The map is linear in x, so cos and sin averaged over positions rotate by the mean rotation.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rotate(
    x: Float[Tensor, "*batch d_head"],
    cos: Float[Tensor, "*position d_rotary"],
    sin: Float[Tensor, "*position d_rotary"],
) -> Float[Tensor, "*batch d_head"]:
    """``x`` rotated; cos and sin broadcast against its leading axes."""
    d_rotary = cos.shape[-1]
    turned, rest = x[..., :d_rotary], x[..., d_rotary:]
    first, second = turned.chunk(2, dim=-1)
    turned = turned * cos + torch.cat([-second, first], dim=-1) * sin
    return torch.cat([turned, rest], dim=-1)
