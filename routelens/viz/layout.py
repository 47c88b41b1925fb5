"""Where things stand in a figure: the compression axis, and a grid of panels under title and legend, in inches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from routelens.viz.style import DPI, MUTED, WIDTH, AxisName, Look


@dataclass(frozen=True)
class XAxis:
    """The compression axis: ratios (stretched towards 1 where the grid is finer there), or budgets on a log scale.

    Compression always grows to the right.
    """

    name: AxisName
    points: tuple[float, ...]

    @property
    def text(self) -> str:
        """The axis label, with its unit."""
        if self.name == "budget":
            return "budget (KV entries kept per head; log scale)"
        stretched = "; axis stretched towards 1" if self.stretched else ""
        return f"compression ratio (fraction of KV entries removed{stretched})"

    @property
    def stretched(self) -> bool:
        """Whether the grid goes on beyond 0.9."""
        return self.name == "ratio" and bool(self.points) and self.points[-1] > 0.9

    def apply(self, ax: Axes, *, narrow: bool = False) -> None:
        """Set scale, limits and ticks, with a small mark at every measured point."""
        if not self.points:
            ax.set_xticks([])
            return
        low, high = min(self.points), max(self.points)
        if self.name == "budget":
            ax.set_xscale("log", base=2)
            ax.set_xlim(high * 1.25, low / 1.25)
            every = math.ceil(len(self.points) / (6 if narrow else 12))
            ax.set_xticks(self.points[::every], [f"{x:g}" for x in self.points[::every]])
            ax.minorticks_off()
            return
        low = 0.0 if low <= 0.5 else low
        if self.stretched:
            ax.set_xscale("function", functions=(_stretch, _unstretch))
        left, right = self._stretch(low), self._stretch(high)
        room = (0.12 if narrow else 0.06) * (right - left)
        ticks = [
            t
            for t in _ticks(self.stretched, narrow)
            if low <= t and self._stretch(t) < right - room
        ]
        ticks.append(high)
        if len(ticks) < 2:
            ticks = sorted({*self.points})[:8]
        pad = 0.04 * (right - left) or 0.05
        ax.set_xlim(self._unstretch(left - pad), self._unstretch(right + pad))
        ax.set_xticks(ticks, [ratio_text(t) for t in ticks])
        # The measured points, as one artist: minor ticks would take a second a figure.
        ax.plot(
            self.points,
            np.zeros(len(self.points)),
            ls="none",
            marker=3,
            ms=2,
            color="#9aa3ad",
            mew=0.7,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            scaley=False,
            scalex=False,
        )

    def _stretch(self, x: float) -> float:
        return float(_stretch(x)) if self.stretched else x

    def _unstretch(self, y: float) -> float:
        return float(_unstretch(y)) if self.stretched else y


def ratio_text(ratio: float) -> str:
    """0, .5, .925: as short as it can be without losing digits."""
    return f"{ratio:.4g}"


_TICKS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)


def _ticks(stretched: bool, narrow: bool) -> tuple[float, ...]:
    if not stretched:
        return (0.0, 0.3, 0.6, 0.9) if narrow else (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
    return (0.0, 0.5, 0.8, 0.9, 0.99) if narrow else _TICKS


def _stretch(x: Any) -> Any:
    return -np.log(np.maximum(1.1 - np.asarray(x), 1e-6))


def _unstretch(y: Any) -> Any:
    return 1.1 - np.exp(-np.asarray(y))


def canvas(
    n_rows: int,
    n_columns: int,
    *,
    title: str,
    subtitle: str,
    handles: Sequence[Any] = (),
    row_height: float = 1.75,
    gap: float = 0.5,
    left: float = 0.62,
    right: float = 0.12,
    column_gap: float = 0.28,
    headings: Sequence[tuple[str, str]] = (),
) -> tuple[Figure, np.ndarray]:
    """A figure and its axes [n_rows, n_columns], with title, subtitle, legend and column headings (text, size) above; inches."""
    legend = _legend_rows(handles)
    head = 0.6 + 0.21 * legend + (0.38 if headings else 0.0) + 0.2
    height = head + n_rows * row_height + (n_rows - 1) * gap + 0.52
    fig = Figure(figsize=(WIDTH, height), dpi=DPI)
    FigureCanvasAgg(fig)
    panel = (WIDTH - left - right - (n_columns - 1) * column_gap) / n_columns
    axes = fig.subplots(
        n_rows,
        n_columns,
        squeeze=False,
        gridspec_kw={
            "left": left / WIDTH,
            "right": 1 - right / WIDTH,
            "top": 1 - head / height,
            "bottom": 0.52 / height,
            "hspace": gap / row_height,
            "wspace": column_gap / panel,
        },
    )
    for ax in axes.flat:
        ax.yaxis.set_label_coords(-0.46 / panel, 0.5)
        ax.xaxis.set_label_coords(0.5, -0.3)
    fig.text(0.12 / WIDTH, 1 - 0.12 / height, title, fontsize=11, fontweight="bold", va="top")
    fig.text(0.12 / WIDTH, 1 - 0.36 / height, subtitle, fontsize=8, color=MUTED, va="top")
    if handles:
        fig.legend(
            handles=list(handles),
            loc="upper left",
            bbox_to_anchor=(0.07 / WIDTH, 1 - 0.52 / height),
            ncols=math.ceil(len(handles) / legend),
            columnspacing=1.3,
            handlelength=2.3,
            handletextpad=0.5,
            borderaxespad=0.1,
            labelspacing=0.35,
        )
    for column, (heading, size) in enumerate(headings):
        x = (left + column * (panel + column_gap)) / WIDTH
        y = 0.62 + 0.21 * legend
        fig.text(x, 1 - y / height, heading, fontsize=9, fontweight="bold", va="top")
        fig.text(x, 1 - (y + 0.17) / height, size, fontsize=7.5, color=MUTED, va="top")
    return fig, axes


def _legend_rows(handles: Sequence[Any]) -> int:
    """The fewest rows in which the entries fit, filled column by column."""
    widths = [0.62 + 0.073 * len(str(handle.get_label())) for handle in handles]
    for n_rows in range(1, len(widths)):
        n_columns = math.ceil(len(widths) / n_rows)
        per_column = math.ceil(len(widths) / n_columns)
        columns = [widths[k : k + per_column] for k in range(0, len(widths), per_column)]
        if sum(map(max, columns)) < WIDTH - 0.1:
            return n_rows
    return len(widths)


def line_handle(look: Look, text: str) -> Line2D:
    """A legend entry for a policy."""
    return Line2D(
        [],
        [],
        color=look.color,
        marker=look.marker or None,
        ls=look.line,
        lw=look.width,
        ms=4.5,
        label=text,
    )
