"""A sweep: every policy at every ratio on every item, one prefill a passage, written unit by unit.

For each unit (a passage under a regime) the passage is prefilled once; each policy scores it once and yields the masks of all
ratios; the full cache's answers come first, then every mask × every question in shared batches. A unit's rows are written in
one step, so that an interrupted sweep goes on where it stopped.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from routelens.cache import ContextCache, format_of, prefill
from routelens.decoding import iter_answers
from routelens.eviction import evict_many
from routelens.metrics import DEFAULT_SCORING, Scoring
from routelens.models import load_model, model_info
from routelens.policies import make_policy
from routelens.progress import track
from routelens.prompts import PromptFormat, build_prompt
from routelens.sweeps.grid import DEFAULT_RATIOS, Cell, Grid, Plan, Unit, items_hash, plan, units
from routelens.sweeps.rows import Baseline, MaskMeasures, make_row, run_constants
from routelens.sweeps.store import RunStore, read_manifest, read_run
from routelens.types import Answer, Item, KeepMask

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """A finished sweep: its folder, and what it ran."""

    path: Path
    plan: Plan

    def table(self) -> "pd.DataFrame":
        """All rows (D22)."""
        return read_run(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """Settings, versions and the model's revision."""
        return read_manifest(self.path)


def sweep(
    model: Any,
    items: Sequence[Item],
    *,
    policies: Sequence[Any] = ("full", "random", "expected_attention", "adakv"),
    ratios: Sequence[float] = DEFAULT_RATIOS,
    budgets: Sequence[int] = (),
    regimes: Sequence[str] = ("agnostic",),
    seeds: Sequence[int] | None = None,
    out: str | os.PathLike[str],
    rounding: str = "floor",
    limit: int | None = None,
    max_new_tokens: int = 32,
    format: PromptFormat | None = None,
    trace: bool = True,
    log_p_gold: bool = True,
    scoring: Scoring = DEFAULT_SCORING,
    batch_size: int | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Run:
    """Run the grid and write one row per (item, regime, policy, ratio, seed) to ``out`` (D22).

    Args:
        model: What ``load_model`` returned, or a name for it.
        items: Questions on passages; those of one passage share its prefill and its masks.
        policies: Names, configurations or Policy objects. ``full`` and ``random`` are the controls.
        ratios: Compression ratios (fractions removed).
        budgets: Entries per KV head, as a further axis.
        regimes: What stands in the compressible prefix (D19).
        seeds: One run of random policies for each.
        out: The run's folder; an interrupted run with the same settings goes on.
        rounding: "floor" (D1) or "kvpress".
        limit: The first so many items only.
        max_new_tokens: Tokens an answer may have.
        format: The prompt's wording; default: the model's own.
        trace: Whether to measure attention (D7-D9, D24) too.
        log_p_gold: Whether to score the gold answer.
        scoring: How answers are judged: the language, and abstentions of your own.
        batch_size: Rows decoded together; by default what memory allows.
        overwrite: Start again where ``out`` holds another run.
        progress: Whether to draw a progress bar.

    Raises:
        ValueError: Bad items, policies or ratios (before the model loads), prompts that do not fit the model, or a folder
            that holds a run with other settings.
    """
    for name, number in (("max_new_tokens", max_new_tokens), ("batch_size", batch_size)):
        if number is not None and number < 1:
            raise ValueError(f"sweep: {name} is a whole number of at least 1; got {number}.")
    grid = Grid(
        [make_policy(p) for p in _listed(policies)], ratios, budgets, regimes, seeds, rounding
    )
    found = units(items, grid, limit=limit)
    if isinstance(model, str | Path):
        model = load_model(model)
    format = format or format_of(model)
    _check_prompts(model, found, format, max_new_tokens)
    info = model_info(model)
    config = {
        "model": info.name,
        "model_kind": info.kind,
        "model_revision": info.revision,
        "dtype": info.dtype,
        "items": items_hash(items),
        "grid": grid.config(),
        "limit": limit,
        "max_new_tokens": max_new_tokens,
        "format": format.config(),
        "trace": trace,
        "log_p_gold": log_p_gold,
        "scoring": scoring.config(),
    }
    rows_each = len(grid.cells())
    facts = {
        "device": info.device,
        "hf_checked": info.hf_checked,
        "threads": torch.get_num_threads(),
        "n_rows": rows_each * sum(len(unit.items) for unit in found),
    }
    with RunStore.open(out, config, info=facts, overwrite=overwrite) as store:
        work = plan(items, grid, limit=limit, done=store.done)
        left = [unit for unit in found if not store.done(unit.id)]
        with track("sweep", work.n_rows, work.n_rows - work.n_rows_left, shown=progress) as advance:
            for unit in left:
                runner = UnitRunner(
                    model,
                    unit,
                    grid,
                    format,
                    max_new_tokens,
                    trace,
                    log_p_gold,
                    scoring,
                    batch_size,
                )
                rows = []
                for batch in runner.rows():
                    rows += batch
                    advance(len(batch))
                assert len(rows) == rows_each * len(unit.items)
                store.write(unit.id, rows)
    return Run(Path(out), work)


@dataclass
class UnitRunner:
    """One unit from its prefill to its rows."""

    model: Any
    unit: Unit
    grid: Grid
    format: PromptFormat
    max_new_tokens: int
    trace: bool
    log_p_gold: bool
    scoring: Scoring
    batch_size: int | None

    def rows(self) -> Iterator[list[dict[str, Any]]]:
        """The unit's rows, a few at a time as they are decoded."""
        started = time.perf_counter()
        unit = self.unit
        cache = prefill(
            self.model,
            unit.items[0],
            regime=unit.regime,
            questions=unit.questions,
            format=self.format,
        )
        baselines = self._baselines(cache)
        masks, cells_of = self._masks(cache)
        constants = run_constants(self.model, unit.regime)
        n_rows = len(baselines) * sum(len(cells) for cells in cells_of)
        for index, answer in self._answers(cache, masks, baselines):
            mask, baseline = masks[index // len(baselines)], baselines[index % len(baselines)]
            seconds = (time.perf_counter() - started) / n_rows
            yield [
                make_row(baseline, answer, cell, mask, constants=constants | {"wall_s": seconds})
                for cell in cells_of[index // len(baselines)]
            ]

    def _baselines(self, cache: ContextCache) -> list[Baseline]:
        answers = dict(self._decoded(cache, [None]))
        return [
            Baseline(item, cache.prompt_of(item).evidence, answers[i])
            for i, item in enumerate(self.unit.items)
        ]

    def _decoded(
        self, cache: ContextCache, keeps: Sequence[KeepMask | None]
    ) -> Iterator[tuple[int, Answer]]:
        """Every mask × every item of the unit, with the sweep's settings."""
        return iter_answers(
            cache,
            keeps,
            self.unit.items,
            max_new_tokens=self.max_new_tokens,
            trace="prompt" if self.trace else False,
            log_p_gold=self.log_p_gold,
            scoring=self.scoring,
            batch_size=self.batch_size,
        )

    def _masks(self, cache: ContextCache) -> tuple[list[MaskMeasures], list[list[Cell]]]:
        """The unit's distinct masks, the full one first, and the cells that each of them serves."""
        full = cache.full_mask
        found: dict[tuple[str, bool], tuple[KeepMask, list[Cell]]] = {(full.hash, True): (full, [])}
        for cells in _by_policy(self.grid.cells()):
            ratios = [c.compression_ratio for c in cells if c.compression_ratio is not None]
            budgets = [c.budget for c in cells if c.budget is not None]
            made = evict_many(
                cache,
                cells[0].policy,
                compression_ratios=ratios,
                budgets=budgets,
                rounding=self.grid.rounding,
            )
            for cell, keep in zip(cells, made, strict=True):
                found.setdefault((keep.hash, keep.attainable), (keep, []))[1].append(cell)
        kept = [(keep, cells) for keep, cells in found.values() if cells]
        return [MaskMeasures.of(keep, cache) for keep, _ in kept], [cells for _, cells in kept]

    def _answers(
        self, cache: ContextCache, masks: list[MaskMeasures], baselines: list[Baseline]
    ) -> Iterator[tuple[int, Answer]]:
        """(mask · n_items + item, answer); the full mask's answers are the baselines themselves."""
        evicting = []
        for index, mask in enumerate(masks):
            if bool(mask.keep.keep.all()):
                for place, baseline in enumerate(baselines):
                    yield index * len(baselines) + place, baseline.answer
            else:
                evicting.append(index)
        decoded = self._decoded(cache, [masks[index].keep for index in evicting])
        for position, answer in decoded:
            mask, place = divmod(position, len(baselines))
            yield evicting[mask] * len(baselines) + place, answer


def _by_policy(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that one scoring pass serves, ratios before budgets as ``Grid.cells`` orders them."""
    groups: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.policy_config, cell.seed), []).append(cell)
    return list(groups.values())


def _check_prompts(
    model: Any, found: Sequence[Unit], format: PromptFormat, max_new_tokens: int
) -> None:
    """Every prompt is built once before anything runs; ValueError names those that do not fit the model."""
    info, problems = model_info(model), []
    if info.tokenizer is None:
        raise ValueError("sweep: the model has no tokenizer; pass load_model(model, tokenizer=…).")
    for unit in found:
        for item in unit.items:
            try:
                build_prompt(
                    info.tokenizer,
                    item,
                    regime=unit.regime,
                    questions=unit.questions,
                    format=format,
                    max_positions=info.n_ctx - max_new_tokens,
                )
            except ValueError as error:
                problems.append(f"item {item.id}, {unit.regime}: {error}")
    if problems:
        shown = "\n".join(problems[:10])
        more = f"\n… and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise ValueError(f"sweep: {len(problems)} prompts cannot be run:\n{shown}{more}")


def _listed(policies: Any) -> list[Any]:
    return [policies] if isinstance(policies, str) or hasattr(policies, "score") else list(policies)
