"""The routing graph as data (D15): a graph worked by hand, its other forms, what a mask severs, and what is refused."""

import json
from dataclasses import replace

import pytest
import torch
from graph_cases import N_PREFIX, hand_trace, made_trace, payload, random_trace, trace_of
from hypothesis import given, settings
from hypothesis import strategies as st

import routelens as rl
from routelens.metrics import head_max
from routelens.metrics import reachable as reachable_in_trace
from routelens.routes import HeadEdge, RoutingGraph
from routelens.types import AttentionEdit, KeepMask, TokenGroup

laws = settings(deadline=None, max_examples=40)


def weights(edges):
    return {(e.layer, e.q_pos, e.k_pos): dict(e.heads) for e in edges}


def test_the_hand_worked_graph_has_the_edges_above_eps_with_every_head():
    graph = rl.routing_graph(hand_trace(), eps=0.1)
    assert weights(graph.edges) == {
        (0, 4, 0): pytest.approx({0: 0.3, 1: 0.2}),
        (0, 6, 3): pytest.approx({1: 0.5}),
        (1, 5, 1): pytest.approx({0: 0.4}),
        (1, 5, 4): pytest.approx({1: 0.2}),
        (2, 6, 5): pytest.approx({0: 0.6, 1: 0.3}),
    }
    assert (graph.n_edges, graph.n_head_edges) == (5, 7)
    assert (graph.n_layers, graph.n_heads, graph.n_prefix, graph.target) == (3, 2, 4, 6)
    assert (graph.tokens, graph.predicts) == ((" a", " b", " c", " d", " q0", " q1", ":"), " Tokyo")
    assert all(
        edge.heads[0][1] == edge.weight == max(w for _, w in edge.heads) for edge in graph.edges
    )


def test_a_weight_equal_to_eps_is_no_edge():
    trace = trace_of({(0, 0, 6, 0): 0.5, (0, 0, 6, 1): 0.25}, n_layers=1)
    assert set(weights(rl.routing_graph(trace, eps=0.25).edges)) == {(0, 6, 0)}
    assert rl.routing_graph(trace, eps=0.5).n_edges == 0


def test_the_default_threshold_is_one_over_the_prefix_length():
    assert rl.routing_graph(hand_trace()).eps == 1 / N_PREFIX
    assert rl.routing_graph(hand_trace()) == rl.routing_graph(hand_trace(), eps=0.25)


def test_attention_to_oneself_and_rows_past_the_target_are_left_out():
    trace = trace_of({(0, 0, 6, 6): 0.9, (0, 0, 7, 0): 0.8}, n_layers=1, n_rows=4, prompt_row=2)
    assert rl.routing_graph(trace).n_edges == 0
    later = rl.routing_graph(trace, answer_token=1)
    assert (later.target, set(weights(later.edges))) == (7, {(0, 7, 0)})


def test_the_target_moves_to_the_row_of_a_later_answer_token():
    trace = hand_trace()
    edited = trace.pattern.clone()
    edited[2, 0, 3, 2] = 0.9
    trace = replace(trace, pattern=edited)
    first, second = (rl.routing_graph(trace, eps=0.1, answer_token=k) for k in (0, 1))
    assert (first.target, first.predicts) == (6, " Tokyo")
    assert (second.target, second.predicts) == (7, "")
    assert rl.reachable(first, ()).reached.tolist() == [True, True, False, True]
    # Row 7 reads c, and nothing else leads there.
    assert rl.reachable(second, ()).reached.tolist() == [False, False, True, False]


def test_a_trace_without_texts_names_positions():
    graph = rl.routing_graph(replace(hand_trace(), tokens=()), eps=0.1)
    assert graph.tokens == ("#0", "#1", "#2", "#3", "#4", "#5", "#6")
    assert graph.predicts == ""


@laws
@given(st.integers(0, 10**6), st.one_of(st.none(), st.floats(0, 1)))
def test_reachability_is_that_of_the_trace(seed, eps):
    trace = random_trace(seed)
    groups = (payload((0, 1), (2,)), TokenGroup(((1,),), role="bridge"))
    ours = rl.reachable(rl.routing_graph(trace, eps=eps), groups)
    theirs = reachable_in_trace(
        head_max(trace), trace.n_prefix, groups, target_row=trace.prompt_row, eps=eps
    )
    assert torch.equal(ours.reached, theirs.reached)
    assert (ours.any, ours.occurrence, ours.groups) == (
        theirs.any,
        theirs.occurrence,
        theirs.groups,
    )


