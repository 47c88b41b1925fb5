"""The failure decomposition (D14): by hand, the law of total probability, planted leak and rigidity."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import decompose, decompose_by_ratio

laws = settings(deadline=None, max_examples=30)


def test_the_terms_by_hand():
    # Four erased items, of which three fail; six intact ones, of which two fail (one failed before).
    failed = [1, 1, 1, 0] + [1, 1, 0, 0, 0, 0]
    erased = [1, 1, 1, 1] + [0, 0, 0, 0, 0, 0]
    before = [0, 0, 0, 0] + [1, 0, 0, 0, 0, 0]
    found = decompose(failed, erased, range(10), failed_full=before)
    assert found.p_failure.mean == 0.5
    assert found.p_erased.mean == 0.4
    assert found.p_intact.mean == 0.6
    assert found.p_failure_given_erased.mean == 0.75
    assert found.p_failure_given_intact.mean == pytest.approx(2 / 6)
    assert found.leak.mean == 0.25
    assert found.rigidity_excess.mean == pytest.approx(2 / 6 - 1 / 6)
    assert (found.p_failure.n, found.leak.n, found.rigidity_excess.n) == (10, 4, 6)


def test_rigidity_excess_compares_the_same_items():
    found = decompose([1, 1, 0], [0, 0, 0], "abc", failed_full=[0, None, 0])
    assert found.p_failure_given_intact.mean == pytest.approx(2 / 3)
    assert (found.rigidity_excess.mean, found.rigidity_excess.n) == (0.5, 2)
    assert math.isnan(decompose([1, 0], [0, 0], "ab").rigidity_excess.mean)


def test_a_condition_without_items_is_nan():
    found = decompose([1, 0], [0, 0], ["a", "b"])
    assert math.isnan(found.p_failure_given_erased.mean)
    assert math.isnan(found.leak.mean) and found.leak.n == 0
    assert found.p_erased.mean == 0


def test_items_whose_erasure_is_unknown_are_dropped_and_counted():
    found = decompose([1, 0, 1], [True, None, False], ["a", "b", "c"])
    assert (found.p_failure.n, found.n_missing) == (2, 1)
    nothing = decompose([1], [None], ["a"])
    assert math.isnan(nothing.p_failure.mean) and nothing.n_missing == 1


@laws
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_terms_add_up_to_the_failure_rate(pairs):
    failed, erased = zip(*pairs, strict=True)
    found = decompose(failed, erased, range(len(pairs)), n_resamples=20)
    total = 0.0
    for condition, weight in (
        (found.p_failure_given_erased, found.p_erased),
        (found.p_failure_given_intact, found.p_intact),
    ):
        if weight.mean:
            total += condition.mean * weight.mean
        else:
            assert math.isnan(condition.mean)
    assert total == pytest.approx(found.p_failure.mean)
    assert found.p_erased.mean + found.p_intact.mean == pytest.approx(1)


def planted(seed, n_passages=100, n_items=4):
    """Erasure hits 40 %; 80 % of those fail; of the rest 25 % fail, and 10 % failed before."""
    rng = np.random.default_rng(seed)
    passage = np.repeat(np.arange(n_passages), n_items)
    erased = rng.random(len(passage)) < 0.4
    failed = rng.random(len(passage)) < np.where(erased, 0.8, 0.25)
    before = rng.random(len(passage)) < 0.1
    return failed, erased, passage, before


def test_planted_leak_and_rigidity_lie_in_their_intervals():
    leak = rigidity = 0
    for seed in range(60):
        failed, erased, passage, before = planted(seed)
        found = decompose(failed, erased, passage, failed_full=before, n_resamples=400, seed=seed)
        leak += found.leak.low <= 0.2 <= found.leak.high
        rigidity += found.rigidity_excess.low <= 0.15 <= found.rigidity_excess.high
    assert leak / 60 > 0.85
    assert rigidity / 60 > 0.85


def test_each_ratio_is_decomposed_on_its_own():
    found = decompose_by_ratio(
        [0.9, 0.5, 0.9, 0.5], [1, 0, 1, 0], [1, 0, 0, 0], list("aabb"), failed_full=[0, 0, 0, 0]
    )
    assert list(found) == [0.5, 0.9]
    assert found[0.5].p_failure.mean == 0
    assert found[0.9].rigidity_excess.mean == 1


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 failed, 1 erased"):
        decompose([1, 0], [1])
    with pytest.raises(ValueError, match="lengths"):
        decompose_by_ratio([0.5], [1, 0], [1, 0], ["a", "b"])
