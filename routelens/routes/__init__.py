"""Routes: the token-attention graph of an answer, and what of it the answer needs."""

from routelens.routes.build import Severed, routing_graph, severed
from routelens.routes.context import ContextEdges, context_edges
from routelens.routes.edges import Edge, HeadEdge
from routelens.routes.flow import Cut, Redundancy, disjoint_routes, min_cut, redundancy
from routelens.routes.graph import RoutingGraph
from routelens.routes.paths import Route, WidestPath, best_routes, reachable, widest_path

__all__ = [
    "ContextEdges",
    "Cut",
    "Edge",
    "HeadEdge",
    "Redundancy",
    "Route",
    "RoutingGraph",
    "Severed",
    "WidestPath",
    "best_routes",
    "context_edges",
    "disjoint_routes",
    "min_cut",
    "reachable",
    "redundancy",
    "routing_graph",
    "severed",
    "widest_path",
]
