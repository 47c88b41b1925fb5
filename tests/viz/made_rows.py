"""Made rows of a sweep with a planted cliff: each policy erases evidence and breaks answers around a ratio of its own."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from routelens.metrics import transition
from routelens.sweeps.store import SCHEMA, empty_row

CLIFF = {
    "full": None,
    "expected_attention": 0.85,
    "adakv": 0.93,
    "chunk": 0.7,
    "snapkv": 0.6,
    "key_norm": 0.35,
    "sink_recent": 0.5,
    "random": 0.45,
}
RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.925, 0.95, 0.975, 0.99)
N_LAYERS, N_KV_HEADS, N_PREFIX = 8, 3, 240


def make_rows(
    *,
    n_passages: int = 6,
    n_questions: int = 4,
    policies: tuple[str, ...] = ("full", "expected_attention", "key_norm", "random"),
    ratios: tuple[float, ...] = RATIOS,
    budgets: tuple[int, ...] = (),
    regimes: tuple[str, ...] = ("agnostic",),
    tasks: tuple[str, ...] = ("knowledge",),
    unanswerable: int = 0,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Rows with every column of D22; the cell's own random numbers do not depend on the other cells."""
    rows = []
    for p in range(n_passages):
        for q in range(n_questions):
            for regime in regimes:
                full_right = np.random.default_rng([seed, p, q]).random() < 0.9
                for policy in policies:
                    points = [(r, None) for r in ratios] + [(None, b) for b in budgets]
                    for ratio, budget in points:
                        key = [
                            seed,
                            p,
                            q,
                            len(regime),
                            sum(policy.encode()),
                            int(1000 * (ratio or 0)),
                            budget or 0,
                        ]
                        rng = np.random.default_rng(key)
                        index = p * n_questions + q
                        rows.append(
                            _row(
                                rng,
                                p,
                                q,
                                regime,
                                policy,
                                ratio,
                                budget,
                                full_right,
                                tasks[p % len(tasks)],
                                index < unanswerable,
                            )
                        )
    return rows


def make_table(**options: Any) -> pd.DataFrame:
    """The rows as ``read_run`` gives them."""
    frame = as_table(make_rows(**options))
    frame.attrs["manifest"] = manifest()
    return frame