@laws
@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_adds_edges_and_takes_none(seed, one, other):
    trace = random_trace(seed)
    low, high = (rl.routing_graph(trace, eps=eps) for eps in sorted((one, other)))
    assert set(high.keys) <= set(low.keys)


@laws
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_relabelling_heads_leaves_the_edges_as_they_are(seed, eps):
    trace = random_trace(seed)
    swapped = replace(trace, pattern=trace.pattern.flip(1))
    ours, theirs = (rl.routing_graph(t, eps=eps) for t in (trace, swapped))
    relabelled = {
        key: {1 - head: w for head, w in found.items()}
        for key, found in weights(theirs.edges).items()
    }
    assert relabelled == weights(ours.edges)


@laws
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_json_gives_the_same_graph_to_the_bit(seed, eps):
    trace = random_trace(seed)
    if seed % 2:
        trace = replace(trace, pattern=trace.pattern.double() / 3)
    graph = rl.routing_graph(trace, eps=eps)
    assert RoutingGraph.from_json(graph.to_json()) == graph
    assert hash(RoutingGraph.from_json(graph.to_json())) == hash(graph)


def test_the_saved_file_is_readable_json(tmp_path):
    graph = replace(rl.routing_graph(hand_trace(), eps=0.1), predicts=" 東京 </script>")
    graph.save(tmp_path / "graph.json")
    assert RoutingGraph.load(tmp_path / "graph.json") == graph
    read = json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert (read["n_prefix"], read["target"], read["predicts"]) == (4, 6, " 東京 </script>")
    assert read["edges"][1] == [0, 6, 3, [[1, 0.5]]]


def test_graphs_differ_when_a_weight_a_token_or_the_threshold_does():
    graph = rl.routing_graph(hand_trace(), eps=0.1)
    assert graph == replace(graph)
    assert graph != replace(graph, weights=graph.weights * 1.01)
    assert graph != replace(graph, tokens=("x", *graph.tokens[1:]))
    assert graph != replace(graph, eps=0.11)
    assert graph != "graph"


def test_networkx_gets_a_digraph_with_unlimited_residual_edges():
    import networkx as nx

    graph = rl.routing_graph(hand_trace(), eps=0.1)
    found = graph.to_networkx()
    assert type(found) is nx.DiGraph
    assert found.number_of_nodes() == 4 * 7
    kinds = nx.get_edge_attributes(found, "kind")
    residual = {edge for edge, kind in kinds.items() if kind == "residual"}
    assert residual == {((level, i), (level + 1, i)) for level in range(3) for i in range(7)}
    assert all("capacity" not in found.edges[edge] for edge in residual)
    assert found.edges[(0, 0), (1, 4)] == {
        "kind": "attention",
        "weight": pytest.approx(0.3),
        "heads": pytest.approx({0: 0.3, 1: 0.2}),
        "capacity": 2,
    }
    assert found.nodes[2, 6]["token"] == ":"
    assert found.graph["target"] == (3, 6)
    assert nx.is_directed_acyclic_graph(found)


@laws
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_networkx_finds_a_path_exactly_where_a_token_is_reached(seed, eps):
    import networkx as nx

    graph = rl.routing_graph(random_trace(seed), eps=eps)
    found = graph.to_networkx()
    ways = [nx.has_path(found, (0, t), found.graph["target"]) for t in range(graph.n_prefix)]
    assert rl.reachable(graph, ()).reached.tolist() == ways


def test_an_edge_names_its_ticket_unit_and_its_kv_entry():
    trace = trace_of({(1, 5, 6, 2): 0.5}, n_layers=2, n_heads=6, n_kv_heads=3)
    graph = rl.routing_graph(trace)
    edge = graph.head_edge(0)
    assert (edge.name, edge.weight) == ("L1H5", 0.5)
    assert graph.unit(edge) == (1, 5, 2, 2)
    assert graph.kv_unit(edge) == (1, 2, 2)


