"""Does erasing the evidence go with hallucination (D13)? Three answers of growing strength.

(a) Pearson's r of the two rates over the α points, as in the paper [S]: any two rising curves
correlate. (b) AUROC of an item's GER for its hallucination *within* one α (primary [C]). (c) A
logistic regression of hallucination on GER with one intercept per α. Intervals are bootstraps over
passages. Where something cannot be computed (one class only, a constant, too few points) it is NaN,
with its n.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from routelens.metrics.intervals import (
    N_RESAMPLES,
    Interval,
    as_numbers,
    bounds,
    draw_counts,
    group_codes,
    group_sums,
    resampled_sums,
)

_CELLS_AT_ONCE = 4_000_000
_INSIDE_ONE = (-1 + 1e-12, 1 - 1e-12)


@dataclass(frozen=True)
class LogisticEffect:
    """The log-odds per unit of GER at fixed α (D13 (c)); infinite where the classes separate perfectly.

    ``coefficient.n`` counts the items of the ``n_levels`` ratios that hold both classes: the others
    say nothing about it.
    """

    coefficient: Interval
    n_levels: int


def pearson(x: Iterable[Any], y: Iterable[Any]) -> float:
    """Pearson's r; NaN for fewer than three pairs or a constant side."""
    left, right = as_numbers(x), as_numbers(y)
    if len(left) != len(right):
        raise ValueError(f"pearson: x and y pair up; got {len(left)} and {len(right)} values.")
    present = ~(np.isnan(left) | np.isnan(right))
    if present.sum() < 3:
        return math.nan
    return float(_correlation(left[present][None], right[present][None])[0])


