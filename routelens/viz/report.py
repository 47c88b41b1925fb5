"""One HTML file that says what a run shows, and its figures as files.

``write_report("runs/x")`` reads a run, finished or not, and writes ``runs/x/report.html`` and ``runs/x/figures/``. The page
needs no network and no script. A run that lacks something gives a report that says what is missing.
"""

import contextlib
import os
import struct
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from routelens.metrics.intervals import N_RESAMPLES
from routelens.viz.estimates import cells
from routelens.viz.examples import examples
from routelens.viz.figures import FIGURES, FigureSpec
from routelens.viz.notes import SIMULATED, gaps, glossary, manifest_part, methods
from routelens.viz.page import Section, bullets, figure, page, slug, text
from routelens.viz.rows import Frame, Sweep, as_sweep, axes_of
from routelens.viz.style import DPI, render
from routelens.viz.summary import summary
from routelens.viz.tables import (
    association_table,
    decomposition_table,
    numbers_tables,
    shapes_table,
    uncounted,
)

FORMATS = ("png", "pdf", "svg")


@dataclass(frozen=True)
class Report:
    """Where a report was written, its figures' files, its numbers (a row per cell and measure), and what is missing."""

    html: Path
    figures: tuple[Path, ...]
    numbers: pd.DataFrame
    gaps: tuple[str, ...]


def write_report(
    run: "str | os.PathLike[str] | pd.DataFrame",
    out: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    figures: Sequence[str] = ("png",),
    n_resamples: int = N_RESAMPLES,
    shapes: bool = False,
) -> Report:
    """Write the report of a run, and its figures beside it.

    Args:
        run: A run's folder, or a table with the columns of its rows (D22), such as ``read_run`` gives.
        out: The HTML file, or a folder for it; by default ``report.html`` in the run's folder. Figures go into the
            folder ``figures`` beside it.
        title: The page's title; by default the model's name.
        figures: Formats of the figures' files: "png", "pdf", "svg"; none for the page alone.
        n_resamples: Bootstrap resamples of the passages.
        shapes: Whether to compare shapes of the hallucination curves too (D12): seconds for every policy and regime.

    Raises:
        ValueError: The folder holds no run, a table came without ``out``, or a format is unknown.
        OSError: The report cannot be written there.
    """
    formats = (figures,) if isinstance(figures, str) else tuple(figures)
    if unknown := [name for name in formats if name not in FORMATS]:
        raise ValueError(
            f"write_report: a figure's format is one of {', '.join(FORMATS)}; got {', '.join(map(repr, unknown))}."
        )
    if n_resamples < 1:
        raise ValueError(
            f"write_report: n_resamples counts bootstrap draws and is at least 1; got {n_resamples}."
        )
    table, notes, target = _read(run, out)
    manifest = dict(table.attrs.get("manifest") or {})
    sweeps = [as_sweep(table, axis=axis, n_resamples=n_resamples) for axis in axes_of(table)]
    if not sweeps:
        notes.append(
            "there are no rows yet" if table.empty else "no row has a compression ratio or a budget"
        )
        sweeps = [as_sweep(table, n_resamples=n_resamples)]
    drawn, skipped = _draw(sweeps, formats)
    lacking = gaps(sweeps, manifest, notes, skipped)
    if title is None:
        model = (
            next(iter(table["model"].dropna()), None)
            if "model" in table and len(table)
            else manifest.get("model")
        )
        title = f"{model or 'A model'} under KV-cache compression"
    html = page(
        title,
        f'<p class="notice">{SIMULATED}</p>',
        _sections(sweeps, manifest, drawn, lacking, shapes),
    )
    paths = _write(target, html, drawn, formats)
    return Report(target, paths, numbers(sweeps), tuple(lacking))


def numbers(sweeps: Sequence[Sweep]) -> pd.DataFrame:
    """Every mean of every cell, one a row, with its interval and n."""
    entries = [
        {
            "axis": sweep.axis.name,
            "regime": regime,
            "policy": series,
            "x": x,
            "measure": measure,
            "mean": mean.mean,
            "low": mean.low,
            "high": mean.high,
            "n": mean.n,
            "n_items": cell.n_items,
            "n_passages": cell.n_passages,
        }
        for sweep in sweeps
        for (regime, series, x), cell in cells(sweep).items()
        for measure, mean in cell.means.items()
    ]
    names = [
        "axis",
        "regime",
        "policy",
        "x",
        "measure",
        "mean",
        "low",
        "high",
        "n",
        "n_items",
        "n_passages",
    ]
    return pd.DataFrame(entries, columns=names)


@dataclass(frozen=True)
class _Drawn:
    """A figure, rendered."""

    spec: FigureSpec
    sweep: Sweep
    name: str
    files: dict[str, bytes]


