"""The report's numbers are plain means, and their intervals are bootstraps over passages."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import make_table

from routelens.metrics import (
    accessibility,
    bootstrap_mean,
    decompose,
    logistic_effect,
    utilisation,
)
from routelens.viz.association import association, correlation, effect
from routelens.viz.estimates import (
    MEASURES,
    baseline,
    cells,
    curve,
    decomposition,
    layer_curves,
    rates,
    slopes,
)
from routelens.viz.means import mean_intervals
from routelens.viz.rows import as_sweep

N = 400


@pytest.fixture(scope="module")
def sweep():
    return as_sweep(make_table(n_passages=8, n_questions=5, unanswerable=3), n_resamples=N)


@pytest.fixture(scope="module")
def mixed():
    return as_sweep(make_table(n_passages=7, tasks=("knowledge", "base")), n_resamples=N)


def at(sweep, series, x, regime="agnostic"):
    rows = sweep.of(regime, series)
    return rows[rows["x"] == x]


def test_every_mean_is_the_mean_of_its_rows(sweep):
    for (regime, series, x), cell in cells(sweep).items():
        rows = at(sweep, series, x, regime)
        assert cell.n_rows == len(rows) and cell.n_items == 40 and cell.n_passages == 8
        for name in MEASURES:
            values = rows[name].dropna()
            assert cell.means[name].n == len(values)
            assert cell.means[name].n_missing == len(rows) - len(values)
            np.testing.assert_allclose(
                cell.means[name].mean, values.mean() if len(values) else math.nan, rtol=1e-12
            )


def test_with_several_tasks_a_mean_is_the_mean_over_tasks(mixed):
    rows = at(mixed, "key_norm", 0.5)
    by_task = rows.groupby("task")["correct"].mean()
    assert len(by_task) == 2 and by_task.iloc[0] != by_task.iloc[1]
    assert curve(mixed, "correct", "agnostic", "key_norm")[0.5].mean == pytest.approx(
        by_task.mean()
    )
    assert by_task.mean() != pytest.approx(rows["correct"].mean())


def test_with_one_task_intervals_are_those_of_bootstrap_mean(sweep):
    rows = at(sweep, "key_norm", 0.5)
    for name in ("min_margin", "ger_layer", "head_agreement"):
        expected = bootstrap_mean(rows[name].to_numpy(), rows["passage_id"], n_resamples=N)
        found = curve(sweep, name, "agnostic", "key_norm")[0.5]
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
        assert (found.n, found.n_groups) == (expected.n, expected.n_groups)


def test_intervals_resample_passages_and_not_items():
    # Ten passages whose five items agree: five times the items say nothing more.
    passages = np.repeat(np.arange(10), 5)
    values = (passages % 2).astype(float)[:, None]
    whole = mean_intervals(values, np.zeros(50), passages, n_resamples=4000)[0]
    single = mean_intervals(values[::5], np.zeros(10), passages[::5], n_resamples=4000)[0]
    assert (whole.low, whole.high) == (single.low, single.high)
    assert whole.high - whole.low > 0.5


def test_one_passage_leaves_no_interval():
    found = mean_intervals(np.array([[0.0], [1.0]]), ["t", "t"], ["p", "p"], n_resamples=50)[0]
    assert found.mean == 0.5 and math.isnan(found.low) and math.isnan(found.high)


def test_a_task_with_one_passage_leaves_no_interval_but_counts_in_the_mean():
    found = mean_intervals(
        np.array([[0.0], [1.0], [1.0]]), ["a", "a", "b"], ["p", "q", "r"], n_resamples=50
    )[0]
    assert found.mean == 0.75 and math.isnan(found.low)


def test_a_column_without_values_is_nan_and_never_zero():
    found = mean_intervals(np.array([[np.nan], [np.nan]]), ["t", "t"], ["p", "q"], n_resamples=50)[
        0
    ]
    assert math.isnan(found.mean) and found.n == 0 and found.n_missing == 2


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 1), st.sampled_from([0.0, 1.0, math.nan])),
        min_size=1,
        max_size=30,
    ),
    st.randoms(),
)
def test_the_order_of_rows_changes_nothing(rows, random):
    shuffled = random.sample(rows, len(rows))
    found = [
        mean_intervals(
            np.array([[value] for _, _, value in part]),
            [f"task {t}" for _, t, _ in part],
            [f"passage {p}" for p, _, _ in part],
            n_resamples=60,
        )[0]
        for part in (rows, shuffled)
    ]
    for name in ("mean", "low", "high", "n", "n_groups", "n_missing"):
        np.testing.assert_allclose(getattr(found[0], name), getattr(found[1], name), rtol=1e-12)


def test_an_interval_holds_its_mean_and_lies_within_the_values(sweep):
    for cell in cells(sweep).values():
        for name in ("correct", "caused_failure", "f1", "ger_layer"):
            interval = cell.means[name]
            if interval.n and not math.isnan(interval.low):
                assert (
                    interval.low <= interval.mean + 1e-12 and interval.mean <= interval.high + 1e-12
                )


def test_the_full_policy_is_flat(sweep):
    found = curve(sweep, "correct", "agnostic", "full")
    assert len(found) == len(sweep.axis.points)
    assert len({(i.mean, i.low, i.high) for i in found.values()}) == 1
    assert baseline(sweep, "full_correct", "agnostic").mean == pytest.approx(found[0.0].mean)


def test_the_triad_is_the_metrics_own(sweep):
    rows = at(sweep, "key_norm", 0.5)
    access, right = rows["accessible"].to_numpy(), rows["correct"].to_numpy()
    one = accessibility(access, rows["passage_id"], n_resamples=N)
    two = utilisation(right, access, rows["passage_id"], n_resamples=N)
    assert curve(sweep, "accessible", "agnostic", "key_norm")[0.5].mean == pytest.approx(one.mean)
    found = curve(sweep, "used", "agnostic", "key_norm")[0.5]
    assert (found.mean, found.n) == (pytest.approx(two.mean), two.n)


def test_the_decomposition_is_the_metrics_own(sweep):
    rows = at(sweep, "key_norm", 0.5)
    expected = decompose(
        rows["failed"].to_numpy(),
        rows["erased_layer"].to_numpy(),
        rows["passage_id"],
        failed_full=rows["full_failed"].to_numpy(),
        n_resamples=N,
    )
    found = decomposition(sweep, "layer", "agnostic", "key_norm")[0.5]
    assert found.n_missing == 3
    assert found == expected


def test_rates_and_curves_agree(mixed):
    assert rates(mixed, "correct", "agnostic", "random") == pytest.approx(
        curve(mixed, "correct", "agnostic", "random")
    )


def test_association_leaves_out_points_where_ger_does_not_vary(sweep):
    assert association(sweep, "agnostic", "full") == {}
    found = association(sweep, "agnostic", "key_norm")
    assert 0.0 not in found and 0.9 in found and all(0 <= i.mean <= 1 for i in found.values())


def test_rising_curves_correlate(sweep):
    r = correlation(sweep, "agnostic", "key_norm")
    assert r.mean > 0.7 and r.n == len(sweep.axis.points)


def test_the_effect_at_fixed_ratios_is_the_metrics_own(sweep):
    rows = sweep.of("agnostic", "key_norm")
    rows = rows[rows["ger_layer"].notna() & (rows["x"] > 0)]
    expected = logistic_effect(
        rows["x"].to_numpy(),
        rows["ger_layer"].to_numpy(),
        rows["hallucination"].to_numpy(),
        rows["passage_id"],
        n_resamples=N,
    )
    found = effect(sweep, "agnostic", "key_norm")
    assert found == expected
    assert found.coefficient.n > 100 and found.n_levels > 5
    assert found.coefficient.low < found.coefficient.mean < found.coefficient.high


def test_nothing_evicted_has_no_effect(sweep):
    found = effect(sweep, "agnostic", "full")
    assert math.isnan(found.coefficient.mean) and found.n_levels == 0


def test_layer_curves_are_means_over_items(sweep):
    rows = at(sweep, "random", 0.9)
    found = layer_curves(sweep, "head_agreement_by_layer", "agnostic", "random")[0.9]
    np.testing.assert_allclose(found, np.mean(list(rows["head_agreement_by_layer"]), axis=0))


def test_slopes_over_kept_entries_rise_with_compression(sweep):
    found = slopes(sweep, "agnostic", "key_norm", against="kept")
    assert list(found.ratios) == sorted(found.ratios)
    assert found.ratios[-1] == pytest.approx(-math.log(0.01 * 240))
    assert slopes(sweep, "agnostic", "key_norm").ratios == sweep.axis.points