def pearson_over_ratios(
    ratios: Iterable[Any],
    ger: Iterable[Any],
    hallucinated: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Pearson's r of mean GER and hallucination rate over the α points (D13 (a) [S]); ``n`` counts the points."""
    alpha, score, label, codes, missing = _rows(ratios, ger, hallucinated, passages)
    grid, level_of = np.unique(alpha, return_inverse=True)
    n_groups = _n_groups(codes)
    at = np.eye(len(grid))[level_of]
    columns = np.hstack([at, at * score[:, None], at * label[:, None]])
    sums = group_sums(codes, n_groups, columns) if len(grid) else np.zeros((0, 0))

    def curve_correlation(totals: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            counts, scores, labels = np.split(totals, 3, axis=1)
            return _correlation(scores / counts, labels / counts)

    if len(grid) < 3:
        return Interval(math.nan, math.nan, math.nan, len(grid), n_groups, missing)
    value = float(curve_correlation(sums.sum(axis=0)[None])[0])
    samples = curve_correlation(resampled_sums(sums, n_resamples=n_resamples, seed=seed))
    low, high = bounds(samples, level=level)
    # Resampling adds noise to both curves and pulls r towards 0: the spread, on Fisher's scale, is
    # moved from the resamples' median to the estimate.
    middle = float(np.nanmedian(samples)) if not math.isnan(low) else math.nan
    z, z_low, z_middle, z_high = np.arctanh(np.clip([value, low, middle, high], *_INSIDE_ONE))
    low, high = float(np.tanh(z + z_low - z_middle)), float(np.tanh(z + z_high - z_middle))
    return Interval(value, low, high, len(grid), n_groups, missing)


def auroc(
    scores: Iterable[Any],
    labels: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Area under the ROC curve: P(score of a positive > score of a negative), ties half (D13 (b)).

    Resamples with one class only are left out; with one class in the data everything is NaN.
    """
    value = as_numbers(scores)
    _, score, label, codes, missing = _rows(np.zeros(len(value)), value, labels, passages)
    steps, column = np.unique(score, return_inverse=True)
    n_groups = _n_groups(codes)
    shape, cell = (n_groups, len(steps)), codes * len(steps) + column
    positive = np.bincount(cell, weights=label, minlength=math.prod(shape)).reshape(shape)
    negative = np.bincount(cell, weights=1 - label, minlength=math.prod(shape)).reshape(shape)
    every = float(_area(positive.sum(axis=0)[None], negative.sum(axis=0)[None])[0])
    if n_groups < 2 or math.isnan(every):
        return Interval(every, math.nan, math.nan, len(score), n_groups, missing)
    samples = np.concatenate(
        [
            _area(weights @ positive, weights @ negative)
            for weights in _weights(n_groups, len(steps), n_resamples, seed)
        ]
    )
    return Interval(every, *bounds(samples, level=level), len(score), n_groups, missing)


def auroc_within(
    ratios: Iterable[Any],
    scores: Iterable[Any],
    labels: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> dict[float, Interval]:
    """:func:`auroc` at each α, in ascending order (D13 (b), primary [C])."""
    alpha, score, label = as_numbers(ratios), as_numbers(scores), as_numbers(labels)
    _same_length("auroc_within", alpha, score, label)
    names = np.arange(len(alpha)) if passages is None else np.array(list(passages), dtype=object)
    result: dict[float, Interval] = {}
    for value in np.unique(alpha[~np.isnan(alpha)]):
        at = alpha == value
        result[float(value)] = auroc(
            score[at], label[at], names[at], n_resamples=n_resamples, seed=seed, level=level
        )
    return result


def logistic_effect(
    ratios: Iterable[Any],
    ger: Iterable[Any],
    hallucinated: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    n_resamples: int = 1_000,
    seed: int = 0,
    level: float = 0.95,
) -> LogisticEffect:
    """Log-odds of hallucination per unit of GER, with one intercept per α (D13 (c)), by maximum likelihood.

    A resample in which the classes separate counts as an infinite coefficient, so a bound may be
    infinite.
    """
    alpha, score, label, codes, missing = _rows(ratios, ger, hallucinated, passages)
    grid, level_of = np.unique(alpha, return_inverse=True)
    at = np.eye(len(grid))[level_of]
    share = (at.T @ label) / np.maximum(at.sum(axis=0), 1)
    mixed = (share > 0) & (share < 1)
    used = mixed[level_of] if len(grid) else np.zeros(0, dtype=bool)
    if not used.any():
        nothing = Interval(math.nan, math.nan, math.nan, 0, 0, missing)
        return LogisticEffect(nothing, 0)
    at, x, y = at[used][:, mixed], score[used], label[used]
    _, codes = np.unique(codes[used], return_inverse=True)
    n_groups = _n_groups(codes)
    value = float(_slopes(np.ones((1, len(x))), at, x, y)[0])
    low = high = math.nan
    if n_groups > 1 and not math.isnan(value):
        samples = [
            _slopes(weights[:, codes], at, x, y)
            for weights in _weights(n_groups, len(x), n_resamples, seed)
        ]
        low, high = bounds(np.concatenate(samples), level=level)
    interval = Interval(value, low, high, len(x), n_groups, missing)
    return LogisticEffect(interval, int(mixed.sum()))


def _slopes(
    weights: Float[np.ndarray, "n_resamples n"],
    at: Float[np.ndarray, "n n_levels"],
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n_resamples"]:
    """The slope's maximum likelihood estimate for each row of weights, by Newton's method on all rows at once."""
    centred = x - at @ ((at.T @ x) / at.sum(axis=0))
    scale = float(centred.std())
    if scale < 1e-12:
        return np.full(len(weights), math.nan)
    z = centred / scale
    # A level with one class in a resample has an infinite intercept and no say on the slope.
    total, hits = weights @ at, (weights * y) @ at
    weights = weights * (((hits > 0) & (hits < total)).astype(float) @ at.T)
    total = weights @ at
    slope = np.zeros(len(weights))
    share = np.clip(((weights * y) @ at) / np.maximum(total, 1), 0.01, 0.99)
    intercept = np.log(share / (1 - share))
    identified = np.zeros(len(weights), dtype=bool)
    for _ in range(40):
        p = 1 / (1 + np.exp(-np.clip(intercept @ at.T + slope[:, None] * z, -30, 30)))
        residual, curvature = weights * (y - p), weights * p * (1 - p)
        # Newton's step with the intercepts' diagonal block eliminated.
        d_level, h_level = residual @ at, curvature @ at + 1e-9
        h_cross = (curvature * z) @ at
        gain = residual @ z - (h_cross * d_level / h_level).sum(axis=1)
        bend = curvature @ (z * z) - (h_cross**2 / h_level).sum(axis=1)
        identified |= bend > 1e-6
        step = np.clip(gain / np.maximum(bend, 1e-9), -1, 1)
        slope = np.clip(slope + step, -_SEPARATED, _SEPARATED)
        shift = (d_level - h_cross * step[:, None]) / h_level
        intercept = np.clip(intercept + np.clip(shift, -2, 2), -25, 25)
        if np.abs(step[np.abs(slope) < _SEPARATED]).max(initial=0) < 1e-8:
            break
    infinite = np.abs(slope) >= _SEPARATED
    estimate = np.where(infinite, np.copysign(np.inf, slope), slope / scale)
    return np.where(identified, estimate, math.nan)


_SEPARATED = 12.0
"""Log-odds per standard deviation of the score beyond which the classes count as separated."""


def _correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row-wise Pearson's r over the defined columns; NaN where a side is constant."""
    hidden = np.isnan(x) | np.isnan(y)
    x, y = np.ma.array(x, mask=hidden), np.ma.array(y, mask=hidden)
    x, y = x - x.mean(axis=1)[:, None], y - y.mean(axis=1)[:, None]
    spread = np.ma.filled((x**2).sum(axis=1) * (y**2).sum(axis=1), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.ma.filled((x * y).sum(axis=1), math.nan) / np.sqrt(spread)
    return np.where(spread > 1e-24, np.clip(r, -1, 1), math.nan)


def _area(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """AUROC per row, from the weight of either class at each ascending score."""
    below = np.cumsum(negative, axis=1) - negative
    wins = (positive * (below + negative / 2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return wins / (positive.sum(axis=1) * negative.sum(axis=1))


def _weights(n_groups: int, width: int, n_resamples: int, seed: int) -> Iterable[np.ndarray]:
    """Draw counts per resample and group, in chunks small enough for a row of ``width`` numbers each."""
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS_AT_ONCE // max(1, width, n_groups))
    for start in range(0, n_resamples, step):
        yield draw_counts(rng, min(step, n_resamples - start), n_groups)


def _rows(
    ratios: Iterable[Any],
    scores: Iterable[Any],
    labels: Iterable[Any],
    passages: Iterable[Any] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """The rows without a missing value, as (ratio, score, label, passage code, how many were dropped)."""
    alpha, score, label = as_numbers(ratios), as_numbers(scores), as_numbers(labels)
    _same_length("association", alpha, score, label)
    present = ~(np.isnan(alpha) | np.isnan(score) | np.isnan(label))
    stray = set(np.unique(label[present])) - {0.0, 1.0}
    if stray:
        raise ValueError(f"association: labels are booleans or 0/1; got {sorted(stray)[:3]}.")
    codes = group_codes(passages, len(alpha), present, who="association")
    return alpha[present], score[present], label[present], codes, int((~present).sum())


def _same_length(who: str, *columns: np.ndarray) -> None:
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"{who}: one ratio, one score and one label per row; got lengths {lengths}."
        )


def _n_groups(codes: np.ndarray) -> int:
    return int(codes.max()) + 1 if len(codes) else 0