def _read(run: Any, out: str | os.PathLike[str] | None) -> tuple[Frame, list[str], Path]:
    """The rows, what was wrong with reading them, and the file to write."""
    notes: list[str] = []
    if isinstance(run, pd.DataFrame):
        if out is None:
            raise ValueError(
                "write_report: a table has no folder of its own; pass out, the HTML file to write."
            )
        table, folder = cast(Frame, run), Path(out)
    else:
        from routelens.sweeps.store import LOCK, read_run

        folder = Path(run)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = read_run(folder)
        notes += [str(warning.message) for warning in caught]
        with contextlib.suppress(OSError):
            if (folder / LOCK).read_text(encoding="utf-8").strip():
                notes.append(
                    "the run is still being written, or was stopped before its end: these are its rows so far"
                )
    target = folder if out is None else Path(out)
    if target.suffix.lower() not in (".html", ".htm"):
        target = target / "report.html"
    return table, notes, target


def _draw(sweeps: Sequence[Sweep], formats: Sequence[str]) -> tuple[list[_Drawn], list[str]]:
    """Every figure that can be drawn, and why the others cannot."""
    drawn, skipped = [], []
    for sweep in sweeps:
        prefix = "budget_" if sweep.axis.name == "budget" and len(sweeps) > 1 else ""
        for spec in FIGURES:
            if sweep.rows.empty or not spec.enough(sweep):
                continue
            if reason := spec.missing(sweep):
                skipped.append(f"figure “{spec.title}”: {reason}")
                continue
            chart = spec.draw(sweep)
            wanted = dict.fromkeys(("png", *formats))
            drawn.append(
                _Drawn(
                    spec, sweep, prefix + spec.name, {name: render(chart, name) for name in wanted}
                )
            )
    return drawn, skipped


def _sections(
    sweeps: list[Sweep],
    manifest: dict[str, Any],
    drawn: list[_Drawn],
    lacking: list[str],
    shapes: bool,
) -> list[Section]:
    several = len(sweeps) > 1
    parts = []
    for sweep in sweeps:
        suffix = f" by {sweep.axis.name}" if several else ""
        parts.append(Section(slug(f"summary{suffix}"), f"Summary{suffix}", summary(sweep)))
    if lacking:
        parts.append(Section("gaps", "What is missing", bullets(map(text, lacking))))
    count = 0
    for sweep in sweeps:
        suffix = f" by {sweep.axis.name}" if several else ""
        for section in dict.fromkeys(spec.section for spec in FIGURES):
            body = ""
            for entry in drawn:
                if entry.sweep is sweep and entry.spec.section == section:
                    count += 1
                    body += _figure(entry, count)
            if body:
                body += _beside(sweep, section, shapes)
                parts.append(Section(slug(section + suffix), section + suffix, body))
        parts.append(
            Section(slug(f"numbers{suffix}"), f"The numbers{suffix}", numbers_tables(sweep))
        )
        parts.append(
            Section(slug(f"uncounted{suffix}"), f"What was not counted{suffix}", uncounted(sweep))
        )
        parts.append(
            Section(slug(f"examples{suffix}"), f"Example answers{suffix}", examples(sweep))
        )
    parts.append(Section("methods", "How the numbers were made", methods(sweeps)))
    parts.append(Section("glossary", "Terms", glossary()))
    parts.append(Section("manifest", "Manifest", manifest_part(manifest)))
    return parts


def _beside(sweep: Sweep, section: str, shapes: bool) -> str:
    """The tables that belong to a section's figures."""
    if section == "Evidence and failure" and sweep.rows["ger_layer"].notna().any():
        return association_table(sweep) + decomposition_table(sweep)
    if section == "Where it breaks" and shapes:
        return shapes_table(sweep)
    return ""


def _figure(entry: _Drawn, number: int) -> str:
    png = entry.files["png"]
    width, height = struct.unpack(">II", png[16:24])  # where every PNG holds its size
    return figure(
        png,
        id=f"figure-{slug(entry.name)}",
        number=number,
        title=entry.spec.title,
        caption=text(entry.spec.caption),
        alt=entry.spec.alt(entry.sweep),
        size=(round(100 * width / DPI), round(100 * height / DPI)),
    )


def _write(
    target: Path, html: str, drawn: list[_Drawn], formats: Sequence[str]
) -> tuple[Path, ...]:
    """Put everything on disk, the page last."""
    folder = target.parent / "figures"
    (folder if formats and drawn else target.parent).mkdir(parents=True, exist_ok=True)
    paths = []
    for entry in drawn:
        for name in formats:
            path = folder / f"{entry.name}.{name}"
            _replace(path, entry.files[name])
            paths.append(path)
    _replace(target, html.encode("utf-8", "replace"))
    return tuple(paths)


def _replace(path: Path, data: bytes) -> None:
    """Write a file in one step: a reader sees the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
