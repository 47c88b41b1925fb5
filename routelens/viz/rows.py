"""The rows of a sweep made ready to be summarised: numbers as floats with NaN for missing, policies told apart, one axis.

A *series* is one policy in one configuration, all its seeds together. Rates are taken over all items (D10); what applies
to some items only (GER where evidence was located, D5; failures among items right with the full cache) is NaN elsewhere.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import pandas as pd

from routelens.metrics.intervals import N_RESAMPLES
from routelens.types import REGIMES, Outcome
from routelens.viz.layout import XAxis
from routelens.viz.series import Series, series_of
from routelens.viz.style import AxisName
from routelens.viz.wording import plural

Frame = Any
"""A pandas table or column, to the type checker: pandas' own annotations leave every result open."""

CLASSES: tuple[str, ...] = get_args(Outcome)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep's rows on one axis, with what every figure and table needs to know about them.

    ``rows`` has the columns of ``sweeps.store.COLUMNS`` (absent ones added as missing), ``x``, ``series`` (its label) and
    the derived flags of :func:`_derive`. ``notes`` says what was wrong with the rows.
    """

    rows: Frame
    axis: XAxis
    regimes: tuple[str, ...]
    series: tuple[Series, ...]
    manifest: dict[str, Any]
    n_resamples: int = N_RESAMPLES
    seed: int = 0
    notes: tuple[str, ...] = ()
    memory: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def groups(self) -> dict[tuple[str, str], Frame]:
        """The rows of each (regime, series)."""
        keys = ["regime", "series"]
        return {key: part for key, part in self.rows.groupby(keys, sort=False)}

    def of(self, regime: str, series: str) -> Frame:
        """The rows of one regime and series; empty where there are none."""
        return self.groups.get((regime, series), self.rows.iloc[:0])

    @property
    def evicting(self) -> tuple[Series, ...]:
        """The series that evict: all but ``full``."""
        return tuple(series for series in self.series if series.policy != "full")

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.rows["task"]))

    @cached_property
    def _items(self) -> Frame:
        return self.rows.drop_duplicates(["regime", "item_id"])

    def items(self, regime: str | None = None) -> Frame:
        """One row per item and regime (of one regime if given)."""
        return self._items if regime is None else self._items[self._items["regime"] == regime]

    def size(self, regime: str | None = None) -> str:
        """How many: 60 items on 15 passages, of one regime or of all together."""
        items = self.items(regime)
        n_items, n_passages = items["item_id"].nunique(), items["passage_id"].nunique()
        return f"{n_items:,} item{plural(n_items)} on {n_passages:,} passage{plural(n_passages)}"

    def nearest(self, target: float) -> float:
        """The grid point nearest to ``target`` (the lower of two), NaN without any."""
        points = self.axis.points
        return min(points, key=lambda x: (round(abs(x - target), 9), x)) if points else float("nan")

    @property
    def reference(self) -> float:
        """The point at which policies are compared in words: α = 0.9, or the budget nearest to a tenth of the prefix."""
        if self.axis.name == "ratio":
            return self.nearest(0.9)
        prefix = self.rows["n_prefix"].mean()
        return self.nearest(0.1 * prefix if prefix == prefix else 16)

    def point(self, x: float) -> str:
        """A grid point in words: "α = 0.9" or "budget 16"."""
        return f"α = {x:.4g}" if self.axis.name == "ratio" else f"budget {x:.4g}"


def as_sweep(
    data: "pd.DataFrame | Sweep", *, axis: AxisName | None = None, n_resamples: int = N_RESAMPLES
) -> Sweep:
    """The table of :func:`read_run` (or any with its columns) as a :class:`Sweep`; a Sweep comes back as it is.

    ``axis`` chooses between the rows of ratios and those of budgets (D1); by default ratios where there are any.
    """
    if isinstance(data, Sweep):
        return data
    rows, notes = _clean(data)
    if axis is None:
        budgets_only = rows["compression_ratio"].isna().all() and rows["budget"].notna().any()
        axis = "budget" if budgets_only else "ratio"
    rows["x"] = rows["compression_ratio" if axis == "ratio" else "budget"]
    series, labels = series_of(rows["policy"], rows["policy_config"])
    rows["series"] = pd.Series(labels, dtype=object)
    rows = rows[rows["x"].notna()].reset_index(drop=True)
    used = set(rows["series"])
    known = [regime for regime in REGIMES if (rows["regime"] == regime).any()]
    others = sorted(set(rows["regime"]) - set(known))
    return Sweep(
        rows=rows,
        axis=XAxis(axis, tuple(float(x) for x in np.unique(rows["x"]))),
        regimes=(*known, *others),
        series=tuple(s for s in series if s.label in used),
        manifest=dict(data.attrs.get("manifest") or {}),
        n_resamples=n_resamples,
        notes=tuple(notes),
    )


def axes_of(data: Frame) -> tuple[AxisName, ...]:
    """Which axes the rows have: "ratio", "budget" or both (D1)."""
    columns: tuple[tuple[AxisName, str], ...] = (
        ("ratio", "compression_ratio"),
        ("budget", "budget"),
    )
    return tuple(name for name, column in columns if column in data and data[column].notna().any())


def _clean(data: Frame) -> tuple[Frame, list[str]]:
    import pyarrow as pa

    from routelens.sweeps.store import SCHEMA

    notes: list[str] = []
    data = data.copy(deep=False)
    data.attrs = {}  # pandas copies a table's attrs, here a manifest, at every step
    if absent := [name for name in SCHEMA.names if name not in data]:
        more = f" and {len(absent) - 8} more" if len(absent) > 8 else ""
        notes.append(f"columns that the rows lack: {', '.join(absent[:8])}{more}")
    columns: dict[str, Any] = {}
    for entry in SCHEMA:
        if pa.types.is_list(entry.type):
            columns[entry.name] = _curves(data.get(entry.name), len(data))
        elif pa.types.is_string(entry.type):
            columns[entry.name] = _texts(data.get(entry.name), len(data))
        else:
            columns[entry.name] = _numbers(data.get(entry.name), len(data))
    rows = pd.DataFrame(columns, index=range(len(data)))
    for name in ("regime", "policy", "task", "item_id", "passage_id"):
        rows[name] = rows[name].fillna("(none)")
    strays = sorted(set(rows["outcome"].dropna()) - set(CLASSES))
    if strays:
        notes.append(f"outcomes of unknown classes, not counted: {', '.join(strays)}")
    return pd.concat([rows, _derive(rows)], axis=1), notes


def _derive(rows: Frame) -> Frame:
    """Flags as 0/1, NaN where they do not apply."""
    known, full_known = rows["outcome"].isin(CLASSES), rows["full_outcome"].isin(CLASSES)
    flags = {name: (rows["outcome"] == name).where(known).astype(float) for name in CLASSES}
    failed = 1 - flags["correct"]
    full_correct = (rows["full_outcome"] == "correct").where(full_known).astype(float)
    erased, intact = rows["erased_layer"], rows["erased_layer"] == 0
    return pd.DataFrame(
        {
            **flags,
            "failed": failed,
            "full_correct": full_correct,
            "full_failed": 1 - full_correct,
            "caused_failure": failed.where(full_correct == 1),
            "repaired": flags["correct"].where(full_correct == 0),
            "failed_erased": failed * erased.fillna(0),
            "failed_intact": failed * (1 - erased).fillna(0),
            "failed_unknown": failed * erased.isna(),
            "used": flags["correct"].where(rows["accessible"] == 1),
            "reroute_intact": rows["reroute_rate"].where(intact),
            "mass_intact": rows["answer_mass"].where(intact),
        }
    )


def _numbers(column: Frame | None, n: int) -> np.ndarray:
    if column is None:
        return np.full(n, np.nan)
    if column.dtype == object:
        column = column.map(
            lambda value: float(value) if isinstance(value, bool | np.bool_) else value
        )
    numbers: Frame = pd.to_numeric(column, errors="coerce")
    numbers = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers)


def _texts(column: Frame | None, n: int) -> pd.Series:
    """Python strings and None: pandas' own string type is slow to look into."""
    values = [None] * n if column is None else list(column)
    return pd.Series([_text(value) for value in values], dtype=object)


def _text(value: Any) -> str | None:
    if value is None or value is pd.NA or value != value:
        return None
    shown = str(value)
    # Lone surrogates are no Unicode text: neither pandas nor a file takes them.
    return (
        shown
        if shown.isascii()
        else shown.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _curves(column: Frame | None, n: int) -> pd.Series:
    values = [None] * n if column is None else list(column)
    return pd.Series(
        [
            np.asarray(value, dtype=np.float64)
            if isinstance(value, list | tuple | np.ndarray) and len(value)
            else None
            for value in values
        ],
        dtype=object,
    )


def with_rows(sweep: Sweep, rows: Frame) -> Sweep:
    """The same sweep with other rows (a subset), sharing nothing that was computed."""
    return replace(sweep, rows=rows, memory={})
