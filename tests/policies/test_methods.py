"""Each method against a plain reading of its paper, and worked by hand where that is possible."""

import math
from dataclasses import replace

import pytest
import torch
from policy_cases import make_cache, make_layer, rotary_of

from routelens.eviction import evict
from routelens.policies import ExpectedAttention, KeyNorm, Random, SinkRecent, SnapKV


def turned(x: torch.Tensor, position: int, d_rotary: int) -> torch.Tensor:
    """One vector rotated pair by pair: (i, i + d_rotary/2) turns by position times its frequency."""
    out, half = x.clone(), d_rotary // 2
    for i in range(half):
        angle = position * 100.0 ** (-2 * i / d_rotary)
        a, b = x[i].item(), x[i + half].item()
        out[i] = a * math.cos(angle) - b * math.sin(angle)
        out[i + half] = b * math.cos(angle) + a * math.sin(angle)
    return out


def naive_snapkv(layer, window_size, kernel_size, d_rotary):
    """Loops over query heads, window queries and neighbours."""
    n = layer.queries.shape[1]
    start, n_groups = n - window_size, layer.n_heads // layer.n_kv_heads
    n_before = min(start, layer.n_prefix)
    attention = torch.zeros(layer.n_kv_heads, n_before)
    for head in range(layer.n_heads):
        for row in range(start, n):
            query = turned(layer.queries[head, row], row, d_rotary)
            logits = layer.keys[head // n_groups, : row + 1] @ query * layer.scale
            if layer.softcap is not None:
                logits = layer.softcap * torch.tanh(logits / layer.softcap)
            weight = logits.softmax(dim=0)[:n_before]
            attention[head // n_groups] += weight / (window_size * n_groups)
    side = kernel_size // 2
    pooled = [
        attention[:, max(0, t - side) : t + side + 1].sum(dim=1) / kernel_size
        for t in range(n_before)
    ]
    return torch.stack(pooled, dim=1)


@pytest.mark.parametrize(
    ("n_after", "softcap", "d_rotary"), [(0, None, 8), (0, 2.0, 4), (3, None, 8), (9, None, 8)]
)
def test_snapkv_scores_equal_the_loop_over_window_heads_and_neighbours(n_after, softcap, d_rotary):
    layer = make_layer(21, n_after=n_after, softcap=softcap, d_rotary=d_rotary, seed=3)
    policy = SnapKV(window_size=6, kernel_size=3)
    expected = naive_snapkv(layer, 6, 3, d_rotary)
    scores = policy.score(layer)
    torch.testing.assert_close(scores[:, : expected.shape[1]], expected, atol=1e-6, rtol=1e-5)
    n_window = 21 - expected.shape[1]
    assert n_window == max(0, 6 - n_after)
    assert policy.protected(layer).tolist() == [False] * (21 - n_window) + [True] * n_window


def test_snapkv_pools_a_lone_peak_over_its_neighbours():
    # One query, attending to key 3 alone, on an 8-token text: the peak spreads over positions 2, 3, 4.
    keys = torch.zeros(1, 8, 2)
    keys[0, 3, 0] = 1.0
    queries = torch.zeros(1, 8, 2)
    queries[0, 7, 0] = 200.0
    layer = replace(
        make_layer(8, n_kv_heads=1, n_groups=1, d_head=2),
        keys=keys,
        queries=queries,
        rotary=lambda position: (torch.ones(len(position), 2), torch.zeros(len(position), 2)),
        scale=1.0,
    )
    scores = SnapKV(window_size=1, kernel_size=3).score(layer)
    expected = torch.tensor([[0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 2]])
    torch.testing.assert_close(scores, expected)


def test_snapkv_keeps_its_window_and_below_it_the_most_recent_tokens():
    layer = make_layer(30)
    policy = SnapKV(window_size=10)
    keep, attainable = policy.keep_layer(layer, budget=10)
    assert keep[:, 20:].all() and not keep[:, :20].any() and attainable
    keep, attainable = policy.keep_layer(layer, budget=4)
    assert keep[:, 26:].all() and int(keep.sum()) == 12 and not attainable


def test_snapkv_on_a_prefix_within_the_window_keeps_the_most_recent_tokens():
    keep, attainable = SnapKV(window_size=64).keep_layer(make_layer(6), compression_ratio=0.5)
    assert keep.tolist() == [[False] * 3 + [True] * 3] * 3
    assert not attainable


def test_snapkv_with_the_window_on_the_questions_protects_nothing_of_the_prefix():
    layer = make_layer(30, n_after=12)
    policy = SnapKV(window_size=10)
    assert not policy.protected(layer).any()
    assert policy.keep_layer(layer, budget=1).attainable
    altered = replace(layer, queries=layer.queries.clone())
    altered.queries[:, :30] += 1.0
    assert torch.equal(policy.score(layer), policy.score(altered))


def test_an_even_kernel_is_refused():
    with pytest.raises(ValueError, match="SnapKV: kernel_size is odd.*got 4. Pass 5"):
        SnapKV(kernel_size=4)


def test_sink_recent_keeps_four_sinks_and_a_recent_window():
    # StreamingLLM on ten tokens with a cache of six: 0 1 2 3 and 8 9.
    keep, attainable = SinkRecent().keep_layer(make_layer(10), budget=6)
    assert keep[0].nonzero()[:, 0].tolist() == [0, 1, 2, 3, 8, 9]
    assert torch.equal(keep[0], keep[1]) and attainable


def test_sink_recent_below_its_sinks_keeps_the_first_ones():
    keep, attainable = SinkRecent(n_sink=4).keep_layer(make_layer(10), budget=2)
    assert keep[0].nonzero()[:, 0].tolist() == [0, 1] and not attainable


def test_without_sinks_only_the_recent_window_stays():
    keep, _ = SinkRecent(n_sink=0).keep_layer(make_layer(10), budget=3)
    assert keep[0].nonzero()[:, 0].tolist() == [7, 8, 9]


def test_key_norm_keeps_the_smallest_keys():
    layer = make_layer(4, n_kv_heads=2, n_groups=1, d_head=2)
    layer.keys[:] = torch.tensor(
        [[[3, 4], [1, 0], [0, 2], [9, 9]], [[0, 0], [5, 5], [1, 1], [0, -1]]]
    )
    assert KeyNorm().score(layer)[0, :3].tolist() == [-5, -1, -2]
    keep, _ = KeyNorm().keep_layer(layer, budget=2)
    assert keep.tolist() == [[False, True, True, False], [True, False, False, True]]


def naive_expected_attention(layer, policy, d_rotary):
    """E[exp(s·q·k)] for q ~ N(R̄µ, R̄ΣR̄ᵀ), with R̄ as a mean of explicit rotation matrices, in float64."""
    n, d = layer.queries.shape[1], layer.keys.shape[2]
    identity = torch.eye(d, dtype=torch.float64)
    rotation = sum(
        torch.stack([turned(axis, position, d_rotary) for axis in identity], dim=1)
        for position in range(n, n + policy.n_future)
    )
    rotation = rotation / policy.n_future
    scores = torch.zeros(layer.n_kv_heads, layer.n_prefix - policy.n_sink, dtype=torch.float64)
    n_groups = layer.n_heads // layer.n_kv_heads
    for head in range(layer.n_heads):
        queries = layer.queries[head, policy.n_sink :].double()
        mean = rotation @ queries.mean(dim=0)
        covariance = rotation @ torch.cov(queries.T, correction=0) @ rotation.T
        keys = layer.keys[head // n_groups, policy.n_sink : layer.n_prefix].double()
        expected = torch.stack(
            [
                torch.exp(layer.scale * key @ mean + layer.scale**2 / 2 * key @ covariance @ key)
                for key in keys
            ]
        )
        scores[head // n_groups] += expected / expected.sum() / n_groups
    norms = layer.values[:, policy.n_sink : layer.n_prefix].double().norm(dim=-1)
    return (scores + policy.epsilon) * norms


@pytest.mark.parametrize(
    ("n_after", "d_rotary", "epsilon"), [(0, 8, 0.0), (5, 8, 0.02), (0, 4, 0.0)]
)
def test_expected_attention_equals_the_loop_over_positions_heads_and_keys(
    n_after, d_rotary, epsilon
):
    layer = make_layer(15, n_after=n_after, d_rotary=d_rotary, seed=5)
    policy = ExpectedAttention(n_future=12, epsilon=epsilon)
    scores = policy.score(layer)
    expected = naive_expected_attention(layer, policy, d_rotary)
    torch.testing.assert_close(scores[:, 4:].double(), expected, rtol=2e-5, atol=0)
    assert torch.isposinf(scores[:, :4]).all()
    assert policy.protected(layer).tolist() == [True] * 4 + [False] * 11


def test_expected_attention_is_the_mean_attention_of_gaussian_queries():
    # Monte-Carlo: draw queries with the prefill's mean and covariance, unrotated, and average exp(s·q·k).
    layer = make_layer(12, n_kv_heads=1, n_groups=1, d_head=4, seed=2)
    still = replace(
        layer, rotary=lambda position: (torch.ones(len(position), 4), torch.zeros(len(position), 4))
    )
    scores = ExpectedAttention(n_sink=0, use_vnorm=False).score(still)[0]
    queries = layer.queries[0]
    covariance = torch.cov(queries.T, correction=0)
    draws = torch.randn(400_000, 4, generator=torch.Generator().manual_seed(0))
    draws = queries.mean(dim=0) + draws @ torch.linalg.cholesky(covariance).T
    weights = torch.exp(layer.scale * draws @ layer.keys[0].T).mean(dim=0)
    torch.testing.assert_close(scores, weights / weights.sum(), rtol=0.03, atol=0)


def test_expected_attention_without_covariance_and_norm_is_the_mean_querys_softmax():
    layer = make_layer(12, n_kv_heads=1, n_groups=1)
    still = replace(
        layer, rotary=lambda position: (torch.ones(len(position), 8), torch.zeros(len(position), 8))
    )
    policy = ExpectedAttention(n_sink=2, use_covariance=False, use_vnorm=False)
    mean = layer.queries[0, 2:].mean(dim=0)
    expected = (layer.scale * layer.keys[0, 2:] @ mean).softmax(dim=0)
    torch.testing.assert_close(policy.score(still)[0, 2:], expected)


def test_expected_attention_uses_the_layers_own_scale():
    layer = make_layer(12)
    flat = ExpectedAttention(n_sink=0, use_vnorm=False).score(replace(layer, scale=0.0))
    torch.testing.assert_close(flat, torch.full_like(flat, 1 / 12))


def test_a_prefix_of_sinks_alone_is_still_compressed():
    keep, attainable = ExpectedAttention().keep_layer(make_layer(4), budget=2)
    assert keep.tolist() == [[True, True, False, False]] * 3 and not attainable


def test_a_negative_epsilon_is_refused():
    with pytest.raises(ValueError, match="epsilon .* at least 0; got -1"):
        ExpectedAttention(epsilon=-1.0)


def test_random_draws_differ_between_layers_heads_and_seeds():
    cache = make_cache(200, n_layers=2)
    keep = evict(cache, Random(seed=0), compression_ratio=0.5).keep.reshape(6, 200)
    other = evict(cache, Random(seed=1), compression_ratio=0.5).keep.reshape(6, 200)
    overlaps = [(a & b).sum().item() for i, a in enumerate(keep) for b in keep[:i]]
    overlaps += [(a & b).sum().item() for a, b in zip(keep, other, strict=True)]
    # Independent halves of 200 share 50 ± 3.5.
    assert all(35 <= overlap <= 65 for overlap in overlaps)


def test_random_is_reproducible_across_machines():
    # NumPy promises PCG64's raw stream for good.
    keep, _ = Random(seed=0).keep_layer(make_layer(12, n_kv_heads=1), budget=5)
    assert keep[0].nonzero()[:, 0].tolist() == [4, 5, 7, 9, 10]


def test_random_keeps_each_position_equally_often():
    layer = make_layer(10, n_kv_heads=1)
    kept = sum(Random(seed=s).keep_layer(layer, budget=3).keep[0].float() for s in range(200))
    # Binomial(200, 0.3): 60 ± 6.5; five standard deviations.
    assert ((kept - 60).abs() < 33).all()


def test_the_rotation_in_these_tests_is_the_layers_own():
    cos, sin = rotary_of(8)(torch.tensor([5]))
    x = torch.randn(8, generator=torch.Generator().manual_seed(0))
    rotated = x * cos[0] + torch.cat([-x[4:], x[:4]]) * sin[0]
    torch.testing.assert_close(rotated, turned(x, 5, 8))
