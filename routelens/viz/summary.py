"""What a run shows, in a few sentences and one table, all computed from its rows.

Half of the full cache's accuracy is found between two measured grid points, never by a fitted curve; shares of failures
count items whose evidence was located (D5), all tasks together.
"""

import math
from dataclasses import dataclass

from routelens.metrics import Interval, bootstrap_mean
from routelens.viz.estimates import baseline, curve
from routelens.viz.page import bullets, table, text
from routelens.viz.rows import Sweep
from routelens.viz.series import Series
from routelens.viz.wording import estimate, listed, plural, size


@dataclass(frozen=True)
class Half:
    """Where a policy's accuracy first is at most half of the full cache's: at ``x``, not yet at ``before``."""

    before: float | None
    x: float
    accuracy: float


@dataclass(frozen=True)
class Finding:
    """One policy in one regime, at the point of reference; ``half`` is None where half is never lost."""

    regime: str
    series: Series
    x: float
    full: Interval
    accuracy: Interval | None
    half: Half | None
    caused: Interval | None
    n_failures: int
    n_erased: int
    erased: Interval


def findings(sweep: Sweep) -> list[Finding]:
    """Every policy in every regime at the point of reference."""
    x = sweep.reference
    found = []
    for regime in sweep.regimes:
        full = baseline(sweep, "full_correct", regime)
        for series in sweep.series:
            rows = sweep.of(regime, series.label)
            failures = rows[(rows["x"] == x) & (rows["failed"] == 1)]
            known = failures[failures["erased_layer"].notna()]
            found.append(
                Finding(
                    regime=regime,
                    series=series,
                    x=x,
                    full=full,
                    accuracy=curve(sweep, "correct", regime, series.label).get(x),
                    half=half_lost(sweep, regime, series.label, full.mean),
                    caused=curve(sweep, "caused_failure", regime, series.label).get(x),
                    n_failures=len(failures),
                    n_erased=int(known["erased_layer"].sum()),
                    erased=bootstrap_mean(
                        known["erased_layer"].to_numpy(),
                        known["passage_id"],
                        n_resamples=sweep.n_resamples,
                        seed=sweep.seed,
                    ),
                )
            )
    return found


def half_lost(sweep: Sweep, regime: str, series: str, full: float) -> Half | None:
    """Between which grid points the accuracy first falls to half of ``full``; None where it never does."""
    if math.isnan(full) or full == 0:
        return None
    found = curve(sweep, "correct", regime, series)
    before = None
    for x in sorted(found, reverse=sweep.axis.name == "budget"):
        if found[x].mean <= full / 2:
            return Half(before, x, found[x].mean)
        before = x
    return None


def summary(sweep: Sweep) -> str:
    """The report's opening: who, how many, how good the full cache is, where it breaks, and with what evidence."""
    if sweep.rows.empty:
        return "<p>There are no rows yet, so there is nothing to summarise.</p>"
    found = findings(sweep)
    return f"{_facts(sweep)}<p>{_opening(sweep)}</p>{_control(sweep)}{bullets(_sentences(sweep, found))}{_table(sweep, found)}"


def _facts(sweep: Sweep) -> str:
    rows, items = sweep.rows, sweep.items()
    model = ", ".join(dict.fromkeys(str(m) for m in rows["model"].dropna())) or None
    revision = ", ".join(dict.fromkeys(str(m) for m in rows["model_revision"].dropna()))
    dtype = ", ".join(dict.fromkeys(str(m) for m in rows["dtype"].dropna()))
    full, here = rows["kv_bytes_full"].mean(), rows.loc[rows["x"] == sweep.reference, "kv_bytes"]
    evicted = here[rows.loc[here.index, "policy"] != "full"].mean()
    entries = [
        (
            "Model",
            text(model, missing="unknown"),
            text(" · ".join(p for p in (revision[:12], dtype) if p)),
        ),
        (
            "Items",
            f"{items['item_id'].nunique():,}",
            f"on {items['passage_id'].nunique():,} passages",
        ),
        (
            "Tasks",
            text(", ".join(map(str, sweep.tasks)), limit=80),
            text(
                f"{len(sweep.regimes)} regime{plural(len(sweep.regimes))}: {', '.join(sweep.regimes)}",
                limit=90,
            ),
        ),
        (
            "Grid",
            f"{len(sweep.axis.points)} {sweep.axis.name}{plural(len(sweep.axis.points))}",
            _grid(sweep),
        ),
        (
            "Cache of a prefix, estimated",
            size(full),
            f"{size(evicted)} left at {sweep.point(sweep.reference)}",
        ),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>"
        for name, value, more in entries
    )
    return f'<dl class="facts">{cells}</dl>'


def _opening(sweep: Sweep) -> str:
    """The run in one sentence, and the full cache's accuracy in every regime."""
    policies = ", ".join(text(series.label) for series in sweep.series)
    parts = []
    for regime in sweep.regimes:
        full = baseline(sweep, "full_correct", regime)
        f1 = baseline(sweep, "full_f1", regime)
        if full.n:
            parts.append(f"{estimate(full)} (F1 {_plain(f1.mean, 1)}; {text(regime)})")
    known = (
        f"With the full cache the share of correct answers is {'; '.join(parts)}."
        if parts
        else ("No row says how the full cache did.")
    )
    return f"{sweep.size()} under {len(sweep.series)} polic{'y' if len(sweep.series) == 1 else 'ies'}: {policies}. {known}"


