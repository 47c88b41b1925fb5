"""What a sweep runs: every policy at every compression ratio or budget, over units of items that share a prefill.

A *cell* is one policy at one ratio (or budget) and seed; a *unit* is one passage under one regime (D19), or one item in
``aware_one``, where each question makes a prefix of its own. Each cell of each item of each unit is one row (D22). All of
it is known before a model is loaded, so that a plan can be shown, and a unit's id depends on its content alone: not on
the machine, the order of the items, or what else is in the sweep.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from routelens.sweeps.cells import (
    DEFAULT_BUDGETS,
    DEFAULT_RATIOS,
    Cell,
    Grid,
    as_regime,
    parse_budgets,
    parse_ratios,
    parse_regimes,
)
from routelens.types import Item, Regime, stable_hash

__all__ = [
    "DEFAULT_BUDGETS",
    "DEFAULT_RATIOS",
    "Cell",
    "Grid",
    "Plan",
    "Unit",
    "items_hash",
    "parse_budgets",
    "parse_ratios",
    "parse_regimes",
    "plan",
    "units",
]


@dataclass(frozen=True)
class Unit:
    """Items that share one prefill: a passage under a regime, or one item in ``aware_one``.

    ``questions`` are those the prefix or the scores see: all the passage's in ``aware_list`` and ``score_only`` (also
    those a limit has left out), the item's own in ``aware_one``, none in ``agnostic``.
    """

    id: str
    regime: Regime
    items: tuple[Item, ...]
    questions: tuple[str, ...]

    @property
    def context(self) -> str:
        """The passage."""
        return self.items[0].context

    @property
    def passage_id(self) -> str:
        return self.items[0].passage_id


@dataclass(frozen=True)
class Plan:
    """How much a sweep is, before a model is loaded.

    ``n_unique_masks`` and ``n_answers`` are upper bounds: on a short prefix neighbouring ratios keep the same entries,
    and equal masks are computed once. Both count the full cache once a unit.
    """

    n_items: int
    n_passages: int
    n_units: int
    n_units_left: int
    n_cells: int
    n_rows: int
    n_rows_left: int
    n_unique_masks: int
    n_answers: int
    n_units_by_regime: dict[str, int]
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """The plan in a few lines of text."""
        regimes = ", ".join(f"{name} {count:,}" for name, count in self.n_units_by_regime.items())
        lines = [
            f"{self.n_items:,} items on {self.n_passages:,} passages",
            f"{self.n_units:,} units, one prefill each ({regimes})",
            f"{self.n_rows:,} rows: {self.n_cells:,} cells for each item and regime",
            f"at most {self.n_unique_masks:,} masks and {self.n_answers:,} answers to compute",
        ]
        if self.n_units_left < self.n_units:
            lines.append(f"{self.n_units_left:,} units and {self.n_rows_left:,} rows are left")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def units(items: Iterable[Item], grid: Grid, *, limit: int | None = None) -> list[Unit]:
    """The sweep's units: passages in the order of their first item, each under every regime of the grid.

    Items are of one passage when passage_id *and* context agree. Within a unit they stand in the order of their ids
    (numbers by value), whatever order they came in, since the order of questions is part of an ``aware_list`` prefix.

    Args:
        items: The items; exact repetitions are merged.
        grid: The grid.
        limit: Run the first ``limit`` *items* as given (not passages). Their rows are those of the whole sweep: in
            ``aware_list`` and ``score_only`` the passage's other questions are still seen.

    Raises:
        ValueError: No items, two different items with one id, or a limit below 1.
    """
    whole = _distinct(items)
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        raise ValueError(f"units: limit is a number of items, at least 1; got {limit!r}.")
    chosen = {item.id for item in whole[:limit]}
    passages: dict[tuple[str, str], list[Item]] = {}
    for item in whole:
        passages.setdefault((item.passage_id, item.context), []).append(item)
    found = []
    for members in passages.values():
        members.sort(key=lambda item: (_natural(item.id), item.id))
        asked = tuple(item for item in members if item.id in chosen)
        questions = tuple(dict.fromkeys(item.question for item in members))
        for regime in map(as_regime, grid.regimes if asked else ()):
            if regime == "aware_one":
                found += [_unit(regime, (item,), (item.question,)) for item in asked]
            else:
                found.append(_unit(regime, asked, () if regime == "agnostic" else questions))
    return found


def plan(
    items: Iterable[Item],
    grid: Grid,
    *,
    limit: int | None = None,
    done: Callable[[str], bool] | None = None,
) -> Plan:
    """How many units, rows, masks and answers the sweep has, and how many are left after those ``done``.

    ``done`` tells of a unit's id whether its rows are on disk, as ``RunStore.done`` does.
    """
    items = list(items)
    found, cells = units(items, grid, limit=limit), grid.cells()
    left = [unit for unit in found if done is None or not done(unit.id)]
    n_masks = 1 + sum(cell.evicts for cell in cells)
    sizes = [len(unit.items) for unit in found]
    regimes = {name: sum(unit.regime == name for unit in found) for name in grid.regimes}
    n_merged = len(items) - len(_distinct(items))
    merged = (f"{n_merged} repeated items merged",) if n_merged else ()
    return Plan(
        n_items=len({item.id for unit in found for item in unit.items}),
        n_passages=len({(unit.passage_id, unit.context) for unit in found}),
        n_units=len(found),
        n_units_left=len(left),
        n_cells=len(cells),
        n_rows=sum(sizes) * len(cells),
        n_rows_left=sum(len(unit.items) for unit in left) * len(cells),
        n_unique_masks=len(found) * n_masks,
        n_answers=sum(sizes) * n_masks,
        n_units_by_regime=regimes,
        notes=(*grid.notes, *merged),
    )


def items_hash(items: Iterable[Item]) -> str:
    """Sixteen hex digits over the items' content in any order, for a run's configuration: other data, other run."""
    return stable_hash(sorted(stable_hash(_content(item)) for item in _distinct(items)))


def _unit(regime: Regime, items: tuple[Item, ...], questions: tuple[str, ...]) -> Unit:
    content = [regime, questions, [_content(item) for item in items]]
    return Unit(f"{items[0].passage_id}/{regime}/{stable_hash(content)}", regime, items, questions)


def _content(item: Item) -> list[Any]:
    """All of an item that its rows depend on."""
    groups = [[group.role, group.name, group.occurrences] for group in item.required_groups]
    texts = [item.id, item.passage_id, item.context, item.question, item.answer, item.aliases]
    tags = [item.task, item.answer_type, item.question_type, item.direction]
    return [*texts, groups, *tags]


def _distinct(items: Iterable[Item]) -> list[Item]:
    """The items without exact repetitions, in order."""
    found: dict[str, Item] = {}
    for item in items:
        if found.setdefault(item.id, item) != item:
            raise ValueError(
                f"units: an id names one item; {item.id!r} names two that differ, with the questions "
                f"{found[item.id].question!r} and {item.question!r}. Give each item an id of its own."
            )
    if not found:
        raise ValueError("units: a sweep needs at least one item; got none.")
    return list(found.values())


def _natural(text: str) -> list[str | int]:
    """A sort key that puts "q2" before "q10"."""
    parts = re.split(r"([0-9]{1,18})", text)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]
