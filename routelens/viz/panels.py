"""The three drawings that all figures are made of: lines with intervals, stacked shares, and curves over layers.

Regimes are columns. With one regime the measures (or the policies) take the columns instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Affine2D, ScaledTranslation

from routelens.metrics import Interval
from routelens.viz.estimates import Curve
from routelens.viz.layout import canvas, line_handle
from routelens.viz.rows import Sweep
from routelens.viz.series import Series
from routelens.viz.style import LOOKS, MUTED, label

CurveOf = Callable[[str, Series], Curve]
"""(regime, series) → the curve to draw."""


@dataclass(frozen=True)
class Panel:
    """One measure on the compression axis, a line for each series.

    ``lines`` are horizontal references; ``baseline`` gives a regime's full-cache value, drawn where no
    ``full`` policy ran.
    """

    name: str
    unit: str
    curve: CurveOf
    limits: tuple[float | None, float | None] = (None, None)
    lines: tuple[float, ...] = ()
    baseline: Callable[[str], float] | None = None
    complement: str = ""
    series: tuple[Series, ...] | None = None


def line_figure(sweep: Sweep, panels: Sequence[Panel], *, title: str, note: str = "") -> Figure:
    """One panel a measure and regime, each series as a line with 95 % intervals."""
    one = len(sweep.regimes) <= 1
    n_columns = min(3, len(panels)) if one else len(sweep.regimes)
    n_rows = math.ceil(len(panels) / n_columns) if one else len(panels)
    wide = n_rows * n_columns == 1
    complement = any(panel.complement for panel in panels)
    fig, axes = canvas(
        n_rows,
        n_columns,
        title=title,
        subtitle=subtitle(sweep, note),
        handles=_handles(sweep, panels),
        row_height=2.7 if wide else 1.95 if one else 1.6,
        gap=0.62 if one else 0.34,
        column_gap=0.62 if one or complement else 0.26,
        right=0.6 if complement else 0.12,
        headings=()
        if one
        else [(label(regime, 24), sweep.size(regime)) for regime in sweep.regimes],
    )
    for index in range(n_rows * n_columns):
        row, column = divmod(index, n_columns)
        ax = axes[row, column]
        which = index if one else row
        if which >= len(panels):
            ax.set_axis_off()
            continue
        panel = panels[which]
        regimes = sweep.regimes or ("(none)",)
        _draw_panel(ax, sweep, panel, regimes[0 if one else column], narrow=n_columns > 2)
        if one or column == 0:
            ax.set_title(panel.name, fontweight="bold")
            ax.set_ylabel(panel.unit)
        if not one and column:
            ax.set_ylim(axes[row, 0].get_ylim())
            ax.yaxis.set_major_formatter(NullFormatter())
        last = row == n_rows - 1 or (one and index + n_columns >= len(panels))
        if not last and not one:
            ax.xaxis.set_major_formatter(NullFormatter())
    if not one:
        _share_limits(axes)
    for row, panel in enumerate(panels if complement else ()):
        _add_complement(axes.ravel()[row] if one else axes[row, -1], panel.complement)
    _x_label(fig, sweep.axis.text)
    return fig


def _draw_panel(ax: Axes, sweep: Sweep, panel: Panel, regime: str, *, narrow: bool) -> None:
    shown = sweep.series if panel.series is None else panel.series
    drawn = [(series, panel.curve(regime, series)) for series in shown]
    drawn = [(series, found) for series, found in drawn if found]
    if panel.baseline is not None and not any(s.policy == "full" for s, _ in drawn):
        level = panel.baseline(regime)
        if not math.isnan(level):
            look = LOOKS["full"]
            ax.axhline(level, color=look.color, ls=look.line, lw=look.width, zorder=1.8)
    if not drawn:
        nothing(ax)
        return
    sweep.axis.apply(ax, narrow=narrow)
    for value in panel.lines:
        ax.axhline(value, color=MUTED, lw=0.9, zorder=1.5)
    step = min(1.4, 7 / len(drawn))
    for index, (series, found) in enumerate(drawn):
        aside = 0 if series.policy == "full" else (index - len(drawn) / 2) * step
        draw_curve(ax, series, list(found), list(found.values()), dodge=aside)
    low, high = panel.limits
    ax.set_ylim(*padded(ax, low, high))


def draw_curve(
    ax: Axes,
    series: Series,
    xs: Sequence[float],
    intervals: Sequence[Interval],
    *,
    dodge: float = 0.0,
    join: bool = True,
) -> None:
    """One series' points, its line and its intervals, moved aside by ``dodge`` points so that intervals stay apart."""
    look, fig = series.look, cast(Any, ax.figure)
    shift = ScaledTranslation(dodge / 72, 0, fig.dpi_scale_trans)
    moved = ax.transData + shift
    at = np.array(xs, dtype=np.float64)
    mean, low, high = (
        np.array([getattr(i, name) for i in intervals]) for name in ("mean", "low", "high")
    )
    bounded = np.isfinite(low) & np.isfinite(high)
    bars = [
        [(x, bottom), (x, top)]
        for x, bottom, top in zip(at[bounded], low[bounded], high[bounded], strict=True)
    ]
    ax.add_collection(
        LineCollection(
            bars, colors=look.color, linewidths=0.9, alpha=0.5, transform=moved, zorder=2
        ),
        autolim=False,
    )
    ax.plot(
        at,
        mean,
        color=look.color,
        marker=look.marker or None,
        ls=look.line if join else "none",
        lw=look.width,
        ms=4.0,
        mew=0.9 if look.marker == "x" else 0.4,
        mec=look.color if look.marker in "xP+" else "white",
        transform=moved,
        zorder=3,
        label=series.label,
    )
    limits = np.concatenate([mean, low[bounded], high[bounded]])
    finite = limits[np.isfinite(limits)]
    if len(finite):
        # The moved lines do not take part in autoscaling: say what they span.
        ax.update_datalim(np.column_stack([np.full(len(finite), at[0]), finite]), updatex=False)
        ax.autoscale_view(scalex=False)


