"""Reachability, the widest path and the best routes: a graph worked by hand, and every route of small graphs walked."""

import math

import pytest
from graph_cases import all_routes, hand_trace, payload, random_trace, trace_of
from hypothesis import given, settings
from hypothesis import strategies as st

import routelens as rl
from routelens.types import TokenGroup

laws = settings(deadline=None, max_examples=40)


def graph_at(eps, trace=None):
    return rl.routing_graph(hand_trace() if trace is None else trace, eps=eps)


@pytest.mark.parametrize(
    ("eps", "reached"),
    [
        (0.01, [True, True, True, True]),
        (0.1, [True, True, False, True]),  # c's only edge weighs .05
        (0.25, [False, True, False, True]),  # the hop q0 -> q1 weighs .2
        (0.45, [False, False, False, True]),  # b -> q1 weighs .4
        (0.55, [False, False, False, False]),
    ],
)
def test_the_hand_worked_graph(eps, reached):
    assert rl.reachable(graph_at(eps), ()).reached.tolist() == reached


def test_the_three_readings_of_reachable():
    groups = (payload((0, 2), (1, 2)), TokenGroup(((3,),), role="bridge"))
    low, middle = (rl.reachable(graph_at(eps), groups) for eps in (0.01, 0.1))
    assert (low.any, low.occurrence, low.groups) == (True, True, True)
    assert (middle.any, middle.occurrence, middle.groups) == (True, False, False)
    unanswerable = rl.reachable(graph_at(0.1), ())
    assert (unanswerable.any, unanswerable.occurrence, unanswerable.groups) == (None, None, None)


def test_layers_run_in_order():
    edges = {
        (1, 0, 4, 0): 0.9,
        (0, 0, 5, 4): 0.9,
    }  # read in the last layer, passed on in the first: too late
    assert not rl.reachable(graph_at(0.1, trace_of(edges, n_layers=2, n_rows=2)), ()).any
    right = {(0, 0, 4, 0): 0.9, (1, 0, 5, 4): 0.9}
    assert rl.reachable(graph_at(0.1, trace_of(right, n_layers=2, n_rows=2)), ()).reached[0]


def test_the_widest_path_of_the_hand_worked_graph():
    found = rl.widest_path(
        hand_trace(), (payload((0, 1), (2,)), TokenGroup(((3,),), role="bridge"))
    )
    assert found.widths.tolist() == pytest.approx([0.2, 0.4, 0.05, 0.5])
    assert found.any == pytest.approx(0.4)
    assert found.occurrence == pytest.approx(0.2)
    assert found.groups == pytest.approx(0.2)
    assert str(found.route) == "Tokyo ← L2H0 ← 'q1' ← L1H0 ← 'b'"
    assert found.route.width == found.any


def test_a_group_that_was_not_located_leaves_its_width_unknown():
    found = rl.widest_path(hand_trace(), (payload((3,)), payload()))
    assert (found.any, found.groups) == (0.5, None)


def test_without_any_path_the_width_is_zero_and_there_is_no_route():
    trace = trace_of({(0, 0, 6, 0): 0.5}, n_layers=1)
    found = rl.widest_path(trace, [payload((1,))])
    assert (found.any, found.occurrence, found.groups, found.route) == (0, 0, 0, None)


def test_the_best_routes_print_from_the_answer_to_the_evidence():
    routes = rl.best_routes(graph_at(0.01), [0, 1, 2], 5)
    assert [str(route) for route in routes] == [
        "Tokyo ← L2H0 ← 'q1' ← L1H0 ← 'b'",
        "Tokyo ← L2H0 ← 'c'",
        "Tokyo ← L2H0 ← 'q1' ← L1H1 ← 'q0' ← L0H0 ← 'a'",
    ]
    assert [route.weight for route in routes] == pytest.approx([0.24, 0.05, 0.036])
    assert [route.width for route in routes] == pytest.approx([0.4, 0.05, 0.2])
    assert [edge.k_pos for edge in routes[2].edges] == [0, 4, 5]  # source first


