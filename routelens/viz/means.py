"""Means over items and then over tasks, with intervals that resample each task's passages (D11 ff.).

All measures of a cell are resampled together: one set of draws, one matrix product, for what
:func:`routelens.metrics.bootstrap_mean` does measure by measure.
"""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from routelens.metrics import Interval
from routelens.metrics.intervals import bounds, draw_counts, group_sums, resampled_sums


def mean_intervals(
    values: Float[np.ndarray, "n n_measures"],
    tasks: Iterable[Any],
    passages: Iterable[Any],
    *,
    n_resamples: int,
    seed: int = 0,
) -> list[Interval]:
    """The mean of each column, over items and then over tasks, with intervals over each task's passages (D11 ff.).

    With one task this is :func:`routelens.metrics.bootstrap_mean` column by column. A column's tasks are those
    in which it has a value; a task with one passage leaves no interval.
    """
    present = ~np.isnan(values)
    task, passage = codes(tasks), codes(passages)
    low_high = np.full((2, values.shape[1]), np.nan)
    points, n_groups = np.full(values.shape[1], np.nan), np.zeros(values.shape[1], dtype=np.int64)
    # Columns that share their missing values share the counts of their resamples.
    patterns, pattern_of = np.unique(present, axis=1, return_inverse=True)
    for pattern, here in enumerate(patterns.T):
        columns = np.flatnonzero(pattern_of.ravel() == pattern)
        if not here.any():
            continue
        strata = [np.flatnonzero(here & (task == code)) for code in np.unique(task[here])]
        n_groups[columns] = sum(len(np.unique(passage[at])) for at in strata)
        points[columns] = np.mean([values[at][:, columns].mean(axis=0) for at in strata], axis=0)
        single = any(len(np.unique(passage[at])) < 2 for at in strata)
        if single:
            continue
        spread = np.ptp(values[here][:, columns], axis=0)
        same, varied = columns[spread == 0], columns[spread > 0]
        low_high[:, same] = points[same]
        draws = np.zeros((len(varied), n_resamples))
        for at in strata:
            draws += _resampled_means(
                values[at][:, varied],
                passage[at],
                n_resamples=n_resamples,
                seed=seed + int(task[at[0]]),
            )
        low_high[:, varied] = np.transpose([bounds(row / len(strata)) for row in draws]).reshape(
            2, -1
        )
    n = present.sum(axis=0)
    return [
        Interval(
            mean=float(points[i]),
            low=float(low_high[0, i]),
            high=float(low_high[1, i]),
            n=int(n[i]),
            n_groups=int(n_groups[i]),
            n_missing=len(values) - int(n[i]),
        )
        for i in range(values.shape[1])
    ]


def _resampled_means(
    values: Float[np.ndarray, "n n_measures"], passages: np.ndarray, *, n_resamples: int, seed: int
) -> Float[np.ndarray, "n_measures n_resamples"]:
    """The means of complete columns in each resample of the passages."""
    code = codes(passages)
    n_groups = int(code.max()) + 1
    sums = group_sums(code, n_groups, np.column_stack([values, np.ones(len(values))]))
    if n_groups > _CACHED_GROUPS:
        totals = resampled_sums(sums, n_resamples=n_resamples, seed=seed).T
    else:
        totals = sums.T @ _draws(n_groups, n_resamples, seed)
    return totals[:-1] / totals[-1]


_CACHED_GROUPS = 256


@functools.lru_cache(maxsize=4)
def _draws(n_groups: int, n_resamples: int, seed: int) -> Float[np.ndarray, "n_groups n_resamples"]:
    """Draw counts, the same for every cell with as many passages."""
    counts = draw_counts(np.random.default_rng(seed), n_resamples, n_groups)
    return np.ascontiguousarray(counts.T)


def codes(labels: Iterable[Any]) -> np.ndarray:
    """Codes 0, 1, … of the labels in their order as text, so that the order of rows does not matter."""
    found, names = pd.factorize(np.asarray(labels), sort=False)
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=lambda code: str(names[code]))] = np.arange(len(names))
    return rank[found]
