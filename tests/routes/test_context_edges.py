"""Graphs of tiny random models: the prefill's patterns recomputed, masks seen in the graph, and reachability against interventions."""

from dataclasses import replace

import pytest
import torch
from conftest import skip_without
from graph_cases import payload
from tiny_models import token_ids

import routelens as rl
from routelens.models import adapter_of
from routelens.routes import context

N = 18
QUESTION = token_ids(5, seed=1)
VARIANTS = ["llama", "qwen3", "mistral", "gemma2", "gemma2_cap2"]


def prefilled(tiny, variant, kind, n=N):
    return rl.prefill(tiny(variant, kind), token_ids=token_ids(n))


def traced(cache, keep=None, **options):
    return rl.answer(
        cache, keep, question_ids=QUESTION, max_new_tokens=3, trace=True, **options
    ).trace


def random_mask(cache, seed, share=0.5):
    shape = cache.full_mask.keep.shape
    generator = torch.Generator().manual_seed(seed)
    return rl.KeepMask(torch.rand(shape, generator=generator) < share)


def own_patterns(cache):
    """Each layer's pattern over the prefix, from the model's own forward: [n_layers, n_heads, n, n]."""
    found = {}

    def remember(pattern, hook):
        found[hook.name] = pattern[0].detach()

    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(len(cache.keys))]
    with cache.model.hooks(fwd_hooks=[(name, remember) for name in names]):
        adapter_of(cache.model).plain_logits(cache.token_ids[None])
    return torch.stack([found[name] for name in names])


def dense(edges):
    """Edges back in a dense pattern."""
    pattern = torch.zeros(edges.n_layers, edges.n_heads, edges.n_prefix, edges.n_prefix)
    pattern[tuple(edges.head_edges.T)] = edges.weights.float()
    return pattern


def without_self(pattern):
    return pattern * ~torch.eye(pattern.shape[-1], dtype=torch.bool)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("block", [1, 100, 1 << 22])
def test_context_edges_are_the_pattern_of_the_models_own_forward(
    tiny, kind, variant, block, monkeypatch
):
    monkeypatch.setattr(context, "BLOCK", block)
    cache = prefilled(tiny, variant, kind)
    expected = without_self(own_patterns(cache))
    everything = dense(rl.context_edges(cache, eps=0))
    assert torch.allclose(everything, expected, atol=1e-5)
    # At a threshold, all and only what lies above it; a weight within rounding of it may fall on either side.
    for eps in (None, 0.2):
        edges = rl.context_edges(cache, eps=eps)
        assert edges.eps == (1 / N if eps is None else eps)
        above = expected * (expected > edges.eps)
        close = (expected - edges.eps).abs() < 1e-5
        assert torch.allclose(
            dense(edges).masked_fill(close, 0), above.masked_fill(close, 0), atol=1e-5
        )


@pytest.mark.parametrize("variant", ["llama3_rope", "llama_yarn", "llama_one_kv_head"])
def test_so_are_those_of_stretched_rotary_and_of_a_single_kv_head(tiny, variant):
    cache = prefilled(tiny, variant, "bridge", n=60)
    expected = without_self(own_patterns(cache))
    assert torch.allclose(dense(rl.context_edges(cache, eps=0)), expected, atol=1e-5)


def test_so_are_those_of_learned_positions():
    skip_without("hooked")
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = HookedTransformerConfig(
        n_layers=2,
        d_model=16,
        n_ctx=64,
        d_head=8,
        n_heads=2,
        d_vocab=300,
        attn_only=True,
        device="cpu",
        seed=0,
    )
    cache = rl.prefill(
        rl.load_model(HookedTransformer(config).eval()), token_ids=token_ids(N) % 300
    )
    expected = without_self(own_patterns(cache))
    assert torch.allclose(dense(rl.context_edges(cache, eps=0)), expected, atol=1e-5)


def test_questions_that_only_inform_scores_are_no_part_of_the_graph(tiny, kind):
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(tiny("llama", kind), item, regime="score_only")
    assert cache.keys[0].shape[1] > cache.n_prefix
    expected = without_self(own_patterns(cache))
    assert torch.allclose(dense(rl.context_edges(cache, eps=0)), expected, atol=1e-5)


def test_the_strongest_head_stands_for_all(tiny, kind):
    cache = prefilled(tiny, "gemma2", kind)
    every, strongest = (rl.context_edges(cache, eps=0, strongest=s) for s in (False, True))
    assert torch.equal(dense(strongest).amax(1), dense(every).amax(1))
    assert ((dense(strongest) > 0).sum(1) <= 1).all()


