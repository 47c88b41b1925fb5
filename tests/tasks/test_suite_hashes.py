"""The first 1,000 items of each task are those whose hash is committed: a change here changes every published number on the task.

To change a task's items on purpose, run

    python tests/tasks/test_suite_hashes.py

from the root of the repository, which writes ``tests/data/task_hashes.json`` anew; look at its diff (only the tasks you meant to change
may differ), commit it with the change, and say so in CHANGELOG.md. The first hundred items of ``base`` and ``knowledge`` stay as
they are: numbers on them are published.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_suite_expectations import N_ITEMS, NAMES, load

HASHES = Path(__file__).parents[1] / "data" / "task_hashes.json"
FIRST_HUNDRED = {
    "base": "fba53f08903f495a7e0952281ba4b52b78cb4929af6432e74e6592ee5a62ae21",
    "knowledge": "7eac2f657b4eaf05a597005f7840f92ce9de529413432dc1677f1c44f622c076",
}


def digest(items):
    """SHA-256 over all that an item holds."""
    rows = [
        [item.id, item.passage_id, item.context, item.question, item.answer, list(item.aliases)]
        + [[group.occurrences, group.role, group.name] for group in item.required_groups]
        + [item.answer_type, item.question_type, item.direction, item.metadata]
        for item in items
    ]
    text = json.dumps(rows, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def hashes():
    """The hash of each task's first items, by the name of its row."""
    return {name: digest(load(name)[:N_ITEMS]) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_first_thousand_items_never_change(name):
    items = load(name)[:N_ITEMS]
    assert len(items) == N_ITEMS
    assert digest(items) == json.loads(HASHES.read_text())[name], (
        f"The items of {name} have changed. Where that is meant, see the top of {__file__}."
    )


def test_every_hash_belongs_to_a_task():
    assert set(json.loads(HASHES.read_text())) == set(NAMES)


@pytest.mark.parametrize("name", sorted(FIRST_HUNDRED))
def test_the_first_hundred_items_never_change(name):
    assert digest(load(name)[:100]) == FIRST_HUNDRED[name]


def test_a_hash_sees_a_change_of_one_span_one_tag_or_the_order():
    first, second, *_ = load("base")
    group, *others = first.required_groups
    moved = replace(group, occurrences=[(start, end - 1) for start, end in group.occurrences])
    versions = [
        (first, second),
        (second, first),
        (replace(first, required_groups=(moved, *others)), second),
        (replace(first, direction="sideways"), second),
    ]
    assert len(set(map(digest, versions))) == 4


if __name__ == "__main__":
    HASHES.write_text(json.dumps(hashes(), indent=1) + "\n")