def facets(
    sweep: Sweep,
    series: Sequence[Series],
    draw: Callable[[Axes, str, Series], bool],
    *,
    title: str,
    unit: str,
    x: str,
    note: str = "",
    handles: Sequence[Any] = (),
    right: float = 0.12,
    share: Literal["all", "row"] = "all",
) -> Figure:
    """A panel for each series and regime; ``draw`` says whether there was anything to draw.

    ``share`` says which panels have one y range, where regimes are columns; with one regime all have.
    """
    one = len(sweep.regimes) <= 1
    n_rows = max(1, math.ceil(len(series) / 4) if one else len(series))
    n_columns = max(1, math.ceil(len(series) / n_rows)) if one else len(sweep.regimes)
    fig, axes = canvas(
        n_rows,
        n_columns,
        title=title,
        subtitle=subtitle(sweep, note),
        handles=handles,
        row_height=1.55 if one else 1.05,
        gap=0.55 if one else 0.42,
        column_gap=0.24,
        right=right,
        headings=()
        if one
        else [(label(regime, 24), sweep.size(regime)) for regime in sweep.regimes],
    )
    for index in range(n_rows * n_columns):
        row, column = divmod(index, n_columns)
        ax, which = axes[row, column], index if one else row
        if which >= len(series):
            ax.set_axis_off()
            continue
        regime = (sweep.regimes or ("(none)",))[0 if one else column]
        if not draw(ax, regime, series[which]):
            nothing(ax)
        if one or column == 0:
            _policy_title(ax, series[which], limit=int(123 / n_columns) - 8)
        if column == 0:
            ax.set_ylabel(unit)
        else:
            ax.yaxis.set_major_formatter(NullFormatter())
        hidden = (which + n_columns < len(series)) if one else row < n_rows - 1
        if hidden:
            ax.xaxis.set_major_formatter(NullFormatter())
    _share_limits(axes if share == "row" and not one else axes.reshape(1, -1))
    _x_label(fig, x)
    return fig


def subtitle(sweep: Sweep, note: str = "") -> str:
    """Model, n and what the intervals are, under a figure's title."""
    model = " ".join(dict.fromkeys(str(m) for m in sweep.rows["model"].dropna())) or "unknown model"
    regime = f" · {sweep.regimes[0]}" if len(sweep.regimes) == 1 else ""
    note = f" · {note}" if note else ""
    return f"{label(model)}{label(regime)} · {sweep.size()}{note}"


def nothing(ax: Axes) -> None:
    """Says in an empty panel that there is nothing."""
    ax.text(
        0.5,
        0.5,
        "no data",
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=MUTED,
        fontsize=8,
    )
    ax.set_yticks([])
    ax.set_xticks([])
    ax.grid(False)


def _handles(sweep: Sweep, panels: Sequence[Panel]) -> list[Any]:
    shown = [s for s in sweep.series if any(p.series is None or s in p.series for p in panels)]
    handles = [line_handle(series.look, label(series.label)) for series in shown]
    if any(p.baseline for p in panels) and not any(s.policy == "full" for s in sweep.series):
        handles.insert(0, line_handle(LOOKS["full"], "full cache"))
    return handles


def _policy_title(ax: Axes, series: Series, *, limit: int) -> None:
    """The policy's name above a panel, after a piece of its line."""
    fig: Any = ax.figure
    look, axes = series.look, cast(Any, ax.transAxes)
    corner = ScaledTranslation(0, 1, axes)
    points = Affine2D().scale(1 / 72) + fig.dpi_scale_trans + corner
    ax.plot(
        [0, 16],
        [8.5, 8.5],
        color=look.color,
        ls=look.line,
        lw=look.width,
        transform=points,
        clip_on=False,
    )
    if look.marker:
        ax.plot(
            [8],
            [8.5],
            color=look.color,
            marker=look.marker,
            ms=4.5,
            transform=points,
            clip_on=False,
        )
    ax.text(21, 5.2, label(series.label, limit), transform=points, fontsize=8.5, fontweight="bold")


def _share_limits(axes: np.ndarray) -> None:
    """One y range a row."""
    for row in axes:
        used = [ax for ax in row if ax.axison and len(ax.get_yticks())]
        if used:
            low = min(ax.get_ylim()[0] for ax in used)
            high = max(ax.get_ylim()[1] for ax in used)
            for ax in used:
                ax.set_ylim(low, high)


def _add_complement(ax: Axes, text: str) -> None:
    """A right-hand axis that reads 1 - y."""
    if text and len(ax.get_yticks()):
        other = ax.secondary_yaxis("right", functions=(_complement, _complement))
        other.set_ylabel(text)
        other.spines["right"].set_visible(False)


def _complement(y: Any) -> Any:
    return 1 - y


def padded(ax: Axes, low: float | None, high: float | None) -> tuple[float, float]:
    """The axis' range with some room; a bound that is None is the data's own."""
    bottom, top = ax.get_ylim()
    low, high = bottom if low is None else low, top if high is None else high
    pad = 0.035 * (high - low)
    return low - pad, high + pad


def _x_label(fig: Figure, text: str) -> None:
    width, height = fig.get_size_inches()
    fig.text(0.62 / width, 0.12 / height, text, fontsize=8.5, va="bottom")