def _control(sweep: Sweep) -> str:
    """Whether the control ``full`` is flat, as it has to be."""
    rows = sweep.rows[sweep.rows["policy"] == "full"]
    if rows.empty:
        return "<p>The control <code>full</code> was not run; dashed lines are the full cache's own rate.</p>"
    spread = rows.groupby(["regime", "item_id"])["correct"].agg(["min", "max"])
    changed = int((spread["min"] != spread["max"]).sum())
    if changed:
        return (
            f'<p class="warn">The control full is not flat: {changed} item{plural(changed)} change with the compression ratio '
            "though nothing is evicted. Do not trust this run before the reason is known.</p>"
        )
    return "<p>The control <code>full</code> gives every item the same outcome at each grid point, as it has to.</p>"


def _sentences(sweep: Sweep, found: list[Finding]) -> list[str]:
    """For each regime who loses half first and last, and what the failures have lost; the table has every policy."""
    entries = []
    for regime in sweep.regimes:
        here = [f for f in found if f.regime == regime and f.series.policy != "full"]
        said = [_halves(sweep, here), _erased(sweep, here)]
        if any(said):
            name = f"<b>{text(regime)}.</b> " if len(sweep.regimes) > 1 else ""
            entries.append(name + " ".join(sentence for sentence in said if sentence))
    return entries


def _halves(sweep: Sweep, here: list[Finding]) -> str:
    if not here or not here[0].full.n or here[0].full.mean == 0:
        return ""
    points = sweep.axis.points if sweep.axis.name == "ratio" else sweep.axis.points[::-1]
    lost = sorted(
        (f for f in here if f.half), key=lambda f: points.index(f.half.x) if f.half else 0
    )
    never = [f.series.label for f in here if f.half is None]
    kept = f"Within the grid it is not lost by {listed(never)}." if never else ""
    if not lost:
        return (
            f"No policy loses half of the full cache's accuracy within the grid ({_grid(sweep)})."
        )
    first = [f for f in lost if f.half and lost[0].half and f.half.x == lost[0].half.x]
    last = [f for f in lost if f.half and lost[-1].half and f.half.x == lost[-1].half.x]
    sentence = f"Half of the full cache's accuracy is lost first by {listed([f.series.label for f in first])} ({_where(lost[0].half)})"
    if last[0] not in first:
        sentence += f", last by {listed([f.series.label for f in last])} ({_where(lost[-1].half)})"
    return f"{sentence}. {kept}".strip()


def _erased(sweep: Sweep, here: list[Finding]) -> str:
    known = [f for f in here if f.erased.n]
    if not known:
        return f"At {sweep.point(sweep.reference)} no failure has located evidence, so none can be put down to its eviction."
    least, most = (pick(known, key=lambda f: f.erased.mean) for pick in (min, max))
    at = sweep.point(sweep.reference)
    if len(known) == 1 or least is most:
        shares = f"{estimate(most.erased, percent=True)} for {text(most.series.label)} (n {most.erased.n})"
    else:
        shares = " to ".join(
            f"{estimate(f.erased, percent=True)} for {text(f.series.label)} (n {f.erased.n})"
            for f in (least, most)
        )
    return f"Of the failures at {at}, the share whose evidence was erased (layer scope) is {shares}; the others failed with it in the cache."


def _table(sweep: Sweep, found: list[Finding]) -> str:
    at = sweep.point(sweep.reference)
    several = len(sweep.regimes) > 1
    headers = [
        "policy",
        *(["regime"] if several else []),
        f"accuracy at {at}",
        "half of full-cache accuracy lost",
        "right before, wrong now (C→W)",
        "failures",
        "evidence erased",
        "not erased",
        "not known",
    ]
    rows = [
        [
            text(f.series.label),
            *([text(f.regime)] if several else []),
            estimate(f.accuracy),
            _where(f.half) if f.series.policy != "full" else "–",
            estimate(f.caused),
            f"{f.n_failures:,}",
            _share(f.n_erased, f.erased.n),
            _share(f.erased.n - f.n_erased, f.erased.n),
            f"{f.n_failures - f.erased.n:,}",
        ]
        for f in found
    ]
    return table(
        headers,
        rows,
        caption=f"The policies at {at}; 95 % intervals over passages",
        words=("regime",),
    )


def _where(half: Half | None) -> str:
    if half is None:
        return "not within the grid"
    if half.before is None:
        return f"already at {half.x:.4g}"
    return f"between {half.before:.4g} and {half.x:.4g}"


def _share(n: int, of: int) -> str:
    return f"{n:,} ({100 * n / of:.0f} %)" if of else "–"


def _grid(sweep: Sweep) -> str:
    points = sweep.axis.points
    return (
        ", ".join(f"{x:.4g}" for x in points)
        if len(points) <= 8
        else f"{points[0]:.4g} to {points[-1]:.4g}"
    )


def _plain(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
