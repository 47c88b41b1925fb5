"""What a reader needs beside the numbers: how they were made and with which choices, the terms, the patterns, the manifest."""

import json
import math
from collections.abc import Iterable
from typing import Any

from routelens.metrics import ABSTENTION_PATTERNS
from routelens.viz.association import EFFECT_RESAMPLES
from routelens.viz.page import bullets, details, table, text
from routelens.viz.rows import Sweep

SIMULATED = (
    "Eviction is simulated by masking attention scores: what is masked gives the answers of a cache without those "
    "entries, but nothing is freed and nothing runs faster. This report makes no claim on memory or latency. Cache sizes "
    "are estimates, 2 × layers × kept entries per KV head × KV heads × head dimension × bytes per number."
)

SPIRIT = (
    "The measures are in the spirit of arXiv 2603.01426, not a reproduction of it: where the paper is silent or contradicts "
    "itself, a choice was made, marked [C] in the definitions. Those that bear on this report:"
)

CHOICES: tuple[tuple[str, str], ...] = (
    (
        "D1",
        "grid points beyond 0.9, and budgets as another axis; kept entries are floor(n(1 − α) + 1e-9), at least 1",
    ),
    (
        "D3",
        "layer scope is primary: a token is evicted in a layer when no KV head of it keeps the token",
    ),
    ("D4", "ΔGER and k_eff"),
    ("D5", "evidence is located by the model's own tokenizer; any overlap of characters counts"),
    ("D6", "E, layer scope: some required group is not intact in at least half of the layers"),
    (
        "D7, D8",
        "attention is read at the last prompt token, without sinks; agreement has signed names instead of “consensus”",
    ),
    (
        "D10",
        "the order of the classes, F1 of at least 50 as correct, and the list of abstentions below",
    ),
    (
        "D11",
        "normalisation of words, with numbers compared as written values; prompts ask for a brief answer",
    ),
    (
        "D11 ff.",
        "intervals are 95 % percentile bootstraps over passages, since questions of one passage share a mask",
    ),
    (
        "D12",
        "slopes between grid points; a peak only inside the grid and above both neighbours' intervals",
    ),
    ("D13", "AUROC within one grid point is primary, since any two rising curves correlate"),
    ("D14", "leak and rigidity excess; P(F|E) is estimated, never taken as 1"),
    ("D24", "retention, accessibility and utilisation as numbers; drift"),
)

TERMS: tuple[tuple[str, str], ...] = (
    (
        "compression ratio α (D1)",
        "fraction of the prefix's KV entries removed; 0 is the full cache. Ratio in fact: what happened after rounding",
    ),
    ("budget (D1)", "KV entries kept per head, as an absolute number"),
    (
        "eviction rate (D4)",
        "mean over content tokens of the share of layers in which no KV head keeps the token (layer scope)",
    ),
    ("GER (D4)", "global eviction ratio: the same mean over the answer's tokens"),
    (
        "ΔGER (D4)",
        "GER minus eviction rate; above 0 the evidence is hit harder than the average token",
    ),
    ("k_eff (D4)", "ln(rate) / ln(ratio in fact): heads that act independently, 1 = all alike"),
    ("evidence, T_ans (D5)", "the tokens that the answer needs, found in the context"),
    ("erasure E (D6)", "some required piece of evidence is gone, in the scope named"),
    (
        "agreement ρ (D8)",
        "share of query heads whose attention peaks on the layer's commonest token, mean over layers",
    ),
    (
        "reroute rate (D9)",
        "of the heads whose favourite token was evicted, the share that now looks at the answer",
    ),
    ("survived but wrong (D9)", "right with the full cache, evidence not erased, wrong compressed"),
    (
        "correct, unknown, hallucination, degenerate (D10)",
        "the four classes: states the gold; abstains; all else; empty or a loop",
    ),
    (
        "C→W, W→C (D10)",
        "right with the full cache and wrong here, of those right; wrong there and right here, of those wrong",
    ),
    ("F1 (D11)", "word F1 with the gold, 0 to 100"),
    ("susceptibility χ (D12)", "slope of the hallucination rate over the compression ratio"),
    (
        "P(F|E), P(F|¬E), leak, rigidity excess (D14)",
        "failure with and without erasure; 1 − P(F|E); P(F|¬E) minus the full cache's failure on the same items",
    ),
    (
        "retention, accessibility, utilisation (D24)",
        "evidence kept; evidence that reaches the last prompt token (D15, ε = 1/n); correct among the accessible",
    ),
    ("drift (D24)", "cosine of the residual states with and without compression"),
    (
        "regime (D19)",
        "what the compressed prefix holds: agnostic, the context only; aware_list, also all the passage's questions; aware_one, also the one question; score_only, questions inform the scores and are dropped",
    ),
)


def methods(sweeps: Iterable[Sweep]) -> str:
    """How the numbers were made, and the policies with their whole configuration."""
    sweeps = list(sweeps)
    draws = sweeps[0].n_resamples if sweeps else 0
    how = (
        f"Means go over a task's items and then over tasks; slopes, AUROC, correlation, logistic regression and the decomposition "
        f"pool all items. Intervals: {draws:,} resamples of the passages, seeded (logistic regression: "
        f"{min(draws, EFFECT_RESAMPLES):,}); none where a task has fewer than two passages. An interval "
        "without width means that all passages agree, which says little when they are few."
    )
    choices = bullets(f"<b>{number}</b> {text(words)}" for number, words in CHOICES)
    rows, seen = [], set()
    for sweep in sweeps:
        for series in sweep.series:
            if series.label in seen:
                continue
            seen.add(series.label)
            part = sweep.rows[sweep.rows["series"] == series.label]
            seeds = (
                ", ".join(f"{int(seed)}" for seed in sorted(part["seed"].dropna().unique())) or "–"
            )
            rounding = ", ".join(sorted(set(part["rounding"].dropna()))) or "–"
            rows.append(
                [
                    text(series.label),
                    f"<code>{text(series.config, limit=600)}</code>",
                    text(seeds),
                    text(rounding),
                ]
            )
    policies = table(
        ["policy", "configuration", "seeds", "rounding"],
        rows,
        caption="Policies as they ran",
        numeric=False,
    )
    return f"<p>{SIMULATED}</p><p>{how}</p><p>{SPIRIT}</p>{choices}{policies}{_patterns(sweeps)}"


