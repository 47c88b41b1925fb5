"""How every figure looks: one colour, marker and line for each policy, one x axis, one layout in inches.

Colours are Okabe and Ito's palette for colour-blind readers (https://jfly.uni-koeln.de/color/), extended for further
policies; ``full`` is always dashed grey and ``random`` dotted. Figures are built on matplotlib's objects, without pyplot:
no display, no global state.
"""

import functools
import io
import unicodedata
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec

import matplotlib
import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

AxisName = Literal["ratio", "budget"]
Params = ParamSpec("Params")

WIDTH, DPI = 9.2, 144
INK, MUTED, GRID = "#1f2328", "#6a737d", "#e4e7eb"
RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "text.usetex": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9aa3ad",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 5,
    "axes.titley": 1.0,  # a fixed place: finding one measures every tick label
    "axes.labelsize": 8.5,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.8,
    "ytick.labelsize": 7.8,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.0,
    "legend.frameon": False,
    "legend.fontsize": 8.2,
    "hatch.linewidth": 0.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "routelens",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Look:
    """One policy's colour, marker and line."""

    color: str
    marker: str
    line: Any = "-"
    width: float = 1.5


LOOKS: dict[str, Look] = {
    "full": Look("#7a828c", "", (0, (5, 2)), 1.6),
    "expected_attention": Look("#0072b2", "o"),
    "adakv": Look("#d55e00", "s"),
    "chunk": Look("#009e73", "^"),
    "snapkv": Look("#cc79a7", "D"),
    "key_norm": Look("#e69f00", "v"),
    "sink_recent": Look("#56b4e9", "P"),
    "random": Look("#24292f", "x", (0, (1, 1.6)), 1.5),
}
"""Of the policies that the package brings, in the order of legends."""

FURTHER: tuple[Look, ...] = tuple(
    Look(color, marker, line)
    for line in ("-", (0, (3, 1)), (0, (6, 1, 1, 1)))
    for color, marker in (
        ("#882255", "h"),
        ("#117733", "<"),
        ("#332288", ">"),
        ("#999933", "p"),
        ("#661100", "*"),
        ("#44aa99", "X"),
    )
)
"""For policies from elsewhere, and for a second configuration of one policy."""

CLASSES: dict[str, tuple[str, str]] = {
    "correct": ("#5a8fbf", ""),
    "unknown": ("#d5d9de", ""),
    "hallucination": ("#c9583a", ""),
    "degenerate": ("#3f3a36", "////"),
}
"""Colour and hatch of the outcome classes (D10)."""

SEQUENTIAL = "viridis"


def styled(draw: Callable[Params, Figure]) -> Callable[Params, Figure]:
    """The drawing function under this module's settings, whatever the caller's own are."""

    @functools.wraps(draw)
    def wrapper(*args: Params.args, **kwargs: Params.kwargs) -> Figure:
        with settings():
            return draw(*args, **kwargs)

    return wrapper


def settings() -> Any:
    """A context in which matplotlib has its defaults and RC, and nothing of the caller's."""
    return matplotlib.style.context(["default", RC])


def label(text: Any, limit: int = 44) -> str:
    """Text from data as matplotlib can draw it: no mathematics, no control characters, not too long."""
    shown = "".join(
        c if unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )
    shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    shown = f"\u200a{shown}" if shown.startswith("_") else shown  # "_" hides a legend entry
    return shown.replace("$", r"\$")


def render(fig: Figure, format: str = "png") -> bytes:
    """The figure as a PNG, PDF or SVG file, the same bytes for the same figure."""
    metadata = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    if format not in metadata:
        raise ValueError(f"figures: a format is one of {', '.join(metadata)}; got {format!r}.")
    sink = io.BytesIO()
    with settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")  # drawn as a box
        if format == "png":
            return _png(fig)
        fig.savefig(sink, format=format, metadata=metadata[format])
    return sink.getvalue()


def _png(fig: Figure) -> bytes:
    """The picture in 128 colours: few lines on white lose nothing, and a report stays a quarter as large."""
    from PIL import Image

    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    pixels = bytes(canvas.buffer_rgba())
    picture = Image.frombuffer("RGBA", canvas.get_width_height(), pixels).convert("RGB")
    sink = io.BytesIO()
    picture.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        sink, "PNG", compress_level=6
    )
    return sink.getvalue()
