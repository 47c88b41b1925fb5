"""Figures in words: their numbers at a few grid points, for alternative texts."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from routelens.viz.association import association, correlation
from routelens.viz.estimates import Curve, curve, decomposition, layer_curves, slopes
from routelens.viz.outcome_figures import peak_text
from routelens.viz.rows import Sweep
from routelens.viz.series import Series


def told(sweep: Sweep) -> list[float]:
    """The grid points whose numbers are put in words: the ends, the middle, and the point of reference."""
    points = sweep.axis.points
    middle = sweep.nearest(0.5) if sweep.axis.name == "ratio" else points[len(points) // 2]
    chosen = {points[0], middle, sweep.reference, points[-1]} if points else set()
    return sorted(chosen, reverse=sweep.axis.name == "budget")


def numbers(
    sweep: Sweep, name: str, curve_of: Callable[[str, Series], Curve], series: Sequence[Series]
) -> str:
    """A measure's values at the told grid points, for every regime and series."""
    points = told(sweep)
    where = ", ".join(f"{x:.4g}" for x in points)
    clauses = []
    for regime in sweep.regimes:
        for one in series:
            found = curve_of(regime, one)
            values = [_number(found[x].mean) if x in found else "none" for x in points]
            clauses.append(f"{one.label} ({regime}) {', '.join(values)}")
    return f"{name} at {'ratio' if sweep.axis.name == 'ratio' else 'budget'} {where}: {'; '.join(clauses)}."


def of_measures(**names: str) -> Callable[[Sweep], str]:
    """Sentences on some measures; ``names`` maps columns to their names in words."""

    def describe(sweep: Sweep) -> str:
        return " ".join(
            numbers(
                sweep,
                words,
                lambda regime, one, c=column: curve(sweep, c, regime, one.label),
                sweep.series,
            )
            for column, words in names.items()
        )

    return describe


def of_layers(column: str) -> Callable[[Sweep], str]:
    """Sentences on a by-layer column: first and last layer."""

    def describe(sweep: Sweep) -> str:
        clauses = []
        for regime in sweep.regimes:
            for one in sweep.evicting:
                found = layer_curves(sweep, column, regime, one.label)
                ends = [
                    f"{_number(float(found[x][0]))} to {_number(float(found[x][-1]))} at {sweep.point(x)}"
                    for x in told(sweep)
                    if x in found
                ]
                if ends:
                    clauses.append(f"{one.label} ({regime}) {', '.join(ends)}")
        return f"From the first to the last layer: {'; '.join(clauses)}."

    return describe


def of_peaks(sweep: Sweep, against: str = "ratio") -> str:
    """What is claimed of each policy's peak."""
    kept = against == "kept" or sweep.axis.name == "budget"
    return " ".join(
        f"{one.label}, {regime}: "
        + peak_text(
            slopes(sweep, regime, one.label, against="kept" if kept else "ratio"), kept=kept
        ).replace("\n", " ")
        + "."
        for regime in sweep.regimes
        for one in sweep.evicting
    )


def of_correlations(sweep: Sweep) -> str:
    """Pearson's r of each policy."""
    found = [
        (r, one, correlation(sweep, r, one.label)) for r in sweep.regimes for one in sweep.evicting
    ]
    return " ".join(
        f"{one.label}, {regime}: r = {_number(r.mean)} over {r.n} grid points."
        for regime, one, r in found
    )


def of_aurocs(sweep: Sweep) -> str:
    """AUROC of each policy at the told grid points."""
    return numbers(
        sweep, "AUROC", lambda regime, one: association(sweep, regime, one.label), sweep.evicting
    )


def of_terms(sweep: Sweep) -> str:
    """The main terms of the decomposition."""

    def term(name: str, regime: str, one: Series) -> Curve:
        found = decomposition(sweep, "layer", regime, one.label)
        return {x: getattr(terms, name) for x, terms in found.items()}

    names = {
        "p_erased": "P(E)",
        "p_failure_given_erased": "P(F|E)",
        "p_failure_given_intact": "P(F|¬E)",
    }
    return " ".join(
        numbers(sweep, text, partial(term, name), sweep.evicting) for name, text in names.items()
    )


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.2f}"
