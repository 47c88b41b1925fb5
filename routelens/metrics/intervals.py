"""Intervals that respect that the questions of one passage share a mask: bootstrap over passages (Wilson elsewhere).

A resample draws as many passages as there are, with replacement; a passage brings all its values.
Every statistic here is a function of sums over passages, so one matrix of draw counts times the
passages' sums gives all resamples at once. Bounds are percentiles. Missing values (NaN or None) are
dropped and counted. Where all values are equal the interval has no width: with few passages that
says little.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float, Int

N_RESAMPLES = 10_000
_DRAWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Interval:
    """A point estimate with its bounds; NaN where it cannot be computed.

    ``mean`` is the estimate (of a mean, or of what the function names), ``n`` the values used,
    ``n_groups`` the passages they come from, ``n_missing`` the values dropped.
    """

    mean: float
    low: float
    high: float
    n: int
    n_groups: int
    n_missing: int = 0


def bootstrap_mean(
    values: Iterable[Any],
    groups: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The mean of the values with a bootstrap interval over their groups, the passages (Intervals, D11 ff.).

    ``groups`` labels each value's passage; None makes each value its own. No bounds (NaN) with
    fewer than two passages.
    """
    numbers = as_numbers(values)
    present = ~np.isnan(numbers)
    codes = group_codes(groups, len(numbers), present, who="bootstrap_mean")
    used = numbers[present]
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    sums = group_sums(codes, n_groups, np.column_stack([used, np.ones_like(used)]))
    samples = resampled_sums(sums, n_resamples=n_resamples, seed=seed)
    low, high = bounds(samples[:, 0] / samples[:, 1], level=level)
    mean = float(used.mean()) if len(used) else math.nan
    return Interval(mean, low, high, len(used), n_groups, int((~present).sum()))


def paired_difference(
    values: Iterable[Any],
    baseline: Iterable[Any],
    groups: Iterable[Any] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Mean of values - baseline over the same items, with a bootstrap interval over passages.

    A pair with either side missing is dropped and counted.
    """
    left, right = as_numbers(values), as_numbers(baseline)
    if len(left) != len(right):
        raise ValueError(
            f"paired_difference: values and baseline pair up item by item; got {len(left)} and {len(right)}."
        )
    return bootstrap_mean(left - right, groups, n_resamples=n_resamples, seed=seed, level=level)


def wilson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """A share with Wilson's score interval, for independent items only; NaN for n = 0."""
    if not 0 <= successes <= n:
        raise ValueError(f"wilson: successes lie in [0, n]; got {successes} of {n}.")
    if not n:
        return Interval(math.nan, math.nan, math.nan, 0, 0)
    z = NormalDist().inv_cdf((1 + _checked(level)) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(share, low, high, n, n)


def as_numbers(values: Iterable[Any]) -> Float[np.ndarray, " n"]:
    """The values as float64, with None as NaN."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.astype(np.float64)
    return np.array([math.nan if v is None else float(v) for v in values], dtype=np.float64)


def group_codes(
    groups: Iterable[Any] | None, n: int, present: np.ndarray, *, who: str
) -> Int[np.ndarray, " n_present"]:
    """Codes 0, 1, … of the present values' groups, numbered in the labels' order, so that row order does not matter."""
    if groups is None:
        return np.arange(int(present.sum()))
    labels = list(groups)
    if len(labels) != n:
        raise ValueError(f"{who}: one passage label per value; got {len(labels)} for {n} values.")
    used = [label for label, here in zip(labels, present, strict=True) if here]
    number = {label: code for code, label in enumerate(sorted(set(used), key=str))}
    return np.array([number[label] for label in used], dtype=np.int64)


def group_sums(
    codes: Int[np.ndarray, " n"], n_groups: int, columns: Float[np.ndarray, "n n_columns"]
) -> Float[np.ndarray, "n_groups n_columns"]:
    """Each column summed within each group."""
    sums = [np.bincount(codes, weights=column, minlength=n_groups) for column in columns.T]
    return np.column_stack(sums).astype(np.float64)


def resampled_sums(
    sums: Float[np.ndarray, "n_groups n_columns"],
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Float[np.ndarray, "n_resamples n_columns"]:
    """The columns' totals in each bootstrap resample of the groups; NaN with fewer than two groups."""
    n_groups = len(sums)
    if n_groups < 2:
        return np.full((n_resamples, sums.shape[1]), math.nan)
    rng = np.random.default_rng(seed)
    kinds, sizes = np.unique(sums, axis=0, return_counts=True)
    if len(kinds) * 4 <= n_groups:  # alike groups are drawn together: the same distribution, faster
        return rng.multinomial(n_groups, sizes / n_groups, size=n_resamples) @ kinds
    step = max(1, _DRAWS_AT_ONCE // n_groups)
    totals = np.empty((n_resamples, sums.shape[1]))
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        if sums.shape[1] > 6:
            totals[start:stop] = draw_counts(rng, stop - start, n_groups) @ sums
        else:  # looking the drawn groups up is faster than counting them
            drawn = rng.integers(n_groups, size=(stop - start, n_groups))
            totals[start:stop] = np.column_stack([column[drawn].sum(axis=1) for column in sums.T])
    return totals


def draw_counts(
    rng: np.random.Generator, n_resamples: int, n_groups: int
) -> Float[np.ndarray, "n_resamples n_groups"]:
    """How often each group is drawn in each resample; rows add up to ``n_groups``."""
    cells = rng.integers(n_groups, size=(n_resamples, n_groups))
    cells += np.arange(n_resamples)[:, None] * n_groups
    counts = np.bincount(cells.ravel(), minlength=n_resamples * n_groups)
    return counts.reshape(n_resamples, n_groups).astype(np.float64)


def bounds(
    samples: Float[np.ndarray, " n_resamples"], *, level: float = 0.95
) -> tuple[float, float]:
    """The central ``level`` of the defined resamples; NaN where fewer than half are defined. Bounds may be infinite."""
    tail = (1 - _checked(level)) / 2
    defined = np.sort(samples[~np.isnan(samples)])
    if not len(samples) or len(defined) < len(samples) / 2:
        return math.nan, math.nan
    # Order statistics, not interpolation: infinite resamples must not turn into NaN.
    last = len(defined) - 1
    return float(defined[math.floor(tail * last)]), float(defined[math.ceil((1 - tail) * last)])


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"intervals: level is a probability in (0, 1); got {level}.")
    return level