def test_where_the_answer_was_not_traced_the_target_rows_own_token_is_quoted():
    trace = trace_of({(0, 1, 6, 0): 0.5}, n_layers=1, tokens=(*" abcd", " q", "\n")[:7])
    (route,) = rl.best_routes(rl.routing_graph(trace), [0])
    assert str(route) == "'\\n' ← L0H1 ← ' '"


@laws
@given(st.integers(0, 10**6), st.floats(0, 0.5), st.integers(1, 12), st.floats(0.2, 0.7))
def test_the_best_routes_are_those_of_walking_every_route(seed, eps, k, density):
    graph = rl.routing_graph(random_trace(seed, density=density), eps=eps)
    weight = {(e.layer, e.q_pos, e.k_pos): e.weight for e in graph.edges}
    every = {
        route: math.prod(weight[edge] for edge in route) for route in all_routes(graph, {0, 2})
    }
    found = rl.best_routes(graph, [payload((0, 2))], k)
    chosen = [tuple((e.layer, e.q_pos, e.k_pos) for e in route.edges) for route in found]
    assert len(chosen) == len(set(chosen)) == min(k, len(every))
    assert [every[route] for route in chosen] == pytest.approx(
        sorted(every.values(), reverse=True)[:k], rel=1e-9
    )
    assert all(
        route.weight == pytest.approx(every[c]) for route, c in zip(found, chosen, strict=True)
    )


@laws
@given(st.integers(0, 10**6), st.floats(0.2, 0.7))
def test_the_widest_path_is_that_of_walking_every_route(seed, density):
    trace = random_trace(seed, density=density)
    graph = rl.routing_graph(trace, eps=0)
    weight = {(e.layer, e.q_pos, e.k_pos): e.weight for e in graph.edges}
    for token in range(3):
        widths = [min(weight[e] for e in route) for route in all_routes(graph, {token})]
        found = rl.widest_path(trace, [payload((token,))])
        assert found.any == found.widths[token] == max(widths, default=0)
        if widths:
            assert found.route.width == found.any


@laws
@given(st.integers(0, 10**6), st.one_of(st.floats(0, 1), st.integers(0, 71)))
def test_a_path_is_wider_than_eps_exactly_when_the_evidence_is_reachable_there(seed, eps):
    trace = random_trace(seed)
    if isinstance(eps, int):  # one of the trace's own weights
        eps = float(trace.pattern.flatten()[eps])
    groups = (payload((0, 1), (2,)), TokenGroup(((1,),), role="bridge"))
    widest = rl.widest_path(trace, groups)
    reach = rl.reachable(rl.routing_graph(trace, eps=eps), groups)
    assert (widest.any > eps, widest.occurrence > eps, widest.groups > eps) == (
        reach.any,
        reach.occurrence,
        reach.groups,
    )
    assert ((widest.widths > eps) == reach.reached).all()


def test_evidence_that_is_none_or_elsewhere_is_refused():
    graph = graph_at(0.1)
    bridge = TokenGroup(((3,),), role="bridge")
    for function in (rl.best_routes, rl.min_cut, rl.disjoint_routes, rl.redundancy):
        for groups in ([], [payload()], [bridge]):
            with pytest.raises(ValueError, match="a route starts at a payload token"):
                function(graph, groups)
        with pytest.raises(ValueError, match=r"\[0, 4\); got \[4\]"):
            function(graph, [0, 4])
    with pytest.raises(ValueError, match="a route starts at a payload token"):
        rl.widest_path(hand_trace(), [])
    with pytest.raises(ValueError, match=r"got \[-1\]"):
        rl.reachable(graph, [payload((-1,))])
    with pytest.raises(ValueError, match="k is the number of routes"):
        rl.best_routes(graph, [0], 0)
