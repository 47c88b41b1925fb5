"""Laws that hold for every policy of the registry, and for wrappers around each other's scores."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import EVERY_POLICY, REGISTERED, Layers, label, make_cache, make_layer

from routelens.eviction import evict, evict_many
from routelens.policies import (
    AdaKV,
    Budget,
    Chunk,
    Full,
    Policy,
    Random,
    Selection,
    make_policy,
    n_kept,
)
from routelens.types import LayerState

RATIOS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.99)
SIX_TOKENS = [
    make_policy("snapkv", window_size=64, kernel_size=7),
    make_policy("chunk", chunk_length=512),
    make_policy("chunk", chunk_length=512, policy=make_policy("snapkv", kernel_size=7)),
    make_policy("adakv", policy="snapkv"),
]

every_policy = pytest.mark.parametrize("policy", EVERY_POLICY, ids=label)


def is_random(policy: Policy) -> bool:
    return isinstance(policy, Random) or isinstance(getattr(policy, "policy", None), Random)


ONE_ORDER = [policy for policy in EVERY_POLICY if not isinstance(policy, Full | Chunk)]
DETERMINISTIC = [policy for policy in EVERY_POLICY if not is_random(policy)]


def entries_due(policy: Policy, ratio: float, n: int, n_kv_heads: int, rounding: str) -> int:
    """How many entries of a layer stay, from each policy's own budget law."""
    if isinstance(policy, Full) or (isinstance(policy, Chunk) and isinstance(policy.policy, Full)):
        return n * n_kv_heads
    lengths = [n]
    if isinstance(policy, Chunk):
        lengths = [
            min(policy.chunk_length, n - start) for start in range(0, n, policy.chunk_length)
        ]
    return n_kv_heads * sum(n_kept(length, ratio, rounding) for length in lengths)


def shares_between_heads(policy: Policy) -> bool:
    inner = policy.policy if isinstance(policy, Chunk) else policy
    return isinstance(inner, AdaKV)


@every_policy
@pytest.mark.parametrize("n_prefix", [1, 6, 40, 97])
@pytest.mark.parametrize("rounding", ["floor", "kvpress"])
def test_exactly_the_budget_is_kept(policy, n_prefix, rounding):
    cache = make_cache(n_prefix, n_layers=2)
    masks = evict_many(cache, policy, compression_ratios=RATIOS, rounding=rounding)
    for ratio, mask in zip(RATIOS, masks, strict=True):
        due = entries_due(policy, ratio, n_prefix, 3, rounding)
        assert mask.keep.sum(dim=(1, 2)).tolist() == [due] * 2
        if not shares_between_heads(policy):
            assert (mask.keep.sum(dim=2) == due // 3).all()


@every_policy
def test_an_absolute_budget_is_kept_exactly(policy):
    ranking = policy.rank_layer(make_layer(40))
    for budget in (1, 2, 8, 39, 40, 64):
        due = 40 if isinstance(policy, Full) else min(40, budget)
        assert ranking.select(Budget(entries=budget)).keep.sum() == 3 * due


@every_policy
def test_a_ratio_of_zero_keeps_everything(policy):
    for rounding in ("floor", "kvpress"):
        mask = evict(make_cache(40), policy, compression_ratio=0, rounding=rounding)
        assert mask.keep.all() and mask.attainable and mask.compression_ratio == 0
    assert evict(make_cache(40), policy, budget=40).keep.all()


@every_policy
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), n_prefix=st.integers(1, 40), data=st.data())
def test_kept_sets_nest_as_the_ratio_grows(policy, seed, n_prefix, data):
    ratios = sorted(data.draw(st.lists(st.floats(0, 0.999), min_size=2, max_size=4)))
    budgets = list(range(n_prefix, 0, -1))
    cache = make_cache(n_prefix, n_layers=1, seed=seed)
    for grid in ({"compression_ratios": ratios}, {"budgets": budgets}):
        masks = evict_many(cache, policy, **grid)
        for larger, smaller in zip(masks, masks[1:], strict=False):
            assert not (smaller.keep & ~larger.keep).any()


@pytest.mark.parametrize("policy", ONE_ORDER, ids=label)
def test_protected_entries_are_the_last_to_go(policy):
    layer = make_layer(40)
    protected = policy.protected(layer)
    for budget in (1, 2, 3, 4, 5, 8, 39, 40):
        keep, attainable = policy.keep_layer(layer, budget=budget)
        assert attainable == (int(protected.sum()) <= budget)
        if attainable:
            assert keep[:, protected].all()
        elif not shares_between_heads(policy):
            assert not keep[:, ~protected].any()


