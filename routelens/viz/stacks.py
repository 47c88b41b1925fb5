"""Two drawings with a panel for each policy and regime: stacked shares by grid point, and curves over layers."""

import math
from collections.abc import Callable, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from routelens.viz.layout import ratio_text
from routelens.viz.panels import CurveOf, facets, padded
from routelens.viz.rows import Sweep
from routelens.viz.series import Series
from routelens.viz.style import MUTED, SEQUENTIAL


def stacked_figure(
    sweep: Sweep,
    parts: Sequence[tuple[str, str, str, CurveOf]],
    *,
    title: str,
    unit: str,
    note: str = "",
) -> Figure:
    """Stacked bars by grid point, a panel for each policy and regime. ``parts`` are (text, colour, hatch, curve)."""
    handles = [
        Patch(facecolor=color, hatch=hatch, edgecolor="white", lw=0, label=text)
        for text, color, hatch, _ in parts
    ]

    points = sweep.axis.points if sweep.axis.name == "ratio" else sweep.axis.points[::-1]
    labelled = _spaced(points, math.ceil(len(points) / 7))

    def draw(ax: Axes, regime: str, series: Series) -> bool:
        below = np.zeros(len(points))
        seen = False
        for _, color, hatch, curve_of in parts:
            found = curve_of(regime, series)
            seen = seen or bool(found)
            heights = np.array([found[x].mean if x in found else 0.0 for x in points])
            _bars(ax, below, heights, color, hatch)
            below = below + heights
        ax.set_xticks(labelled, [ratio_text(points[i]) for i in labelled])
        ax.set_xlim(-0.6, max(0, len(points) - 1) + 0.6)
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 0.5, 1])
        return seen

    axis = (
        "compression ratio" if sweep.axis.name == "ratio" else "budget (KV entries kept per head)"
    )
    return facets(
        sweep,
        sweep.series,
        draw,
        title=title,
        unit=unit,
        note=note,
        handles=handles,
        x=f"{axis}; one bar a grid point",
    )


def _bars(ax: Axes, below: np.ndarray, heights: np.ndarray, color: str, hatch: str) -> None:
    """A row of bars on top of others, as one collection: much faster than a patch each."""
    at, half = np.arange(len(heights)), 0.43
    xs = np.stack([at - half, at - half, at + half, at + half], axis=1)
    ys = np.stack([below, below + heights, below + heights, below], axis=1)
    shown = heights > 0
    ax.add_collection(
        PolyCollection(
            list(np.stack([xs, ys], axis=2)[shown]),
            facecolor=color,
            edgecolor="white",
            lw=0.35,
            hatch=hatch or None,
        )
    )


def layer_figure(
    sweep: Sweep,
    curves: Callable[[str, Series], dict[float, np.ndarray]],
    *,
    title: str,
    unit: str,
    x: str,
    note: str = "",
    limits: tuple[float | None, float | None] = (0, 1),
) -> Figure:
    """Curves over layers, one a grid point, light where much is removed; a panel for each series and regime."""
    points = sweep.axis.points if sweep.axis.name == "ratio" else sweep.axis.points[::-1]
    shades = matplotlib.colormaps[SEQUENTIAL](np.linspace(0.0, 0.94, max(2, len(points))))
    color = dict(zip(points, shades, strict=False))

    def draw(ax: Axes, regime: str, series: Series) -> bool:
        found = curves(regime, series)
        for point in points:
            if point in found:
                values = found[point]
                ax.plot(np.arange(len(values)), values, color=color[point], lw=1.15)
        ax.set_ylim(*padded(ax, *limits))
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        return bool(found)

    series = sweep.evicting or sweep.series
    fig = facets(sweep, series, draw, title=title, unit=unit, x=x, note=note, right=0.95)
    _shade_key(fig, [ratio_text(point) for point in points], shades[: len(points)], sweep.axis.name)
    return fig


def _shade_key(fig: Figure, texts: Sequence[str], shades: np.ndarray, axis: str) -> None:
    """The colours of the grid points, as a column of swatches at the right."""
    if not texts:
        return
    width, height = fig.get_size_inches()
    tall = min(0.2 * len(texts), height - 1.7)
    ax = fig.add_axes((1 - 0.78 / width, 1 - (1.12 + tall) / height, 0.16 / width, tall / height))
    ax.imshow(shades[:, None, :], aspect="auto", interpolation="nearest")
    ax.yaxis.tick_right()
    every = math.ceil(len(texts) * 0.115 / tall) if tall > 0 else len(texts)
    shown = range(0, len(texts), max(1, every))
    ax.set_yticks(list(shown), [texts[i] for i in shown])
    ax.set_xticks([])
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title("ratio" if axis == "ratio" else "budget", fontsize=8, color=MUTED, pad=4)


def _spaced(points: Sequence[float], apart: int) -> list[int]:
    """Which bars are labelled: the ends, round ratios, then others, each ``apart`` bars from the next."""
    wanted = [
        0,
        len(points) - 1,
        *(i for x in (0.9, 0.5, 0.7, 0.3) for i, p in enumerate(points) if p == x),
    ]
    shown: list[int] = []
    for index in [*wanted, *range(len(points))]:
        if all(abs(index - other) >= apart for other in shown):
            shown.append(index)
    return sorted(shown)
