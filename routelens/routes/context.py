"""What context tokens read of each other during the dense prefill (D15, rows = "all"), recomputed from the cached keys and queries.

    A = softmax(softcap(q·kᵀ·scale) masked by causality and the layer's window), q and k after RoPE

as in the forward that filled the cache. It is computed layer by layer and a few rows at a time, and only what lies above ε is kept:
never layers × heads × n² at once. Meant for small contexts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from routelens.cache import ContextCache
from routelens.models import AttentionSite, adapter_of
from routelens.models.adapters import rotate
from routelens.types import LayerState

BLOCK = 1 << 22
"""Pattern entries held at a time."""


@dataclass(frozen=True, eq=False)
class ContextEdges:
    """Attention of context rows above ``eps``: (layer, head, q_pos, k_pos) and the weight. Self edges are left out."""

    eps: float
    n_layers: int
    n_heads: int
    n_prefix: int
    head_edges: Int[Tensor, "edge 4"]
    weights: Float[Tensor, " edge"]


@torch.no_grad()
def context_edges(
    cache: ContextCache, *, eps: float | None = None, strongest: bool = False
) -> ContextEdges:
    """The prefill's attention edges above ``eps`` (default 1/n), head by head (D15).

    ``strongest`` keeps of parallel heads the strongest alone, so that even ``eps=0`` holds no more than layers × n²/2 edges.
    """
    n = cache.n_prefix
    eps = checked_eps("context_edges", eps, n)
    adapter = adapter_of(cache.model)
    indices, weights = [], []
    for state in cache.layers():
        for first, pattern in _patterns(state, adapter.site(state.layer), n):
            index, weight = edges_above(pattern, eps, first, strongest=strongest)
            layer = index.new_full((len(index), 1), state.layer)
            indices.append(torch.cat([layer, index], dim=1).cpu())
            weights.append(weight.cpu())
    return ContextEdges(
        eps=eps,
        n_layers=adapter.n_layers,
        n_heads=adapter.n_heads,
        n_prefix=n,
        head_edges=torch.cat(indices),
        weights=torch.cat(weights),
    )


def edges_above(
    pattern: Float[Tensor, "n_heads row k_pos"], eps: float, first: int, *, strongest: bool = False
) -> tuple[Int[Tensor, "edge 3"], Float[Tensor, " edge"]]:
    """(head, q_pos, k_pos) and weight of everything above ``eps``; the first row stands at position ``first``."""
    above = pattern > eps
    rows = torch.arange(pattern.shape[1], device=pattern.device)
    above[:, rows, first + rows] = False
    if strongest:
        heads = torch.arange(len(pattern), device=pattern.device)
        above &= heads[:, None, None] == pattern.argmax(dim=0)
    index = above.nonzero()
    index[:, 1] += first
    return index, pattern[above].double()


def checked_eps(who: str, eps: float | None, n_prefix: int) -> float:
    """The threshold, by default 1/n."""
    eps = 1 / max(1, n_prefix) if eps is None else float(eps)
    if not eps >= 0:
        raise ValueError(f"{who}: eps is an attention weight, at least 0; got {eps}.")
    return eps


def _patterns(
    state: LayerState, site: AttentionSite, n: int
) -> Iterator[tuple[int, Float[Tensor, "n_heads row k_pos"]]]:
    """Blocks of one layer's pattern over the prefix, each with its first row."""
    # Rotated at all the prefilled positions: RoPE may depend on how many there are.
    positions = torch.arange(state.keys.shape[1], device=state.keys.device)
    cos, sin = (x[:n] for x in state.rotary(positions))
    q = rotate(state.queries[:, :n], cos, sin)
    k = state.keys[:, :n].repeat_interleave(state.n_heads // state.n_kv_heads, dim=0)
    columns = positions[:n]
    n_rows = max(1, BLOCK // (state.n_heads * n))
    for first in range(0, n, n_rows):
        rows = columns[first : first + n_rows, None]
        hidden = columns > rows
        if site.window is not None:
            hidden |= columns <= rows - site.window
        scores = site.finish_scores(q[:, first : first + n_rows] @ k.transpose(1, 2) * state.scale)
        scores = scores.masked_fill(hidden, -torch.inf)
        exact = torch.promote_types(scores.dtype, torch.float32)
        yield first, torch.softmax(scores, dim=-1, dtype=exact)