@pytest.mark.parametrize("policy", EVERY_POLICY + SIX_TOKENS, ids=label)
@pytest.mark.parametrize("n_prefix", [1, 3, 6])
def test_a_context_shorter_than_window_sinks_or_chunk_is_compressed_all_the_same(policy, n_prefix):
    layer = make_layer(n_prefix)
    n_protected = int(policy.protected(layer).sum())
    for ratio in (0.1, 0.5, 0.9):
        keep, attainable = policy.keep_layer(layer, compression_ratio=ratio)
        assert keep.any(dim=1).all()
        if not isinstance(policy, Full | Chunk):
            assert attainable == (n_protected <= n_kept(n_prefix, ratio))


@every_policy
def test_bfloat16_layers_give_float32_scores_and_a_mask_on_the_cpu(policy):
    layer = make_layer(40, dtype=torch.bfloat16)
    exact = replace(
        layer,
        keys=layer.keys.float(),
        values=layer.values.float(),
        queries=layer.queries.float(),
    )
    scores = policy.score(layer)
    assert scores.dtype in (torch.float32, torch.float64)
    assert torch.equal(scores, policy.score(exact))
    keep = policy.keep_layer(layer, compression_ratio=0.5).keep
    assert keep.dtype == torch.bool and keep.device.type == "cpu"


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("policy", REGISTERED, ids=label)
def test_a_mask_from_cuda_is_the_mask_from_the_cpu(policy):
    layer = make_layer(40)
    moved = replace(
        layer,
        keys=layer.keys.cuda(),
        values=layer.values.cuda(),
        queries=layer.queries.cuda(),
        rotary=lambda position: tuple(x.cuda() for x in layer.rotary(position.cpu())),
    )
    here = policy.keep_layer(layer, compression_ratio=0.5).keep
    there = policy.keep_layer(moved, compression_ratio=0.5).keep
    assert there.device.type == "cpu" and torch.equal(here, there)


@pytest.mark.parametrize("policy", DETERMINISTIC, ids=label)
def test_relabelling_the_heads_relabels_the_mask(policy):
    layer, order = make_layer(40), torch.tensor([2, 0, 1])
    group_order = (2 * order[:, None] + torch.arange(2)).flatten()
    relabelled = replace(
        layer,
        keys=layer.keys[order],
        values=layer.values[order],
        queries=layer.queries[group_order],
    )
    for ratio in (0.3, 0.7):
        keep = policy.keep_layer(layer, compression_ratio=ratio).keep
        assert torch.equal(policy.keep_layer(relabelled, compression_ratio=ratio).keep, keep[order])


@every_policy
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.sampled_from([2.0**-30, 0.5, 2.0, 2.0**20]))
def test_scaling_every_score_changes_nothing(policy, seed, factor):
    layer = make_layer(40, seed=seed)
    scores, protected = policy.score(layer), policy.protected(layer)
    plain, scaled = policy.rank(scores, protected), policy.rank(factor * scores, protected)
    for n in (1, 7, 20):
        assert torch.equal(plain.take(n).keep, scaled.take(n).keep)


@every_policy
def test_a_mask_is_the_same_at_every_call_and_leaves_the_layer_alone(policy):
    cache, untouched = make_cache(40), make_cache(40)
    first = evict(cache, policy, compression_ratio=0.6)
    assert first.hash == evict(cache, policy, compression_ratio=0.6).hash
    for layer, before in zip(cache.states, untouched.states, strict=True):
        assert torch.equal(layer.keys, before.keys)
        assert torch.equal(layer.values, before.values)
        assert torch.equal(layer.queries, before.queries)


@every_policy
def test_tokens_after_the_prefix_inform_scores_but_are_never_scored(policy):
    layer = make_layer(30, n_after=10)
    assert policy.score(layer).shape == (3, 30)
    assert policy.protected(layer).shape == (30,)
    selection = policy.keep_layer(layer, compression_ratio=0.5)
    assert isinstance(selection, Selection) and selection.keep.shape == (3, 30)


@every_policy
def test_the_budget_is_checked_even_where_it_is_ignored(policy):
    with pytest.raises(ValueError, match=f"^{type(policy).__name__}: compression_ratio"):
        policy.keep_layer(make_layer(8), compression_ratio=1.0)


def test_a_wrong_shape_of_a_new_policy_is_refused():
    class Careless(Policy):
        def score(self, layer: LayerState) -> torch.Tensor:
            return layer.keys.norm(dim=-1)

    assert Careless.name == "careless"
    with pytest.raises(ValueError, match=r"Careless: score covers .* \(3, 30\); got \(3, 40\)"):
        evict(Layers([make_layer(30, n_after=10)]), Careless(), compression_ratio=0.5)