def as_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    nullable = {
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    return pa.Table.from_pylist(rows, schema=SCHEMA).to_pandas(types_mapper=nullable.get)


def manifest() -> dict[str, Any]:
    return {
        "format": "routelens-run/1",
        "created": "2026-01-02T03:04:05+00:00",
        "model": "made/model-135M",
        "model_revision": "abc123",
        "dtype": "float32",
        "device": "cpu",
        "seed": 0,
        "versions": {"python": "3.11.2", "routelens": "0.1.0", "torch": "2.13.0"},
        "platform": "Linux",
        "threads": 1,
        "git_commit": None,
        "config_hash": "0123456789abcdef",
        "config": {"grid": {"regimes": ["agnostic"]}, "max_new_tokens": 32},
        "info": {},
        "resumed": [],
        "columns": {},
    }


def _row(
    rng, p, q, regime, policy, ratio, budget, full_right, task, unanswerable
) -> dict[str, Any]:
    removed = ratio if ratio is not None else max(0.0, 1 - budget / N_PREFIX)
    effective = 0.0 if policy == "full" else removed
    cliff = CLIFF[policy]
    shift = 0.05 if regime != "agnostic" else 0.0
    damage = (
        0.0
        if cliff is None or effective == 0
        else 1 / (1 + np.exp(-18 * (effective - cliff - shift)))
    )
    kept = (1 - effective) * N_PREFIX
    rate = effective**N_KV_HEADS
    ger = (
        float(np.clip(damage * rng.uniform(0.5, 1.0) + rng.normal(0, 0.03), 0, 1))
        if damage > 0
        else 0.0
    )
    erased = bool(rng.random() < damage * 0.75)
    fails = erased and rng.random() < 0.92 or not erased and rng.random() < damage * 0.5
    outcome = "correct" if full_right and not fails else None
    if outcome is None:
        outcome = str(rng.choice(["hallucination", "unknown", "degenerate"], p=[0.7, 0.2, 0.1]))
    if damage == 0:
        outcome = "correct" if full_right else "hallucination"
    full = "correct" if full_right else "hallucination"
    gold = None if unanswerable else f"Gold {p}-{q}"
    text = {"correct": gold or "I don't know.", "unknown": "I don't know.", "degenerate": ""}.get(
        outcome, f"Wrong {p}"
    )
    layers = np.arange(N_LAYERS)
    agreement = np.clip(
        0.75 - 0.05 * layers + 0.15 * effective + rng.normal(0, 0.02, N_LAYERS), 0, 1
    )
    drift = (
        1 - damage * np.arange(N_LAYERS + 1) / (1.6 * N_LAYERS) - 0.002 * rng.random(N_LAYERS + 1)
    )
    located = not unanswerable
    row = empty_row() | {
        "item_id": f"p{p}-q{q}",
        "passage_id": f"p{p}",
        "task": task,
        "question_type": "Standard",
        "answer_type": "Person",
        "direction": "forward",
        "answerable": not unanswerable,
        "evidence_status": "located" if located else "unanswerable",
        "model": "made/model-135M",
        "model_revision": "abc123",
        "dtype": "float32",
        "regime": regime,
        "policy": policy,
        "policy_config": json.dumps({"name": policy} | ({"seed": 0} if policy == "random" else {})),
        "compression_ratio": ratio,
        "budget": budget,
        "rounding": "floor",
        "seed": 0,
        "n_prefix": N_PREFIX,
        "n_content": N_PREFIX - 20,
        "n_answer_tokens": 3 if located else 0,
        "compression_ratio_eff": effective,
        "n_kept_mean": kept,
        "n_kept_min": max(1, int(kept)),
        "n_content_kept": max(0.0, kept - 10),
        "kv_bytes": int(2 * N_LAYERS * N_KV_HEADS * kept * 16 * 4),
        "kv_bytes_full": 2 * N_LAYERS * N_KV_HEADS * N_PREFIX * 16 * 4,
        "attainable": True,
        "keep_hash": "0" * 16,
        "eviction_rate_layer": rate,
        "eviction_rate_model": rate**4,
        "eviction_rate_soft": effective,
        "k_eff": float(np.log(rate) / np.log(effective)) if 0 < rate < 1 else float("nan"),
        "outcome": outcome,
        "subclass": "fabricated" if outcome == "hallucination" else None,
        "full_outcome": full,
        "transition": transition(full, outcome),
        "f1": 100.0 * (outcome == "correct"),
        "full_f1": 100.0 * full_right,
        "exact_match": outcome == "correct",
        "prediction": text,
        "gold": gold,
        "question": f"What is the value {q} of passage {p}?",
        "n_answer_generated": 4,
        "stopped": True,
        "min_margin": float(rng.random()),
        "log_p_gold": float(-rng.random()),
        "wall_s": 0.01,
        "head_agreement": float(agreement.mean()),
        "argmax_diversity": float(1 - agreement.mean() / 2),
        "consensus_norm": float(agreement.mean()),
        "topk_jaccard": 0.3,
        "agreement_drop": float(agreement[:3].mean() - agreement[-3:].mean()),
        "diversity_over_null": float(0.6 + 0.2 * effective),
        "head_agreement_by_layer": agreement.tolist(),
        "argmax_diversity_by_layer": (1 - agreement / 2).tolist(),
        "drift_by_layer": drift.tolist(),
    }
    for scope, power in (("layer", 1), ("model", 4), ("soft", 0.5)):
        value = ger**power if located else float("nan")
        row[f"ger_{scope}"] = value
        row[f"delta_ger_{scope}"] = value - row[f"eviction_rate_{scope}"]
    if located:
        row |= {
            "erased_layer": erased,
            "erased_model": erased and bool(rng.random() < 0.2),
            "erased_strict": erased and bool(rng.random() < 0.5),
            "erased_payload": erased,
            "retention": 1 - ger**0.5,
            "accessible": not erased,
            "accessible_any": True,
            "reroute_rate": float(rng.random() * 0.5) if effective else float("nan"),
            "answer_mass": float(1 + 0.5 * effective - damage),
            "survived_but_wrong": full_right and not erased and outcome != "correct",
        }
    return row
