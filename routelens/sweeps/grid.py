"""What a sweep runs: every policy at every compression ratio or budget, over units of items that share a prefill.

A *cell* is one policy at one ratio (or budget) and seed; a *unit* is one passage under one regime (D19), or one item in
``aware_one``, where each question makes a prefix of its own. Each cell of each item of each unit is one row (D22). All of
it is known before a model is loaded, so that a plan can be shown, and a unit's id depends on its content alone: not on
the machine, the order of the items, or what else is in the sweep.
"""

import difflib
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from routelens.policies.budget import Budget, Number
from routelens.types import REGIMES, Item, Regime, stable_hash

DEFAULT_RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.925, 0.95, 0.975, 0.99)
"""Compression ratios, fractions removed: the paper's grid to 0.9 (D1 [S]), then four more (D1 [C])."""

DEFAULT_BUDGETS = (4, 8, 16, 32, 64, 128, 256)
"""Entries per KV head, the alternative axis (D1 [C])."""

_MAX_POINTS = 1000


@dataclass(frozen=True)
class Cell:
    """One policy at one compression ratio or budget: what turns a unit's prefill into one keep mask."""

    policy: Any
    policy_name: str
    policy_config: str
    compression_ratio: Number | None
    budget: int | None
    rounding: str
    seed: int

    @property
    def evicts(self) -> bool:
        """Whether anything can be evicted: not at ratio 0, and not by the policy ``full``."""
        return self.compression_ratio != 0 and self.policy_name != "full"

    def columns(self) -> dict[str, Any]:
        """The cell's columns of a row (D22)."""
        return {
            "policy": self.policy_name,
            "policy_config": self.policy_config,
            "compression_ratio": self.compression_ratio,
            "budget": self.budget,
            "rounding": self.rounding,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Grid:
    """The policies, ratios, budgets, regimes and seeds of a sweep, checked and free of duplicates.

    ``policies`` are policy objects (with ``name`` and ``config()``), mappings with a "name", or names. A policy that can
    be ``reseeded`` runs once per seed, one without randomness once; with ``seeds=None`` each keeps the seed it has.
    Ratios (fractions removed) and budgets (entries per KV head) are two axes; either may be empty. Ratios are rounded to
    12 decimals and sorted. ``notes`` says what was merged.
    """

    policies: Sequence[Any]
    ratios: Sequence[Number] = DEFAULT_RATIOS
    budgets: Sequence[int] = ()
    regimes: Sequence[str] = ("agnostic",)
    seeds: Sequence[int] | None = None
    rounding: str = "floor"
    notes: tuple[str, ...] = field(default=(), init=False, compare=False)

    def __post_init__(self) -> None:
        notes: list[str] = []
        Budget(entries=1, rounding=self.rounding, who="Grid")
        ratios = [_ratio(value, "Grid") for value in _listed(self.ratios)]
        budgets = [_budget(value) for value in _listed(self.budgets)]
        if not ratios and not budgets:
            raise ValueError(
                "Grid: a sweep needs compression ratios or budgets; got neither. "
                "Pass ratios=(0, 0.5, 0.9) or budgets=(64,)."
            )
        regimes = [_regime(value) for value in _listed(self.regimes)]
        policies = _listed(self.policies)
        seeds = None if self.seeds is None else [_seed(value) for value in _listed(self.seeds)]
        for name, values in (("policies", policies), ("regimes", regimes), ("seeds", seeds)):
            if values == []:
                raise ValueError(f"Grid: a sweep needs at least one of {name}; got none.")
        set_field = object.__setattr__
        set_field(self, "policies", _merged("policy", policies, notes, key=_config_text))
        set_field(self, "ratios", tuple(sorted(_merged("ratio", ratios, notes))))
        set_field(self, "budgets", tuple(sorted(_merged("budget", budgets, notes))))
        set_field(self, "regimes", _merged("regime", regimes, notes))
        set_field(self, "seeds", seeds if seeds is None else _merged("seed", seeds, notes))
        set_field(self, "notes", tuple(notes))

    def cells(self) -> tuple[Cell, ...]:
        """Every cell of a unit: by policy, then seed, then ascending ratio, then ascending budget."""
        points: list[tuple[Number | None, int | None]] = [(ratio, None) for ratio in self.ratios]
        points += [(None, budget) for budget in self.budgets]
        return tuple(
            Cell(policy, _name(policy), config, ratio, budget, self.rounding, seed)
            for policy, config, seed in self._seeded()
            for ratio, budget in points
        )

    def config(self) -> dict[str, Any]:
        """The grid in JSON's types, for a run's manifest."""
        return {
            "policies": [_config(policy) for policy in self.policies],
            "ratios": list(self.ratios),
            "budgets": list(self.budgets),
            "regimes": list(self.regimes),
            "seeds": None if self.seeds is None else list(self.seeds),
            "rounding": self.rounding,
        }

    def _seeded(self) -> list[tuple[Any, str, int]]:
        """Each policy, its configuration as text and the seed, once for every seed that changes it."""
        found: dict[tuple[str, int | None], tuple[Any, str, int]] = {}
        for policy in self.policies:
            for seed in [None] if self.seeds is None else self.seeds:
                can_reseed = seed is not None and hasattr(policy, "reseeded")
                variant = policy.reseeded(seed) if can_reseed else policy
                text = _config_text(variant)
                # A bare name or mapping may be random: it keeps every seed.
                known = hasattr(policy, "reseeded") or seed is None
                shown = _own_seed(_config(variant)) if seed is None else seed
                found.setdefault((text, None if known else seed), (variant, text, shown))
        return list(found.values())


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
        for regime in map(_regime, grid.regimes if asked else ()):
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


def parse_ratios(text: str) -> tuple[float, ...]:
    """Compression ratios from text: "0,0.5,0.9", a range "0:0.9:0.1" (both ends included), "default", or a mixture."""
    ratios: list[float] = []
    for part in (entry.strip() for entry in text.split(",")):
        if part == "default":
            ratios += DEFAULT_RATIOS
        elif ":" in part:
            ratios += [_ratio(value, "--ratios") for value in _range(part)]
        else:
            ratios.append(_ratio(float(_decimal(part)), "--ratios"))
    return tuple(ratios)


def parse_budgets(text: str) -> tuple[int, ...]:
    """Budgets (entries per KV head) from text: "4,16,64" or "default"."""
    budgets: list[int] = []
    for part in (entry.strip() for entry in text.split(",")):
        if part == "default":
            budgets += DEFAULT_BUDGETS
        elif re.fullmatch(r"[0-9]+", part):
            budgets.append(_budget(int(part)))
        else:
            raise ValueError(
                f'--budgets: whole numbers of entries per KV head, as in "4,16,64"; got {part!r}.'
            )
    return tuple(budgets)


def parse_regimes(text: str) -> tuple[Regime, ...]:
    """Regimes from text: "agnostic,aware_list", or "all"."""
    if text.strip() == "all":
        return REGIMES
    return tuple(_regime(part.strip()) for part in text.split(","))


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


def _listed(value: Any) -> list[Any]:
    """The values as a list; a single name, policy or number counts as one."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _merged(
    what: str,
    values: list[Any],
    notes: list[str],
    *,
    key: Callable[[Any], Any] = lambda value: value,
) -> tuple[Any, ...]:
    """The values without repetitions, in order; a repetition leaves a note."""
    found: dict[Any, Any] = {}
    for value in values:
        if key(value) in found:
            notes.append(f"{what} {key(value)} was given twice and runs once")
        found.setdefault(key(value), value)
    return tuple(found.values())


def _name(policy: Any) -> str:
    return _config(policy)["name"]


def _config(policy: Any) -> dict[str, Any]:
    """The policy's name and options."""
    if isinstance(policy, str):
        return {"name": policy}
    if isinstance(policy, Mapping):
        config = dict(policy)
    elif callable(getattr(policy, "config", None)) and not isinstance(policy, type):
        config = {"name": policy.name, **policy.config()}
    else:
        config = {}
    if not isinstance(config.get("name"), str):
        raise ValueError(
            f"Grid: a policy is a Policy object, a name, or a mapping with a name; got {policy!r}. "
            'Pass "key_norm" or KeyNorm().'
        )
    return config


def _config_text(policy: Any) -> str:
    return json.dumps(_config(policy), sort_keys=True, ensure_ascii=False)


def _own_seed(config: Mapping[str, Any]) -> int:
    """The seed in a policy's options or in those of the policy it wraps; 0 without one."""
    if isinstance(config.get("seed"), int):
        return config["seed"]
    inner = [_own_seed(value) for value in config.values() if isinstance(value, Mapping)]
    return next((seed for seed in inner if seed), 0)


def _ratio(value: Any, who: str) -> float:
    """The ratio as a float of at most 12 decimals, so that 0.1 + 0.2 is 0.3."""
    Budget(compression_ratio=value, who=who)
    ratio = round(float(value), 12) + 0.0
    Budget(compression_ratio=ratio, who=who)
    return ratio


def _budget(value: Any) -> int:
    Budget(entries=value, who="Grid")
    return operator.index(value)


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < 0:
        raise ValueError(f"Grid: a seed is a whole number of at least 0; got {value!r}.")
    return operator.index(value)


def _regime(value: Any) -> Regime:
    """The regime of that name (D19); an unknown one is refused with the nearest."""
    if value in REGIMES:
        return cast(Regime, str(value))
    near = difflib.get_close_matches(str(value), REGIMES, n=2, cutoff=0.4)
    raise ValueError(
        f"Grid: a regime is one of {', '.join(REGIMES)}; got {value!r}."
        + (f" Did you mean {' or '.join(near)}?" if near else "")
    )


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
        if number.is_finite():
            return number
    except InvalidOperation:
        pass
    raise ValueError(
        f'--ratios: numbers in [0, 1), a range start:stop:step, or "default", separated by commas; got {text!r}. '
        "The fraction of KV entries removed, so 90 % is 0.9."
    )


def _range(text: str) -> list[float]:
    """start:stop:step with both ends, in decimal arithmetic."""
    parts = text.split(":")
    if len(parts) != 3:
        raise ValueError(f'--ratios: a range is start:stop:step, as in "0:0.9:0.1"; got {text!r}.')
    start, stop, step = (_decimal(part.strip()) for part in parts)
    if step <= 0 or stop < start or (stop - start) / step >= _MAX_POINTS:
        raise ValueError(
            f"--ratios: a range goes up from start to stop in steps above 0, at most {_MAX_POINTS} of them; got {text!r}."
        )
    return [float(start + index * step) for index in range(int((stop - start) / step) + 1)]