def test_taking_edges_out_takes_those_alone():
    graph = rl.routing_graph(hand_trace(), eps=0.1)
    one = graph.without([HeadEdge(2, 0, 6, 5, 0.6)])
    assert one.n_head_edges == 6
    assert dict(one.edges[-1].heads) == pytest.approx({1: 0.3})
    assert graph.without([]) == graph
    with pytest.raises(ValueError, match="1 are not"):
        graph.without([HeadEdge(2, 0, 6, 1, 0.6)])


# --- masks


def masked(trace, keep):
    """The trace as if its weights on evicted entries had been masked, renormalised."""
    group = trace.pattern.shape[1] // keep.n_kv_heads
    pattern = trace.pattern.clone()
    pattern[..., : trace.n_prefix] *= keep.keep.repeat_interleave(group, 1)[:, :, None]
    total = pattern.sum(-1, keepdim=True)
    return replace(trace, pattern=torch.where(total > 0, pattern / total, 0.0))


def test_a_mask_severs_edges_lets_others_appear_and_keeps_the_rest():
    # One row reads a .7, b .2 and itself .1; with a gone b has .67. In layer 1 it reads c .3 by head 1 and d .25 by head 0.
    full = trace_of(
        {
            (0, 0, 4, 0): 0.7,
            (0, 0, 4, 1): 0.2,
            (0, 0, 4, 4): 0.1,
            (1, 1, 4, 2): 0.3,
            (1, 0, 4, 3): 0.25,
        },
        n_layers=2,
        n_rows=1,
    )
    keep = KeepMask.full(2, 2, 4).with_positions([0], keep=False)
    under = masked(full, keep)
    under.pattern[1] = full.pattern[1]
    under.pattern[1, 1, 0, 2] = 0.01  # later layers ask for something else under the mask
    found = rl.severed(
        rl.routing_graph(full, eps=0.22), rl.routing_graph(under, keep, eps=0.22), keep
    )
    assert set(weights(found.severed.edges)) == {(0, 4, 0), (1, 4, 2)}
    assert set(weights(found.evicted.edges)) == {(0, 4, 0)}
    assert weights(found.appeared.edges) == {(0, 4, 1): pytest.approx({0: 2 / 3})}
    assert weights(found.kept.edges) == {(1, 4, 3): {0: 0.25}}
    assert str(found) == "2 severed (1 of them evicted), 1 appeared, 1 kept"


@laws
@given(st.integers(0, 10**6), st.floats(0, 0.6))
def test_severed_and_kept_are_the_full_graph_and_appeared_and_kept_the_other(seed, eps):
    trace = random_trace(seed)
    generator = torch.Generator().manual_seed(seed)
    keep = KeepMask(torch.rand(3, 1, 3, generator=generator) < 0.5)
    full = rl.routing_graph(trace, eps=eps)
    compressed = rl.routing_graph(masked(trace, keep), keep, eps=eps)
    found = rl.severed(full, compressed, keep)
    kept, gone, new = (set(g.keys) for g in (found.kept, found.severed, found.appeared))
    assert (kept | gone, kept | new) == (set(full.keys), set(compressed.keys))
    assert not kept & gone and not kept & new
    assert set(found.evicted.keys) <= gone
    assert found.kept.n_head_edges + found.appeared.n_head_edges == compressed.n_head_edges
    assert all(
        keep.keep[e.layer, 0, e.k_pos] for e in compressed.edges if e.k_pos < compressed.n_prefix
    )


def test_against_itself_nothing_is_severed():
    graph = rl.routing_graph(hand_trace(), eps=0.1)
    found = rl.severed(graph, graph)
    assert (found.severed.n_edges, found.appeared.n_edges, found.kept) == (0, 0, graph)
    assert found.evicted is None


def test_graphs_of_different_rows_or_thresholds_are_not_set_side_by_side():
    graph = rl.routing_graph(hand_trace(), eps=0.1)
    with pytest.raises(ValueError, match=r"same eps; got 0.1 and 0.2"):
        rl.severed(graph, rl.routing_graph(hand_trace(), eps=0.2))
    other = replace(graph, tokens=(*graph.tokens[:-1], "other"))
    with pytest.raises(ValueError, match="same tokens"):
        rl.severed(graph, other)
    with pytest.raises(ValueError, match=r"got \(3, 2, 5\)"):
        rl.severed(graph, graph, KeepMask.full(3, 2, 5))


# --- what is refused


