"""Failure split by erasure: P(F) = P(F|E) P(E) + P(F|not E) P(not E) (D14 [S]), all four estimated, none assumed.

leak = 1 - P(F|E): answers that come out right though their evidence is erased. rigidity_excess =
P(F_α|not E) - P(F_0|not E) on the same items: failures that appear though the evidence is there
[C]. Bootstrap intervals over passages.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from routelens.metrics.intervals import (
    N_RESAMPLES,
    Interval,
    as_numbers,
    bounds,
    group_codes,
    group_sums,
    resampled_sums,
)


@dataclass(frozen=True)
class Decomposition:
    """The terms of D14 for one α and one scope of E; each ``n`` is the number of items its share is taken over."""

    p_failure: Interval
    p_erased: Interval
    p_intact: Interval
    p_failure_given_erased: Interval
    p_failure_given_intact: Interval
    leak: Interval
    rigidity_excess: Interval
    n_missing: int


def decompose(
    failed: Iterable[Any],
    erased: Iterable[Any],
    passages: Iterable[Any] | None = None,
    *,
    failed_full: Iterable[Any] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Decomposition:
    """The failure decomposition at one α (D14).

    ``failed``, ``erased`` and ``failed_full`` (the full cache's failure, for rigidity_excess) are
    booleans or 0/1 per item; items where failure or erasure is missing (None, NaN) are dropped and
    counted. A conditional share without items is NaN.
    """
    f, e = as_numbers(failed), as_numbers(erased)
    f0 = np.full_like(f, np.nan) if failed_full is None else as_numbers(failed_full)
    if not len(f) == len(e) == len(f0):
        raise ValueError(
            f"decompose: one value per item each; got {len(f)} failed, {len(e)} erased, {len(f0)} failed_full."
        )
    present = ~(np.isnan(f) | np.isnan(e))
    codes = group_codes(passages, len(f), present, who="decompose")
    f, e, f0 = f[present], e[present], f0[present]
    paired = (1 - e) * ~np.isnan(f0)
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    columns = np.column_stack(
        [np.ones_like(f), f, e, 1 - e, f * e, f * (1 - e), paired, paired * (f - np.nan_to_num(f0))]
    )
    sums = group_sums(codes, n_groups, columns)
    samples = resampled_sums(sums, n_resamples=n_resamples, seed=seed)
    total = sums.sum(axis=0)
    n_missing = int((~present).sum())

    def share(part: int, whole: int, *, complement: bool = False) -> Interval:
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn, value = samples[:, part] / samples[:, whole], total[part] / total[whole]
        if complement:
            drawn, value = 1 - drawn, 1 - value
        low, high = bounds(drawn, level=level)
        holding = int((sums[:, whole] > 0).sum())
        return Interval(float(value), low, high, int(total[whole]), holding, n_missing)

    return Decomposition(
        p_failure=share(1, 0),
        p_erased=share(2, 0),
        p_intact=share(3, 0),
        p_failure_given_erased=share(4, 2),
        p_failure_given_intact=share(5, 3),
        leak=share(4, 2, complement=True),
        rigidity_excess=share(7, 6),
        n_missing=n_missing,
    )


def decompose_by_ratio(
    ratios: Iterable[Any],
    failed: Iterable[Any],
    erased: Iterable[Any],
    passages: Iterable[Any],
    *,
    failed_full: Iterable[Any] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> dict[float, Decomposition]:
    """:func:`decompose` at each α, in ascending order (D14). One row per (item, α); ``failed_full`` is repeated at each."""
    alpha, f, e = as_numbers(ratios), as_numbers(failed), as_numbers(erased)
    f0 = None if failed_full is None else as_numbers(failed_full)
    names = np.array(list(passages), dtype=object)
    lengths = {len(alpha), len(f), len(e), len(names), len(alpha if f0 is None else f0)}
    if len(lengths) > 1:
        raise ValueError(
            f"decompose_by_ratio: one value per row each; got lengths {sorted(lengths)}."
        )
    result: dict[float, Decomposition] = {}
    for value in np.unique(alpha):
        at = alpha == value
        result[float(value)] = decompose(
            f[at],
            e[at],
            names[at],
            failed_full=None if f0 is None else f0[at],
            n_resamples=n_resamples,
            seed=seed,
            level=level,
        )
    return result
