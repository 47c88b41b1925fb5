"""Disjoint routes and minimum cuts: graphs worked by hand, brute force, networkx's maximum flow, and Menger's laws."""

from itertools import combinations

import pytest
from graph_cases import all_routes, hand_trace, nodes_of, packing, payload, random_trace, trace_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import routelens as rl

laws = settings(deadline=None, max_examples=40)


def diamond(**more):
    """a is read by q0 (two heads) and q1 (one); the target ``t6`` reads q0 by one head and q1 by two."""
    edges = {
        (0, 0, 4, 0): 0.5,
        (0, 1, 4, 0): 0.4,
        (0, 0, 5, 0): 0.6,
        (1, 0, 6, 4): 0.5,
        (1, 0, 6, 5): 0.3,
        (1, 1, 6, 5): 0.7,
    }
    return rl.routing_graph(trace_of({**edges, **more.get("edges", {})}, n_layers=3), eps=0.1)


def test_the_diamond_has_two_head_disjoint_routes_and_two_edges_sever_it():
    routes = rl.disjoint_routes(diamond(), [0])
    assert [str(route) for route in routes] == [
        "'t6' ← L1H1 ← 't5' ← L0H0 ← 't0'",
        "'t6' ← L1H0 ← 't4' ← L0H0 ← 't0'",
    ]
    cut = rl.min_cut(diamond(), [0])
    assert cut.size == 2
    assert cut.units == ((0, 0, 1, 0), (1, 0, 2, 4))
    assert str(cut) == "'t5' ← L0H0 ← 't0'\n't6' ← L1H0 ← 't4'"


def test_cut_at_the_prefix_the_diamond_needs_all_three_reads():
    cut = rl.min_cut(diamond(), [0], cuttable="prefix")
    assert cut.units == ((0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))


def test_both_routes_of_the_diamond_start_at_one_kv_entry_and_a_third_read_adds_another():
    assert rl.redundancy(diamond(), [0]) == rl.routes.Redundancy(edge=2, node=1)
    more = diamond(edges={(2, 1, 6, 0): 0.2})  # the target reads a itself, in another layer
    assert rl.redundancy(more, [0]) == rl.routes.Redundancy(edge=3, node=2)


def test_parallel_heads_are_as_many_routes():
    """networkx's edge_disjoint_paths on a MultiDiGraph finds one here."""
    edges = {(0, head, 4, 0): 0.5 for head in range(3)} | {(1, head, 6, 4): 0.5 for head in (0, 2)}
    graph = rl.routing_graph(trace_of(edges, n_layers=2, n_heads=3))
    routes = rl.disjoint_routes(graph, [0])
    assert len(routes) == 2
    assert {route.edges[1].head for route in routes} == {0, 2}
    assert len({route.edges[0].head for route in routes}) == 2
    assert rl.min_cut(graph, [0]).units == ((1, 0, 2, 4), (1, 2, 2, 4))


def test_residual_edges_carry_any_number_of_routes():
    edges = {(0, 0, 4, 0): 0.5, (0, 1, 4, 0): 0.5, (4, 0, 6, 4): 0.5, (4, 1, 6, 4): 0.5}
    graph = rl.routing_graph(trace_of(edges, n_layers=6))
    assert rl.redundancy(graph, [0]) == rl.routes.Redundancy(edge=2, node=1)


def test_the_cut_of_several_is_the_one_nearest_the_evidence():
    edges = {(0, 0, 4, 0): 0.5, (1, 0, 5, 4): 0.5, (2, 0, 6, 5): 0.5}
    cut = rl.min_cut(rl.routing_graph(trace_of(edges, n_layers=3)), [payload((0,))])
    assert cut.units == ((0, 0, 0, 0),)
    assert cut.edges[0].weight == 0.5


def test_without_a_route_there_is_nothing_to_cut():
    graph = rl.routing_graph(hand_trace(), eps=0.1)
    cut = rl.min_cut(graph, [2])
    assert (cut.size, cut.edges, str(cut)) == (0, (), "nothing to cut: no route")
    assert rl.disjoint_routes(graph, [2]) == ()
    assert rl.redundancy(graph, [2]) == rl.routes.Redundancy(edge=0, node=0)


def small_graphs(function):
    cases = given(
        seed=st.integers(0, 10**6),
        eps=st.floats(0, 0.6),
        density=st.floats(0.2, 0.9),
        sources=st.sets(st.integers(0, 2), min_size=1),
    )
    return laws(cases(function))


