"""How much of the suite a model answers without the passage, which must be next to nothing.

Every question is put to one and the same sentence that says nothing, so all of them share a prefill. Counted are answerable items whose
answer does not stand in the question; the bound is the upper end of a bootstrap interval over passages, and where nothing is
right, whose bootstrap has no width, Wilson's.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import pandas as pd

import routelens as rl
from analyses.suite.counts import SUITE
from routelens.matching import find_whole_words
from routelens.metrics.intervals import bootstrap_mean, wilson
from routelens.types import Item

NOTHING = "There is no passage here."


def askable(items: list[Item]) -> list[Item]:
    """The answerable items that do not name their answer."""
    return [
        item
        for item in items
        if item.answer is not None and not find_whole_words(item.question, item.answer)
    ]


def without_passage(item: Item) -> Item:
    """The same question on a passage that says nothing."""
    return replace(item, context=NOTHING, answer_spans=(), required_groups=(), passage_id="nothing")


def no_context(model: object, name: str, n_passages: int, seed: int) -> dict[str, object]:
    """One row: the share right, with its interval."""
    items = askable(rl.load_task(name, n_passages=n_passages, seed=seed))
    asked = [without_passage(item) for item in items]
    cache = rl.prefill(model, asked[0])
    answers = rl.answer_many(cache, [None], asked, max_new_tokens=24)
    right = [answer.outcome == "correct" for answer in answers]
    interval = bootstrap_mean(right, [item.passage_id for item in items])
    independent = wilson(sum(right), len(right))
    return {
        "task": name,
        "n": len(right),
        "n_passages": n_passages,
        "correct": round(interval.mean, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high if any(right) else independent.high, 4),
        "abstained": round(sum(a.outcome == "unknown" for a in answers) / len(answers), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--passages", type=int, default=16, help="of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="a .csv file; rows are added")
    options = parser.parse_args()
    model = rl.load_model(options.model)
    rows = []
    for name in SUITE:
        row = no_context(model, name, options.passages, options.seed)
        rows.append({"model": rl.model_info(model).name, **row})
        print(rows[-1], flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    old = pd.read_csv(options.out) if options.out.is_file() else pd.DataFrame()
    new = pd.DataFrame(rows)
    if len(old):
        old = old[~old.model.isin(new.model)]
    pd.concat([old, new]).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
