"""The suite as it is generated, beside the paper's Table 1: passages, words, questions, answer tags, question tags, directions."""

import argparse
from collections import Counter
from pathlib import Path

import pandas as pd

from routelens.tasks import TASKS, make_task
from routelens.tasks.lexicon import ANSWER_TYPES

SUITE = (
    "base",
    "knowledge",
    "multi_presence",
    "multi_entity",
    "long_context",
    "coreference",
    "hops",
)
# D21: words, questions a passage, passages.
PAPER = {
    "base": ("175 ± 25", 6, 200),
    "knowledge": ("32", 13, 4000),
    "multi_presence": ("500 ± 100", 10, 100),
    "multi_entity": ("500 ± 100", 10, 100),
    "long_context": ("1100 ± 200", 10, 100),
    "coreference": ("44", 9, 8000),
    "hops": ("-", 16, 100),
}


def count(name: str, n_passages: int, seed: int) -> dict[str, object]:
    """One row: the task's own numbers over its first passages."""
    task = make_task(name)
    words: list[int] = []
    tags: Counter[str] = Counter()
    n_items = 0
    for index in range(n_passages):
        items = task.passage(index, seed=seed)
        words.append(len(items[0].context.split()))
        n_items += len(items)
        for item in items:
            tags[item.answer_type if item.answerable else "(unanswerable)"] += 1
            tags[item.question_type] += 1
            tags[item.direction] += 1
    lengths = pd.Series(words)
    paper_words, paper_questions, paper_passages = PAPER[name]
    return {
        "task": name,
        "stressor": TASKS[name].stressor,
        "words (paper)": paper_words,
        "words, mean": round(lengths.mean(), 1),
        "words, 2.5-97.5 %": f"{lengths.quantile(0.025):.0f}-{lengths.quantile(0.975):.0f}",
        "questions (paper)": paper_questions,
        "questions": task.questions_per_passage,
        "passages (paper)": paper_passages,
        "passages": task.default_n_passages,
        "passages counted": n_passages,
        **{tag: round(tags[tag] / n_items, 3) for tag in COLUMNS},
    }


COLUMNS = (
    *ANSWER_TYPES,
    "(unanswerable)",
    "Standard",
    "Manipulated",
    "Part",
    "forward",
    "reverse",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100, help="of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="a .csv file")
    options = parser.parse_args()
    table = pd.DataFrame([count(name, options.passages, options.seed) for name in SUITE])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out, index=False)
    print(table.drop(columns="stressor").T.to_string(header=False))


if __name__ == "__main__":
    main()
