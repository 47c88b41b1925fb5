"""Redundancy of the routes and the cut that severs them, by maximum flow (D15; the k disjoint paths of the paper's Proposition 1).

Parallel heads of an attention edge are its integer capacity, residual edges have no limit, and a source feeds the KV of every evidence
token in every layer. Then maximum flow = head-disjoint routes = the fewest heads' edges whose loss severs the evidence (Menger). In the
node version every node (l, i) is passed once at most, except those of the target row, in which all routes end.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from routelens.routes.edges import HeadEdge
from routelens.routes.graph import RoutingGraph
from routelens.routes.paths import Groups, Route, edge_text, on_routes, route_text, source_positions

Disjoint = Literal["edge", "node"]
Cuttable = Literal["all", "prefix"]


@dataclass(frozen=True)
class Redundancy:
    """How many routes can be had at once: sharing no head's edge (``edge``), or no node before the target row (``node``)."""

    edge: int
    node: int


@dataclass(frozen=True)
class Cut:
    """A smallest set of heads' edges whose removal severs the evidence from the target.

    ``units`` name the same edges as (layer, head, row, position), rows counted from the first token after the prefix (D17).
    """

    edges: tuple[HeadEdge, ...]
    units: tuple[tuple[int, int, int, int], ...]
    texts: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many heads' edges, which is the maximum flow."""
        return len(self.edges)

    def __str__(self) -> str:
        return "\n".join(self.texts) or "nothing to cut: no route"


@dataclass(frozen=True)
class _Network:
    """Arcs of the flow problem; ``edge`` is the arc's row in the graph's table, -1 for all but attention edges."""

    tail: np.ndarray
    head: np.ndarray
    capacity: np.ndarray
    edge: np.ndarray
    source: int
    sink: int


def redundancy(graph: RoutingGraph, groups: Groups) -> Redundancy:
    """How many edge-disjoint and node-disjoint routes lead from the evidence to the target (maximum flows)."""
    return Redundancy(
        edge=len(disjoint_routes(graph, groups, by="edge")),
        node=len(disjoint_routes(graph, groups, by="node")),
    )


def disjoint_routes(
    graph: RoutingGraph, groups: Groups, *, by: Disjoint = "edge"
) -> tuple[Route, ...]:
    """As many disjoint routes as there can be at once, the heaviest first.

    Args:
        graph: The routing graph.
        groups: The required groups (routes start at payload tokens), or prefix positions.
        by: "edge": no two routes use the same head's edge; "node": nor any node (l, i) in common before the target row.
    """
    if by not in ("edge", "node"):
        raise ValueError(f"disjoint_routes: by is 'edge' or 'node'; got {by!r}.")
    sources = source_positions("disjoint_routes", graph, groups)
    network = _network(graph, sources, by=by, cuttable="all")
    if network is None:
        return ()
    flow = _max_flow(network)
    routes = _unit_routes(graph, network, flow[network.tail, network.head])
    return tuple(sorted(routes, key=lambda route: -route.weight))


def min_cut(graph: RoutingGraph, groups: Groups, *, cuttable: Cuttable = "all") -> Cut:
    """A smallest set of heads' edges that severs all the evidence from the target; of several, the one nearest the evidence.

    Args:
        graph: The routing graph.
        groups: The required groups (their payload is severed), or prefix positions.
        cuttable: "all" edges, or only those from the "prefix" to later rows, which an AttentionEdit's gate can cut.
    """
    if cuttable not in ("all", "prefix"):
        raise ValueError(f"min_cut: cuttable is 'all' or 'prefix'; got {cuttable!r}.")
    sources = source_positions("min_cut", graph, groups)
    network = _network(graph, sources, by="edge", cuttable=cuttable)
    if network is None:
        return Cut((), (), ())
    from scipy.sparse.csgraph import breadth_first_order

    left = _matrix(network) - _max_flow(network)
    left.eliminate_zeros()
    side = breadth_first_order(left, network.source, return_predecessors=False)
    crossing = np.isin(network.tail, side) & ~np.isin(network.head, side)
    table = graph.table
    edges = tuple(
        graph.head_edge(row)
        for e in np.sort(network.edge[crossing])
        for row in range(table.start[e], table.start[e] + table.n_heads[e])
    )
    return Cut(
        edges,
        tuple(graph.unit(edge) for edge in edges),
        tuple(f"{graph.text(edge.q_pos)} ← {edge_text(graph, edge)}" for edge in edges),
    )


