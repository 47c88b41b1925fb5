"""A compression ratio becomes a count in one place, by one rule (D1)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routelens.policies.budget import Budget, check_count, n_kept

RATIOS = st.floats(0, 0.999)


@pytest.mark.parametrize(
    ("n", "ratio", "kept"),
    [
        (1, 0.5, 1),
        (2, 0.6, 1),
        (10, 0.9, 1),
        (5, 0.8, 1),
        (10, 0.8, 2),
        (100, 0.9, 10),
        (1000, 0.9, 100),
        (10, 0, 10),
        (1000, 0.975, 25),
        (1000, 0.99, 10),
    ],
)
def test_floor_rounding_keeps_what_the_decimal_ratio_says(n, ratio, kept):
    assert n_kept(n, ratio) == kept


@pytest.mark.parametrize(("n", "ratio", "kept"), [(100, 0.9, 9), (10, 0.8, 1), (1, 0.5, 1)])
def test_kvpress_rounding_truncates_the_binary_product(n, ratio, kept):
    assert n_kept(n, ratio, "kvpress") == kept


@given(n=st.integers(1, 5000), first=RATIOS, second=RATIOS)
def test_a_larger_ratio_never_keeps_more(n, first, second):
    small, large = sorted((first, second))
    for rounding in ("floor", "kvpress"):
        assert 1 <= n_kept(n, large, rounding) <= n_kept(n, small, rounding) <= n


@given(n=st.integers(1, 5000), ratio=RATIOS)
def test_the_two_roundings_differ_by_at_most_one(n, ratio):
    assert 0 <= n_kept(n, ratio, "floor") - n_kept(n, ratio, "kvpress") <= 1


@given(n=st.integers(1, 2000), percent=st.integers(0, 99))
def test_floor_rounding_equals_exact_integer_arithmetic(n, percent):
    assert n_kept(n, percent / 100) == max(1, n * (100 - percent) // 100)


def test_an_empty_prefix_keeps_nothing():
    assert n_kept(0, 0.5) == 0


@pytest.mark.parametrize("ratio", [1, 1.0, 4.0, -0.1, math.nan, math.inf, True, False])
def test_a_ratio_outside_its_range_is_refused_with_an_example(ratio):
    with pytest.raises(
        ValueError, match=r"fraction of KV entries removed.*To keep 25 % pass 0\.75"
    ):
        n_kept(10, ratio)


def test_the_refusal_names_the_policy_and_the_value():
    with pytest.raises(ValueError, match=r"^KeyNorm: .* must be in \[0, 1\); got 4\.0\."):
        Budget(compression_ratio=4.0, who="KeyNorm")


def test_an_absolute_budget_above_the_prefix_keeps_everything():
    assert Budget(entries=64).n_kept(10) == 10
    assert Budget(entries=np.int64(4)).n_kept(10) == 4


@pytest.mark.parametrize("entries", [0, -3, True])
def test_a_budget_below_one_entry_is_refused(entries):
    with pytest.raises(ValueError, match="whole number of KV entries per head, at least 1"):
        Budget(entries=entries)


def test_exactly_one_of_ratio_and_budget_is_given():
    with pytest.raises(ValueError, match="exactly one"):
        Budget()
    with pytest.raises(ValueError, match="exactly one"):
        Budget(compression_ratio=0.5, entries=3)


def test_an_unknown_rounding_is_refused():
    with pytest.raises(ValueError, match=r"'floor' or 'kvpress'; got 'round'"):
        n_kept(10, 0.5, "round")


def test_a_count_is_whole_and_at_least_its_minimum():
    check_count("SnapKV", "window_size", 1, 1)
    for value in (0, True):
        with pytest.raises(ValueError, match="SnapKV: window_size is a whole number of at least 1"):
            check_count("SnapKV", "window_size", value, 1)