def _patterns(sweeps: Iterable[Sweep]) -> str:
    """Every pattern that made an answer an abstention: the printed list, and those of the runs' own."""
    own = {
        str(pattern): None
        for sweep in sweeps
        for pattern in _mapping(_mapping(sweep.manifest.get("config")).get("scoring")).get(
            "abstentions", ()
        )
    }
    in_use = {**ABSTENTION_PATTERNS, **({"the run's own": tuple(own)} if own else {})}
    rows = [
        [text(language), f"<code>{text(pattern)}</code>"]
        for language, patterns in in_use.items()
        for pattern in patterns
    ]
    body = table(
        ["language", "regular expression"],
        rows,
        caption="Searched in the normalised answer: lower case, no apostrophes or punctuation",
        numeric=False,
        tall=True,
    )
    return "<h3>What counts as an abstention</h3>" + details(
        f"The {len(rows)} patterns (D10)", body
    )


def glossary() -> str:
    """The terms with their definitions' numbers, and every column of a row."""
    from routelens.sweeps.store import COLUMNS

    terms = "".join(f"<dt>{text(name)}</dt><dd>{text(words)}</dd>" for name, words in TERMS)
    rows = [
        [f"<code>{text(name)}</code>", text(kind), text(words)] for name, kind, words in COLUMNS
    ]
    columns = table(
        ["column", "type", "meaning"],
        rows,
        caption="Columns of a row (D22)",
        numeric=False,
        tall=True,
    )
    return f'<dl class="terms">{terms}</dl>{details(f"All {len(rows)} columns of a row", columns)}'


def manifest_part(manifest: dict[str, Any]) -> str:
    """The run's settings and versions: the facts in a table, and the whole as JSON."""
    if not manifest:
        return "<p>The rows came without a manifest: settings and versions are unknown.</p>"
    named = (
        "model",
        "model_revision",
        "dtype",
        "device",
        "seed",
        "created",
        "platform",
        "threads",
        "git_commit",
        "config_hash",
    )
    rows = [[text(name.replace("_", " ")), text(manifest.get(name), limit=300)] for name in named]
    versions = manifest.get("versions")
    if isinstance(versions, dict):
        rows += [[text(name), text(version)] for name, version in versions.items()]
    whole = {name: value for name, value in manifest.items() if name != "columns"}
    body = f"<pre>{text(json.dumps(whole, indent=2, ensure_ascii=False, default=str)).replace('↵ ', chr(10))}</pre>"
    return table(
        ["setting", "value"], rows, caption="Settings and versions", numeric=False
    ) + details("The manifest in full", body)


def gaps(
    sweeps: list[Sweep], manifest: dict[str, Any], notes: Iterable[str], skipped: Iterable[str]
) -> list[str]:
    """What the run lacks, in plain text."""
    found = [*notes, *(note for sweep in sweeps[:1] for note in sweep.notes)]
    for sweep in sweeps:
        if sweep.rows.empty:
            continue
        policies = {series.policy for series in sweep.series}
        found += [
            f"the control {name} did not run ({why})"
            for name, why in (("full", "it must be flat"), ("random", "it shows the floor"))
            if name not in policies
        ]
        for regime in sweep.regimes:
            n_passages = sweep.items(regime)["passage_id"].nunique()
            if n_passages < 2:
                found.append(f"{regime}: one passage, so no intervals")
            elif n_passages < 10:
                found.append(f"{regime}: {n_passages} passages, so intervals are wide and rough")
        found += _unfinished(sweep)
    asked = _mapping(_mapping(manifest.get("config")).get("grid")).get("regimes")
    if isinstance(asked, list):
        absent = [
            regime for regime in asked if all(regime not in sweep.regimes for sweep in sweeps)
        ]
        found += (
            [f"regimes that were asked for and have no rows yet: {', '.join(map(str, absent))}"]
            if absent
            else []
        )
    expected = _mapping(manifest.get("info")).get("n_rows")
    n_rows = sum(len(sweep.rows) for sweep in sweeps)
    if isinstance(expected, int) and n_rows < expected:
        found.append(
            f"the run is not finished: {n_rows:,} of {expected:,} rows ({100 * n_rows / expected:.0f} %)"
        )
    return list(dict.fromkeys([*found, *skipped]))


def _unfinished(sweep: Sweep) -> list[str]:
    """Regimes in which some items lack cells, or that have not the same items."""
    items = {regime: set(sweep.items(regime)["item_id"]) for regime in sweep.regimes}
    every = set().union(*items.values()) if items else set()
    found = [
        f"{regime} has {len(ids):,} of {len(every):,} items so far: regimes are not over the same items"
        for regime, ids in items.items()
        if len(ids) < len(every)
    ]
    counts = sweep.rows.groupby(["regime", "item_id"]).size()
    for regime in sweep.regimes:
        here = counts.loc[regime] if len(counts) else counts
        usual = here.max() if len(here) else math.nan
        n_short = int((here < usual).sum())
        if n_short:
            lack = "item lacks" if n_short == 1 else "items lack"
            found.append(f"{regime}: {n_short:,} {lack} some policies or grid points")
    return found


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
