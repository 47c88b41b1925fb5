"""The cells both tools answer, in plain Python that either environment can import."""

import json
from pathlib import Path

QUESTIONS = Path(__file__).parents[3] / "tests/data/reference/questions.jsonl"
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
POLICIES = ("expected_attention", "adakv", "key_norm")
INSTRUCTION = "Answer with a short phrase."
MAX_NEW_TOKENS = 16
N_PASSAGES = 4


def passages(n: int = N_PASSAGES) -> list[tuple[str, list[str], list[str]]]:
    """(context, questions, answers) of the first passages."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for line in QUESTIONS.read_text().splitlines():
        row = json.loads(line)
        questions, answers = found.setdefault(row["context"], ([], []))
        questions.append(row["question"])
        answers.append(row["answer"])
    return [(context, *both) for context, both in list(found.items())[:n]]


def key(passage: int, question: int, policy: str, ratio: float) -> str:
    """The name of a cell."""
    return f"{passage}/{question}/{policy}/{ratio}"
