"""Planted routes: what was worked out on paper is what every subset, tried, shows; and the reference itself is right."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from brute_force import Lattice, brute_force, context_units, minimal_sets
from conftest import skip_without

import routelens as rl
from routelens.models.planted import KINDS, planted

UNITS = ("edge", "kv", "token")
RIVALRIES = ("inhibitor", "standoff")


@pytest.fixture(autouse=True)
def hooked_transformer():
    skip_without("hooked")


def prefilled(kind, seed=0, **sizes):
    it = planted(kind, seed, **sizes)
    return it, rl.prefill(it.model, it.item)


def gates(cache, edges, *, n_rows=None, kept=True):
    """The edit that cuts every edge onto the context but these (or, ``kept=False``, these alone)."""
    info = rl.model_info(cache.model)
    n_rows = n_rows or len(cache.prompt.suffix_ids) + 2
    gate = torch.full((info.n_layers, info.n_heads, n_rows, cache.n_prefix), float(not kept))
    for edge in edges:
        gate[edge] = float(kept)
    return rl.AttentionEdit(gate=gate)


def only(cache, edges):
    """The edit that masks every edge onto the context but these before the softmax."""
    return rl.AttentionEdit(bias=gates(cache, edges).gate.log())


def mean_margin(answer):
    return sum(answer.margins) / len(answer.margins)


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_full_cache_answers_with_the_evidence_located(kind, size):
    for seed in range(3):
        it, cache = prefilled(kind, seed, size=size)
        answer = rl.answer(cache)
        assert answer.text == it.item.answer
        assert answer.outcome == "correct"
        assert answer.stopped
        assert cache.evidence.status == "located"
        assert min(cache.answer_positions) >= 4
        assert cache.n_prefix == len(it.item.context.split())
        assert len(cache.prompt.suffix_ids) == len(it.item.question.split())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_the_route_on_paper_is_what_trying_all_subsets_finds(kind, seed):
    it, cache = prefilled(kind, seed)
    for unit in UNITS:
        lattice = brute_force(cache, context_units(cache, unit))
        assert lattice.minimal == set(it.routes[unit])
        assert lattice.one_minimal == set(it.routes[unit]) | set(it.traps[unit])
        assert lattice.slack > 0.05, (
            "no subset is near enough to the criterion for rounding to matter"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_heads_that_share_kv_entries_and_idle_heads_change_no_route(kind):
    """Three times as many heads as the kind needs or more, in one group: entries are shared, and two of three heads idle."""
    it, cache = prefilled(kind, 2, n_heads=6, n_kv_heads=1)
    assert rl.model_info(it.model).n_kv_heads == 1
    lattice = brute_force(cache, context_units(cache, "kv"))
    assert lattice.minimal == set(it.routes["kv"])
    assert lattice.one_minimal == set(it.routes["kv"]) | set(it.traps["kv"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_route_is_sufficient_and_minimal_with_everything_else_cut(kind):
    for seed in range(2):
        it, cache = prefilled(kind, seed, size="large")
        units = sorted(frozenset().union(*it.routes["edge"], *it.traps["edge"]))
        rest = [u for u in context_units(cache, "edge") if u not in units]
        rest = [rest[i] for i in np.random.default_rng(seed).permutation(len(rest))]
        lattice = brute_force(cache, [*units, *rest][:8], rest="ablated")
        assert lattice.minimal == set(it.routes["edge"])
        assert lattice.one_minimal == set(it.routes["edge"]) | set(it.traps["edge"])
        assert lattice.slack > 0.05


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(RIVALRIES)))
def test_entries_beside_a_large_route_neither_help_nor_harm(kind):
    it, cache = prefilled(kind, 3, size="large")
    full = mean_margin(rl.answer(cache))
    generator = np.random.default_rng(0)
    units = context_units(cache, "edge")
    outside = [u for u in units if u not in frozenset().union(*it.routes["edge"])]
    some = [outside[i] for i in generator.permutation(len(outside))[: len(outside) // 2]]
    route, nothing, everything_else = rl.answer_many(
        cache, [gates(cache, edges) for edges in ([*it.routes["edge"][0], *some], some, outside)]
    )
    assert route.text == it.item.answer
    assert mean_margin(route) > 0.5 * full
    for without in (nothing, everything_else):
        assert (without.text == it.item.answer) == (kind == "by_heart")


def test_the_reference_agrees_with_answers_and_with_plain_hooks():
    generator = np.random.default_rng(0)
    for kind in ("two_hop", "or", "standoff"):
        _, cache = prefilled(kind, 1)
        units = context_units(cache, "edge")
        lattice = brute_force(cache, units)
        full = rl.answer(cache)
        likely = np.flatnonzero(lattice.sufficient)
        indices = [*generator.choice(likely, 12), *generator.integers(0, len(lattice.distance), 12)]
        subsets = [[u for i, u in enumerate(units) if int(index) >> i & 1] for index in indices]
        edits = [gates(cache, subset) for subset in subsets]
        for index, subset, answer in zip(
            indices, subsets, rl.answer_many(cache, edits), strict=True
        ):
            stands = answer.token_ids == full.token_ids
            stands = stands and mean_margin(answer) >= 0.5 * mean_margin(full)
            assert stands == lattice.says(subset) == lattice.sufficient[index]
        slow = [rl.answer(cache, edit, backend="hooks").token_ids for edit in edits[:4]]
        assert slow == [answer.token_ids for answer in rl.answer_many(cache, edits[:4])]


def test_the_references_bookkeeping_on_a_lattice_worked_by_hand():
    """Of a, b, c: sufficient are {a}, {a, b, c}, {b, c}, and nothing else."""
    distance = np.full(8, -1.0)
    distance[[0b001, 0b111, 0b110]] = 0.25
    lattice = Lattice((("a",), ("b",), ("c",)), distance)
    a, b, c = ("a",), ("b",), ("c",)
    assert lattice.minimal == {frozenset([a]), frozenset([b, c])}
    assert lattice.one_minimal == {frozenset([a]), frozenset([b, c])}
    assert lattice.slack == 0.25
    distance[0b110] = -0.5
    assert lattice.minimal == {frozenset([a])}
    assert lattice.one_minimal == {frozenset([a]), frozenset([a, b, c])}
    assert lattice.says([a]) and not lattice.says([c, b])
    distance[0] = 1.0
    assert lattice.minimal == {frozenset()}


def test_adding_the_inhibitor_breaks_the_answer_and_one_sweep_is_not_minimal():
    for seed in range(4):
        it, cache = prefilled("inhibitor", seed)
        words = it.item.context.split()
        (route,) = it.routes["edge"]
        at = {
            mark: (*min(route)[:3], next(i for i, w in enumerate(words) if mark in w))
            for mark in "!~"
        }
        lattice = brute_force(cache, context_units(cache, "edge"))
        assert lattice.says(route)
        assert not lattice.says([*route, at["!"]])
        assert lattice.says([*route, at["~"]])
        assert lattice.says([*route, at["!"], at["~"]])
        # One elimination sweep over everything, remedy first: it keeps an entry that is not needed.
        kept = list(lattice.units)
        for unit in [at["~"], *(u for u in lattice.units if u != at["~"])]:
            without = [u for u in kept if u != unit]
            kept = without if lattice.says(without) else kept
        assert set(kept) == {*route, at["~"]}


def test_a_standoff_is_one_minimal_at_three_times_the_smallest_size():
    it, _ = prefilled("standoff", 0)
    (route,), (trap,) = it.routes["edge"], it.traps["edge"]
    assert len(route) == 1 and route < trap and len(trap) == 3


@pytest.mark.parametrize("seed", range(2))
def test_under_renorm_and_margin_0_one_edge_of_a_two_hop_route_suffices_because_the_mask_points_at_the_answer(
    seed,
):
    """Its row has nothing else to look at: half of its attention falls on the link whatever it asks for."""
    it, cache = prefilled("two_hop", seed)
    units = context_units(cache, "edge")
    (route,) = it.routes["edge"]
    second = max(route)
    leak = rl.answer(cache, only(cache, [second]))
    assert leak.text == it.item.answer
    assert 0.3 < mean_margin(leak) / mean_margin(rl.answer(cache)) < 0.5
    assert frozenset([second]) in minimal_sets(cache, units, ablation="renorm", margin=0.0)
    assert not brute_force(cache, units, ablation="renorm", margin=0.5).says([second])
    assert minimal_sets(cache, units, ablation="zero", margin=0.0) == {route}


@pytest.mark.parametrize("seed", range(3))
def test_the_sink_takes_a_heads_attention_and_gives_nothing(seed):
    it, cache = prefilled("sink", seed)
    ((layer, head, row, _),) = it.routes["edge"][0]
    trace = rl.answer(cache, trace=True).trace
    assert trace.pattern[layer, 1 - head, row, 0] > 0.999
    full = rl.forced_logits(cache, None, cache.prompt.suffix_ids)
    cut = gates(cache, [(layer, 1 - head, row, pos) for pos in range(8)], kept=False)
    assert (rl.forced_logits(cache, cut, cache.prompt.suffix_ids) - full).abs().max() < 5e-3


def test_a_match_is_sharp_and_still_soft():
    for seed in range(3):
        it, cache = prefilled("match_and_copy", seed, size="large")
        ((layer, head, row, pos),) = it.routes["edge"][0]
        weights = rl.answer(cache, trace=True).trace.pattern[layer, head, row, : cache.n_prefix]
        assert 0.99 < weights[pos] < 1.0
        assert (weights > 0).all()


def test_copies_of_a_fact_are_as_many_disjoint_routes():
    for n_copies in (2, 3, 4):
        it, cache = prefilled("or", 1, n_copies=n_copies)
        lattice = brute_force(cache, context_units(cache, "edge"))
        assert lattice.minimal == set(it.routes["edge"])
        assert len(lattice.minimal) == n_copies


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"by_heart"}))
def test_another_value_at_the_evidence_is_said_through_the_same_route(kind):
    it, cache = prefilled(kind, 1, size="large")
    old, new = it.item.answer.split()[0], it.values[0]
    who = it.item.question.split()[-1].rstrip("?")
    words = it.item.context.split()
    pairs = zip(words, [None, *words], strict=False)
    mine = [f"{who}=", f"{who}+"] if kind != "two_hop" else [it_bridge(it) + "="]
    swapped = " ".join(
        word.replace(old, new) if word.startswith(tuple(mine)) or before == who else word
        for word, before in pairs
    )
    other = rl.Item(
        context=swapped, question=it.item.question, answer=it.item.answer.replace(old, new)
    )
    edited = rl.prefill(it.model, other)
    assert rl.answer(edited).outcome == "correct"
    for route in it.routes["edge"]:
        assert rl.answer(edited, gates(edited, route)).outcome == "correct"


def it_bridge(it):
    """The person in the middle of a chain."""
    (start, end) = next(g for g in it.item.required_groups if g.role == "bridge").occurrences[0]
    return it.item.context[start:end]


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"by_heart", "relay"}))
def test_another_question_is_answered_by_the_full_cache_and_not_with_the_route_alone(kind):
    it, cache = prefilled(kind, 1, size="large")
    assert it.others
    for other in it.others:
        assert rl.answer(cache, item=other).outcome == "correct"
        alone = rl.answer(cache, gates(cache, it.routes["edge"][0]), item=other)
        assert alone.text == "unknown"


def test_a_relay_answers_with_the_evidence_evicted_and_not_from_another_text():
    for size in ("small", "large"):
        it, cache = prefilled("relay", 0, size=size)
        evicted = cache.full_mask.with_positions(cache.answer_positions, keep=False)
        assert rl.answer(cache, evicted).outcome == "correct"
        start, end = it.item.required_groups[0].occurrences[0]
        text = f"{it.item.context[: start - 1]} {it.item.context[end:]}"
        deleted = rl.Item(context=text, question=it.item.question, answer=it.item.answer)
        assert rl.answer(rl.prefill(it.model, deleted)).text == "unknown"


def test_what_is_known_by_heart_needs_no_route_and_keeps_to_its_answer():
    it, cache = prefilled("by_heart", 0)
    assert it.routes["edge"] == (frozenset(),)
    assert rl.answer(cache, gates(cache, [])).outcome == "correct"
    swapped = it.item.context.replace(it.item.answer, it.values[0])
    other = replace(it.item, context=swapped, answer=it.values[0], required_groups=())
    assert rl.answer(rl.prefill(it.model, other)).text == it.item.answer


def test_a_seed_gives_the_same_model_and_another_seed_other_places_and_words():
    one, again = planted("two_hop", 5, size="large"), planted("two_hop", 5, size="large")
    assert one.item == again.item
    assert one.routes == again.routes
    assert rl.model_info(one.model).revision == rl.model_info(again.model).revision
    state = again.model.state_dict()
    assert all(torch.equal(weight, state[name]) for name, weight in one.model.state_dict().items())
    some = [planted("match_and_copy", seed, size="large") for seed in range(8)]
    assert len({it.item.answer for it in some}) > 4
    assert len({min(it.routes["edge"][0])[3] for it in some}) > 4
    assert len({min(it.routes["edge"][0])[:2] for it in some}) > 4


def test_small_has_at_most_16_units_and_large_thousands():
    for kind in KINDS:
        _, cache = prefilled(kind)
        assert len(context_units(cache, "edge")) <= 16
        assert len(context_units(cache, "kv")) <= 16
    _, cache = prefilled("match_and_copy", size="large", n_context=512)
    assert len(context_units(cache, "kv")) == 4096
    assert len(context_units(cache, "edge", n_rows=1)) == 8192


@pytest.mark.parametrize(
    ("kind", "sizes", "words"),
    [
        ("xor", {}, "kind is one of match_and_copy"),
        ("or", {"size": "huge"}, "size is one of small, large"),
        ("or", {"n_words": 3}, "got n_words"),
        ("or", {"n_context": 5}, "at least 6 words; got 5"),
        ("two_hop", {"n_layers": 1}, "needs 2 layers"),
        ("and", {"n_heads": 1}, "2 heads a layer"),
        ("and", {"n_heads": 4, "n_kv_heads": 3}, "must divide"),
        ("and", {"n_names": 3}, "n_names between"),
        ("or", {"n_others": 23}, "n_names between"),
        ("or", {"n_question": 0}, "n_question is at least 1"),
        ("or", {"n_copies": 1}, "n_copies between 2 and 4"),
    ],
)
def test_sizes_that_cannot_hold_the_kind_are_refused(kind, sizes, words):
    with pytest.raises(ValueError, match=words):
        planted(kind, **sizes)


def test_too_many_units_or_the_same_one_twice_are_no_lattice():
    _, cache = prefilled("match_and_copy")
    for units in ([], [(0, 0, 0, 1)] * 2, [(0, 0, 0, pos) for pos in range(17)]):
        with pytest.raises(ValueError, match="1 to 16 different units"):
            brute_force(cache, units)
