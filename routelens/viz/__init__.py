"""Pictures and reports of what was measured: the only room that draws.

``write_report("runs/x")`` makes one HTML file of a run; the figures are functions of its rows (``figure_accuracy(rl.read_run("runs/x"))``).
"""

from routelens.viz.figures import (
    FIGURES,
    figure_accuracy,
    figure_agreement,
    figure_agreement_by_layer,
    figure_association,
    figure_caused_failures,
    figure_correlation,
    figure_decomposition,
    figure_drift_by_layer,
    figure_eviction,
    figure_eviction_scopes,
    figure_failure_sources,
    figure_outcomes,
    figure_susceptibility,
    figure_tasks,
    figure_triad,
    figure_use,
)
from routelens.viz.report import Report, write_report
from routelens.viz.ticket_figure import figure_ticket

__all__ = [
    "FIGURES",
    "Report",
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
    "figure_ticket",
    "figure_triad",
    "figure_use",
    "write_report",
]
