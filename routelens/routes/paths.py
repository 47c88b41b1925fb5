"""Routes through the token-attention graph: is the evidence reachable, by how wide a path, and which routes are the best (D15).

A route is a sequence of attention edges from an evidence token's KV, in any layer, up to the target row; residual edges carry it from
one to the next. Its ``width`` is its smallest attention weight, its ``weight`` their product. All three questions are answered by one
walk over the layers.
"""

import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, SupportsIndex, cast

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.cache import ContextCache
from routelens.metrics.reachability import Reach, reach_of
from routelens.routes.build import strongest_heads
from routelens.routes.context import ContextEdges
from routelens.routes.edges import HeadEdge
from routelens.routes.graph import RoutingGraph, Rows
from routelens.types import TokenGroup, Trace

Groups = Iterable[TokenGroup | SupportsIndex]
"""Required groups, of which routes start at the payload's tokens; or prefix positions themselves."""


@dataclass(frozen=True)
class Route:
    """One way from an evidence token to the target: its edges, source first, each with one of its heads.

    Prints from the answer back to the evidence: ``Tokyo ← L16H3 ← 'city' ← L5H0 ← 'capital'``.
    """

    edges: tuple[HeadEdge, ...]
    text: str

    @property
    def weight(self) -> float:
        """The product of the edges' weights."""
        return math.prod(edge.weight for edge in self.edges)

    @property
    def width(self) -> float:
        """The smallest of the edges' weights."""
        return min(edge.weight for edge in self.edges)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class WidestPath:
    """How wide the widest path from the evidence is: reachability without a threshold (D15).

    At any ε below ``any``, some payload token is reachable; below ``occurrence``, every token of a payload occurrence; below
    ``groups``, every required group (None where one of them was not located). ``widths`` says it for each prefix token (0: no path)
    and ``route`` is the best route of width ``any``.
    """

    any: float
    occurrence: float
    groups: float | None
    widths: Float[Tensor, " n_prefix"]
    route: Route | None


def reachable(graph: RoutingGraph, groups: Sequence[TokenGroup]) -> Reach:
    """What of the evidence the target can be reached from (D15): any token, a whole occurrence, every required group."""
    _check_positions("reachable", [t for g in groups for t in _tokens(g)], graph)
    reached = _backward(graph)[0, : graph.n_prefix]
    return reach_of(torch.from_numpy(reached), groups)


def widest_path(
    trace: Trace,
    groups: Sequence[TokenGroup],
    *,
    rows: Rows = "decode",
    context: ContextCache | ContextEdges | None = None,
    answer_token: int = 0,
) -> WidestPath:
    """The best over paths of the smallest attention edge, for each reading of the evidence (D15); needs no ε.

    Options as in :func:`~routelens.routes.build.routing_graph`; ``ContextEdges`` at ε = 0.
    """
    graph = strongest_heads(trace, rows=rows, context=context, answer_token=answer_token)
    sources = source_positions("widest_path", graph, groups)
    widths = _widths(graph)[: graph.n_prefix]
    _check_positions("widest_path", [t for g in groups for t in _tokens(g)], graph)
    whole = [
        max((float(min(widths[list(run)])) for run in g.occurrences if run), default=None)
        for g in groups
    ]
    payload = [
        w for w, g in zip(whole, groups, strict=True) if g.role == "payload" and w is not None
    ]
    located = [w for w in whole if w is not None]
    best = max(widths[sources])
    wide = graph.subset(graph.weights >= best)
    return WidestPath(
        any=float(best),
        occurrence=max(payload),
        groups=min(located) if len(located) == len(whole) else None,
        widths=torch.from_numpy(widths),
        route=_best(wide, sources, 1)[0] if best > 0 else None,
    )


def best_routes(graph: RoutingGraph, groups: Groups, k: int = 5) -> tuple[Route, ...]:
    """The ``k`` routes of the largest weight from the evidence to the target, best first; fewer where there are fewer.

    Routes differ in the tokens or layers they pass; of parallel heads each edge is named for the strongest.

    Raises:
        ValueError: k below 1, or no evidence.
    """
    if k < 1:
        raise ValueError(f"best_routes: k is the number of routes, at least 1; got {k}.")
    return _best(graph, source_positions("best_routes", graph, groups), k)


def route_text(graph: RoutingGraph, edges: Sequence[HeadEdge]) -> str:
    """A route as it prints: the predicted token (or the target row's own, quoted), then heads and what they read."""
    answer = graph.predicts.strip() or graph.text(graph.target)
    return " ← ".join([answer, *(edge_text(graph, edge) for edge in reversed(edges))])


