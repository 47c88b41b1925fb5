"""One edge of the token-attention graph: of a single head, of all heads that run in parallel, and all edges as columns (D15).

Information runs (layer, k_pos) → (layer + 1, q_pos): the head reads ``k_pos`` from the row at ``q_pos``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class HeadEdge(NamedTuple):
    """One head of one layer reading position ``k_pos`` from row ``q_pos`` (positions of the whole sequence), and its weight."""

    layer: int
    head: int
    q_pos: int
    k_pos: int
    weight: float

    @property
    def name(self) -> str:
        """``L5H3``."""
        return f"L{self.layer}H{self.head}"


@dataclass(frozen=True)
class Edge:
    """An attention edge (layer, k_pos) → (layer + 1, q_pos) with its heads above ε, ``(head, weight)``, the strongest first."""

    layer: int
    q_pos: int
    k_pos: int
    heads: tuple[tuple[int, float], ...]

    @property
    def weight(self) -> float:
        """The maximum over heads (D15)."""
        return self.heads[0][1]


class EdgeTable(NamedTuple):
    """The attention edges as columns, parallel heads collapsed; edge e's heads are the graph's rows start[e] … + n_heads[e]."""

    layer: np.ndarray
    q_pos: np.ndarray
    k_pos: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    n_heads: np.ndarray
