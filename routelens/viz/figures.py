"""The report's figures, each a function of a sweep's rows, and the list of them with what a reader is told.

``figure_accuracy(rl.read_run("runs/x")).savefig("accuracy.pdf")`` draws one by itself. Every function takes the table of
``read_run`` (or a :class:`~routelens.viz.rows.Sweep`) and returns a matplotlib figure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from routelens.viz.describe import (
    of_aurocs,
    of_correlations,
    of_layers,
    of_measures,
    of_peaks,
    of_terms,
)
from routelens.viz.mechanism_figures import (
    figure_agreement,
    figure_agreement_by_layer,
    figure_association,
    figure_correlation,
    figure_decomposition,
    figure_drift_by_layer,
    figure_eviction,
    figure_eviction_scopes,
    figure_triad,
    figure_use,
)
from routelens.viz.outcome_figures import (
    figure_accuracy,
    figure_caused_failures,
    figure_failure_sources,
    figure_outcomes,
    figure_susceptibility,
    figure_tasks,
)
from routelens.viz.rows import Sweep

__all__ = [
    "FIGURES",
    "FigureSpec",
    "figure_accuracy",
    "figure_agreement",
    "figure_agreement_by_layer",
    "figure_association",
    "figure_caused_failures",
    "figure_correlation",
    "figure_decomposition",
    "figure_drift_by_layer",
    "figure_eviction",
    "figure_eviction_scopes",
    "figure_failure_sources",
    "figure_outcomes",
    "figure_susceptibility",
    "figure_tasks",
    "figure_triad",
    "figure_use",
]


@dataclass(frozen=True)
class FigureSpec:
    """A figure of the report: how it is drawn, and what is said of it.

    ``describe`` gives the numbers for the alternative text; ``columns`` are those without which there is nothing to
    draw; ``enough`` says whether the figure makes sense for a sweep at all.
    """

    name: str
    section: str
    title: str
    draw: Callable[[Sweep], Figure]
    caption: str
    describe: Callable[[Sweep], str]
    columns: tuple[str, ...]
    enough: Callable[[Sweep], bool] = lambda sweep: True

    def missing(self, sweep: Sweep) -> str:
        """Why the figure cannot be drawn; "" where it can."""
        rows = sweep.rows
        absent = [
            name
            for name in self.columns
            if (
                rows[name].map(lambda v: v is None).all()
                if rows[name].dtype == object
                else rows[name].isna().all()
            )
        ]
        return f"no row has a value of {', '.join(absent)}" if absent else ""

    def alt(self, sweep: Sweep) -> str:
        """What the figure shows, in words and numbers."""
        title = self.title if self.title.endswith("?") else f"{self.title}."
        return f"{title} {sweep.size()}. {self.describe(sweep)}"


def _several_points(sweep: Sweep) -> bool:
    return len(sweep.axis.points) > 1


FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "outcomes",
        "Outcomes",
        "What became of the answers",
        figure_outcomes,
        "Every item is in exactly one class (D10). The control full should look the same at every grid point.",
        of_measures(correct="Share correct", hallucination="Share of hallucinations"),
        ("outcome",),
    ),
    FigureSpec(
        "accuracy",
        "Outcomes",
        "Accuracy and F1 by compression",
        figure_accuracy,
        "Share of correct answers (D10) and word F1 (D11). Dashed: the full cache. Dotted: random eviction, the floor for a "
        "policy that knows nothing.",
        of_measures(correct="Accuracy", f1="F1"),
        ("outcome",),
    ),
    FigureSpec(
        "caused_failures",
        "Outcomes",
        "Failures that compression caused",
        figure_caused_failures,
        "C→W: of the items right with the full cache, the share that is wrong compressed (D10). What the model could not "
        "answer anyway is not counted here.",
        of_measures(caused_failure="Share of C→W"),
        ("caused_failure",),
    ),
    FigureSpec(
        "tasks",
        "Outcomes",
        "Accuracy by task",
        figure_tasks,
        "The same accuracy, each task by itself; elsewhere means go over items and then over tasks.",
        lambda sweep: f"Tasks: {', '.join(map(str, sweep.tasks))}.",
        ("outcome",),
        lambda sweep: len(sweep.tasks) > 1,
    ),
    FigureSpec(
        "eviction",
        "Eviction",
        "Eviction of content and of evidence",
        figure_eviction,
        "Layer scope: a token counts as evicted in a layer when no KV head of that layer keeps it (D3, primary by choice). "
        "GER is the same over the answer's tokens; above zero, ΔGER says that a policy hits the evidence harder than the "
        "average token (D4).",
        of_measures(eviction_rate_layer="Eviction rate", ger_layer="GER", delta_ger_layer="ΔGER"),
        ("eviction_rate_layer",),
    ),
    FigureSpec(
        "eviction_scopes",
        "Eviction",
        "The other scopes of eviction",
        figure_eviction_scopes,
        "Model scope: no head of any layer keeps the token. Soft scope: the share of heads that do not (D3). k_eff: how many "
        "heads act independently, 1 when all evict the same tokens (D4).",
        of_measures(
            ger_model="GER in the model scope", ger_soft="GER in the soft scope", k_eff="k_eff"
        ),
        ("eviction_rate_model", "eviction_rate_soft"),
    ),
    FigureSpec(
        "agreement",
        "Agreement of heads",
        "Do the heads look at the same token?",
        figure_agreement,
        "ρ is the share of query heads whose attention peaks on the commonest token; high means that heads agree (D8). The "
        "second panel divides the distinct peaks by those expected if each head drew a token uniformly: the null is 1. The "
        "third is agreement in the first third of the layers minus that in the last.",
        of_measures(head_agreement="Head agreement", diversity_over_null="Diversity over the null"),
        ("head_agreement",),
    ),
    FigureSpec(
        "agreement_by_layer",
        "Agreement of heads",
        "Head agreement by layer",
        figure_agreement_by_layer,
        "Mean ρ of each layer, one curve a grid point; lighter curves have more removed (D8).",
        of_layers("head_agreement_by_layer"),
        ("head_agreement_by_layer",),
    ),
    FigureSpec(
        "susceptibility",
        "Where it breaks",
        "Susceptibility",
        figure_susceptibility,
        "χ = ∂H/∂α of the hallucination rate, by slopes between neighbouring grid points (D12). Any convex rising curve is "
        "steepest at the end of its grid, so a peak is claimed only inside it, and only with its interval above those of both "
        "neighbours.",
        of_peaks,
        ("outcome",),
        _several_points,
    ),
    FigureSpec(
        "susceptibility_kept",
        "Where it breaks",
        "Susceptibility over kept entries",
        partial(figure_susceptibility, against="kept"),
        "The same over −ln(KV entries kept per head), which does not crowd the last grid points together (D12).",
        partial(of_peaks, against="kept"),
        ("outcome", "n_kept_mean"),
        lambda sweep: _several_points(sweep) and sweep.axis.name == "ratio",
    ),
    FigureSpec(
        "association",
        "Evidence and failure",
        "Does losing the evidence go with hallucination?",
        figure_association,
        "Within one grid point, how well an item's GER tells hallucinations from other outcomes (D13, primary by choice): "
        "0.5 is chance. Grid points at which GER is the same for all items, or one class is empty, have no AUROC.",
        of_aurocs,
        ("ger_layer", "outcome"),
    ),
    FigureSpec(
        "correlation",
        "Evidence and failure",
        "Hallucination rate against GER, across grid points",
        figure_correlation,
        "The paper's way (D13 (a)): one point a grid point, and Pearson's r. Any two curves that rise with compression "
        "correlate, so a high r is expected whether or not one causes the other.",
        of_correlations,
        ("ger_layer", "outcome"),
    ),
    FigureSpec(
        "failure_sources",
        "Evidence and failure",
        "Failures, with the evidence erased and without",
        figure_failure_sources,
        "All failures (also those of the full cache), split by the erasure event E: some required piece of evidence is not "
        "intact in at least half of the layers (D6, D14; layer scope, by choice).",
        of_measures(failed_erased="Share failed with E", failed_intact="Share failed without E"),
        ("outcome",),
    ),
    FigureSpec(
        "decomposition",
        "Evidence and failure",
        "Failure decomposed by erasure",
        figure_decomposition,
        "P(F) = P(F|E)P(E) + P(F|¬E)P(¬E), all four estimated on items with located evidence (D14). leak: answers that come "
        "out right though their evidence is erased. Rigidity excess: failures without erasure beyond those of the full cache "
        "on the same items.",
        of_terms,
        ("erased_layer", "outcome"),
    ),
    FigureSpec(
        "triad",
        "Use of the evidence",
        "Is the evidence retained, accessible, used?",
        figure_triad,
        "Retention: share of the answer tokens' KV entries kept. Accessibility: share of items whose required evidence reaches "
        "the last prompt token over attention edges above 1/n. Utilisation: share correct among those (D24, numbers by choice).",
        of_measures(retention="Retention", accessible="Accessibility", used="Utilisation"),
        ("retention",),
    ),
    FigureSpec(
        "use",
        "Use of the evidence",
        "Use of what survived",
        figure_use,
        "On items whose evidence is not erased: how often a head whose favourite token was evicted turns to the answer, the "
        "attention left on it, and the share of items that fail all the same (D9).",
        of_measures(reroute_intact="Reroute rate", mass_intact="Attention on the evidence"),
        ("reroute_rate",),
    ),
    FigureSpec(
        "drift_by_layer",
        "Use of the evidence",
        "How far states drift, by layer",
        figure_drift_by_layer,
        "Cosine similarity of the last prompt token's residual state with and without compression (D24); 1 is no drift.",
        of_layers("drift_by_layer"),
        ("drift_by_layer",),
    ),
)
"""In the report's order."""
