"""Example answers: chosen by a fixed rule and shown as they are, whatever they say."""

import re

from routelens.viz.page import inline, table, text
from routelens.viz.rows import Frame, Sweep
from routelens.viz.series import Series

N_EXAMPLES = 12


def examples(sweep: Sweep) -> str:
    """Answers as they are, chosen by a fixed rule and not by what they say."""
    chosen = choose_examples(sweep)
    rule = (
        f"Rule: the evicting policies in the order of the legend, and within each the regimes, take turns; each takes its next "
        f"item, by id, that is not shown yet (a shown one when there is no other), right with the full cache and wrong at some grid point (C→W), until there are {N_EXAMPLES}. "
        "Nothing is chosen by what an answer says."
    )
    if not chosen:
        return f"<p>No item is right with the full cache and wrong compressed, so there is no example to show. {rule}</p>"
    points = _example_points(sweep)
    rows = []
    for series, regime, item in chosen:
        here = sweep.of(regime, series.label)
        here = here[here["item_id"] == item].drop_duplicates("x")
        first = here.iloc[0]
        answers = {row["x"]: row for _, row in here.iterrows()}
        rows.append(
            [
                inline(first["question"], limit=300),
                inline(first["gold"], limit=160)
                if first["gold"] is not None
                else "none: the passage does not say",
                f"{text(series.label)}<br><small>{text(regime)} · {inline(item, limit=60)}</small>",
                _full_answer(sweep, first),
                *(_answer(answers.get(x)) for x in points),
            ]
        )
    headers = ["question", "gold", "policy", "full cache", *(sweep.point(x) for x in points)]
    return f"<p>{rule}</p>" + table(headers, rows, caption="Example answers", numeric=False)


def choose_examples(sweep: Sweep) -> list[tuple[Series, str, str]]:
    """(series, regime, item id) of the examples, by the rule that :func:`examples` states."""
    queues = []
    for series in sweep.evicting:
        for regime in sweep.regimes:
            rows = sweep.of(regime, series.label)
            broken = rows.loc[rows["caused_failure"] == 1, "item_id"].unique()
            queues.append((series, regime, sorted(broken, key=_natural)))
    chosen: list[tuple[Series, str, str]] = []
    taken: set[str] = set()
    while len(chosen) < N_EXAMPLES and any(items for _, _, items in queues):
        for series, regime, items in queues:
            # Another item for each policy as long as there are any: then the same ones again.
            fresh = next((item for item in items if item not in taken), items[0] if items else None)
            if fresh is not None and len(chosen) < N_EXAMPLES:
                items.remove(fresh)
                taken.add(fresh)
                chosen.append((series, regime, fresh))
    return chosen


def _example_points(sweep: Sweep) -> list[float]:
    points = sweep.axis.points
    targets = (0.3, 0.5, 0.7, 0.9) if sweep.axis.name == "ratio" else points
    found = {sweep.nearest(x) for x in targets} - {0.0}
    ordered = sorted(found, reverse=sweep.axis.name == "budget")
    return (
        ordered if len(ordered) <= 4 else [ordered[i * (len(ordered) - 1) // 3] for i in range(4)]
    )


def _full_answer(sweep: Sweep, row: Frame) -> str:
    """The full cache's answer: any row of the item and regime with nothing evicted."""
    rows = sweep.rows
    same = rows[(rows["item_id"] == row["item_id"]) & (rows["regime"] == row["regime"])]
    full = same[(same["policy"] == "full") | (same["compression_ratio"] == 0)]
    prediction = inline(full.iloc[0]["prediction"], limit=200) if len(full) else "–"
    return _badge(row["full_outcome"]) + prediction


def _answer(row: Frame | None) -> str:
    return "–" if row is None else _badge(row["outcome"]) + inline(row["prediction"], limit=200)


def _badge(outcome: str | None) -> str:
    known = outcome if outcome in ("correct", "unknown", "hallucination", "degenerate") else ""
    return f'<span class="badge {known}">{text(outcome, limit=20)}</span>'


def _natural(value: str) -> list[tuple[int, int | str]]:
    """A sort key that puts q2 before q10."""
    parts = re.split(r"([0-9]{1,18})", value)
    return [(0, int(part)) if index % 2 else (1, part) for index, part in enumerate(parts)]
