"""Susceptibility and the shape of the cliff (D12): planted peaks and planted shapes."""

import math

import numpy as np
import pytest

from routelens.metrics import compare_shapes, susceptibility

GRID = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


def sample(rate, *, n_passages=200, n_items=6, seed=0, grid=GRID):
    """Rows (ratio, outcome, passage) whose hallucination rate follows ``rate``."""
    rng = np.random.default_rng(seed)
    ratio, passage, _ = np.meshgrid(grid, np.arange(n_passages), np.arange(n_items), indexing="ij")
    outcome = rng.random(ratio.shape) < rate(ratio)
    return ratio.ravel(), outcome.ravel(), passage.ravel()


def step(x):
    """Flat, then a steep rise between 0.5 and 0.6, then flat."""
    return np.where(x < 0.55, 0.1, 0.7)


def test_slopes_by_hand():
    found = susceptibility([0, 0, 0.5, 0.5, 1, 1], [0, 0, 0, 1, 1, 1], list("ababab"))
    assert found.ratios == (0, 0.5, 1)
    assert found.midpoints == (0.25, 0.75)
    assert [rate.mean for rate in found.rates] == [0, 0.5, 1]
    assert [slope.mean for slope in found.slopes] == [1, 1]


def test_an_interior_peak_is_found_where_it_was_planted():
    found = susceptibility(*sample(step))
    assert found.interior_peak
    assert found.peak_at == pytest.approx(0.55)
    assert found.steepest is not None
    assert found.slopes[found.steepest].mean == pytest.approx(6, rel=0.15)


def test_a_convex_curve_is_steepest_at_the_edge_and_claims_no_peak():
    found = susceptibility(*sample(lambda x: 0.05 + 0.8 * x**6))
    assert found.steepest == len(found.slopes) - 1
    assert not found.interior_peak
    assert math.isnan(found.peak_at)


def test_a_flat_curve_claims_no_peak():
    assert not any(
        susceptibility(*sample(lambda x: 0 * x + 0.3, seed=seed, n_passages=40)).interior_peak
        for seed in range(10)
    )


def test_a_peak_within_the_noise_is_not_claimed():
    found = susceptibility(*sample(step, n_passages=4, n_items=2))
    assert not found.interior_peak


def test_slope_intervals_hold_the_planted_slope():
    hits = 0
    for seed in range(60):
        found = susceptibility(
            *sample(lambda x: 0.1 + 0.5 * x, n_passages=30, seed=seed), n_resamples=400
        )
        hits += found.slopes[4].low <= 0.5 <= found.slopes[4].high
    assert hits / 60 > 0.85


def test_missing_outcomes_are_left_out():
    ratio, outcome, passage = sample(step, n_passages=20)
    holes = outcome.astype(float)
    holes[::7] = math.nan
    found = susceptibility(ratio, holes, passage)
    assert sum(rate.n for rate in found.rates) == np.isfinite(holes).sum()


def test_one_ratio_or_none_has_no_slopes():
    assert susceptibility([0.5, 0.5], [0, 1], ["a", "b"]).slopes == ()
    empty = susceptibility([], [], [])
    assert (empty.rates, empty.steepest, empty.interior_peak) == ((), None, False)


def test_kept_tokens_serve_as_the_axis_too():
    ratio, outcome, passage = sample(step)
    x = -np.log(1000 * (1 - ratio))
    found = susceptibility(x, outcome, passage)
    assert found.interior_peak
    assert -np.log(500) < found.peak_at < -np.log(400)


def logistic(x):
    return 0.05 + 0.85 / (1 + np.exp(-25 * (x - 0.5)))


def broken(x):
    return 0.05 + 1.9 * np.maximum(0, x - 0.5)


def power(x):
    return 0.05 + 0.9 * (x / 0.9) ** 2


@pytest.mark.parametrize(
    ("rate", "name"), [(logistic, "logistic"), (broken, "broken_line"), (power, "power_law")]
)
def test_the_planted_shape_is_preferred(rate, name):
    found = compare_shapes(*sample(rate, n_passages=150, n_items=8), n_folds=2)
    assert found.fits[0].name == name
    fitted = found.fits[0].predict(GRID)
    assert np.abs(fitted - rate(GRID)).max() < 0.05
    assert found.fits[0].log_likelihood >= found.fits[1].log_likelihood
    assert found.decided == (found.lead.low > 0)
    assert found.decided or rate is not logistic


def test_a_straight_line_which_every_shape_can_draw_is_not_decided():
    assert not compare_shapes(*sample(lambda x: 0.1 + 0.5 * x, n_passages=40), n_folds=2).decided


def test_too_little_data_decides_nothing():
    found = compare_shapes([0, 0.5, 1], [0, 1, 1], ["a", "b", "c"])
    assert all(math.isnan(fit.log_likelihood) for fit in found.fits)
    assert not found.decided
    assert np.isnan(found.fits[0].predict([0.1, 0.2])).all()


def test_outcomes_outside_the_unit_interval_are_refused():
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        compare_shapes([0, 0.5], [0, 2], ["a", "b"])
