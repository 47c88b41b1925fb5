"""Figures of why answers break.

Eviction of the evidence (D3, D4), agreement of heads (D8), association and decomposition (D13, D14), and the use of what
survived (D9, D24).
"""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from routelens.metrics import Decomposition, Interval
from routelens.viz.association import association, correlation
from routelens.viz.estimates import Curve, Scope, curve, decomposition, layer_curves
from routelens.viz.outcome_figures import INTERVALS, measure
from routelens.viz.panels import CurveOf, Panel, draw_curve, facets, line_figure
from routelens.viz.rows import Sweep, as_sweep
from routelens.viz.series import Series
from routelens.viz.stacks import layer_figure
from routelens.viz.style import MUTED, styled

Data = pd.DataFrame | Sweep


@styled
def figure_eviction(data: Data) -> Figure:
    """Eviction rate, GER and ΔGER by compression, layer scope (D3, D4)."""
    sweep = as_sweep(data)
    panels = [
        Panel(
            "Eviction rate",
            "share of content tokens",
            measure(sweep, "eviction_rate_layer"),
            (0, 1),
        ),
        Panel("GER", "share of answer tokens", measure(sweep, "ger_layer"), (0, 1)),
        Panel(
            "ΔGER (0: hit like any token)",
            "GER − eviction rate",
            measure(sweep, "delta_ger_layer"),
            lines=(0,),
        ),
    ]
    return line_figure(
        sweep,
        panels,
        title="Eviction of content and of evidence",
        note=f"layer scope · {INTERVALS}",
    )


@styled
def figure_eviction_scopes(data: Data) -> Figure:
    """Eviction rate and GER in the model and soft scopes, and k_eff (D3, D4)."""
    sweep = as_sweep(data)
    panels = [
        Panel(f"{name}, {scope} scope", unit, measure(sweep, f"{column}_{scope}"), (0, 1))
        for scope in ("model", "soft")
        for name, column, unit in (
            ("Eviction rate", "eviction_rate", "share of content tokens"),
            ("GER", "ger", "share of answer tokens"),
        )
    ]
    panels.append(
        Panel(
            "k_eff (1: all heads alike)",
            "independent heads",
            measure(sweep, "k_eff"),
            (0, None),
            lines=(1,),
        )
    )
    return line_figure(sweep, panels, title="The other scopes of eviction", note=INTERVALS)


@styled
def figure_agreement(data: Data) -> Figure:
    """Head agreement by compression, against uniform draws, and early minus late layers (D8); sinks left out."""
    sweep = as_sweep(data)
    panels = [
        Panel(
            "Head agreement ρ",
            "share of heads on one token",
            measure(sweep, "head_agreement"),
            (0, 1),
        ),
        Panel(
            "Diversity (1: uniform draws)",
            "distinct argmaxes / expected",
            measure(sweep, "diversity_over_null"),
            (0, None),
            lines=(1,),
        ),
        Panel(
            "Early minus late agreement",
            "difference of ρ",
            measure(sweep, "agreement_drop"),
            lines=(0,),
        ),
    ]
    return line_figure(
        sweep,
        panels,
        title="Do the heads look at the same token?",
        note=f"without sinks · {INTERVALS}",
    )


@styled
def figure_agreement_by_layer(data: Data) -> Figure:
    """Head agreement of each layer, one curve a grid point (D8)."""
    sweep = as_sweep(data)
    return layer_figure(
        sweep,
        lambda regime, series: layer_curves(sweep, "head_agreement_by_layer", regime, series.label),
        title="Head agreement by layer",
        unit="ρ",
        x="layer",
        note="without sinks, mean over items",
    )


@styled
def figure_association(data: Data) -> Figure:
    """AUROC of GER for hallucination within each grid point, and the two rates against each other (D13)."""
    sweep = as_sweep(data)

    def within(regime: str, series: Series) -> Curve:
        return association(sweep, regime, series.label)

    panel = Panel(
        "Within one grid point: AUROC",
        "AUROC (0.5: chance)",
        within,
        (0, 1),
        lines=(0.5,),
        series=sweep.evicting,
    )
    return line_figure(
        sweep,
        [panel],
        title="Does losing the evidence go with hallucination?",
        note=f"layer scope · {INTERVALS}",
    )


