"""The routing graph's other forms: JSON and networkx.

In JSON the facts stand by name, then each edge as [layer, q_pos, k_pos, [[head, weight], …]]; weights read back to the last bit.
"""

import json
from collections.abc import Iterable
from typing import Any

import torch

FORMAT = "routelens.routing_graph/1"


def encode(facts: Iterable[tuple[str, Any]], edges: Iterable[Any]) -> str:
    """The JSON text of a graph's facts and edges."""
    rows = [[e.layer, e.q_pos, e.k_pos, [list(pair) for pair in e.heads]] for e in edges]
    return json.dumps(
        {"format": FORMAT, **dict(facts), "edges": rows}, ensure_ascii=False, allow_nan=False
    )


def decode(text: str) -> dict[str, Any]:
    """The fields of the graph that :func:`encode` wrote.

    Raises:
        ValueError: Text of another kind, or of another version.
    """
    try:
        fields = json.loads(text)
        found = fields.pop("format")
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(
            f"RoutingGraph.from_json: the text is what to_json wrote; got {text[:40]!r} ({error})."
        ) from error
    if found != FORMAT:
        raise ValueError(f"RoutingGraph.from_json: the format is {FORMAT!r}; got {found!r}.")
    try:
        flat = [
            (layer, head, q_pos, k_pos, float(weight))
            for layer, q_pos, k_pos, heads in fields.pop("edges")
            for head, weight in heads
        ]
        index = torch.tensor([row[:4] for row in flat], dtype=torch.int64).reshape(-1, 4)
        weights = torch.tensor([row[4] for row in flat], dtype=torch.float64)
        fields["tokens"] = tuple(fields["tokens"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"RoutingGraph.from_json: an edge is [layer, q_pos, k_pos, [[head, weight], …]] ({error})."
        ) from error
    return {**fields, "head_edges": index, "weights": weights}


def as_networkx(graph: Any) -> Any:
    """A networkx ``DiGraph`` of nodes (l, position): every position in every layer, attention and residual edges.

    Edges carry ``kind``, ``weight`` and (attention) ``heads`` = {head: weight} and ``capacity`` = how many. Parallel heads are one edge
    and residual edges have no capacity, which networkx reads as unlimited: its flow functions refuse multigraphs, or answer wrongly.
    """
    import networkx as nx

    found = nx.DiGraph(
        n_prefix=graph.n_prefix,
        target=(graph.n_layers, graph.target),
        eps=graph.eps,
        rows=graph.rows,
        predicts=graph.predicts,
    )
    for level in range(graph.n_layers + 1):
        for position, token in enumerate(graph.tokens):
            found.add_node((level, position), level=level, position=position, token=token)
            if level:
                ends = (level - 1, position), (level, position)
                found.add_edge(*ends, kind="residual", weight=1.0)
    for edge in graph.edges:
        found.add_edge(
            (edge.layer, edge.k_pos),
            (edge.layer + 1, edge.q_pos),
            kind="attention",
            weight=edge.weight,
            heads=dict(edge.heads),
            capacity=len(edge.heads),
        )
    return found