def edge_text(graph: RoutingGraph, edge: HeadEdge) -> str:
    """One edge as it prints: ``L5H0 ← 'capital'``."""
    return f"{edge.name} ← {graph.text(edge.k_pos)}"


def source_positions(who: str, graph: RoutingGraph, groups: Groups) -> list[int]:
    """The prefix positions that routes start from: the payload's tokens, or the positions given."""
    given: list[Any] = list(groups)
    positions = [
        position
        for group in given
        for position in (_tokens(group) if isinstance(group, TokenGroup) else [group])
        if not isinstance(group, TokenGroup) or group.role == "payload"
    ]
    if not positions:
        raise ValueError(
            f"{who}: a route starts at a payload token; got {len(given)} groups with none. Pass the positions "
            "to start from instead, for example cache.groups[0].occurrences[0]."
        )
    return _check_positions(who, positions, graph)


def on_routes(graph: RoutingGraph, sources: Sequence[int]) -> Bool[np.ndarray, " edge"]:
    """Which of the table's edges lie on some route from ``sources`` to the target."""
    table, backward = graph.table, _backward(graph)
    forward = np.zeros_like(backward)
    forward[0, list(sources)] = True
    for layer, edges in _layers(graph):
        forward[layer + 1] = forward[layer]
        forward[layer + 1, table.q_pos[edges][forward[layer, table.k_pos[edges]]]] = True
    return forward[table.layer, table.k_pos] & backward[table.layer + 1, table.q_pos]


def _tokens(group: TokenGroup) -> list[int]:
    return [t for run in group.occurrences for t in run]


def _check_positions(who: str, positions: Iterable[Any], graph: RoutingGraph) -> list[int]:
    found = sorted({operator.index(t) for t in positions})
    outside = [t for t in found if not 0 <= t < graph.n_prefix]
    if outside:
        raise ValueError(
            f"{who}: evidence lies in the prefix, at positions [0, {graph.n_prefix}); got {outside}."
        )
    return found


def _layers(graph: RoutingGraph) -> list[tuple[int, slice]]:
    """Each layer and its stretch of the table."""
    bounds = np.searchsorted(graph.table.layer, np.arange(graph.n_layers + 1))
    return [(layer, slice(*bounds[layer : layer + 2])) for layer in range(graph.n_layers)]


def _backward(graph: RoutingGraph) -> Bool[np.ndarray, "n_states position"]:
    """Which nodes the target can be reached from."""
    table = graph.table
    live = np.zeros((graph.n_layers + 1, graph.n_positions), dtype=bool)
    live[-1, graph.target] = True
    for layer, edges in reversed(_layers(graph)):
        live[layer] = live[layer + 1]
        live[layer, table.k_pos[edges][live[layer + 1, table.q_pos[edges]]]] = True
    return live


def _widths(graph: RoutingGraph) -> Float[np.ndarray, " position"]:
    """For each position, the width of the widest path from its KV to the target; 0 where there is none."""
    table = graph.table
    width = np.zeros(graph.n_positions)
    width[graph.target] = np.inf
    for _, edges in reversed(_layers(graph)):
        through = np.minimum(width[table.q_pos[edges]], table.weight[edges])
        width = width.copy()
        np.maximum.at(width, table.k_pos[edges], through)
    return width


def _best(graph: RoutingGraph, sources: Sequence[int], k: int) -> tuple[Route, ...]:
    """The k best routes, by keeping at every node the k best ways on from there (exact: the graph has no cycles)."""
    table, used = graph.table, on_routes(graph, sources)
    best: dict[int, list[tuple[float, Any]]] = {graph.target: [(0.0, None)]}
    for _, edges in reversed(_layers(graph)):
        arrivals: dict[int, list[tuple[float, Any]]] = defaultdict(list)
        for e in np.flatnonzero(used[edges]) + edges.start:
            log_weight = math.log(table.weight[e])
            for score, onward in best.get(int(table.q_pos[e]), ()):
                arrivals[int(table.k_pos[e])].append((score + log_weight, (int(e), onward)))
        for position, ways in arrivals.items():
            best[position] = nlargest(k, best.get(position, []) + ways, key=lambda way: way[0])
    found = [way for position in sources for way in best.get(position, ())]
    return tuple(
        _as_route(graph, onward) for _, onward in nlargest(k, found, key=lambda way: way[0])
    )


def _as_route(graph: RoutingGraph, onward: Any) -> Route:
    """The route of a chain (edge, (edge, … None)) of the table's edges, each by its strongest head."""
    edges = []
    while onward is not None:
        e, onward = cast(tuple[int, Any], onward)
        edges.append(graph.head_edge(int(graph.table.start[e])))
    return Route(tuple(edges), route_text(graph, edges))
