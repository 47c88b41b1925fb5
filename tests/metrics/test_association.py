"""GER against hallucination (D13): planted AUROC, planted log-odds, one-class cases, and why (a) is not enough."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from routelens.metrics import (
    auroc,
    auroc_within,
    logistic_effect,
    pearson,
    pearson_over_ratios,
)

laws = settings(deadline=None, max_examples=20)

GRID = np.linspace(0, 0.9, 10)


def rows(effect, *, n_passages=60, n_items=5, seed=0):
    """Rows in which GER and hallucination both rise with α; within an α, GER matters by ``effect`` log-odds per unit."""
    rng = np.random.default_rng(seed)
    ratio, passage, _ = np.meshgrid(GRID, np.arange(n_passages), np.arange(n_items), indexing="ij")
    ger = np.clip(ratio + rng.normal(0, 0.15, ratio.shape), 0, 1)
    logit = -3 + 5 * ratio + effect * (ger - ratio)
    hallucinated = rng.random(ratio.shape) < 1 / (1 + np.exp(-logit))
    return ratio.ravel(), ger.ravel(), hallucinated.ravel(), passage.ravel()


def test_auroc_by_hand():
    # Of the four pairs (positive, negative): 0.8 > 0.3, 0.8 > 0.5, 0.5 > 0.3, and 0.5 = 0.5 counts half.
    assert auroc([0.3, 0.5, 0.5, 0.8], [0, 0, 1, 1]).mean == 3.5 / 4


def test_auroc_is_one_half_and_zero_where_planted():
    assert auroc([1, 2, 3, 4], [0, 0, 1, 1]).mean == 1
    assert auroc([4, 3, 2, 1], [0, 0, 1, 1]).mean == 0
    assert auroc([1, 1, 1, 1], [0, 1, 0, 1]).mean == 0.5


@laws
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=30))
def test_auroc_is_the_mann_whitney_statistic(pairs):
    scores = np.array([s for s, _ in pairs], dtype=float)
    labels = np.array([b for _, b in pairs])
    found = auroc(scores, labels, n_resamples=10).mean
    if labels.all() or not labels.any():
        assert math.isnan(found)
    else:
        u = mannwhitneyu(scores[labels], scores[~labels]).statistic
        assert found == pytest.approx(u / (labels.sum() * (~labels).sum()))


def test_the_auroc_interval_covers_the_planted_value():
    # Scores N(0, 1) and N(1, 1): AUROC = Φ(1 / √2) = 0.760.
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(60):
        labels = rng.random(120) < 0.4
        scores = rng.normal(0, 1, 120) + labels
        interval = auroc(scores, labels, np.arange(120) // 2, n_resamples=400, seed=seed)
        hits += interval.low <= 0.7602 <= interval.high
    assert hits / 60 > 0.85


def test_one_class_is_nan_with_its_n_and_never_raises():
    one = auroc([0.1, 0.2, 0.3], [1, 1, 1], ["a", "b", "c"])
    assert math.isnan(one.mean) and math.isnan(one.low) and one.n == 3
    assert math.isnan(auroc([], []).mean)
    effect = logistic_effect([0.5] * 3, [0.1, 0.2, 0.3], [1, 1, 1], ["a", "b", "c"])
    assert math.isnan(effect.coefficient.mean) and effect.n_levels == 0
    assert auroc_within([], [], [], []) == {}
    assert math.isnan(logistic_effect([], [], []).coefficient.mean)
    assert math.isnan(pearson_over_ratios([], [], []).mean)


def test_two_rising_curves_correlate_without_any_link_between_them():
    """The reason for AUROC within α: nothing links GER and hallucination here but α itself."""
    data = rows(effect=0)
    assert pearson_over_ratios(*data).mean > 0.9
    within = auroc_within(*data, n_resamples=500)
    assert np.mean([i.mean for i in within.values()]) == pytest.approx(0.5, abs=0.04)
    assert sum(i.low <= 0.5 <= i.high for i in within.values()) >= 8
    coefficient = logistic_effect(*data).coefficient
    assert coefficient.low < 0 < coefficient.high


def test_a_planted_link_shows_within_each_ratio():
    data = rows(effect=4, n_passages=150)
    within = auroc_within(*data, n_resamples=500)
    assert list(within) == pytest.approx(list(GRID))
    assert all(i.low > 0.5 for i in list(within.values())[3:7])
    coefficient = logistic_effect(*data).coefficient
    assert coefficient.low < 4 < coefficient.high
    assert coefficient.mean == pytest.approx(4, abs=0.7)


def test_the_logistic_coefficient_is_the_maximum_likelihood_estimate():
    from sklearn.linear_model import LogisticRegression

    ratio, ger, hallucinated, passage = rows(effect=3, n_passages=20)
    dummies = (ratio[:, None] == GRID).astype(float)
    model = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10, max_iter=10_000)
    model.fit(np.column_stack([ger, dummies]), hallucinated)
    found = logistic_effect(ratio, ger, hallucinated, passage, n_resamples=10)
    assert found.coefficient.mean == pytest.approx(model.coef_[0, 0], rel=1e-3)


def test_a_ratio_with_one_class_says_nothing_about_the_coefficient():
    ratio, ger, hallucinated, passage = rows(effect=3, n_passages=20)
    alone = logistic_effect(ratio, ger, hallucinated, passage, n_resamples=10)
    more = logistic_effect(
        np.append(ratio, [0.99] * 50),
        np.append(ger, np.linspace(0, 1, 50)),
        np.append(hallucinated, [True] * 50),
        np.append(passage, np.arange(50)),
        n_resamples=10,
    )
    assert more.coefficient.mean == pytest.approx(alone.coefficient.mean)
    assert (more.n_levels, more.coefficient.n) == (alone.n_levels, alone.coefficient.n)


def test_separated_classes_have_an_infinite_coefficient():
    effect = logistic_effect([0.5] * 8, [0.1] * 4 + [0.9] * 4, [0] * 4 + [1] * 4, range(8))
    assert effect.coefficient.mean == math.inf
    effect = logistic_effect([0.5] * 8, [0.9] * 4 + [0.1] * 4, [0] * 4 + [1] * 4, range(8))
    assert effect.coefficient.mean == -math.inf


def test_a_constant_score_has_no_coefficient():
    effect = logistic_effect([0.5] * 4 + [0.9] * 4, [0.2] * 4 + [0.8] * 4, [0, 1] * 4, range(8))
    assert math.isnan(effect.coefficient.mean)


def test_pearson_by_hand():
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert pearson([1, 2, 3], [3, 1, 2]) == pytest.approx(-0.5)
    assert math.isnan(pearson([1, 2], [1, 2]))
    assert math.isnan(pearson([1, 2, 3], [5, 5, 5]))
    assert pearson([1, 2, None, 3], [2, 4, 9, 6]) == pytest.approx(1)
    with pytest.raises(ValueError, match="got 1 and 2"):
        pearson([1], [1, 2])


def test_pearson_over_ratios_is_over_the_points_means():
    found = pearson_over_ratios(
        [0, 0, 0.5, 0.5, 0.9, 0.9], [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1], list("ababab")
    )
    assert found.mean == pytest.approx(1)  # means 0, .5, 1 on both sides
    assert (found.n, found.n_groups) == (3, 2)
    many = pearson_over_ratios(*rows(effect=2))
    assert many.n == 10 and many.low <= many.mean <= many.high <= 1


def test_rows_with_a_missing_value_are_dropped_and_counted():
    found = auroc([0.1, None, 0.3, 0.4], [0, 1, math.nan, 1], ["a", "b", "c", "d"])
    assert (found.mean, found.n, found.n_missing) == (1, 2, 2)


def test_labels_that_are_not_binary_are_refused():
    with pytest.raises(ValueError, match="booleans or 0/1"):
        auroc([0.1, 0.2], [0, 2])
    with pytest.raises(ValueError, match="lengths"):
        auroc_within([0.1], [0.1, 0.2], [0, 1])


@laws
@given(st.integers(0, 1000), st.randoms())
def test_row_order_does_not_matter(seed, random):
    data = np.column_stack(rows(effect=2, n_passages=8, n_items=2, seed=seed)).astype(float)
    shuffled = data[random.sample(range(len(data)), len(data))]
    for measure in (pearson_over_ratios, logistic_effect):
        here, there = measure(*data.T, n_resamples=50), measure(*shuffled.T, n_resamples=50)
        here, there = (getattr(f, "coefficient", f) for f in (here, there))
        for name in ("mean", "low", "high"):
            assert getattr(here, name) == pytest.approx(
                getattr(there, name), rel=1e-6, abs=1e-6, nan_ok=True
            )
