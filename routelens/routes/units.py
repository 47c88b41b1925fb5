"""What a ticket is made of, and how a set of units becomes an edit of attention (D17 [C]).

A unit is a ``token`` (pos), a ``kv`` entry (layer, kv_head, pos) or an ``edge`` (layer, head, row, pos); rows count from the
first token after the prefix. Everything outside a set is ablated: ``renorm`` masks it before the softmax, which is physical eviction,
``zero`` sets the pattern's entry to zero and renormalises nothing. The KV of question and answer tokens is never a unit.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.types import AttentionEdit, KeepMask

UNIT_KINDS = ("token", "kv", "edge")
ABLATIONS = ("renorm", "zero")
Unit = tuple[int, ...]


@dataclass(frozen=True)
class Space:
    """All units of one kind over a prefix, numbered; ``n_rows`` are the rows that read it (question and answer tokens)."""

    kind: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    n_rows: int
    n_prefix: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes of a unit."""
        return {
            "token": (self.n_prefix,),
            "kv": (self.n_layers, self.n_kv_heads, self.n_prefix),
            "edge": (self.n_layers, self.n_heads, self.n_rows, self.n_prefix),
        }[self.kind]

    @property
    def n_units(self) -> int:
        return math.prod(self.shape)

    @property
    def group(self) -> int:
        """Query heads that a KV head serves."""
        return self.n_heads // self.n_kv_heads

    def units(self, numbers: Iterable[int]) -> tuple[Unit, ...]:
        """The units of these numbers, as tuples."""
        index = torch.as_tensor(list(numbers), dtype=torch.long)
        axes = torch.unravel_index(index, self.shape)
        return tuple(zip(*(axis.tolist() for axis in axes), strict=True)) if len(index) else ()

    def numbers(self, units: Iterable[Unit]) -> list[int]:
        """The numbers of these units; ValueError for one that does not exist here."""
        found = []
        for unit in units:
            inside = len(unit) == len(self.shape) and all(
                0 <= at < size for at, size in zip(unit, self.shape, strict=True)
            )
            if not inside:
                raise ValueError(
                    f"routelens: a {self.kind} unit here lies in {self.shape}; got {tuple(unit)}."
                )
            number = 0
            for at, size in zip(unit, self.shape, strict=True):
                number = number * size + at
            found.append(number)
        return found

    def flat(self, numbers: Iterable[int] | Int[Tensor, " n"]) -> Bool[Tensor, " n_units"]:
        """The set of these units: True where a unit is in it."""
        flat = torch.zeros(self.n_units, dtype=torch.bool)
        flat[torch.as_tensor(numbers if isinstance(numbers, Tensor) else list(numbers)).long()] = (
            True
        )
        return flat

    def leading(self, n: int) -> Bool[Tensor, " n_units"]:
        """The units at the first ``n`` positions."""
        return self.position(torch.arange(self.n_units)) < n

    def position(self, numbers: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
        """The prefix position of each unit."""
        return numbers % self.n_prefix

    def kept(self, flat: Bool[Tensor, "batch n_units"]) -> Bool[Tensor, "batch ..."]:
        """Sets of units in the shape of masks: [batch, layer, kv_head, pos], or [batch, layer, head, row, pos] for edges."""
        shaped = flat.reshape(-1, *self.shape)
        if self.kind == "token":
            return shaped[:, None, None].expand(-1, self.n_layers, self.n_kv_heads, -1)
        return shaped

    def per_head(
        self, values: Float[Tensor, "batch ..."]
    ) -> Float[Tensor, "batch n_layers n_heads row n_prefix"]:
        """Values of :meth:`kept`'s shape, one for each query head and row (a single row stands for all)."""
        if self.kind == "edge":
            return values
        return values.repeat_interleave(self.group, dim=2)[:, :, :, None]

    def per_unit(
        self, values: Float[Tensor, "n_layers n_heads n_rows n_prefix"]
    ) -> Float[Tensor, " n_units"]:
        """Values of single edges, summed over each unit's edges."""
        if self.kind == "edge":
            return values.flatten()
        by_head = values.sum(2).reshape(self.n_layers, self.n_kv_heads, self.group, -1).sum(2)
        return by_head.sum((0, 1)) if self.kind == "token" else by_head.flatten()

    def edit(self, flat: Bool[Tensor, " n_units"], ablation: str) -> AttentionEdit:
        """The edit that keeps these units alone."""
        kept = self.kept(flat[None])
        if ablation == "renorm" and self.kind != "edge":
            return AttentionEdit(keep=KeepMask(kept[0].contiguous()))
        gate = self.per_head(kept.float())[0]
        if ablation == "renorm":
            return AttentionEdit(bias=torch.zeros_like(gate).masked_fill(gate == 0, -torch.inf))
        return AttentionEdit(gate=gate)

    def projected(self, flat: Bool[Tensor, " n_units"], other: "Space") -> Bool[Tensor, " n_other"]:
        """The same entries as units of another kind: those of ``other`` that any of these units touch, or lie within."""
        edges = self._as_edges(flat)
        if other.kind == "edge":
            return edges.flatten()
        return other.per_unit(edges.float()) > 0

    def _as_edges(
        self, flat: Bool[Tensor, " n_units"]
    ) -> Bool[Tensor, "n_layers n_heads n_rows n_prefix"]:
        per_head = self.per_head(self.kept(flat[None]).float())[0] > 0
        return per_head.expand(-1, -1, self.n_rows, -1)
