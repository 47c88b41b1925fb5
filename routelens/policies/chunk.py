"""Chunk: a budget for every stretch of the text, as FINCH's chunks have (https://doi.org/10.1162/tacl_a_00716).

The prefix is cut into chunks of ``chunk_length`` tokens (the last may be shorter), and the compression ratio applies to
each on its own: Σ_c n_kept(length of c) entries stay per head. An absolute budget is divided between the chunks in
proportion to their length by Adams's method, which is exact, gives every chunk one entry before any gets two, and nests.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.policies.base import Policy, Wrapper
from routelens.policies.budget import Budget, check_count
from routelens.policies.selection import Ranking, Selection
from routelens.types import LayerState

SCOPES = ("chunk", "prefix")


@dataclass(frozen=True)
class Chunk(Wrapper):
    """Compress each chunk of the prefix by the inner policy (D20).

    ``scope`` says what the inner policy sees. "chunk" (the default, as kvpress 0.5.5, at either rounding): each chunk as if it
    were the whole context, so its first ``n_sink`` tokens are sinks, its last ones a SnapKV window, and its queries the only
    ones. "prefix": the whole prefix, scored and protected once, and only the budget is per chunk. Take "prefix" where
    the sinks of every chunk would eat the budget (64 tokens at 0.9 keep 6, of which 4 are sinks), and for SnapKV.

    Either way the keys come from one dense prefill: a later chunk has seen the earlier ones whole, which a true
    chunk-by-chunk prefill would not have allowed.
    """

    name: ClassVar[str] = "chunk"
    paper: ClassVar[str] = "https://doi.org/10.1162/tacl_a_00716"
    deviations: ClassVar[str] = (
        "FINCH's chunks without its scores; after one dense prefill, not chunk by chunk; with scope='chunk' every chunk has "
        "its own sinks, and Expected Attention's future starts at the chunk's length, as in kvpress 0.5.5"
    )

    policy: Policy
    chunk_length: int = 64
    scope: str = "chunk"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("Chunk", "chunk_length", self.chunk_length, 1)
        if self.scope not in SCOPES:
            raise ValueError(f"Chunk: scope is 'chunk' or 'prefix'; got {self.scope!r}.")
        if isinstance(self.policy, Chunk):
            raise ValueError(
                f"Chunk: chunks do not nest; got {self.policy.describe()} inside. "
                "Wrap its inner policy once, with the shorter chunk_length."
            )

    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        if self.scope == "prefix" or self.policy.pointwise:
            return self.policy.score(layer)
        return torch.cat([self.policy.score(chunk) for chunk in self._chunks(layer)], dim=-1)

    def protected(self, layer: LayerState) -> Bool[Tensor, " k_pos"]:
        if self.scope == "prefix":
            return self.policy.protected(layer)
        return torch.cat([self.policy.protected(chunk) for chunk in self._chunks(layer)])

    def rank(
        self, scores: Float[Tensor, "n_kv_heads k_pos"], protected: Bool[Tensor, " k_pos"]
    ) -> Ranking:
        parts = zip(
            scores.split(self.chunk_length, dim=1), protected.split(self.chunk_length), strict=True
        )
        return ChunkRanking(tuple(self.policy.rank(*part) for part in parts))

    def _chunks(self, layer: LayerState) -> list[LayerState]:
        starts = range(0, layer.n_prefix, self.chunk_length)
        return [
            _chunk_state(layer, start, min(start + self.chunk_length, layer.n_prefix))
            for start in starts
        ]


@dataclass(frozen=True)
class ChunkRanking(Ranking):
    """One ranking per chunk, side by side."""

    chunks: tuple[Ranking, ...]

    @property
    def k_pos(self) -> int:
        return sum(chunk.k_pos for chunk in self.chunks)

    def select(self, budget: Budget) -> Selection:
        if budget.entries is not None:
            return self.take(budget.n_kept(self.k_pos))
        return _side_by_side([chunk.select(budget) for chunk in self.chunks])

    def take(self, n_kept: int) -> Selection:
        """The entries kept when ``n_kept`` per head are divided between the chunks by Adams's method."""
        lengths = [chunk.k_pos for chunk in self.chunks]
        # An entry that is j-th in a chunk of length c has the priority j / c: the n_kept smallest win.
        priority = torch.cat([torch.arange(length) / length for length in lengths])
        owner = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
        winners = owner[priority.sort(stable=True).indices[:n_kept]]
        counts = torch.bincount(winners, minlength=len(lengths)).tolist()
        taken = zip(self.chunks, counts, strict=True)
        return _side_by_side([chunk.take(count) for chunk, count in taken])


def _side_by_side(selections: list[Selection]) -> Selection:
    keep = torch.cat([selection.keep for selection in selections], dim=1)
    return Selection(keep, all(selection.attainable for selection in selections))


def _chunk_state(layer: LayerState, start: int, stop: int) -> LayerState:
    """The layer with one chunk as its prefix; tokens after the prefix (the questions of score_only) follow it."""

    def pick(x: Tensor) -> Tensor:
        chunk, after = x[:, start:stop], x[:, layer.n_prefix :]
        return torch.cat([chunk, after], dim=1) if after.shape[1] else chunk

    token = torch.arange(layer.keys.shape[1], device=layer.keys.device)
    return replace(
        layer,
        keys=pick(layer.keys),
        values=pick(layer.values),
        queries=pick(layer.queries),
        rotary=_rotary_of(layer, pick(token[None])[0]),
        n_prefix=stop - start,
    )


def _rotary_of(
    layer: LayerState, token: Int[Tensor, " token"]
) -> Callable[[Int[Tensor, " position"]], tuple[Tensor, Tensor]]:
    # The chunk's tokens keep their places in the text; positions past its end are counted from its own length, which
    # is how kvpress 0.5.5 places Expected Attention's future for a chunk.
    def rotary(position: Int[Tensor, " position"]) -> tuple[Tensor, Tensor]:
        inside = token[position.clamp(max=len(token) - 1)]
        return layer.rotary(torch.where(position < len(token), inside, position))

    return rotary
