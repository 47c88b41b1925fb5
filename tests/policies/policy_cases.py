"""Random layers, a cache of them, and the policies that every law must hold for."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from routelens.policies import (
    POLICIES,
    AdaKV,
    Chunk,
    ExpectedAttention,
    KeyNorm,
    Policy,
    Random,
    SinkRecent,
    SnapKV,
    make_policy,
)
from routelens.types import LayerState


def rotary_of(d_rotary: int, base: float = 100.0):
    """Half-split RoPE with a small base, so that short texts turn through whole circles."""
    frequency = base ** (-torch.arange(0, d_rotary, 2) / d_rotary)

    def rotary(position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angle = position.float()[:, None] * frequency
        angle = torch.cat([angle, angle], dim=-1)
        return angle.cos(), angle.sin()

    return rotary


def make_layer(
    n_prefix: int = 40,
    *,
    seed: int = 0,
    n_after: int = 0,
    n_kv_heads: int = 3,
    n_groups: int = 2,
    d_head: int = 8,
    d_rotary: int | None = None,
    layer: int = 0,
    n_layers: int = 1,
    dtype: torch.dtype = torch.float32,
    softcap: float | None = None,
) -> LayerState:
    generator = torch.Generator().manual_seed(1000 * seed + layer)

    def draw(n_heads: int) -> torch.Tensor:
        shape = (n_heads, n_prefix + n_after, d_head)
        return torch.randn(shape, generator=generator).to(dtype)

    return LayerState(
        layer=layer,
        n_layers=n_layers,
        keys=draw(n_kv_heads),
        values=draw(n_kv_heads),
        queries=draw(n_kv_heads * n_groups),
        rotary=rotary_of(d_rotary or d_head),
        scale=d_head**-0.5,
        n_prefix=n_prefix,
        softcap=softcap,
    )


@dataclass
class Layers:
    """A stand-in for a prefilled cache; counts how often its layers were asked for."""

    states: list[LayerState]
    n_passes: int = 0

    def layers(self) -> Iterator[LayerState]:
        self.n_passes += 1
        yield from self.states


def make_cache(n_prefix: int = 40, n_layers: int = 3, **options) -> Layers:
    states = [
        make_layer(n_prefix, layer=layer, n_layers=n_layers, **options) for layer in range(n_layers)
    ]
    return Layers(states)


REGISTERED: list[Policy] = [make_policy(name) for name in POLICIES]
COMPOSED: list[Policy] = [
    SnapKV(window_size=8, kernel_size=3),
    SinkRecent(n_sink=0),
    Random(seed=7),
    ExpectedAttention(n_sink=0, use_covariance=False, use_vnorm=False),
    AdaKV(SnapKV(window_size=8)),
    AdaKV(KeyNorm(), safeguard=0.0),
    AdaKV(Random()),
    Chunk(KeyNorm(), chunk_length=7),
    Chunk(SnapKV(window_size=4), chunk_length=16),
    Chunk(ExpectedAttention(), chunk_length=16, scope="prefix"),
    Chunk(AdaKV(ExpectedAttention()), chunk_length=16),
]
EVERY_POLICY = REGISTERED + COMPOSED


def label(policy: Policy) -> str:
    return policy.describe()