def made(seed, eps, density):
    return rl.routing_graph(random_trace(seed, density=density), eps=eps)


@small_graphs
def test_the_minimum_cut_is_as_large_as_the_maximum_flow_of_networkx(seed, eps, density, sources):
    import networkx as nx

    graph = made(seed, eps, density)
    found = graph.to_networkx()
    found.add_edges_from(("evidence", (0, t)) for t in sources)
    flow = nx.maximum_flow_value(found, "evidence", found.graph["target"])
    assert rl.min_cut(graph, sources).size == len(rl.disjoint_routes(graph, sources)) == flow


@pytest.mark.parametrize("cuttable", ["all", "prefix"])
@small_graphs
def test_taking_the_cut_out_severs_and_every_edge_of_it_is_needed(
    cuttable, seed, eps, density, sources
):
    graph = made(seed, eps, density)
    cut = rl.min_cut(graph, sources, cuttable=cuttable)
    group = [payload(*([t] for t in sources))]
    assert rl.reachable(graph.without(cut.edges), group).any is False
    for spared in cut.edges:
        assert rl.reachable(graph.without(e for e in cut.edges if e != spared), group).any
    if cuttable == "prefix":
        assert all(unit[2] >= 0 and unit[3] < graph.n_prefix for unit in cut.units)


@laws
@given(seed=st.integers(0, 10**6), density=st.floats(0.2, 0.6))
def test_no_smaller_set_of_edges_severs(seed, density):
    trace = random_trace(seed, n_layers=2, n_prefix=2, n_rows=2, density=density)
    graph = rl.routing_graph(trace, eps=0)
    edges = [tuple(row) for row in graph.head_edges.tolist()]
    assume(len(edges) <= 13)
    heads = {(e.layer, e.q_pos, e.k_pos): {head for head, _ in e.heads} for e in graph.edges}
    routes = all_routes(graph, {0, 1})

    def severs(chosen):
        left = {key: set(found) for key, found in heads.items()}
        for layer, head, q_pos, k_pos in chosen:
            left[layer, q_pos, k_pos].discard(head)
        return not any(all(left[edge] for edge in route) for route in routes)

    size = rl.min_cut(graph, [payload((0, 1))]).size
    assert not any(severs(chosen) for n in range(size) for chosen in combinations(edges, n))
    assert any(severs(chosen) for chosen in combinations(edges, size))


@pytest.mark.parametrize("by", ["edge", "node"])
@small_graphs
def test_disjoint_routes_are_routes_and_share_nothing(by, seed, eps, density, sources):
    graph = made(seed, eps, density)
    known = {tuple(row) for row in graph.head_edges.tolist()}
    used, passed = set(), set()
    for route in rl.disjoint_routes(graph, sources, by=by):
        edges = [tuple(edge[:4]) for edge in route.edges]
        assert set(edges) <= known and not set(edges) & used
        used |= set(edges)
        assert edges[0][3] in sources and edges[-1][2] == graph.target
        for (layer, _, q_pos, _), (next_layer, _, _, k_pos) in zip(edges, edges[1:]):
            assert q_pos == k_pos and layer < next_layer
        if by == "node":
            nodes = nodes_of([(layer, q, k) for layer, _, q, k in edges], graph)
            assert not nodes & passed
            passed |= nodes


@small_graphs
def test_no_more_node_disjoint_routes_can_be_packed(seed, eps, density, sources):
    graph = made(seed, eps, density)
    routes = all_routes(graph, sources)
    assume(len(routes) <= 14)
    best = packing([nodes_of(route, graph) for route in routes])
    assert rl.redundancy(graph, sources).node == best


@small_graphs
def test_more_evidence_or_more_edges_never_lower_redundancy(seed, eps, density, sources):
    graph, lower = made(seed, eps, density), made(seed, eps / 2, density)
    one, more = rl.redundancy(graph, sources), rl.redundancy(lower, {*sources, 0})
    assert one.edge <= more.edge and one.node <= more.node
    assert one.node <= one.edge


def test_unknown_options_are_refused():
    with pytest.raises((ValueError, TypeError), match="edge.*node"):
        rl.disjoint_routes(diamond(), [0], by="head")
    with pytest.raises((ValueError, TypeError), match="all.*prefix"):
        rl.min_cut(diamond(), [0], cuttable="rows")
