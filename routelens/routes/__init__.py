"""Routes: the token-attention graph of an answer, and what of it the answer needs."""

from routelens.routes.build import Severed, routing_graph, severed
from routelens.routes.collection import Collection, find_tickets, read_tickets
from routelens.routes.context import ContextEdges, context_edges
from routelens.routes.edges import Edge, HeadEdge
from routelens.routes.flow import Cut, Redundancy, disjoint_routes, min_cut, redundancy
from routelens.routes.graph import RoutingGraph
from routelens.routes.leakage import Leakage, leakage
from routelens.routes.overlap import Core, find_disjoint_tickets, shared_core, ticket_survival
from routelens.routes.paths import Route, WidestPath, best_routes, reachable, widest_path
from routelens.routes.repairs import Restoration
from routelens.routes.restoration import restoration_set
from routelens.routes.results import Ticket
from routelens.routes.ticket import find_ticket

__all__ = [
    "Collection",
    "ContextEdges",
    "Core",
    "Cut",
    "Edge",
    "HeadEdge",
    "Leakage",
    "Redundancy",
    "Restoration",
    "Route",
    "RoutingGraph",
    "Severed",
    "Ticket",
    "WidestPath",
    "best_routes",
    "context_edges",
    "disjoint_routes",
    "find_disjoint_tickets",
    "find_ticket",
    "find_tickets",
    "leakage",
    "min_cut",
    "reachable",
    "read_tickets",
    "redundancy",
    "restoration_set",
    "routing_graph",
    "severed",
    "shared_core",
    "ticket_survival",
    "widest_path",
]
