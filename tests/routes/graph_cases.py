"""Traces made by hand or at random for the tests of routing graphs, and naive walks over every route of a small graph."""

import torch

from routelens.types import TokenGroup, Trace

N_PREFIX = 4


def made_trace(pattern, n_prefix, *, prompt_row=None, tokens=None, n_kv_heads=0):
    """A trace of this pattern [n_layers, n_heads, row, k_pos]."""
    n_layers, _, n_rows, n_columns = pattern.shape
    state = torch.zeros(n_layers + 1, 2)
    return Trace(
        pattern=pattern,
        n_prefix=n_prefix,
        row_offset=0,
        prompt_row=n_rows - 1 if prompt_row is None else prompt_row,
        token_ids=tuple(range(n_rows)),
        tokens=tuple(f" t{i}" for i in range(n_columns)) if tokens is None else tokens,
        residual=state,
        question_residual=state,
        n_kv_heads=n_kv_heads,
    )


def trace_of(edges, *, n_layers, n_heads=2, n_prefix=N_PREFIX, n_rows=3, **options):
    """A trace whose only weights are ``{(layer, head, q_pos, k_pos): weight}``."""
    pattern = torch.zeros(n_layers, n_heads, n_rows, n_prefix + n_rows)
    for (layer, head, q_pos, k_pos), weight in edges.items():
        pattern[layer, head, q_pos - n_prefix, k_pos] = weight
    return made_trace(pattern, n_prefix, **options)


def hand_trace():
    """Three layers of two heads, prefix a b c d, rows q0 q1 and the target ``:``, which predicts Tokyo. The only weights:

    layer 0: a -.3 H0, .2 H1-> q0, d -.5 H1-> ":"      layer 1: b -.4 H0-> q1, q0 -.2 H1-> q1
    layer 2: q1 -.6 H0, .3 H1-> ":", c -.05 H0-> ":"
    """
    return trace_of(
        {
            (0, 0, 4, 0): 0.3,
            (0, 1, 4, 0): 0.2,
            (0, 1, 6, 3): 0.5,
            (1, 0, 5, 1): 0.4,
            (1, 1, 5, 4): 0.2,
            (2, 0, 6, 5): 0.6,
            (2, 1, 6, 5): 0.3,
            (2, 0, 6, 2): 0.05,
        },
        n_layers=3,
        n_rows=4,
        prompt_row=2,
        tokens=(" a", " b", " c", " d", " q0", " q1", ":", " Tokyo"),
    )


def random_trace(seed, *, n_layers=3, n_heads=2, n_prefix=3, n_rows=3, density=0.4):
    """A causal trace in which each weight is there with probability ``density``."""
    generator = torch.Generator().manual_seed(seed)
    shape = (n_layers, n_heads, n_rows, n_prefix + n_rows)
    pattern = torch.rand(shape, generator=generator)
    pattern *= torch.rand(shape, generator=generator) < density
    pattern[..., n_prefix:] = pattern[..., n_prefix:].tril()
    return made_trace(pattern, n_prefix)


def payload(*occurrences):
    """One required group with these alternative occurrences."""
    return TokenGroup(tuple(tuple(run) for run in occurrences))


def all_routes(graph, sources):
    """Every route as a tuple of (layer, q_pos, k_pos), source first, walked one edge at a time."""
    edges = {(e.layer, e.q_pos): [] for e in graph.edges}
    for e in graph.edges:
        edges[e.layer, e.q_pos].append(e.k_pos)
    found = []

    def walk(level, position, onward):
        if position in sources and onward:
            found.append(onward)
        for layer in range(level):
            for k_pos in edges.get((layer, position), ()):
                walk(layer, k_pos, ((layer, position, k_pos), *onward))

    walk(graph.n_layers, graph.target, ())
    return found


def nodes_of(route, graph):
    """The nodes (l, position) that a route passes before the target row, residual ones among them."""
    nodes = {(route[0][0], route[0][2])}
    for (layer, q_pos, _), onward in zip(route, [*route[1:], None], strict=True):
        if q_pos != graph.target:
            nodes |= {(level, q_pos) for level in range(layer + 1, onward[0] + 1)}
    return nodes


def packing(sets):
    """The most sets that share nothing, by trying all."""
    if not sets:
        return 0
    first, rest = sets[0], sets[1:]
    return max(packing(rest), 1 + packing([s for s in rest if not s & first]))
