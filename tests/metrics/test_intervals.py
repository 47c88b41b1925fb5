"""Bootstrap over passages, Wilson, paired differences: by hand, coverage, properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import Interval, bootstrap_mean, paired_difference, wilson
from routelens.metrics.intervals import resampled_sums

laws = settings(deadline=None, max_examples=30)


def test_the_mean_is_the_mean_of_values_not_of_passages():
    interval = bootstrap_mean([1, 1, 1, 0], ["a", "a", "a", "b"])
    assert interval.mean == 0.75
    assert (interval.n, interval.n_groups, interval.n_missing) == (4, 2, 0)


def test_two_passages_resample_to_three_values():
    # Passages sum to 0/1 and 1/1: the resampled mean is 0, 1/2 or 1.
    interval = bootstrap_mean([0, 1], ["a", "b"])
    assert (interval.low, interval.high) == (0, 1)


def test_the_width_is_the_normal_one_for_many_independent_values():
    value = np.random.default_rng(0).normal(3, 2, 2000)
    interval = bootstrap_mean(value)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 2 / math.sqrt(2000), rel=0.05)
    narrow = bootstrap_mean(value, level=0.5)
    assert narrow.high - narrow.low == pytest.approx(2 * 0.6745 * 2 / math.sqrt(2000), rel=0.05)


def test_missing_values_are_dropped_and_counted():
    interval = bootstrap_mean([1.0, math.nan, None, 0.0], ["a", "a", "b", "c"])
    assert interval.mean == 0.5
    assert (interval.n, interval.n_groups, interval.n_missing) == (2, 2, 2)


def test_nothing_is_nan_and_one_passage_has_no_bounds():
    nothing = bootstrap_mean([], [])
    assert math.isnan(nothing.mean) and math.isnan(nothing.low) and nothing.n == 0
    assert math.isnan(bootstrap_mean([math.nan], ["a"]).mean)
    one = bootstrap_mean([0, 1, 1, 1], ["a"] * 4)
    assert one.mean == 0.75 and math.isnan(one.low) and math.isnan(one.high)


def test_passages_that_move_together_widen_the_interval():
    rng = np.random.default_rng(0)
    passage = np.repeat(np.arange(40), 10)
    value = rng.integers(0, 2, 40)[passage]
    clustered, naive = bootstrap_mean(value, passage), bootstrap_mean(value)
    ratio = (clustered.high - clustered.low) / (naive.high - naive.low)
    assert ratio == pytest.approx(math.sqrt(10), rel=0.1)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    passage = np.repeat(np.arange(40), 5)
    hits = 0
    for trial in range(300):
        rate = np.clip(0.3 + rng.normal(0, 0.15, 40), 0, 1)[passage]
        value = rng.random(200) < rate
        interval = bootstrap_mean(value, passage, n_resamples=500, seed=trial)
        hits += interval.low <= 0.3 <= interval.high
    assert 0.89 <= hits / 300 <= 0.985


def test_alike_passages_are_drawn_together_with_the_same_distribution():
    # 200 passages of two kinds take the fast path; a tiny jitter forces the plain one.
    sums = np.column_stack([np.repeat([0.0, 1.0], 100), np.ones(200)])
    fast = resampled_sums(sums, n_resamples=20_000, seed=0)
    plain = resampled_sums(
        sums + np.linspace(0, 1e-9, 400).reshape(200, 2), n_resamples=20_000, seed=0
    )
    wide = resampled_sums(
        np.hstack([sums + np.linspace(0, 1e-9, 400).reshape(200, 2)] * 4), n_resamples=20_000
    )
    for totals in (fast, plain, wide):
        assert totals[:, 1] == pytest.approx(200)
        assert totals[:, 0].mean() == pytest.approx(100, abs=0.2)
        assert totals[:, 0].std() == pytest.approx(math.sqrt(200 * 0.25), rel=0.03)


def test_the_seed_decides():
    values, passages = np.random.default_rng(0).random(60), np.arange(60) % 12
    assert bootstrap_mean(values, passages, seed=3) == bootstrap_mean(values, passages, seed=3)
    assert bootstrap_mean(values, passages, seed=3) != bootstrap_mean(values, passages, seed=4)


@laws
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.sampled_from("abcde")), min_size=2, max_size=20),
    st.randoms(),
)
def test_the_interval_holds_whatever_the_row_order(pairs, random):
    def interval(rows):
        values, passages = zip(*rows, strict=True)
        return bootstrap_mean(values, passages, n_resamples=200)

    here, there = interval(pairs), interval(random.sample(pairs, len(pairs)))
    for name in ("mean", "low", "high"):
        assert getattr(here, name) == pytest.approx(getattr(there, name), abs=1e-9, nan_ok=True)
    if here.n_groups > 1:
        values = [v for v, _ in pairs]
        assert min(values) - 1e-9 <= here.low <= here.high <= max(values) + 1e-9


def test_paired_differences_drop_incomplete_pairs():
    interval = paired_difference([1, 1, 0, None], [0, 1, math.nan, 1], ["a", "b", "c", "d"])
    assert interval.mean == 0.5
    assert (interval.n, interval.n_missing) == (2, 2)
    with pytest.raises(ValueError, match="got 2 and 1"):
        paired_difference([1, 2], [1])


def test_pairing_removes_what_items_share():
    rng = np.random.default_rng(0)
    base = rng.normal(0, 10, 100)
    interval = paired_difference(base + 1 + rng.normal(0, 0.1, 100), base)
    assert interval.mean == pytest.approx(1, abs=0.05)
    assert interval.high - interval.low < 0.1


def test_wilson_by_the_textbook():
    interval = wilson(8, 10)
    assert (interval.low, interval.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 10).low == 0 and wilson(0, 10).high == pytest.approx(0.2775, abs=1e-4)
    assert wilson(10, 10).high == 1
    assert math.isnan(wilson(0, 0).mean)
    with pytest.raises(ValueError, match="got 3 of 2"):
        wilson(3, 2)


@laws
@given(st.integers(0, 50), st.integers(1, 50), st.floats(0.5, 0.99))
def test_wilson_holds_its_share(successes, n, level):
    successes = min(successes, n)
    interval = wilson(successes, n, level=level)
    assert 0 <= interval.low <= interval.mean <= interval.high <= 1


def test_labels_and_levels_are_checked():
    with pytest.raises(ValueError, match="one passage label per value; got 1 for 2"):
        bootstrap_mean([1, 2], ["a"])
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        bootstrap_mean([1, 2], level=95.0)


def test_an_interval_is_a_plain_record():
    assert Interval(0.5, 0.4, 0.6, 10, 5).n_missing == 0
