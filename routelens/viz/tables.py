"""The report's tables: the numbers with n, the terms of the decomposition, what was not counted, and example answers."""

import math

from routelens.metrics import Interval
from routelens.viz.association import association, correlation, effect
from routelens.viz.estimates import Scope, cells, decomposition, shapes
from routelens.viz.page import details, table, text
from routelens.viz.rows import Frame, Sweep
from routelens.viz.wording import estimate, size

SCOPES: tuple[Scope, ...] = ("layer", "model", "strict")

NUMBERS: tuple[tuple[str, str, int], ...] = (
    ("accuracy", "correct", 2),
    ("F1", "f1", 1),
    ("hallucination", "hallucination", 2),
    ("unknown", "unknown", 2),
    ("degenerate", "degenerate", 2),
    ("C→W", "caused_failure", 2),
    ("W→C", "repaired", 2),
    ("eviction rate", "eviction_rate_layer", 2),
    ("GER", "ger_layer", 2),
    ("ΔGER", "delta_ger_layer", 2),
    ("agreement ρ", "head_agreement", 2),
)
"""Heading, measure and digits of the table of numbers."""

UNCOUNTED: tuple[tuple[str, str, str], ...] = (
    ("outcome", "failed", "no outcome: the item has no gold answer and is not marked unanswerable"),
    (
        "GER, ΔGER, retention",
        "ger_layer",
        "no evidence: unanswerable, or not located in the context (D5)",
    ),
    ("erasure E", "erased_layer", "no evidence (D6)"),
    ("k_eff", "k_eff", "not defined at an eviction rate of 0 or 1 (D4)"),
    (
        "head agreement",
        "head_agreement",
        "no trace, or fewer than two heads with attention left (D8)",
    ),
    ("reroute rate", "reroute_rate", "no head's favourite token was evicted, or no evidence (D9)"),
    ("accessibility", "accessible", "no trace, or no evidence (D24)"),
    ("log p(gold)", "log_p_gold", "not asked for, or no gold answer"),
    (
        "C→W",
        "caused_failure",
        "the item was not right with the full cache: another denominator, not a loss",
    ),
)
"""Measure, column and reason of the values that no mean contains."""


def numbers_tables(sweep: Sweep) -> str:
    """A table for each regime: one row a policy and grid point, with n."""
    axis = "ratio" if sweep.axis.name == "ratio" else "budget"
    headers = ["policy", axis, "n items", "passages", *(name for name, _, _ in NUMBERS)]
    headers += ["ratio in fact", "kept per head", "fewest", "content kept", "cache"]
    parts = []
    for regime in sweep.regimes:
        rows = []
        for series in (*sweep.evicting, *(s for s in sweep.series if s not in sweep.evicting)):
            for x in sweep.axis.points:
                cell = cells(sweep).get((regime, series.label, x))
                if cell is None:
                    continue
                means = cell.means
                rows.append(
                    [
                        text(series.label),
                        f"{x:.4g}",
                        f"{cell.n_items:,}",
                        f"{cell.n_passages:,}",
                        *(
                            _with_n(means[measure], digits, cell.n_rows)
                            for _, measure, digits in NUMBERS
                        ),
                        _number(means["compression_ratio_eff"].mean, 3),
                        _number(means["n_kept_mean"].mean, 1),
                        _number(means["n_kept_min"].mean, 1),
                        _number(means["n_content_kept"].mean, 1),
                        size(means["kv_bytes"].mean),
                    ]
                )
        caption = f"Regime {text(regime)}: means with 95 % bootstrap intervals over passages; a small n says that fewer rows have a value"
        parts.append(table(headers, rows, caption=caption, tall=True))
    return "".join(parts) or "<p>No rows.</p>"


def decomposition_table(sweep: Sweep) -> str:
    """The failure decomposition for each scope of E (D14)."""
    terms = {
        "P(F)": "p_failure",
        "P(E)": "p_erased",
        "P(F|E)": "p_failure_given_erased",
        "P(F|¬E)": "p_failure_given_intact",
        "leak": "leak",
        "rigidity excess": "rigidity_excess",
    }
    rows = []
    for regime in sweep.regimes:
        for series in sweep.evicting:
            for scope in SCOPES:
                for x, found in decomposition(sweep, scope, regime, series.label).items():
                    shown = [estimate(getattr(found, name)) for name in terms.values()]
                    n_erased = found.p_failure_given_erased.n
                    rows.append(
                        [
                            text(series.label),
                            text(regime),
                            scope,
                            f"{x:.4g}",
                            f"{found.p_failure.n:,}",
                            f"{n_erased:,}",
                            *shown,
                        ]
                    )
    axis = "ratio" if sweep.axis.name == "ratio" else "budget"
    headers = ["policy", "regime", "scope of E", axis, "n", "n erased", *terms]
    body = table(
        headers,
        rows,
        caption="Terms of the decomposition, pooled over tasks (D14)",
        tall=True,
        words=headers[1:3],
    )
    return details("All terms, for each scope of E", body)


