"""AdaKV shares a layer's budget between heads; Chunk gives every stretch of the text its own."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import make_layer

from routelens.policies import (
    AdaKV,
    Budget,
    Chunk,
    ExpectedAttention,
    Full,
    KeyNorm,
    Random,
    SinkRecent,
    SnapKV,
    n_kept,
    select,
)

NOTHING = torch.zeros(6, dtype=torch.bool)


def test_adakv_worked_by_hand():
    # Two heads, three entries each: 6 in all. Head 0 holds the six best; the safeguard max(1, ⌊.4·3⌋) = 1 keeps head
    # 1's best (index 2), and head 0's five best fill the rest.
    scores = torch.tensor([[9.0, 8, 7, 6, 5, 4], [1, 0, 3, 2, 0, 0]])
    keep, attainable = AdaKV(KeyNorm(), safeguard=0.4).rank(scores, NOTHING).take(3)
    assert keep.int().tolist() == [[1, 1, 1, 1, 1, 0], [0, 0, 1, 0, 0, 0]]
    assert attainable


def test_adakv_protects_in_every_head_before_it_shares():
    scores = torch.tensor([[9.0, 8, 7, 6, 5, 4], [1, 0, 3, 2, 0, 0]])
    protected = torch.tensor([True, True, False, False, False, False])
    keep, attainable = AdaKV(SinkRecent(), safeguard=0.2).rank(scores, protected).take(3)
    assert keep.int().tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]]
    assert attainable


def test_adakv_shares_tied_entries_evenly_between_heads():
    keep, _ = AdaKV(KeyNorm()).rank(torch.zeros(2, 6), NOTHING).take(3)
    assert keep.int().tolist() == [[1, 1, 1, 0, 0, 0]] * 2


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_kv_heads=st.integers(1, 4),
    n=st.integers(1, 30),
    safeguard=st.floats(0, 1),
    data=st.data(),
)
def test_adakv_keeps_the_layers_total_and_each_heads_safeguard(
    seed, n_kv_heads, n, safeguard, data
):
    budget = data.draw(st.integers(1, n))
    scores = torch.randn(n_kv_heads, n, generator=torch.Generator().manual_seed(seed))
    # One head far above the others: the others live on the safeguard alone.
    scores[0] += 100
    nothing = torch.zeros(n, dtype=torch.bool)
    keep, _ = AdaKV(KeyNorm(), safeguard=safeguard).rank(scores, nothing).take(budget)
    n_safe = max(1, int(safeguard * budget))
    assert keep.sum() == n_kv_heads * budget
    assert (keep.sum(dim=1) >= n_safe).all()
    assert not (select(scores, nothing, n_safe).keep & ~keep).any()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), budget=st.integers(1, 20))
def test_adakv_gives_what_is_left_to_the_best_entries_of_any_head(seed, budget):
    scores = torch.randn(3, 20, generator=torch.Generator().manual_seed(seed))
    nothing = torch.zeros(20, dtype=torch.bool)
    keep, _ = AdaKV(KeyNorm()).rank(scores, nothing).take(budget)
    safe = select(scores, nothing, max(1, int(0.2 * budget))).keep
    if bool(keep.all()):
        return
    assert scores[keep & ~safe].min() > scores[~keep].max() if (keep & ~safe).any() else True


def test_a_full_safeguard_is_the_uniform_budget():
    layer = make_layer(30)
    for budget in (1, 7, 20):
        shared = AdaKV(KeyNorm(), safeguard=1.0).keep_layer(layer, budget=budget).keep
        assert torch.equal(shared, KeyNorm().keep_layer(layer, budget=budget).keep)


def test_a_head_with_better_scores_gets_a_larger_budget():
    layer = make_layer(40)
    layer.keys[1] *= 0.1
    counts = AdaKV(KeyNorm()).keep_layer(layer, budget=10).keep.sum(dim=1).tolist()
    assert counts[1] > 20 and min(counts) >= 2 and sum(counts) == 30


def test_one_kv_head_has_nothing_to_share():
    layer = make_layer(30, n_kv_heads=1)
    shared = AdaKV(ExpectedAttention()).keep_layer(layer, budget=9).keep
    assert torch.equal(shared, ExpectedAttention().keep_layer(layer, budget=9).keep)


@pytest.mark.parametrize("inner", [Chunk(KeyNorm()), AdaKV(KeyNorm()), Full()])
def test_adakv_refuses_what_does_not_rank_by_score_alone(inner):
    with pytest.raises(ValueError, match=r"AdaKV: the inner policy ranks .* got .*Chunk\(AdaKV"):
        AdaKV(inner)


@pytest.mark.parametrize("safeguard", [-0.1, 1.5, True])
def test_a_safeguard_outside_its_range_is_refused(safeguard):
    with pytest.raises(ValueError, match=r"AdaKV: safeguard .* in \[0, 1\]"):
        AdaKV(KeyNorm(), safeguard=safeguard)


def test_chunk_worked_by_hand():
    # Chunks of three: [1 5 3] [9 2 4] [7]. At 0.5 each keeps max(1, ⌊1.5⌋) = 1.
    layer = make_layer(7, n_kv_heads=1, n_groups=1, d_head=1)
    layer.keys[0, :, 0] = -torch.tensor([1.0, 5, 3, 9, 2, 4, 7])
    keep, _ = Chunk(KeyNorm(), chunk_length=3).keep_layer(layer, compression_ratio=0.5)
    assert keep.int().tolist() == [[1, 0, 0, 0, 1, 0, 1]]


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(1, 50),
    chunk_length=st.integers(3, 60),
    ratio=st.floats(0, 0.99),
    rounding=st.sampled_from(["floor", "kvpress"]),
)
def test_every_chunk_keeps_its_own_share(n, chunk_length, ratio, rounding):
    keep, _ = Chunk(Random(), chunk_length=chunk_length).keep_layer(
        make_layer(n), compression_ratio=ratio, rounding=rounding
    )
    for chunk in keep.split(chunk_length, dim=1):
        assert (chunk.sum(dim=1) == n_kept(chunk.shape[1], ratio, rounding)).all()


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 50), chunk_length=st.integers(3, 60), data=st.data())
def test_an_absolute_budget_is_divided_between_chunks_without_loss(n, chunk_length, data):
    budget = data.draw(st.integers(1, n))
    keep, _ = Chunk(Random(), chunk_length=chunk_length).keep_layer(make_layer(n), budget=budget)
    chunks = keep.split(chunk_length, dim=1)
    counts = [int(chunk[0].sum()) for chunk in chunks]
    assert sum(counts) == budget
    if budget >= len(chunks):
        assert min(counts) >= 1
    for count, chunk in zip(counts, chunks, strict=True):
        assert abs(count - budget * chunk.shape[1] / n) <= len(chunks)


def test_one_chunk_over_everything_is_the_inner_policy():
    layer = make_layer(40)
    for inner in (ExpectedAttention(), SnapKV(window_size=8), SinkRecent(), AdaKV(KeyNorm())):
        for ratio in (0.3, 0.9):
            whole = Chunk(inner, chunk_length=1024).keep_layer(layer, compression_ratio=ratio)
            plain = inner.keep_layer(layer, compression_ratio=ratio)
            assert torch.equal(whole.keep, plain.keep) and whole.attainable == plain.attainable


def test_in_scope_chunk_every_chunk_has_its_own_sinks():
    policy = Chunk(SinkRecent(n_sink=2), chunk_length=10)
    keep, attainable = policy.keep_layer(make_layer(30), budget=9)
    assert keep[0].nonzero()[:, 0].tolist() == [0, 1, 9, 10, 11, 19, 20, 21, 29]
    assert attainable


def test_in_scope_prefix_only_the_prefix_has_sinks():
    policy = Chunk(SinkRecent(n_sink=2), chunk_length=10, scope="prefix")
    keep, attainable = policy.keep_layer(make_layer(30), budget=9)
    assert keep[0].nonzero()[:, 0].tolist() == [0, 1, 9, 17, 18, 19, 27, 28, 29]
    assert attainable


def test_sinks_that_eat_a_chunks_budget_are_reported():
    policy = Chunk(ExpectedAttention(), chunk_length=16)
    keep, attainable = policy.keep_layer(make_layer(48), compression_ratio=0.9)
    assert keep[0].nonzero()[:, 0].tolist() == [0, 16, 32] and not attainable
    assert (
        Chunk(ExpectedAttention(), chunk_length=16)
        .keep_layer(make_layer(48), compression_ratio=0.5)
        .attainable
    )


def test_in_scope_chunk_a_chunk_is_scored_as_if_alone():
    # The dense keys stay; nothing outside a chunk reaches its scores.
    layer = make_layer(40)
    policy = Chunk(SnapKV(window_size=4), chunk_length=20)
    altered = replace(layer, queries=layer.queries.clone(), keys=layer.keys.clone())
    altered.queries[:, 20:] += 1
    altered.keys[:, 20:] += 1
    assert torch.equal(policy.score(layer)[:, :20], policy.score(altered)[:, :20])
    assert not torch.equal(policy.score(layer)[:, 20:], policy.score(altered)[:, 20:])


def test_a_later_chunk_keeps_its_places_in_the_text():
    # The second chunk of a text scores as the same tokens do at the same positions behind another beginning.
    layer = make_layer(40)
    policy = SnapKV(window_size=4, kernel_size=1)
    alone = replace(
        layer,
        keys=layer.keys[:, 20:],
        values=layer.values[:, 20:],
        queries=layer.queries[:, 20:],
        rotary=lambda position: layer.rotary(position + 20),
        n_prefix=20,
    )
    chunked = Chunk(policy, chunk_length=20).score(layer)[:, 20:]
    torch.testing.assert_close(chunked, policy.score(alone))


def test_questions_after_the_prefix_follow_every_chunk():
    layer = make_layer(40, n_after=6)
    policy = Chunk(SnapKV(window_size=6), chunk_length=20)
    altered = replace(layer, queries=layer.queries.clone())
    altered.queries[:, 40:] += 1
    before, after = policy.score(layer), policy.score(altered)
    assert not torch.equal(before[:, :20], after[:, :20])
    assert not torch.equal(before[:, 20:], after[:, 20:])
    assert not policy.protected(layer).any()


def test_chunked_random_draws_differ_between_chunks():
    keep, _ = Chunk(Random(), chunk_length=50).keep_layer(make_layer(200), compression_ratio=0.5)
    chunks = keep[0].view(4, 50)
    assert len({tuple(chunk.tolist()) for chunk in chunks}) == 4


def test_chunks_do_not_nest():
    with pytest.raises(ValueError, match="Chunk: chunks do not nest"):
        Chunk(Chunk(KeyNorm()))


def test_an_unknown_scope_is_refused():
    with pytest.raises(ValueError, match="Chunk: scope is 'chunk' or 'prefix'; got 'page'"):
        Chunk(KeyNorm(), scope="page")


def test_a_chunk_without_length_is_refused():
    with pytest.raises(ValueError, match="Chunk: chunk_length .* at least 1; got 0"):
        Chunk(KeyNorm(), chunk_length=0)


def test_chunked_full_keeps_everything():
    assert Chunk(Full()).rank_layer(make_layer(70)).select(Budget(0.9)).keep.all()
