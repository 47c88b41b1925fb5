"""Items to a file: JSON lines of our own columns, which read back as they were."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from routelens.tasks.clashes import Seen
from routelens.types import EvidenceGroup, Item


def write_items(items: Iterable[Item], path: str | os.PathLike[str]) -> int:
    """How many items were written, one JSON object a line; ``read_items`` gives back equal items.

    The file appears when all of it is written: a failure leaves what was there before.

    Raises:
        ValueError: where two items share an id, an item cannot be written exactly, or the file cannot be written.
    """
    file = Path(path)
    part = file.with_name(f"{file.name}.part")
    seen = Seen()
    try:
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            for number, item in enumerate(items, start=1):
                clashes = seen.clashes(item, f"item {number}")
                if clashes:
                    raise ValueError(f"write_items: item {number}: {' '.join(clashes)}")
                stream.write(_line(item) + "\n")
        part.replace(file)
    except OSError as error:
        raise ValueError(f"write_items: {path} cannot be written ({error.strerror}).") from error
    finally:
        if part.is_file():
            part.unlink()
    return len(seen.ids)


def _line(item: Item) -> str:
    row: dict[str, Any] = {
        "context": item.context,
        "question": item.question,
        "answer": item.answer,
        "aliases": list(item.aliases),
        "answer_spans": [list(span) for span in item.answer_spans],
        "required_groups": _group_rows(item),
        "passage_id": item.passage_id,
        "id": item.id,
        "answer_type": item.answer_type,
        "question_type": item.question_type,
        "direction": item.direction,
        "metadata": item.metadata,
    }
    if not all(group.occurrences for group in item.required_groups):
        raise ValueError(f"write_items: item {item.id!r} has a required group without any span.")
    kept = {name: value for name, value in row.items() if value or name == "answer"}
    try:
        line = json.dumps({**kept, "task": item.task}, ensure_ascii=False)
        line.encode("utf-8")
        exact = json.loads(json.dumps(item.metadata)) == item.metadata
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"write_items: item {item.id!r} cannot be written as JSON ({error})."
        ) from error
    if not exact:
        raise ValueError(
            f"write_items: item {item.id!r}: metadata holds lists, texts, numbers and objects with "
            f"text keys only, else it does not read back as it was; got {item.metadata!r}."
        )
    return line


def _group_rows(item: Item) -> list[dict[str, Any]]:
    if item.required_groups == (EvidenceGroup(item.answer_spans),):
        return []
    return [
        {
            "occurrences": [list(span) for span in group.occurrences],
            "role": group.role,
            "name": group.name,
        }
        for group in item.required_groups
    ]