def association_table(sweep: Sweep) -> str:
    """Whether losing the evidence goes with hallucination, for each policy: D13's three answers side by side."""
    where = f"at {sweep.point(sweep.reference)}"
    rows = []
    for regime in sweep.regimes:
        for series in sweep.evicting:
            r = correlation(sweep, regime, series.label)
            within = association(sweep, regime, series.label)
            slope = effect(sweep, regime, series.label)
            areas = [interval.mean for interval in within.values()]
            rows.append(
                [
                    text(series.label),
                    text(regime),
                    estimate(r),
                    f"{r.n}",
                    estimate(within.get(sweep.reference)),
                    f"{min(areas):.2f} to {max(areas):.2f}, {len(areas)} points" if areas else "–",
                    estimate(slope.coefficient),
                    f"{slope.coefficient.n:,} at {slope.n_levels} points",
                    f"{r.n_missing:,}",
                ]
            )
    headers = ["policy", "regime", "(a) r", "n grid points", f"(b) AUROC {where}"]
    headers += ["(b) lowest to highest", "(c) log-odds per unit of GER", "n rows of (c)"]
    caption = (
        "GER and hallucination (D13). (a) Pearson's r of the two rates over grid points: any two rising curves correlate. "
        "(b) AUROC of an item's GER within one grid point: 0.5 is chance. (c) Logistic regression with an intercept for each "
        "grid point: 0 is no link, ∞ that GER separates the classes"
    )
    return table(
        [*headers, "rows without GER"],
        rows,
        caption=caption,
        words=("regime", "(b) lowest to highest", "n rows of (c)"),
    )


def shapes_table(sweep: Sweep) -> str:
    """Which of three shapes the hallucination curve has, by held-out likelihood (D12)."""
    rows = []
    for regime in sweep.regimes:
        for series in sweep.evicting:
            found = shapes(sweep, regime, series.label)
            fits = ", ".join(
                f"{fit.name.replace('_', ' ')} {_number(fit.log_likelihood, 3)}"
                for fit in found.fits
            )
            best = found.fits[0].name.replace("_", " ") if found.decided else "undecided"
            rows.append([text(series.label), text(regime), best, estimate(found.lead, 3), fits])
    headers = [
        "policy",
        "regime",
        "best shape",
        "its lead, nats per item",
        "held-out log-likelihood per item",
    ]
    return table(
        headers,
        rows,
        caption="Shape of the hallucination curve, folds over passages (D12)",
        words=(headers[1], headers[2], headers[4]),
    )


def uncounted(sweep: Sweep) -> str:
    """What the means leave out: items without evidence, values that do not exist, unattainable budgets, cut answers."""
    items = sweep.items()
    by_regime = []
    for regime in sweep.regimes:
        here = items[items["regime"] == regime]
        status = here["evidence_status"]
        by_regime.append(
            [
                text(regime),
                f"{len(here):,}",
                f"{int((status == 'located').sum()):,}",
                f"{int((status == 'not_locatable').sum()):,}",
                f"{int((status == 'unanswerable').sum()):,}",
                f"{int(status.isna().sum()):,}",
                f"{int(here['full_correct'].sum()):,}",
                f"{int(here['full_correct'].isna().sum()):,}",
            ]
        )
    headers = [
        "regime",
        "items",
        "evidence located",
        "not located",
        "unanswerable",
        "status unknown",
    ]
    headers += ["right with the full cache", "full cache unknown"]
    rows = sweep.rows
    missing = [
        [name, f"{int(rows[column].isna().sum()):,}", f"{len(rows):,}", reason]
        for name, column, reason in UNCOUNTED
        if rows[column].isna().any()
    ]
    cut = rows[rows["stopped"] == 0]
    unattained = rows[rows["attainable"] == 0]
    return (
        table(
            headers,
            by_regime,
            caption="Items. Those without located evidence count in every outcome, and in no GER (D5)",
        )
        + table(
            ["measure", "rows without a value", "of", "why"],
            missing,
            caption="Values that no mean contains",
            words=("why",),
        )
        + _by_cell(sweep, cut, "Answers cut at the token limit (counted as they stand)", "cut")
        + _by_cell(
            sweep,
            unattained,
            "Budgets that protected entries exceeded: some of those had to go (counted)",
            "unattainable",
        )
    )


def _by_cell(sweep: Sweep, rows: Frame, caption: str, what: str) -> str:
    """Rows with a flaw, counted by policy and regime, with the grid points where they are."""
    if rows.empty:
        return f"<p>{caption.split('(')[0].split(':')[0].strip()}: none.</p>"
    entries = []
    for (series, regime), part in rows.groupby(["series", "regime"], sort=False):
        counts = part.groupby("x").size()
        where = ", ".join(f"{x:.4g} ({n})" for x, n in counts.items())
        entries.append(
            [
                text(series),
                text(regime),
                f"{len(part):,}",
                f"{len(sweep.of(regime, series)):,}",
                where,
            ]
        )
    return table(
        ["policy", "regime", f"rows {what}", "of", "where (rows)"],
        entries,
        caption=caption,
        words=("regime", "where (rows)"),
    )


def _with_n(interval: Interval, digits: int, n_rows: int) -> str:
    shown = estimate(interval, digits)
    return f"{shown}<small>n {interval.n}</small>" if 0 < interval.n < n_rows else shown


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
