"""Sweeps: a grid of policies, ratios and regimes over items, one row per observation (D22)."""

from routelens.sweeps.grid import (
    DEFAULT_BUDGETS,
    DEFAULT_RATIOS,
    Grid,
    Plan,
    plan,
    units,
)
from routelens.sweeps.run import Run, sweep
from routelens.sweeps.store import COLUMNS, RunStore, read_manifest, read_run

__all__ = [
    "COLUMNS",
    "DEFAULT_BUDGETS",
    "DEFAULT_RATIOS",
    "Grid",
    "Plan",
    "Run",
    "RunStore",
    "plan",
    "read_manifest",
    "read_run",
    "sweep",
    "units",
]
