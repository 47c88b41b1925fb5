"""How steeply an outcome changes with compression (D12): susceptibility χ = ∂H/∂α [S], and which shape the curve has.

χ is estimated by interval slopes, set at the intervals' midpoints, with joint bootstrap intervals
over passages. Any convex rising curve is steepest at the end of its grid, so a peak is claimed only
where it is interior and its interval lies above both neighbours' [C]. Three shapes (power law,
logistic, broken line) are compared by the likelihood of held-out passages [C]. For curves against
kept tokens pass -ln(tokens kept) as ``ratios``: compression then grows to the right as well.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from routelens.metrics.intervals import (
    N_RESAMPLES,
    Interval,
    as_numbers,
    bootstrap_mean,
    bounds,
    group_codes,
    resampled_sums,
)


@dataclass(frozen=True)
class Susceptibility:
    """Rates at each grid point and slopes between them (D12).

    ``steepest`` is the index of the largest slope (None where a slope is missing),
    ``interior_peak`` whether a peak is claimed there, ``peak_at`` its midpoint (NaN unless
    claimed).
    """

    ratios: tuple[float, ...]
    rates: tuple[Interval, ...]
    midpoints: tuple[float, ...]
    slopes: tuple[Interval, ...]
    steepest: int | None
    interior_peak: bool
    peak_at: float


@dataclass(frozen=True)
class ShapeFit:
    """One shape of the curve: its held-out log-likelihood per item (nats), and the curve fitted to everything."""

    name: str
    log_likelihood: float
    parameters: tuple[float, ...]
    predict: Callable[[Iterable[float]], Float[np.ndarray, " n"]]


@dataclass(frozen=True)
class ShapeComparison:
    """The shapes, best first; ``lead`` is the best's held-out lead over the second, in nats per item.

    ``decided`` says whether the lead's interval is above 0.
    """

    fits: tuple[ShapeFit, ...]
    lead: Interval
    decided: bool


@dataclass(frozen=True)
class _Table:
    """Sums and counts of an outcome per passage and grid point."""

    ratios: np.ndarray
    labels: np.ndarray
    sums: np.ndarray
    counts: np.ndarray


def susceptibility(
    ratios: Iterable[Any],
    outcomes: Iterable[Any],
    passages: Iterable[Any],
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Susceptibility:
    """Slopes of the outcome's rate over the compression ratio, and whether they peak inside the grid (D12 [C]).

    One row per (item, ratio): ``outcomes`` is 0/1 (hallucinated or not) or any number; missing ones
    are dropped.
    """
    table = _table(ratios, outcomes, passages, "susceptibility")
    grid, n = table.ratios, len(table.ratios)
    samples = resampled_sums(
        np.hstack([table.sums, table.counts]), n_resamples=n_resamples, seed=seed
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = samples[:, :n] / samples[:, n:]
        rates = table.sums.sum(axis=0) / table.counts.sum(axis=0)
    steps = np.diff(grid)
    n_items, holding = table.counts.sum(axis=0), (table.counts > 0).sum(axis=0)

    def interval(value: float, draws: np.ndarray, *at: int) -> Interval:
        low, high = bounds(draws, level=level)
        return Interval(float(value), low, high, int(min(n_items[[*at]])), int(min(holding[[*at]])))

    slopes = tuple(
        interval(
            (rates[i + 1] - rates[i]) / steps[i],
            (drawn[:, i + 1] - drawn[:, i]) / steps[i],
            i,
            i + 1,
        )
        for i in range(n - 1)
    )
    steepest = int(np.argmax([s.mean for s in slopes])) if slopes else None
    midpoints = tuple(float(m) for m in grid[:-1] + steps / 2)
    claimed = steepest is not None and _interior_peak(slopes, steepest)
    return Susceptibility(
        ratios=tuple(float(r) for r in grid),
        rates=tuple(interval(rates[i], drawn[:, i], i) for i in range(n)),
        midpoints=midpoints,
        slopes=slopes,
        steepest=steepest,
        interior_peak=claimed,
        peak_at=midpoints[steepest] if claimed and steepest is not None else math.nan,
    )


def compare_shapes(
    ratios: Iterable[Any],
    outcomes: Iterable[Any],
    passages: Iterable[Any],
    *,
    n_folds: int = 5,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> ShapeComparison:
    """Power law, logistic and broken line by held-out binomial likelihood, folds over passages (D12 [C]).

    ``outcomes`` lie in [0, 1]. Too little to fit (fewer passages than folds, or fewer than five
    grid points) leaves every likelihood NaN and nothing decided.
    """
    table = _table(ratios, outcomes, passages, "compare_shapes")
    if table.sums.size and not (table.sums.min() >= 0 and (table.sums <= table.counts).all()):
        raise ValueError("compare_shapes: outcomes are 0/1 or shares; got values outside [0, 1].")
    if n_folds < 2:
        raise ValueError(f"compare_shapes: n_folds is at least 2; got {n_folds}.")
    n_passages = len(table.labels)
    if n_passages < n_folds or len(table.ratios) < 5:
        none = tuple(ShapeFit(name, math.nan, (), _undefined) for name in SHAPES)
        empty = Interval(math.nan, math.nan, math.nan, 0, n_passages)
        return ShapeComparison(none, empty, False)

    x = _unit(table.ratios, table.ratios)
    fold = np.random.default_rng(seed).permutation(n_passages) % n_folds
    scores = {name: np.empty(n_passages) for name in SHAPES}
    whole = {name: _fit(name, x, table.sums.sum(0), table.counts.sum(0)) for name in SHAPES}
    for k in range(n_folds):
        out = fold == k
        sums, counts = table.sums[~out].sum(0), table.counts[~out].sum(0)
        for name in SHAPES:
            p = _curve(name, _fit(name, x, sums, counts, near=whole[name]), x)
            scores[name][out] = _log_likelihood(p, table.sums[out], table.counts[out])
    n_items = table.counts.sum()
    order = sorted(SHAPES, key=lambda name: -scores[name].sum())
    fits = [
        ShapeFit(
            name,
            float(scores[name].sum() / n_items),
            tuple(float(t) for t in whole[name]),
            _predictor(name, whole[name], table.ratios),
        )
        for name in order
    ]
    # Passages differ in size: weigh each by its items, so that the lead is per item.
    per_item = (scores[order[0]] - scores[order[1]]) * n_passages / n_items
    lead = bootstrap_mean(per_item, n_resamples=n_resamples, seed=seed, level=level)
    return ShapeComparison(tuple(fits), lead, bool(lead.low > 0))


def _table(
    ratios: Iterable[Any], outcomes: Iterable[Any], passages: Iterable[Any], who: str
) -> _Table:
    alpha, values = as_numbers(ratios), as_numbers(outcomes)
    if len(alpha) != len(values):
        raise ValueError(
            f"{who}: one ratio and one outcome per row; got {len(alpha)} and {len(values)}."
        )
    present = ~(np.isnan(alpha) | np.isnan(values))
    codes = group_codes(passages, len(alpha), present, who=who)
    grid, column = np.unique(alpha[present], return_inverse=True)
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    shape, cell = (n_groups, len(grid)), codes * len(grid) + column
    size = shape[0] * shape[1]
    return _Table(
        ratios=grid,
        labels=np.arange(n_groups),
        sums=np.bincount(cell, weights=values[present], minlength=size).reshape(shape),
        counts=np.bincount(cell, minlength=size).reshape(shape).astype(np.float64),
    )


def _interior_peak(slopes: tuple[Interval, ...], steepest: int) -> bool:
    if not 0 < steepest < len(slopes) - 1:
        return False
    neighbours = (slopes[steepest - 1].high, slopes[steepest + 1].high)
    return bool(slopes[steepest].low > max(neighbours))


# The shapes live on x in [0, 1]. Ends and levels pass through a sigmoid, so that every parameter is free.
def _power_law(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    start, end = _sigmoid(t[:2])
    return start + (end - start) * x ** np.exp(t[2])


def _logistic(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    low, high = _sigmoid(t[:2])
    return low + (high - low) * _sigmoid(np.exp(t[2]) * (x - _sigmoid(t[3:])))


def _broken_line(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    start, end, bend = _sigmoid(t[:3])
    knot = _sigmoid(t[3:])
    return np.where(
        x < knot,
        start + (bend - start) * x / knot,
        bend + (end - bend) * (x - knot) / (1 - knot),
    )


SHAPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "power_law": _power_law,
    "logistic": _logistic,
    "broken_line": _broken_line,
}


def _starts(name: str, start: float, end: float) -> list[list[float]]:
    if name == "power_law":
        return [[start, end, math.log(power)] for power in (0.5, 1, 3, 8, 20)]
    knots = [_logit(knot) for knot in (0.2, 0.4, 0.6, 0.8, 0.92)]
    if name == "logistic":
        return [[start, end, math.log(steep), k] for steep in (6.0, 30.0) for k in knots]
    return [[start, end, start, knot] for knot in knots]


def _fit(
    name: str, x: np.ndarray, sums: np.ndarray, counts: np.ndarray, near: np.ndarray | None = None
) -> np.ndarray:
    """The maximum likelihood parameters, sought from ``near``, else from the best two of a few starts."""
    from scipy.optimize import minimize

    def loss(theta: np.ndarray) -> float:
        return -float(_log_likelihood(_curve(name, theta, x), sums[None], counts[None])[0])

    if near is not None:
        starts = [near]
    else:
        rates = (sums + 0.5) / (counts + 1)
        ends = _logit(float(rates[0])), _logit(float(rates[-1]))
        starts = sorted((np.array(start) for start in _starts(name, *ends)), key=loss)[:2]
    limits = [(-8.0, 8.0)] * len(starts[0])
    fits = [minimize(loss, start, method="L-BFGS-B", bounds=limits) for start in starts]
    return min(fits, key=lambda fit: fit.fun).x


def _curve(name: str, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.clip(SHAPES[name](theta, x), 1e-6, 1 - 1e-6)


def _log_likelihood(
    p: Float[np.ndarray, " n_ratios"],
    sums: Float[np.ndarray, "n_passages n_ratios"],
    counts: Float[np.ndarray, "n_passages n_ratios"],
) -> Float[np.ndarray, " n_passages"]:
    """Binomial log-likelihood of each passage's outcomes, in nats."""
    return (sums * np.log(p) + (counts - sums) * np.log1p(-p)).sum(axis=-1)


def _predictor(
    name: str, theta: np.ndarray, grid: np.ndarray
) -> Callable[[Iterable[float]], np.ndarray]:
    return lambda ratios: _curve(name, theta, _unit(as_numbers(ratios), grid))


def _undefined(ratios: Iterable[float]) -> np.ndarray:
    return np.full(len(as_numbers(ratios)), np.nan)


def _unit(ratios: np.ndarray, grid: np.ndarray) -> np.ndarray:
    return np.clip((ratios - grid[0]) / (grid[-1] - grid[0]), 0.0, 1.0)


def _sigmoid(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(value, -30, 30)))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))
