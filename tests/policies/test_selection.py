"""Scores become a keep mask: protected entries first, then scores, then the lower index."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from policy_cases import make_layer

from routelens.policies import AdaKV, ExpectedAttention, KeyNorm, SinkRecent, select
from routelens.policies.budget import Budget
from routelens.policies.selection import KeepAllRanking, rank_heads

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
CONTEXTS = ["smol_bio0", "smol_long0", "qwen_bio0", "qwen_long0"]


def mark(n: int, positions) -> torch.Tensor:
    mask = torch.zeros(n, dtype=torch.bool)
    mask[list(positions)] = True
    return mask


@pytest.mark.parametrize(
    "positions",
    [range(90, 100), range(10), [*range(4), *range(94, 100)]],
    ids=["window", "sinks", "both"],
)
def test_protected_positions_survive_uniform_scores(positions):
    keep, attainable = select(torch.ones(2, 100), mark(100, positions), 10)
    assert keep[0].nonzero()[:, 0].tolist() == list(positions)
    assert torch.equal(keep[0], keep[1]) and attainable


def test_protected_positions_survive_larger_and_infinite_scores():
    scores = torch.tensor([[torch.inf, 9.0, -torch.inf, 5.0]])
    keep, attainable = select(scores, mark(4, [2]), 2)
    assert keep.tolist() == [[True, False, True, False]] and attainable


def test_more_protected_than_budget_keeps_the_best_of_them_and_says_so():
    keep, attainable = select(torch.tensor([[1.0, 3.0, 2.0, 9.0]]), mark(4, [0, 1, 2]), 2)
    assert keep.tolist() == [[False, True, True, False]]
    assert not attainable


def test_ties_break_to_the_lowest_index():
    keep, _ = select(torch.zeros(1, 1000), mark(1000, []), 300)
    assert keep[0, :300].all() and not keep[0, 300:].any()
    signed = torch.tensor([[-0.0, 0.0, -0.0, 0.0]])
    assert select(signed, mark(4, []), 2).keep.tolist() == [[True, True, False, False]]


def test_infinite_scores_are_ordered_like_any_other():
    scores = torch.tensor([[-torch.inf, 0.0, torch.inf, torch.inf, -1e38]])
    kept = [select(scores, mark(5, []), n).keep[0].nonzero()[:, 0].tolist() for n in range(1, 6)]
    assert kept == [[2], [2, 3], [1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3, 4]]


def test_a_nan_score_is_refused_and_counted():
    with pytest.raises(ValueError, match="cannot be NaN; got 1 NaN of 3"):
        select(torch.tensor([[0.0, torch.nan, 1.0]]), mark(3, []), 1)


def test_float64_scores_keep_their_precision():
    scores = torch.tensor([[1.0, 1.0 + 1e-12]], dtype=torch.float64)
    assert select(scores, mark(2, []), 1).keep.tolist() == [[False, True]]


@given(
    scores=st.lists(st.integers(-3, 3), min_size=1, max_size=24),
    data=st.data(),
)
def test_selection_equals_a_sort_of_tuples_and_nests(scores, data):
    n = len(scores)
    positions = data.draw(st.sets(st.integers(0, n - 1)))
    order = sorted(range(n), key=lambda i: (i not in positions, -scores[i], i))
    for n_kept in range(n + 1):
        keep, attainable = select(torch.tensor([scores]).float(), mark(n, positions), n_kept)
        assert keep[0].nonzero()[:, 0].tolist() == sorted(order[:n_kept])
        assert attainable == (len(positions) <= n_kept)


def test_keeping_all_ignores_the_budget():
    assert KeepAllRanking(2, 5).take(1).keep.all()


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.7, 0.9])
def test_recorded_kvpress_scores_give_the_recorded_kvpress_masks(context, ratio):
    masks = np.load(REFERENCE / f"{context}.npz")
    scores = torch.from_numpy(np.load(REFERENCE / f"{context}_ea_scores.npz")["scores"])
    budget = Budget(compression_ratio=ratio, rounding="kvpress")
    sinks = mark(scores.shape[-1], range(4))
    for name, rank in {
        "ea": rank_heads,
        "adakv_ea": AdaKV(ExpectedAttention()).rank,
    }.items():
        keep = torch.stack([rank(layer, sinks).select(budget).keep for layer in scores])
        assert np.array_equal(keep.numpy(), masks[f"{name}__a{ratio}"])


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.7, 0.9])
def test_sink_recent_keeps_what_kvpress_kept(context, ratio):
    theirs = np.load(REFERENCE / f"{context}.npz")[f"streaming__a{ratio}"]
    layer = make_layer(theirs.shape[2], n_kv_heads=theirs.shape[1])
    keep, _ = SinkRecent().keep_layer(layer, compression_ratio=ratio, rounding="kvpress")
    assert all(np.array_equal(keep.numpy(), of_layer) for of_layer in theirs)


def test_a_nan_in_the_keys_names_the_policy_and_the_layer():
    layer = make_layer(8, layer=2, n_layers=3)
    layer.keys[0, 3, 0] = torch.nan
    with pytest.raises(ValueError, match="KeyNorm, layer 2: .*NaN"):
        KeyNorm().keep_layer(layer, compression_ratio=0.5)