def test_a_threshold_below_zero_is_refused(tiny, kind):
    with pytest.raises(ValueError, match="context_edges: eps"):
        rl.context_edges(prefilled(tiny, "llama", kind), eps=-1.0)


# --- rows = "all"


def naive_reach(patterns, suffix, eps):
    """Which prefix tokens reach the last suffix row, by walking dense patterns of all rows layer by layer."""
    n_layers, n_positions = suffix.shape[0], suffix.shape[-1]
    live = {n_positions - 1}
    for layer in reversed(range(n_layers)):
        rows = torch.cat([patterns[layer].amax(0), suffix[layer].amax(0)[:, :N]])
        after = suffix[layer].amax(0)[:, N:]
        read = {j for i in live for j in range(min(i, N)) if rows[i, j] > eps}
        read |= {N + j for i in live if i >= N for j in range(i - N) if after[i - N, j] > eps}
        live |= read
    return [t in live for t in range(N)]


@pytest.mark.parametrize("variant", ["llama", "mistral"])
@pytest.mark.parametrize("eps", [0.1, 0.3, 0.5])
def test_with_all_rows_context_tokens_carry_the_evidence_on(tiny, kind, variant, eps):
    cache = prefilled(tiny, variant, kind)
    keep = random_mask(cache, 0, share=0.2)
    trace = traced(cache, keep)
    graph = rl.routing_graph(trace, keep, eps=eps, rows="all", context=cache)
    suffix = trace.pattern[:, :, : len(QUESTION), : N + len(QUESTION)]
    own = dense(rl.context_edges(cache, eps=0))
    assert rl.reachable(graph, ()).reached.tolist() == naive_reach(own, suffix, eps)
    narrow = rl.routing_graph(trace, keep, eps=eps)
    assert set(narrow.keys) <= set(graph.keys)
    assert graph.n_head_edges == narrow.n_head_edges + len(rl.context_edges(cache, eps=eps).weights)
    assert (rl.reachable(narrow, ()).reached <= rl.reachable(graph, ()).reached).all()
    assert rl.RoutingGraph.from_json(graph.to_json()) == graph


def test_evidence_read_only_by_another_context_token_is_reachable_with_all_rows_alone(tiny, kind):
    """Leakage (D16) as a route: evicted evidence whose copy is read."""
    cache = prefilled(tiny, "llama", kind)
    keep = cache.full_mask.with_positions([5], keep=False)
    trace = traced(cache, keep)
    group = [payload((5,))]
    assert rl.reachable(rl.routing_graph(trace, keep, eps=0), group).any is False
    leaked = rl.routing_graph(trace, keep, eps=0, rows="all", context=cache)
    assert rl.reachable(leaked, group).any is True
    (route,) = rl.best_routes(leaked, group, 1)
    assert route.edges[0].k_pos == 5 and route.edges[0].q_pos < N
    cut = rl.min_cut(leaked, group, cuttable="prefix")
    assert all(unit[2] >= 0 and unit[3] != 5 for unit in cut.units)
    assert rl.reachable(leaked.without(cut.edges), group).any is False


@pytest.mark.parametrize("rows", ["decode", "all"])
def test_the_widest_path_of_a_model_is_the_threshold_of_its_graphs(tiny, kind, rows):
    cache = prefilled(tiny, "llama", kind)
    keep = random_mask(cache, 3, share=0.15)
    trace = traced(cache, keep)
    options = {"rows": rows, "context": cache if rows == "all" else None}
    group = [payload((2, 7), (11,))]
    widest = rl.widest_path(trace, group, **options)
    for factor, reached in ((1 - 1e-6, True), (1, False)):
        graph = rl.routing_graph(trace, eps=widest.any * factor, **options)
        assert rl.reachable(graph, group).any is reached
    assert widest.route.width == widest.any > 0


def test_prepared_context_edges_serve_every_threshold_from_theirs_on(tiny, kind):
    cache = prefilled(tiny, "llama", kind)
    trace, edges = traced(cache), rl.context_edges(cache, eps=0.05)
    ours = rl.routing_graph(trace, eps=0.2, rows="all", context=edges)
    assert ours == rl.routing_graph(trace, eps=0.2, rows="all", context=cache)
    with pytest.raises(ValueError, match="its eps or a lower one"):
        rl.routing_graph(trace, eps=0.01, rows="all", context=edges)
    with pytest.raises(ValueError, match="the trace's own cache"):
        shorter = rl.context_edges(prefilled(tiny, "llama", kind, n=N - 1), eps=0.05)
        rl.routing_graph(trace, eps=0.2, rows="all", context=shorter)
    with pytest.raises(ValueError, match="rows='decode' takes none"):
        rl.routing_graph(trace, context=cache)


