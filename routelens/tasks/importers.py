"""Items from a file and back: JSON lines (or one JSON list) with the columns of ``columns.py``.

A file is read through before anything else happens, and everything wrong with it is reported at once, one line a problem:
``file:line: what is wrong``. Two rows may not share an id, nor one ``passage_id`` two contexts, since questions of one passage
share its cache.
"""

import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routelens.matching import evidence_groups
from routelens.tasks.columns import RowError, item_from_row
from routelens.tasks.readers import Problem, Row, read_rows
from routelens.types import EvidenceGroup, Item

_MAX_SHOWN = 200


class ItemFileError(ValueError):
    """A file of items with its problems, all of them in ``problems``."""

    def __init__(self, path: str, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"read_items: {path} has {_count(len(problems), 'problem')}.\n{_listing(problems)}"
        )


@dataclass(frozen=True)
class ItemFileReport:
    """What a file of items holds, and what is wrong with it.

    ``n_with_spans`` items say where their evidence lies, ``n_matched`` are located by a whole-word match of the answer or an
    alias (D5); ``not_locatable`` names the others that are answerable, which count for outcomes but not for GER.
    """

    path: str
    n_rows: int
    n_items: int
    n_passages: int
    n_unanswerable: int
    n_with_spans: int
    n_matched: int
    not_locatable: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether ``read_items`` takes the file as it is."""
        return not self.problems

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {_count(self.n_rows, 'row')}, {_count(self.n_items, 'item')} "
            f"on {_count(self.n_passages, 'passage')}",
            f"evidence: {self.n_with_spans} by spans, {self.n_matched} by whole-word match, "
            f"{len(self.not_locatable)} not locatable, {self.n_unanswerable} unanswerable",
        ]
        if self.problems:
            lines += [f"{_count(len(self.problems), 'problem')}:", _listing(self.problems)]
        return "\n".join(lines)


def read_items(path: str | os.PathLike[str], *, skip_bad_rows: bool = False) -> list[Item]:
    """The items of a ``.jsonl`` file (or of a ``.json`` file that holds a list), in the file's order.

    Args:
        path: the file; its columns are those of ``routelens/tasks/columns.py``.
        skip_bad_rows: leave bad rows out, with one warning that counts and lists them.

    Raises:
        ItemFileError: a ValueError that lists every problem of the file, or says that no row is left.
    """
    reading = _Reading(str(path))
    if reading.problems and not (skip_bad_rows and reading.items):
        raise ItemFileError(str(path), reading.problems)
    if reading.problems:
        n_bad = reading.n_rows - len(reading.items)
        warnings.warn(
            f"read_items: {path}: left out {n_bad} of {_count(reading.n_rows, 'row')}.\n"
            f"{_listing(reading.problems)}",
            stacklevel=2,
        )
    return reading.items


def validate_items(path: str | os.PathLike[str]) -> ItemFileReport:
    """What the file holds and what is wrong with it; never raises for a bad file."""
    reading = _Reading(str(path))
    found = {item.id: _located_by(item) for item in reading.items}
    by = list(found.values())
    return ItemFileReport(
        path=str(path),
        n_rows=reading.n_rows,
        n_items=len(reading.items),
        n_passages=len({item.passage_id for item in reading.items}),
        n_unanswerable=by.count("unanswerable"),
        n_with_spans=by.count("spans"),
        n_matched=by.count("match"),
        not_locatable=tuple(id for id, how in found.items() if how == "nothing"),
        problems=tuple(reading.problems),
    )


def write_items(items: Iterable[Item], path: str | os.PathLike[str]) -> int:
    """How many items were written, one JSON object a line; :func:`read_items` gives back equal items.

    The file appears when all of it is written: a failure leaves what was there before.

    Raises:
        ValueError: where two items share an id, an item cannot be written exactly, or the file cannot be written.
    """
    file = Path(path)
    part = file.with_name(f"{file.name}.part")
    seen = _Seen()
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


class _Reading:
    """A file read through: its good items, and everything wrong with it."""

    def __init__(self, path: str) -> None:
        self.items: list[Item] = []
        self.problems: list[Problem] = []
        self.n_rows = 0
        self._contexts: dict[str, str] = {}
        seen = _Seen()
        for row in read_rows(path):
            self.n_rows += row.line is not None
            if isinstance(row, Problem):
                self.problems.append(row)
                continue
            try:
                item = item_from_row(self._share_context(row), Path(path))
                messages = seen.clashes(item, f"line {row.line}")
            except RowError as error:
                item, messages = None, error.messages
            self.problems += [Problem(path, row.line, message) for message in messages]
            if item is not None and not messages:
                self.items.append(item)

    def _share_context(self, row: Row) -> Any:
        """The row, with its context held once in memory however many questions are put to it."""
        context = row.value.get("context") if isinstance(row.value, dict) else None
        if not isinstance(context, str):
            return row.value
        return {**row.value, "context": self._contexts.setdefault(context, context)}


class _Seen:
    """Finds ids used twice and passage ids used for two contexts."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.passages: dict[str, tuple[str, str]] = {}

    def clashes(self, item: Item, where: str) -> list[str]:
        messages = []
        first = self.ids.setdefault(item.id, where)
        if first != where:
            messages.append(
                f"id {item.id!r} was used in {first}; give each row its own "
                "(without one, equal context, question and answer make equal ids)."
            )
        context, first = self.passages.setdefault(item.passage_id, (item.context, where))
        if context != item.context:
            messages.append(
                f"passage_id {item.passage_id!r} belongs to another context in {first}; "
                "items of one passage share its text."
            )
        return messages


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


def _located_by(item: Item) -> str:
    if not item.answerable:
        return "unanswerable"
    if item.required_groups:
        return "spans"
    return "match" if evidence_groups(item) else "nothing"


def _listing(problems: Iterable[Problem]) -> str:
    lines = [f"  {problem}" for problem in problems]
    left = len(lines) - _MAX_SHOWN
    return "\n".join(lines[:_MAX_SHOWN] + ([f"  ... and {left} more"] if left > 0 else []))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
