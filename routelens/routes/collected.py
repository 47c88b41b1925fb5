"""A collection of tickets as a table, and in words.

Sizes and costs are medians. A control's share counts the tickets on which it could be made, with Wilson's interval, which takes tickets as independent:
where several stand on one passage it is too narrow.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from routelens.metrics.intervals import wilson
from routelens.routes.results import Ticket
from routelens.routes.ticket_folder import Entry

if TYPE_CHECKING:
    import pandas as pd

CONTROLS = ("value_swap", "query_swap", "random_sets", "other_heads", "necessity")
STATUSES = ("certified", "no_route_needed", "budget_exhausted", "not_answered")
_INTEGERS = ("size", "n_candidates", "n_protected")
_FLAGS = ("touches_evidence", *CONTROLS)
_NUMBERS = (
    "share",
    "cost",
    "certificate_cost",
    "margin",
    "full_margin",
    "ticket_margin",
    "seconds",
)


def table_of(found: Sequence[tuple[Entry, Ticket]]) -> "pd.DataFrame":
    """One row a ticket; what was not measured, or could not be, is missing and never 0 or False.

    ``margin`` is the share asked for; ``full_margin`` and ``ticket_margin`` are mean margins in logits. Costs are in forward
    equivalents: ``cost`` of the search, ``certificate_cost`` of the proof.
    """
    import pandas as pd

    table = pd.DataFrame([_row(*one) for one in found], columns=_COLUMNS)
    types: dict[str, Any] = dict.fromkeys(_INTEGERS, "Int64")
    types |= dict.fromkeys(_FLAGS, "boolean") | dict.fromkeys(_NUMBERS, "float64")
    return table.astype(types)


def _row(entry: Entry, ticket: Ticket) -> dict[str, Any]:
    certificate, controls = ticket.certificate, ticket.controls
    # A search that ended before it had a set has no size; the empty set is one where no route is needed.
    has_set = bool(ticket.numbers) or ticket.status == "no_route_needed"
    stands = bool(ticket.numbers and ticket.evidence_positions)
    return {
        "item": entry.item,
        "passage": entry.passage,
        "task": entry.task,
        "answer_type": entry.answer_type,
        "question_type": entry.question_type,
        "direction": entry.direction,
        "status": ticket.status,
        "reason": ticket.reason,
        "answer": ticket.answer,
        "outcome": ticket.outcome,
        "model": ticket.model,
        "unit": ticket.search.unit,
        "ablation": ticket.search.ablation,
        "margin": ticket.search.margin,
        "size": ticket.size if has_set else None,
        "share": ticket.share if has_set else None,
        "n_candidates": ticket.n_candidates or None,
        "n_protected": ticket.n_protected if ticket.n_candidates else None,
        "cost": ticket.cost,
        "certificate_cost": certificate.forward_equivalents if certificate else None,
        "full_margin": ticket.full_margin,
        "ticket_margin": certificate.margin if certificate else None,
        "touches_evidence": ticket.touches_evidence if stands else None,
        "kind": controls.kind if controls else None,
        **{name: getattr(controls, name).passed if controls else None for name in CONTROLS},
        "seconds": entry.seconds,
    }


_COLUMNS = [
    "item",
    "passage",
    "task",
    "answer_type",
    "question_type",
    "direction",
    "status",
    "reason",
    "answer",
    "outcome",
    "model",
    "unit",
    "ablation",
    "margin",
    "size",
    "share",
    "n_candidates",
    "n_protected",
    "cost",
    "certificate_cost",
    "full_margin",
    "ticket_margin",
    "touches_evidence",
    "kind",
    "value_swap",
    "query_swap",
    "random_sets",
    "other_heads",
    "necessity",
    "seconds",
]


def summary_of(table: "pd.DataFrame", settings: dict[str, Any], n_missing: int) -> str:
    """Statuses with medians, then the controls of the certified tickets."""
    search = settings["search"]
    missing = f", {n_missing} still missing" if n_missing else ""
    lines = [
        f"{_count(len(table), 'ticket')} on {_count(table['passage'].nunique(), 'passage')}{missing} · "
        f"{settings['model']} {settings['dtype']}",
        f"{search['unit']} units, {search['ablation']}, margin {search['margin']:g}, protect {search['protect']}, ranking "
        f"{search['ranking']}, budget {search['budget']:g}, seed {search['seed']}"
        + ("" if settings["require_correct"] else ", for any answer"),
        "",
        f"{'status (medians)':18}{'n':>5}{'size':>9}{'share':>9}{'search':>9}{'proof':>9}{'seconds':>9}",
    ]
    for status in STATUSES:
        rows = table[table["status"] == status]
        if len(rows):
            lines.append(
                f"{status:18}{len(rows):5}{_median(rows['size'], '.0f')}{_median(rows['share'], '.2%')}"
                f"{_median(rows['cost'], '.0f')}{_median(rows['certificate_cost'], '.0f')}{_median(rows['seconds'], '.1f')}"
            )
    lines.append("search and proof are in forward equivalents")
    certified = table[table["status"] == "certified"]
    if len(certified):
        lines += ["", f"of {_count(len(certified), 'certified ticket')} (95 % Wilson interval)"]
        lines.append(_share("stands on the evidence", certified["touches_evidence"]))
    if len(certified) and settings["controls"]:
        lines += [
            _share("value swap: says the new", certified["value_swap"]),
            _share("query swap: selective", certified["query_swap"]),
            _share("hard-wired", ~certified["query_swap"]),
            _share("random sets fail", certified["random_sets"]),
            _share("other heads fail", certified["other_heads"]),
            _share("necessary", certified["necessity"]),
        ]
    return "\n".join(lines)


def _share(name: str, flags: Any) -> str:
    known = flags.dropna()
    yes, n = int(known.sum()), len(known)
    unknown = f"   ({len(flags) - n} not possible)" if n < len(flags) else ""
    if not n:
        return f"  {name:26}{unknown.strip()}"
    found = wilson(yes, n)
    return f"  {name:26}{yes:4} of {n:<4}{found.mean:5.2f} [{found.low:.2f}, {found.high:.2f}]{unknown}"


def _median(values: Any, form: str) -> str:
    known = values.dropna()
    return f"{format(float(known.median()), form) if len(known) else '–':>9}"


def _count(n: Any, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
