"""Figures of what became of the answers (D10-D12): classes, accuracy and F1, failures that compression caused, steepness."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from routelens.metrics import Susceptibility
from routelens.viz.estimates import Against, Curve, baseline, curve, rates, slopes
from routelens.viz.layout import ratio_text
from routelens.viz.panels import CurveOf, Panel, draw_curve, facets, line_figure
from routelens.viz.rows import CLASSES, Sweep, as_sweep, with_rows
from routelens.viz.series import Series
from routelens.viz.stacks import stacked_figure
from routelens.viz.style import CLASSES as CLASS_LOOKS
from routelens.viz.style import INK, MUTED, label, styled

Data = pd.DataFrame | Sweep
INTERVALS = "95 % bootstrap intervals over passages"


@styled
def figure_outcomes(data: Data) -> Figure:
    """Shares of the four outcome classes by compression, a panel for each policy and regime (D10)."""
    sweep = as_sweep(data)
    parts = [(name, *CLASS_LOOKS[name], measure(sweep, name)) for name in CLASSES]
    return stacked_figure(sweep, parts, title="What became of the answers", unit="share of items")


@styled
def figure_accuracy(data: Data) -> Figure:
    """Accuracy and word F1 by compression with intervals, the full cache dashed (D10, D11)."""
    sweep = as_sweep(data)
    return line_figure(
        sweep,
        [accuracy_panel(sweep), f1_panel(sweep)],
        title="Accuracy and F1 by compression",
        note=INTERVALS,
    )


@styled
def figure_caused_failures(data: Data) -> Figure:
    """Of the items right with the full cache, the share that is wrong compressed: C→W (D10)."""
    sweep = as_sweep(data)
    panel = Panel(
        "Failures that compression caused",
        "share of items right with the full cache",
        measure(sweep, "caused_failure"),
        (0, 1),
    )
    return line_figure(
        sweep, [panel], title="Right with the full cache, wrong compressed (C→W)", note=INTERVALS
    )


@styled
def figure_tasks(data: Data) -> Figure:
    """Accuracy by compression, a panel for each task (D10, D21)."""
    sweep = as_sweep(data)
    panels = []
    for task in sweep.tasks:
        part = with_rows(sweep, sweep.rows[sweep.rows["task"] == task])
        panels.append(
            Panel(
                label(task, 28),
                "share correct",
                lambda regime, series, part=part: rates(part, "correct", regime, series.label),
                (0, 1),
                baseline=lambda regime, part=part: baseline(part, "full_correct", regime).mean,
            )
        )
    return line_figure(sweep, panels, title="Accuracy by task", note=INTERVALS)


@styled
def figure_failure_sources(data: Data) -> Figure:
    """Failures as P(F|E)P(E) + P(F|¬E)P(¬E): evidence erased, intact, or not known (D14, layer scope)."""
    sweep = as_sweep(data)
    parts = [
        ("evidence erased (E)", "#8c4a2f", "", measure(sweep, "failed_erased")),
        ("evidence not erased (¬E)", "#e2a36b", "", measure(sweep, "failed_intact")),
        ("no located evidence", "#c9ced6", "////", measure(sweep, "failed_unknown")),
    ]
    return stacked_figure(
        sweep,
        parts,
        title="Failures, with the evidence erased and without",
        unit="share of items",
        note="layer scope",
    )


@styled
def figure_susceptibility(
    data: Data, *, against: Against = "ratio", outcome: str = "hallucination"
) -> Figure:
    """χ = ∂H/∂α by interval slopes, with the claim of an interior peak or none (D12 [C]).

    ``against="kept"`` takes the slopes over -ln(KV entries kept per head) instead: χ per e-fold.
    """
    sweep = as_sweep(data)
    kept = against == "kept" or sweep.axis.name == "budget"
    found = {
        (regime, series.label): slopes(
            sweep, regime, series.label, outcome=outcome, against=against
        )
        for regime in sweep.regimes
        for series in sweep.evicting
    }

    def draw(ax: Axes, regime: str, series: Series) -> bool:
        chi = found[regime, series.label]
        shown = {
            x: slope
            for x, slope in zip(chi.midpoints, chi.slopes, strict=True)
            if not math.isnan(slope.mean)
        }
        ax.axhline(0, color=MUTED, lw=0.8)
        if not shown:
            return False
        _slope_axis(ax, sweep, found, kept)
        draw_curve(ax, series, [math.exp(-x) if kept else x for x in shown], list(shown.values()))
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.25 * (high - low))  # room for the words
        ax.text(
            0.03,
            0.95,
            peak_text(chi, kept=kept),
            transform=ax.transAxes,
            fontsize=7.2,
            va="top",
            color=INK if chi.interior_peak else MUTED,
            fontweight="bold" if chi.interior_peak else "normal",
        )
        return True

    unit = "χ, per e-fold" if kept else "χ, per unit of ratio"
    x = (
        "KV entries kept per head (log scale)"
        if kept
        else f"{sweep.axis.text}; midpoints of grid intervals"
    )
    what = "hallucination" if outcome == "hallucination" else outcome
    title = f"How steeply the {what} rate rises: χ" + (
        " over kept entries" if kept else " over the ratio"
    )
    return facets(
        sweep, sweep.evicting, draw, title=title, unit=unit, x=x, note=INTERVALS, share="row"
    )


def peak_text(chi: Susceptibility, *, kept: bool = False) -> str:
    """What may be said of a peak: where it is, or why none is claimed (D12 [C])."""
    if not chi.slopes:
        return "one grid point: no slope"
    if chi.steepest is None or math.isnan(chi.slopes[chi.steepest].mean):
        return "a slope is missing: no claim"
    if all(slope.mean == 0 for slope in chi.slopes):
        return "flat: χ = 0"
    at = chi.midpoints[chi.steepest]
    where = f"{math.exp(-at):.3g} entries" if kept else ratio_text(at)
    if chi.interior_peak:
        return f"interior peak at {where}"
    if chi.steepest == len(chi.slopes) - 1:
        return "peak at the grid's end: no claim"
    if chi.steepest == 0:
        return "peak at the grid's start: no claim"
    return f"steepest at {where}, not above both\nneighbours' intervals: no claim"


def measure(sweep: Sweep, name: str) -> CurveOf:
    """The curve of a column's mean, for each regime and series."""

    def of(regime: str, series: Series) -> Curve:
        return curve(sweep, name, regime, series.label)

    return of


def accuracy_panel(sweep: Sweep) -> Panel:
    """Accuracy, with the full cache's as baseline."""
    return Panel(
        "Accuracy",
        "share correct",
        measure(sweep, "correct"),
        (0, 1),
        baseline=lambda regime: baseline(sweep, "full_correct", regime).mean,
    )


def f1_panel(sweep: Sweep) -> Panel:
    """Word F1, with the full cache's as baseline."""
    return Panel(
        "Word F1",
        "F1 (0 to 100)",
        measure(sweep, "f1"),
        (0, 100),
        baseline=lambda regime: baseline(sweep, "full_f1", regime).mean,
    )


def _slope_axis(
    ax: Axes, sweep: Sweep, found: dict[tuple[str, str], Susceptibility], kept: bool
) -> None:
    """The axis of midpoints: the sweep's own, or kept entries on a log scale with compression to the right."""
    if not kept:
        sweep.axis.apply(ax, narrow=True)
        return
    every = np.exp(-np.array([x for chi in found.values() for x in chi.midpoints]))
    ax.set_xscale("log", base=2)
    ax.set_xlim(every.max() * 1.25, every.min() / 1.25)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    ax.minorticks_off()