def test_a_trace_without_all_rows_is_refused():
    trace = hand_trace()
    prompt = replace(trace, pattern=trace.pattern[:, :, 2:3, :7], row_offset=2, prompt_row=0)
    with pytest.raises(ValueError, match="trace=True"):
        rl.routing_graph(prompt)
    with pytest.raises(ValueError, match="trace=True"):
        rl.widest_path(prompt, [payload((0,))])


@pytest.mark.parametrize("eps", [-0.1, float("nan")])
def test_a_threshold_that_is_no_weight_is_refused(eps):
    with pytest.raises(ValueError, match="at least 0"):
        rl.routing_graph(hand_trace(), eps=eps)


@pytest.mark.parametrize("shape", [(2, 2, 4), (3, 2, 5), (3, 4, 4), (3, 0, 4)])
def test_a_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"keep is \[n_layers, n_kv_heads, n_prefix\]"):
        rl.routing_graph(hand_trace(), KeepMask(torch.ones(shape, dtype=torch.bool)))


def test_a_mask_the_trace_was_not_made_under_is_refused():
    keep = KeepMask.full(3, 1, 4).with_positions([3], keep=False, layers=[0])
    for edit in (keep, AttentionEdit(keep=keep)):
        with pytest.raises(ValueError, match="made under another mask"):
            rl.routing_graph(hand_trace(), edit)
    # Entries that no row reads may be evicted or not.
    rl.routing_graph(hand_trace(), KeepMask.full(3, 1, 4).with_positions([3], False, layers=[1]))
    rl.routing_graph(hand_trace(), AttentionEdit())


def test_options_that_do_not_fit_are_refused():
    trace = hand_trace()
    with pytest.raises(ValueError, match="rows='all' needs context"):
        rl.routing_graph(trace, rows="all")
    for token in (-1, 2):
        with pytest.raises(ValueError, match=r"answer_token lies in \[0, 2\)"):
            rl.routing_graph(trace, answer_token=token)
    with pytest.raises(ValueError, match="one text for each"):
        rl.routing_graph(replace(trace, tokens=("a",)))
    broken = trace.pattern.clone()
    broken[0, 0, 0, 0] = float("nan")
    with pytest.raises(ValueError, match="NaN"):
        rl.routing_graph(replace(trace, pattern=broken))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("format"), "to_json wrote"),
        (lambda d: d.update(format="routelens.routing_graph/2"), "the format is"),
        (lambda d: d.update(edges=[[0, 4]]), "an edge is"),
        (lambda d: d.pop("edges"), "an edge is"),
        (lambda d: d.pop("eps"), "the fields are"),
        (lambda d: d.update(target=2), "row after the prefix"),
        (lambda d: d.update(edges=[[0, 2, 0, [[0, 0.3]]]]), "the prefix does not read"),
        (lambda d: d.update(edges=[[0, 4, 5, [[0, 0.3]]]]), "k_pos < q_pos"),
        (lambda d: d.update(edges=[[3, 4, 0, [[0, 0.3]]]]), r"below \[3, 2, 7, 7\]"),
        (lambda d: d.update(edges=[[0, 4, 0, [[0, 0.1]]]]), "above eps"),
        (lambda d: d.update(edges=[[0, 4, 0, [[0, 0.3], [0, 0.2]]]]), "twice"),
    ],
)
def test_json_of_no_graph_is_refused(change, message):
    data = json.loads(rl.routing_graph(hand_trace(), eps=0.1).to_json())
    change(data)
    with pytest.raises(ValueError, match=message):
        RoutingGraph.from_json(json.dumps(data))


def test_other_text_and_missing_files_are_refused(tmp_path):
    for text in ("", "[]", "{}", "graph"):
        with pytest.raises(ValueError, match="to_json wrote"):
            RoutingGraph.from_json(text)
    with pytest.raises(ValueError, match="no file"):
        RoutingGraph.load(tmp_path / "none.json")


def test_a_graph_without_edges_goes_everywhere_a_graph_goes():
    graph = rl.routing_graph(made_trace(torch.zeros(2, 2, 1, 3), 2))
    groups = [payload((0,))]
    assert (graph.n_edges, graph.edges) == (0, ())
    assert RoutingGraph.from_json(graph.to_json()) == graph
    assert rl.reachable(graph, groups).any is False
    assert rl.best_routes(graph, groups, 3) == ()
    assert rl.min_cut(graph, groups).size == 0
    assert rl.severed(graph, graph).kept == graph
