"""F1 and accuracy of a model with the full cache on every task, beside the paper's Table 2.

One small sweep a task (policy ``full`` at α = 0), so that prompts, decoding and scoring are those of every other run.
Intervals are bootstraps over passages.
"""

import argparse
import tempfile
from pathlib import Path

import pandas as pd

import routelens as rl
from analyses.suite.counts import SUITE
from routelens.metrics.intervals import bootstrap_mean

# The paper's F1 at α = 0, agnostic: LLaMA-3 8B, Qwen-2.5 7B.
PAPER = {
    "base": (70.05, 68.80),
    "knowledge": (91.28, 92.20),
    "multi_presence": (79.64, 73.63),
    "multi_entity": (80.33, 77.46),
    "long_context": (45.93, 38.68),
    "coreference": (75.63, 78.89),
    "hops": (31.54, 27.13),
}


def full_cache(
    model: object, name: str, n_passages: int, seed: int, **options: int
) -> pd.DataFrame:
    """One row for the task, and one for each part of it that has a name of its own (depths, perturbations)."""
    items = rl.load_task(name, n_passages=n_passages, seed=seed, **options)
    with tempfile.TemporaryDirectory() as folder:
        run = rl.sweep(
            model,
            items,
            policies=["full"],
            ratios=[0.0],
            out=Path(folder) / "run",
            trace=False,
            log_p_gold=False,
            max_new_tokens=24,
            progress=False,
        )
        rows = run.table()
    parts = {"all": rows}
    by_id = {item.id: item for item in items}
    for key in ("depth", "perturbation"):
        labels = [by_id[i].metadata.get(key) for i in rows.item_id]
        for label in sorted({label for label in labels if label is not None}, key=str):
            parts[f"{key} {label}"] = rows[[one == label for one in labels]]
    return pd.DataFrame([_row(name, part, table) for part, table in parts.items()])


def _row(name: str, part: str, rows: pd.DataFrame) -> dict[str, object]:
    groups = list(rows.passage_id)
    f1 = bootstrap_mean(rows.f1, groups)
    right = bootstrap_mean(rows.outcome == "correct", groups)
    abstained = bootstrap_mean(rows.outcome == "unknown", groups)
    llama, qwen = PAPER[name] if part == "all" else (None, None)
    return {
        "task": name,
        "part": part,
        "n": len(rows),
        "n_passages": rows.passage_id.nunique(),
        "f1": round(f1.mean, 1),
        "f1_low": round(f1.low, 1),
        "f1_high": round(f1.high, 1),
        "correct": round(right.mean, 3),
        "correct_low": round(right.low, 3),
        "correct_high": round(right.high, 3),
        "abstained_wrongly": round(abstained.mean, 3),
        "paper_llama3_8b_f1": llama,
        "paper_qwen25_7b_f1": qwen,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--passages", type=int, default=8, help="of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--long-words", type=int, help="words of long_context's passages (default: the task's)"
    )
    parser.add_argument("--out", type=Path, required=True, help="a .csv file; rows are added")
    options = parser.parse_args()
    model = rl.load_model(options.model)
    tables = []
    for name in SUITE:
        own = {"words": options.long_words} if name == "long_context" and options.long_words else {}
        table = full_cache(model, name, options.passages, options.seed, **own)
        table.insert(0, "model", rl.model_info(model).name)
        print(table.to_string(index=False, header=not tables), flush=True)
        tables.append(table)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    new = pd.concat(tables)
    old = pd.read_csv(options.out) if options.out.is_file() else pd.DataFrame()
    if len(old):
        old = old[~old.model.isin(new.model)]
    pd.concat([old, new]).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
