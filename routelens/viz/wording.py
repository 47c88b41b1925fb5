"""Numbers and lists as they are written in the report."""

import math

import pandas as pd

from routelens.metrics import Interval
from routelens.viz.page import text


def estimate(interval: Interval | None, digits: int = 2, *, percent: bool = False) -> str:
    """A mean with its interval, as HTML; a dash where there is none, ∞ where a number has no bound."""
    if interval is None or math.isnan(interval.mean):
        return "–"
    factor, unit = (100, " %") if percent else (1, "")
    digits = 0 if percent else digits

    def shown(value: float) -> str:
        return f"{factor * value:.{digits}f}".replace("inf", "∞")

    bounds = (
        ""
        if math.isnan(interval.low)
        else f" <small>[{shown(interval.low)}, {shown(interval.high)}]</small>"
    )
    return f"{shown(interval.mean)}{unit}{bounds}"


def size(n_bytes: float) -> str:
    """Bytes in binary units."""
    if pd.isna(n_bytes):
        return "–"
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.2f} GiB"


def plural(n: int) -> str:
    """The s of a plural."""
    return "" if n == 1 else "s"


def listed(labels: list[str]) -> str:
    """Names from data as "a, b and c", as HTML."""
    shown = [text(label) for label in labels]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
