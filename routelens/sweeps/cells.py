"""What a sweep asks for: every policy at every compression ratio or budget, seed and regime (D1, D19, D20).

A *cell* is one policy at one ratio (or budget) and seed: what turns a unit's prefill into one keep mask. The command line's
lists are read here too. Nothing here knows a model.
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
from routelens.types import REGIMES, Regime

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
        regimes = [as_regime(value) for value in _listed(self.regimes)]
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
    return tuple(as_regime(part.strip()) for part in text.split(","))


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


def as_regime(value: Any) -> Regime:
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
