"""Does losing the evidence go with hallucination (D13)? The three answers for one policy in one regime, pooled over tasks.

(a) Pearson's r over the grid points, (b) AUROC within each, (c) a logistic regression with an intercept for each: all are
``routelens.metrics`` on a sweep's rows, computed once and shared by figures and tables.
"""

import math
from typing import Any

from routelens.metrics import (
    Interval,
    LogisticEffect,
    auroc_within,
    logistic_effect,
    pearson_over_ratios,
)
from routelens.viz.estimates import Curve, once
from routelens.viz.rows import Sweep

EFFECT_RESAMPLES = 1_000
"""Bootstrap draws of (c), each of which is a fit; a report that asks for fewer gets fewer."""


def correlation(sweep: Sweep, regime: str, series: str) -> Interval:
    """Pearson's r of mean GER and hallucination rate over the grid points (D13 (a) [S])."""

    def compute() -> Interval:
        return pearson_over_ratios(
            *_columns(sweep, regime, series), n_resamples=sweep.n_resamples, seed=sweep.seed
        )

    return once(sweep, ("correlation", regime, series), compute)


def association(sweep: Sweep, regime: str, series: str) -> Curve:
    """AUROC of an item's GER for its hallucination at each grid point where GER varies between items (D13 (b))."""

    def compute() -> Curve:
        found = auroc_within(
            *_columns(sweep, regime, series, varied=True),
            n_resamples=sweep.n_resamples,
            seed=sweep.seed,
        )
        return {x: interval for x, interval in found.items() if not math.isnan(interval.mean)}

    return once(sweep, ("association", regime, series), compute)


def effect(sweep: Sweep, regime: str, series: str) -> LogisticEffect:
    """Log-odds of hallucination per unit of GER with one intercept for each grid point (D13 (c))."""

    def compute() -> LogisticEffect:
        return logistic_effect(
            *_columns(sweep, regime, series, varied=True),
            n_resamples=min(EFFECT_RESAMPLES, sweep.n_resamples),
            seed=sweep.seed,
        )

    return once(sweep, ("effect", regime, series), compute)


def _columns(sweep: Sweep, regime: str, series: str, *, varied: bool = False) -> tuple[Any, ...]:
    """Grid point, GER, hallucination and passage of each row; with ``varied`` only where GER differs between items."""
    rows = sweep.of(regime, series)
    if varied:
        rows = rows[rows["ger_layer"].notna() & rows["hallucination"].notna()]
        differs = rows.groupby("x")["ger_layer"].transform("nunique") > 1
        rows = rows[differs.to_numpy(dtype=bool)]
    names = ("x", "ger_layer", "hallucination")
    return (*(rows[name].to_numpy() for name in names), rows["passage_id"])
