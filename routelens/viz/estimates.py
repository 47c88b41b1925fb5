"""Means with bootstrap intervals for every cell of a sweep, and the curves that figures and tables share.

A mean goes over a task's items, then over tasks (the definitions' macro mean); intervals resample each task's passages
(D11 ff.). All measures of a cell are resampled together: one set of draws, one matrix product. Everything else
(susceptibility, decomposition, shapes, and association in ``association.py``) is ``routelens.metrics`` on the pooled rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from routelens.metrics import (
    Decomposition,
    Interval,
    ShapeComparison,
    Susceptibility,
    compare_shapes,
    decompose_by_ratio,
    susceptibility,
)
from routelens.viz.means import codes, mean_intervals
from routelens.viz.rows import CLASSES, Frame, Sweep

Curve = dict[float, Interval]
Scope = Literal["layer", "model", "strict"]
Against = Literal["ratio", "kept"]
T = TypeVar("T")

MEASURES: tuple[str, ...] = (
    *CLASSES,
    *("failed", "caused_failure", "repaired", "failed_erased", "failed_intact", "failed_unknown"),
    *("f1", "exact_match", "log_p_gold", "min_margin"),
    *(
        f"{name}_{scope}"
        for name in ("eviction_rate", "ger", "delta_ger")
        for scope in ("layer", "model", "soft")
    ),
    *("erased_layer", "erased_model", "erased_strict", "erased_payload", "erased_bridge", "k_eff"),
    *("head_agreement", "argmax_diversity", "consensus_norm", "topk_jaccard", "agreement_drop"),
    *("diversity_over_null", "diversity_over_null_with_sinks", "head_agreement_with_sinks"),
    *("retention", "accessible", "accessible_any", "used"),
    *("reroute_intact", "mass_intact", "survived_but_wrong"),
    *(
        "compression_ratio_eff",
        "n_kept_mean",
        "n_kept_min",
        "n_content_kept",
        "kv_bytes",
        "kv_bytes_full",
    ),
)
"""The columns whose mean is taken in every cell."""


@dataclass(frozen=True)
class Cell:
    """One (regime, series, grid point): its rows, and the mean of every measure."""

    n_rows: int
    n_items: int
    n_passages: int
    means: dict[str, Interval]


def cells(sweep: Sweep) -> dict[tuple[str, str, float], Cell]:
    """Every (regime, series, grid point) that has rows."""

    def compute() -> dict[tuple[str, str, float], Cell]:
        rows, found = sweep.rows, {}
        values = rows[list(MEASURES)].to_numpy(dtype=np.float64)
        tasks, passages, items = (codes(rows[name]) for name in ("task", "passage_id", "item_id"))
        for key, at in rows.groupby(["regime", "series", "x"], sort=False).indices.items():
            means = mean_intervals(
                values[at], tasks[at], passages[at], n_resamples=sweep.n_resamples, seed=sweep.seed
            )
            found[key] = Cell(
                len(at),
                len(np.unique(items[at])),
                len(np.unique(passages[at])),
                dict(zip(MEASURES, means, strict=True)),
            )
        return found

    return once(sweep, "cells", compute)


def curve(sweep: Sweep, measure: str, regime: str, series: str) -> Curve:
    """A measure at each grid point of one regime and series, where it has a value."""
    every = cells(sweep)
    found = {x: every.get((regime, series, x)) for x in sweep.axis.points}
    return {
        x: cell.means[measure]
        for x, cell in found.items()
        if cell is not None and cell.means[measure].n
    }


def rates(sweep: Sweep, measure: str, regime: str, series: str) -> Curve:
    """What :func:`curve` gives, for one measure alone."""
    rows = sweep.of(regime, series)
    values = rows[[measure]].to_numpy(dtype=np.float64)
    tasks, passages, x = codes(rows["task"]), codes(rows["passage_id"]), rows["x"].to_numpy()
    found = {}
    for point in np.unique(x):
        at = x == point
        found[float(point)] = mean_intervals(
            values[at], tasks[at], passages[at], n_resamples=sweep.n_resamples, seed=sweep.seed
        )[0]
    return {point: interval for point, interval in found.items() if interval.n}


def baseline(
    sweep: Sweep, measure: Literal["full_correct", "full_f1", "full_failed"], regime: str
) -> Interval:
    """A rate with the full cache, each item of the regime once."""
    return rate(sweep, sweep.items(regime), measure)


def rate(sweep: Sweep, rows: Frame, measure: str) -> Interval:
    """The mean of one column over any rows, with its interval."""
    return mean_intervals(
        rows[[measure]].to_numpy(dtype=np.float64),
        rows["task"],
        rows["passage_id"],
        n_resamples=sweep.n_resamples,
        seed=sweep.seed,
    )[0]


def decomposition(
    sweep: Sweep, scope: Scope, regime: str, series: str
) -> dict[float, Decomposition]:
    """The failure decomposition at each grid point, pooled over tasks (D14)."""

    def compute() -> dict[float, Decomposition]:
        rows = sweep.of(regime, series)
        found = decompose_by_ratio(
            rows["x"].to_numpy(),
            rows["failed"].to_numpy(),
            rows[f"erased_{scope}"].to_numpy(),
            rows["passage_id"],
            failed_full=rows["full_failed"].to_numpy(),
            n_resamples=sweep.n_resamples,
            seed=sweep.seed,
        )
        return {x: terms for x, terms in found.items() if terms.p_failure.n}

    return once(sweep, ("decomposition", scope, regime, series), compute)


def slopes(
    sweep: Sweep,
    regime: str,
    series: str,
    *,
    outcome: str = "hallucination",
    against: Against = "ratio",
) -> Susceptibility:
    """The susceptibility of an outcome (D12), over the grid or over -ln(mean tokens kept per head), pooled over tasks."""

    def compute() -> Susceptibility:
        rows = sweep.of(regime, series)
        return susceptibility(
            grid_values(sweep, rows, against),
            rows[outcome].to_numpy(),
            rows["passage_id"],
            n_resamples=sweep.n_resamples,
            seed=sweep.seed,
        )

    return once(sweep, ("slopes", regime, series, outcome, against), compute)


def grid_values(sweep: Sweep, rows: Frame, against: Against) -> np.ndarray:
    """Each row's place on the grid: its ratio, or -ln of the entries kept per head at its grid point."""
    if against == "ratio" and sweep.axis.name == "ratio":
        return rows["x"].to_numpy()
    kept = (
        rows["x"]
        if sweep.axis.name == "budget"
        else rows.groupby("x")["n_kept_mean"].transform("mean")
    )
    return -np.log(kept.to_numpy(dtype=np.float64))