# --- masks and interventions


@pytest.mark.parametrize("variant", ["llama", "gemma2"])
def test_no_edge_leads_from_an_evicted_entry_and_keep_all_is_the_full_graph(tiny, kind, variant):
    cache = prefilled(tiny, variant, kind)
    full = rl.routing_graph(traced(cache), eps=0.01)
    assert rl.routing_graph(traced(cache, cache.full_mask), cache.full_mask, eps=0.01) == full
    keep = random_mask(cache, 1)
    graph = rl.routing_graph(traced(cache, keep), keep, eps=0)
    entries = [graph.kv_unit(graph.head_edge(row)) for row in range(graph.n_head_edges)]
    assert all(keep.keep[entry] for entry in entries if entry[2] < N)
    with pytest.raises(ValueError, match="made under another mask"):
        rl.routing_graph(traced(cache), keep)
    found = rl.severed(full, rl.routing_graph(traced(cache, keep), keep, eps=0.01), keep)
    assert found.severed.n_edges and found.appeared.n_edges and found.kept.n_edges
    gone = [graph.kv_unit(found.evicted.head_edge(r)) for r in range(found.evicted.n_head_edges)]
    assert not any(keep.keep[entry] for entry in gone)


def test_a_token_is_reached_at_eps_0_exactly_when_its_kv_can_change_the_answer(tiny, kind):
    """Proposition 2, by intervention: another key and value at one position, in every layer, under a sparse mask."""
    cache = prefilled(
        tiny, "mistral", kind
    )  # a window of 12: a kept entry may still be out of sight
    found = set()
    for seed in range(3):
        keep = random_mask(cache, seed, share=0.1)
        graph = rl.routing_graph(traced(cache, keep), keep, eps=0)
        reached = rl.reachable(graph, ()).reached.tolist()
        row = len(QUESTION) - 1
        before = rl.forced_logits(cache, keep, QUESTION)[row]
        for position in range(N):
            keys, values = (
                tuple(x.index_fill(1, torch.tensor([position]), 0.7) for x in part)
                for part in (cache.keys, cache.values)
            )
            changed = rl.forced_logits(replace(cache, keys=keys, values=values), keep, QUESTION)[
                row
            ]
            assert reached[position] == (not torch.equal(before, changed))
        found |= set(reached)
    assert found == {True, False}


def test_cutting_the_edges_that_a_minimum_cut_names_makes_the_evidences_values_irrelevant(
    tiny, kind
):
    cache = prefilled(tiny, "llama", kind)
    keep = random_mask(cache, 2, share=0.3)
    position = int(keep.keep.sum((0, 1)).argmax())
    graph = rl.routing_graph(traced(cache, keep), keep, eps=0)
    cut = rl.min_cut(graph, [position], cuttable="prefix")
    gate = torch.ones(4, 4, len(QUESTION), N)
    gate[tuple(torch.tensor(cut.units).T)] = 0
    other = tuple(v.index_fill(1, torch.tensor([position]), 0.7) for v in cache.values)
    swapped = replace(cache, values=other)

    def logits(which, gate=None):
        edit = rl.AttentionEdit(keep=keep, gate=gate)
        return rl.forced_logits(which, edit, QUESTION)[-1]

    assert not torch.equal(logits(cache), logits(swapped))
    assert torch.equal(logits(cache, gate), logits(swapped, gate))
    spared = gate.clone()
    spared[cut.units[0]] = 1
    assert not torch.equal(logits(cache, spared), logits(swapped, spared))


def test_a_real_item_prints_its_routes(tiny, kind):
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(tiny("qwen2", kind), item)
    answer = rl.answer(cache, max_new_tokens=4, trace=True)
    graph = rl.routing_graph(answer.trace)
    assert len(graph.tokens) == graph.target + 1
    assert graph.predicts == rl.model_info(cache.model).tokenizer.decode([answer.token_ids[0]])
    for route in rl.best_routes(graph, cache.groups, 3):
        assert str(route).count("←") == 2 * len(route.edges)
        assert str(route).startswith(graph.predicts.strip() or "'")
        assert route.edges[0].k_pos in cache.answer_positions
    assert rl.reachable(graph, cache.groups).groups in (True, False)
