"""The search on set functions whose answers are known: no model in sight."""

from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.routes.search import Judged, best_prefix, eliminate


def judge_of(suffices, calls=None):
    def judge(sets):
        chosen = [frozenset(numbers.tolist()) for numbers in sets]
        if calls is not None:
            calls.extend(chosen)
        good = torch.tensor([suffices(one) for one in chosen])
        return Judged(good, good.float())

    return judge


def is_one_minimal(found, suffices):
    return suffices(found) and not any(suffices(found - {unit}) for unit in found)


def needs(*groups):
    """Every group needs one of its members."""
    return lambda chosen: all(chosen & set(group) for group in groups)


@given(
    n=st.integers(1, 60),
    needed=st.sets(st.integers(0, 59), max_size=8),
    seed=st.integers(0, 1000),
)
@settings(max_examples=80, deadline=None)
def test_what_every_set_needs_is_what_is_left(n, needed, seed):
    needed = {unit for unit in needed if unit < n}
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    found = eliminate(order, judge_of(lambda chosen: needed <= chosen))
    assert set(found.tolist()) == needed


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_result_is_one_minimal_even_where_adding_a_unit_can_break_the_set(data):
    n = data.draw(st.integers(1, 9))
    table = data.draw(st.lists(st.booleans(), min_size=2**n, max_size=2**n))
    table[-1] = True

    def suffices(chosen):
        return table[sum(1 << unit for unit in chosen)]

    found = frozenset(eliminate(torch.arange(n), judge_of(suffices)).tolist())
    assert is_one_minimal(found, suffices)


def test_an_empty_set_that_suffices_is_found():
    assert not len(eliminate(torch.arange(20), judge_of(lambda chosen: True)))


def test_every_smaller_set_is_told_and_each_suffices():
    suffices = needs({3, 4}, {17}, {30, 31, 32})
    told = []
    found = eliminate(
        torch.arange(40), judge_of(suffices), on_smaller=lambda s: told.append(s.tolist())
    )
    assert told[-1] == found.tolist() and all(suffices(set(one)) for one in told)
    assert all(len(a) > len(b) for a, b in zip(told, told[1:], strict=False))


def test_a_good_ranking_is_cut_after_its_last_needed_unit():
    order = torch.arange(5000)
    for last in (0, 6, 40, 700, 4999):
        calls = []
        found = best_prefix(order, judge_of(needs({last}), calls))
        assert last < len(found) <= max(last + 2, 1.03 * last + 2)
        assert len(calls) <= 40


def test_no_prefix_at_all_is_said():
    assert best_prefix(torch.arange(100), judge_of(lambda chosen: False)) is None


def test_elimination_costs_far_less_than_one_removal_a_unit():
    calls = []
    suffices = needs({5}, {1777}, {3120})
    found = eliminate(torch.arange(4000), judge_of(suffices, calls))
    assert set(found.tolist()) == {5, 1777, 3120}
    assert len(calls) < 250


@pytest.mark.parametrize("n", range(1, 6))
def test_all_small_monotone_functions_end_minimal(n):
    units = range(n)
    minimal = [frozenset(c) for size in range(n + 1) for c in combinations(units, size)]
    for one in minimal:
        for two in minimal:
            suffices = lambda chosen, a=one, b=two: a <= chosen or b <= chosen  # noqa: E731
            found = frozenset(eliminate(torch.arange(n), judge_of(suffices)).tolist())
            assert is_one_minimal(found, suffices)