def shapes(
    sweep: Sweep, regime: str, series: str, *, outcome: str = "hallucination"
) -> ShapeComparison:
    """Power law, logistic and broken line against each other (D12); seconds of computing for each series."""

    def compute() -> ShapeComparison:
        rows = sweep.of(regime, series)
        return compare_shapes(
            grid_values(sweep, rows, "ratio"),
            rows[outcome].to_numpy(),
            rows["passage_id"],
            n_resamples=sweep.n_resamples,
            seed=sweep.seed,
        )

    return once(sweep, ("shapes", regime, series, outcome), compute)


def layer_curves(sweep: Sweep, column: str, regime: str, series: str) -> dict[float, np.ndarray]:
    """A by-layer column's mean at each grid point, over items and then over tasks; rows of another length are left out."""

    def compute() -> dict[float, np.ndarray]:
        rows = sweep.of(regime, series)
        curves = list(rows[column])
        lengths = [0 if found is None else len(found) for found in curves]
        usual = max(set(lengths) - {0}, key=lengths.count, default=0)
        used = np.array([length == usual for length in lengths], dtype=bool)
        if not usual or not used.any():
            return {}
        values = np.vstack([found for found, here in zip(curves, used, strict=True) if here])
        x, task = rows["x"].to_numpy()[used], codes(rows["task"])[used]
        found = {
            float(point): _means(
                [
                    _means(values[(x == point) & (task == code)])
                    for code in np.unique(task[x == point])
                ]
            )
            for point in np.unique(x)
        }
        return {point: means for point, means in found.items() if not np.isnan(means).all()}

    return once(sweep, ("layers", column, regime, series), compute)


def _means(rows: Any) -> np.ndarray:
    """Column means over what is not missing."""
    stacked = np.asarray(rows)
    n = (~np.isnan(stacked)).sum(axis=0)
    return np.where(n > 0, np.nansum(stacked, axis=0) / np.maximum(n, 1), np.nan)


def once(sweep: Sweep, key: Any, compute: Callable[[], T]) -> T:
    """The result, computed once a sweep: figures and tables share it."""
    if key not in sweep.memory:
        sweep.memory[key] = compute()
    return sweep.memory[key]