@styled
def figure_correlation(data: Data) -> Figure:
    """Hallucination rate against GER, a point for each grid point, with Pearson's r and its caveat (D13 (a) [S])."""
    sweep = as_sweep(data)

    def draw(ax: Axes, regime: str, series: Series) -> bool:
        ger = curve(sweep, "ger_layer", regime, series.label)
        rate = curve(sweep, "hallucination", regime, series.label)
        shown = [x for x in ger if x in rate]
        if not shown:
            return False
        ax.set_xlim(-0.05, 1.05)
        draw_curve(ax, series, [ger[x].mean for x in shown], [rate[x] for x in shown], join=False)
        r = correlation(sweep, regime, series.label)
        text = f"r = {_signed(r)}\nn = {r.n} grid points"
        ax.text(0.04, 0.95, text, transform=ax.transAxes, fontsize=7.2, va="top", color=MUTED)
        ax.set_ylim(-0.04, 1.04)
        return True

    return facets(
        sweep,
        sweep.evicting,
        draw,
        title="Across grid points: hallucination rate against GER",
        unit="hallucination",
        x="GER (layer scope); any two curves that rise with compression correlate, so r alone shows nothing",
    )


@styled
def figure_decomposition(data: Data, *, scope: Scope = "layer") -> Figure:
    """P(F), P(E), P(F|E), P(F|¬E) and rigidity_excess by compression (D14); leak = 1 - P(F|E) on the right axis."""
    sweep = as_sweep(data)

    def term(name: str) -> CurveOf:
        def of(regime: str, series: Series) -> Curve:
            found: dict[float, Decomposition] = decomposition(sweep, scope, regime, series.label)
            terms: dict[float, Interval] = {x: getattr(terms, name) for x, terms in found.items()}
            return {x: interval for x, interval in terms.items() if not math.isnan(interval.mean)}

        return of

    panels = [
        Panel("P(F): failure", "share of items", term("p_failure"), (0, 1)),
        Panel("P(E): evidence erased", "share of items", term("p_erased"), (0, 1)),
        Panel(
            "P(F | E)",
            "share of erased",
            term("p_failure_given_erased"),
            (0, 1),
            complement="leak = 1 − P(F | E)",
        ),
        Panel("P(F | ¬E)", "share of not erased", term("p_failure_given_intact"), (0, 1)),
        Panel(
            "Rigidity excess",
            "P(F | ¬E) above full cache",
            term("rigidity_excess"),
            lines=(0,),
        ),
    ]
    return line_figure(
        sweep,
        panels,
        title="Failure decomposed by erasure",
        note=f"{scope} scope of E · {INTERVALS}",
    )


@styled
def figure_triad(data: Data) -> Figure:
    """Retention, accessibility and utilisation of the evidence (D24 [C])."""
    sweep = as_sweep(data)
    panels = [
        Panel("Retention", "share of evidence kept", measure(sweep, "retention"), (0, 1)),
        Panel("Accessibility", "share of items reachable", measure(sweep, "accessible"), (0, 1)),
        Panel("Utilisation", "share correct of accessible", measure(sweep, "used"), (0, 1)),
    ]
    return line_figure(
        sweep, panels, title="Is the evidence retained, accessible, used?", note=INTERVALS
    )


@styled
def figure_use(data: Data) -> Figure:
    """Where evidence survived: rerouting, attention on it, and failures all the same (D9 [C])."""
    sweep = as_sweep(data)
    panels = [
        Panel(
            "Reroute rate", "share of displaced argmaxes", measure(sweep, "reroute_intact"), (0, 1)
        ),
        Panel(
            "Attention on the evidence",
            "compressed / full cache",
            measure(sweep, "mass_intact"),
            (0, None),
            lines=(1,),
        ),
        Panel("Survived but wrong", "share of items", measure(sweep, "survived_but_wrong"), (0, 1)),
    ]
    return line_figure(
        sweep, panels, title="Use of what survived", note=f"items without E · {INTERVALS}"
    )


@styled
def figure_drift_by_layer(data: Data) -> Figure:
    """Cosine of the full-cache and compressed residual states, by layer, one curve a grid point (D24 [C])."""
    sweep = as_sweep(data)
    return layer_figure(
        sweep,
        lambda regime, series: layer_curves(sweep, "drift_by_layer", regime, series.label),
        title="How far states drift, by layer",
        unit="cosine",
        x="layer (residual state before it; the last is the output)",
        note="last prompt token, mean over items; 1 = no drift",
        limits=(None, 1),
    )


def _signed(r: Interval) -> str:
    if math.isnan(r.mean):
        return "not defined"
    if math.isnan(r.low):
        return f"{r.mean:.2f}"
    return f"{r.mean:.2f} [{r.low:.2f}, {r.high:.2f}]"