def _network(
    graph: RoutingGraph, sources: Sequence[int], *, by: Disjoint, cuttable: Cuttable
) -> _Network | None:
    """The flow problem over the edges that lie on some route; None where none does."""
    table, used = graph.table, np.flatnonzero(on_routes(graph, sources))
    if not len(used):
        return None
    layer, q_pos, k_pos = (column[used] for column in table[:3])
    positions = np.unique(np.concatenate([q_pos, k_pos]))
    levels, n, split = graph.n_layers + 1, len(positions), by == "node"
    source, n_nodes = levels * n * (1 + split), levels * n

    def node(level: Any, position: Any) -> Any:
        return level * n + np.searchsorted(positions, position)

    def leave(nodes: Any) -> Any:
        return nodes + n_nodes * split

    everywhere = np.arange(n_nodes)
    start = np.intersect1d(sources, positions)
    fed = node(np.arange(graph.n_layers)[:, None], start).ravel()
    heads = table.n_heads[used].astype(np.int64)
    unlimited = int(heads.sum()) + n_nodes + 1
    if cuttable == "prefix":
        reads = (k_pos < graph.n_prefix) & (q_pos >= graph.n_prefix)
        heads = np.where(reads, heads, unlimited)
    inside = np.where(positions[everywhere % n] == graph.target, unlimited, 1)
    arcs = [
        (leave(node(layer, k_pos)), node(layer + 1, q_pos), heads, used),
        (leave(everywhere[:-n]), everywhere[n:], unlimited, -1),
        (np.full_like(fed, source), fed, unlimited, -1),
    ]
    if split:
        arcs.append((everywhere, leave(everywhere), inside, -1))
    tail, head, capacity, edge = (
        np.concatenate([np.broadcast_to(arc[i], arc[0].shape) for arc in arcs]) for i in range(4)
    )
    sink = int(node(graph.n_layers, graph.target))
    return _Network(tail, head, capacity, edge, source, sink)


def _matrix(network: _Network) -> Any:
    from scipy.sparse import csr_matrix

    size = network.source + 1
    ends = (network.tail, network.head)
    return csr_matrix((network.capacity.astype(np.int32), ends), shape=(size, size))


def _max_flow(network: _Network) -> Any:
    """The flow on each arc, as an antisymmetric sparse matrix."""
    from scipy.sparse.csgraph import maximum_flow

    return maximum_flow(_matrix(network), network.source, network.sink).flow


def _unit_routes(graph: RoutingGraph, network: _Network, flow: Any) -> list[Route]:
    """The flow taken apart into routes of one unit each; every unit on an edge gets a head of its own."""
    units = np.asarray(flow).ravel().astype(np.int64).copy()
    leaving: dict[int, list[int]] = defaultdict(list)
    for arc in np.flatnonzero(units > 0):
        leaving[int(network.tail[arc])].append(int(arc))
    heads_used: dict[int, int] = defaultdict(int)
    routes = []
    while leaving[network.source]:
        node, edges = network.source, []
        while node != network.sink:
            arc = leaving[node][0]
            units[arc] -= 1
            if not units[arc]:
                leaving[node].pop(0)
            e = int(network.edge[arc])
            if e >= 0:
                edges.append(graph.head_edge(int(graph.table.start[e]) + heads_used[e]))
                heads_used[e] += 1
            node = int(network.head[arc])
        routes.append(Route(tuple(edges), route_text(graph, edges)))
    return routes
