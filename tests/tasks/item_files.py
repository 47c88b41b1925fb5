"""What the tests of item files share: the fixtures' folder, and short forms."""

import json
from pathlib import Path

from routelens.matching import evidence_groups
from routelens.tasks import read_items, validate_items

DATA = Path(__file__).parent.parent / "data" / "formats"


def by_id(name):
    return {item.id: item for item in read_items(DATA / name)}


def evidence(item, role="payload"):
    """The texts of each group's occurrences."""
    return [
        [item.context[start:end] for start, end in group.occurrences]
        for group in evidence_groups(item)
        if group.role == role
    ]


def problems_of(path):
    """Each problem without the file's name."""
    report = validate_items(path)
    assert not report.ok
    return [str(problem).removeprefix(f"{path}:") for problem in report.problems]


def write_rows(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path
