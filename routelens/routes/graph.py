"""The token-attention graph as data (D15 [C]): which positions an answer's attention joined, layer by layer.

Nodes are (l, i), l = 0..L, i a position: the prefix, then the question and answer rows. Edges run with the information, source →
target: head h of layer l reading position j from row i is (l, j) → (l + 1, i), with the layers counted from 0 as in ``L5H3``. There
is an attention edge where some head's *masked, renormalised* weight exceeds ε, and a residual edge (l, i) → (l + 1, i) of weight 1
everywhere. The target is (L, last prompt row), or the row of a later answer token; rows past it cannot lead there and are left out.
A row's attention to itself runs beside its residual edge, adds no route, and is left out too. Residual edges are implied, not stored.

``rows="decode"`` (primary): question and generated rows read; what context tokens read of each other during the prefill is not in the
graph, and a prefix token's KV is a source in every layer. ``rows="all"`` adds the dense prefill's edges (:mod:`.context`).
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.routes.edges import Edge, EdgeTable, HeadEdge
from routelens.routes.graph_forms import as_networkx, decode, encode

Rows = Literal["decode", "all"]


@dataclass(frozen=True, eq=False)
class RoutingGraph:
    """The attention edges above ``eps``, head by head (D15 [C]).

    ``head_edges`` are (layer, head, q_pos, k_pos), ordered by layer, row and position, the strongest head first; ``weights`` stand
    beside them. ``tokens`` are the texts of all positions up to the ``target`` row; ``predicts`` the text of the token that
    this row predicted, where the trace shows it.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    n_prefix: int
    tokens: tuple[str, ...]
    target: int
    eps: float
    rows: Rows
    head_edges: Int[Tensor, "edge 4"]
    weights: Float[Tensor, " edge"]
    predicts: str = ""

    def __post_init__(self) -> None:
        index = self.head_edges.detach().to("cpu", torch.int64)
        weights = self.weights.detach().to("cpu", torch.float64)
        self._check(index, weights)
        layer, head, q_pos, k_pos = index.numpy().T
        order = torch.from_numpy(np.lexsort((head, -weights.numpy(), k_pos, q_pos, layer)))
        object.__setattr__(self, "head_edges", index[order])
        object.__setattr__(self, "weights", weights[order])
        if len(np.unique(self.keys)) != len(weights):
            raise ValueError("RoutingGraph: each head's edge stands there once; got one twice.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not RoutingGraph:
            return NotImplemented
        return (
            self._facts == other._facts
            and torch.equal(self.head_edges, other.head_edges)
            and torch.equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash((self._facts, self.n_head_edges))

    def __repr__(self) -> str:
        return (
            f"RoutingGraph(rows={self.rows!r}, eps={self.eps:.3g}, {self.n_layers} layers, {self.n_prefix} + "
            f"{self.target + 1 - self.n_prefix} positions, {self.n_edges} edges of {self.n_head_edges} heads)"
        )

    @property
    def n_positions(self) -> int:
        """The prefix and the rows up to the target."""
        return self.target + 1

    @property
    def n_edges(self) -> int:
        """Attention edges, parallel heads counted once."""
        return len(self.table.layer)

    @property
    def n_head_edges(self) -> int:
        """Attention edges, each head counted."""
        return len(self.weights)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every attention edge with its heads."""
        columns, table = self.head_edges[:, 1].tolist(), self.table
        pairs = list(zip(columns, self.weights.tolist(), strict=True))
        return tuple(
            Edge(layer, q_pos, k_pos, tuple(pairs[start : start + count]))
            for layer, q_pos, k_pos, start, count in zip(
                *(table[i].tolist() for i in (0, 1, 2, 4, 5)), strict=True
            )
        )

    @cached_property
    def table(self) -> EdgeTable:
        """The edges as columns, for everything that walks them."""
        layer, _, q_pos, k_pos = self.head_edges.numpy().T
        key = (layer * self.n_positions + q_pos) * self.n_positions + k_pos
        start = np.flatnonzero(np.diff(key, prepend=-1))
        count = np.diff(start, append=len(key))
        weight = self.weights.numpy()
        return EdgeTable(layer[start], q_pos[start], k_pos[start], weight[start], start, count)

    @cached_property
    def keys(self) -> np.ndarray:
        """One number for each head's edge, whatever its weight."""
        layer, head, q_pos, k_pos = self.head_edges.numpy().T
        return ((layer * self.n_heads + head) * self.n_positions + q_pos) * self.n_positions + k_pos

    def head_edge(self, row: int) -> HeadEdge:
        """Row ``row`` of ``head_edges``, with its weight."""
        layer, head, q_pos, k_pos = self.head_edges[row].tolist()
        return HeadEdge(layer, head, q_pos, k_pos, float(self.weights[row]))

    def unit(self, edge: HeadEdge) -> tuple[int, int, int, int]:
        """The edge as D17 names it, (layer, head, row, pos): rows count from the first token after the prefix (< 0: a context row)."""
        return (edge.layer, edge.head, edge.q_pos - self.n_prefix, edge.k_pos)

    def kv_unit(self, edge: HeadEdge) -> tuple[int, int, int]:
        """The KV entry that the edge reads: (layer, kv_head, pos)."""
        return (edge.layer, edge.head * self.n_kv_heads // self.n_heads, edge.k_pos)

    def subset(self, chosen: Bool[Tensor, " edge"]) -> "RoutingGraph":
        """The same graph with these rows of ``head_edges`` alone."""
        return replace(self, head_edges=self.head_edges[chosen], weights=self.weights[chosen])

    def without(self, edges: Iterable[HeadEdge]) -> "RoutingGraph":
        """The graph with some heads' edges taken out, as :func:`~routelens.routes.flow.min_cut` names them."""
        gone = {tuple(edge[:4]) for edge in edges}
        present = [tuple(row) not in gone for row in self.head_edges.tolist()]
        if len(present) - sum(present) != len(gone):
            raise ValueError(
                f"RoutingGraph.without: every edge is one of this graph's {self.n_head_edges}; of "
                f"{len(gone)} given, {len(gone) - len(present) + sum(present)} are not."
            )
        return self.subset(torch.tensor(present, dtype=torch.bool))

    def text(self, position: int) -> str:
        """A token as it prints: quoted, without the blanks around it."""
        token = self.tokens[position]
        return repr(token.strip() or token)

    def to_networkx(self) -> Any:
        """A networkx ``DiGraph`` with the residual edges (:func:`~routelens.routes.graph_forms.as_networkx`)."""
        return as_networkx(self)

    def to_json(self) -> str:
        """The graph as JSON, each edge as [layer, q_pos, k_pos, [[head, weight], …]]."""
        return encode(self._facts, self.edges)

    @classmethod
    def from_json(cls, text: str) -> "RoutingGraph":
        """The graph that :meth:`to_json` wrote; ValueError for anything else."""
        fields = decode(text)
        try:
            return cls(**fields)
        except TypeError as error:
            raise ValueError(
                f"RoutingGraph.from_json: the fields are those that to_json writes; got {sorted(fields)} ({error})."
            ) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as JSON."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "RoutingGraph":
        """Read a graph written by :meth:`save`."""
        if not Path(path).is_file():
            raise ValueError(f"RoutingGraph.load: no file at {path}.")
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    @property
    def _facts(self) -> tuple[tuple[str, Any], ...]:
        """Everything but the edges, by name."""
        names = [
            "n_layers",
            "n_heads",
            "n_kv_heads",
            "n_prefix",
            "tokens",
            "target",
            "eps",
            "rows",
            "predicts",
        ]
        return tuple((name, getattr(self, name)) for name in names)

    def _check(self, index: Tensor, weights: Tensor) -> None:
        n = self.n_positions
        if self.rows not in ("decode", "all"):
            raise ValueError(f"RoutingGraph: rows is 'decode' or 'all'; got {self.rows!r}.")
        if not self.n_prefix <= self.target or len(self.tokens) != n:
            raise ValueError(
                "RoutingGraph: the target is a row after the prefix, and tokens has one text for each position up to it; got "
                f"n_prefix {self.n_prefix}, target {self.target} and {len(self.tokens)} tokens."
            )
        if len(index) != len(weights) or not bool((weights > self.eps).all()):
            raise ValueError(
                f"RoutingGraph: each head's edge has one weight above eps = {self.eps}; got {len(index)} edges and "
                f"{len(weights)} weights, the smallest {weights.min().item() if len(weights) else None}."
            )
        limits = torch.tensor([self.n_layers, self.n_heads, n, n])
        causal = (index[:, 3] < index[:, 2]).all()
        first_row = 0 if self.rows == "all" else self.n_prefix
        if not bool(
            (index >= 0).all() & (index < limits).all() & causal & (index[:, 2] >= first_row).all()
        ):
            raise ValueError(
                f"RoutingGraph: edges are (layer, head, q_pos, k_pos) below {limits.tolist()}, with k_pos < q_pos"
                f"{'' if first_row == 0 else f' and rows from {first_row} on (the prefix does not read)'}."
            )
