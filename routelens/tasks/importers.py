"""Items from a file: any file that ``files/`` opens, in any format that ``formats/`` knows.

A file is read through before anything else happens, and everything wrong with it is reported at once, one line a problem:
``file:line: what is wrong``, or the record's path where a line does not tell. Two rows may not share an id, nor one
``passage_id`` two contexts, since questions of one passage share its cache.
"""

import os
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from routelens.matching import evidence_groups
from routelens.tasks.clashes import Seen
from routelens.tasks.exporters import write_items
from routelens.tasks.files import Problem, Row, read_rows
from routelens.tasks.formats import Found, read_record
from routelens.types import EvidenceGroup, Item

_MAX_SHOWN = 200
_MAX_NAMED = 5


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

    A row is what should be one item: a line, a table's row, one question of a SQuAD file. ``n_with_spans`` items say where
    their answer lies, ``n_matched`` are located by a whole-word match of the answer or an alias (D5); ``not_locatable`` names the
    others that are answerable, which count for outcomes but not for GER. ``n_repeated`` answers can be read in places apart.
    ``formats`` says how many rows each format read.
    """

    path: str
    n_rows: int
    n_items: int
    n_passages: int
    n_unanswerable: int
    n_with_spans: int
    n_matched: int
    n_repeated: int
    not_locatable: tuple[str, ...]
    problems: tuple[Problem, ...]
    formats: tuple[tuple[str, int], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether ``read_items`` takes the file as it is."""
        return not self.problems

    @property
    def n_located(self) -> int:
        """Items whose answer is located, by spans or by a match."""
        return self.n_with_spans + self.n_matched

    def __str__(self) -> str:
        n_answerable = self.n_items - self.n_unanswerable
        lines = [
            f"{self.path}: {_count(self.n_rows, 'row')}, {_count(self.n_items, 'item')} "
            f"on {_count(self.n_passages, 'passage')}{self._format_names()}",
            f"answers: {self.n_located} of {n_answerable} located ({self.n_with_spans} by spans, "
            f"{self.n_matched} by whole-word match; {self.n_repeated} in several places), "
            f"{len(self.not_locatable)} not locatable; {self.n_unanswerable} unanswerable",
        ]
        if self.not_locatable:
            named = ", ".join(map(repr, self.not_locatable[:_MAX_NAMED]))
            left = len(self.not_locatable) - _MAX_NAMED
            more = f" and {left} more" if left > 0 else ""
            lines.append(f"not locatable (they count for outcomes, not for GER): {named}{more}")
        if self.problems:
            lines += [f"{_count(len(self.problems), 'problem')}:", _listing(self.problems)]
        return "\n".join(lines)

    def _format_names(self) -> str:
        if len(self.formats) == 1:
            return f" ({self.formats[0][0]})"
        names = ", ".join(f"{count} {name}" for name, count in self.formats)
        return f" ({names})" if names else ""


def read_items(path: str | os.PathLike[str], *, skip_bad_rows: bool = False) -> list[Item]:
    """The items of a file, in its order.

    Formats, told by their content: SQuAD, HotpotQA, LongBench, RULER, kvpress, and our own columns, one question a row
    (``routelens/tasks/formats/``), in JSON lines, a JSON list or object, Parquet, ``.csv`` or ``.tsv``.

    Args:
        path: the file.
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
    payloads = [(item, _payload(item)) for item in reading.items]
    found = [(item.id, _located_by(item, payload)) for item, payload in payloads]
    by = [how for _, how in found]
    return ItemFileReport(
        path=str(path),
        n_rows=reading.n_rows,
        n_items=len(reading.items),
        n_passages=len({item.passage_id for item in reading.items}),
        n_unanswerable=by.count("unanswerable"),
        n_with_spans=by.count("spans"),
        n_matched=by.count("match"),
        n_repeated=sum(_is_repeated(payload) for _, payload in payloads),
        not_locatable=tuple(item_id for item_id, how in found if how == "nothing"),
        problems=tuple(reading.problems),
        formats=tuple(reading.formats.items()),
    )


class _Reading:
    """A file read through: its good items, and everything wrong with it."""

    def __init__(self, path: str) -> None:
        self.items: list[Item] = []
        self.problems: list[Problem] = []
        self.formats: Counter[str] = Counter()
        self.n_rows = 0
        self._path = path
        self._contexts: dict[str, str] = {}
        self._seen = Seen()
        for row in read_rows(path):
            if isinstance(row, Problem):
                self.problems.append(row)
                self.n_rows += bool(row.line or row.place)
                continue
            form, found = read_record(row.value, Path(path))
            for one in found:
                self._take(row, one)
                self.formats[form] += bool(form)
        if self.n_rows == 0 and not self.problems:
            self.problems.append(Problem(path, None, "the file holds no question."))
        self.formats = +self.formats  # without rows that no format reads

    def _take(self, row: Row, found: Found) -> None:
        self.n_rows += 1
        messages, item = list(found.problems), found.item
        if item is not None:
            messages = self._seen.clashes(item, row.called(found.place))
        line, place = row.at(found.place)
        self.problems += [Problem(self._path, line, message, place) for message in messages]
        if item is not None and not messages:
            self.items.append(self._sharing(item))

    def _sharing(self, item: Item) -> Item:
        """The item, with its context held once in memory however many questions are put to it."""
        context = self._contexts.setdefault(item.context, item.context)
        return item if context is item.context else replace(item, context=context)


def _payload(item: Item) -> list[EvidenceGroup]:
    return [group for group in evidence_groups(item) if group.role == "payload"]


def _located_by(item: Item, payload: list[EvidenceGroup]) -> str:
    """How the answer is located; bridges alone do not say where it stands."""
    if not item.answerable:
        return "unanswerable"
    if not payload:
        return "nothing"
    return "spans" if item.required_groups else "match"


def _is_repeated(payload: list[EvidenceGroup]) -> bool:
    """Whether some group can be read in places that do not overlap."""
    for group in payload:
        end = min((end for _, end in group.occurrences), default=0)
        if any(start >= end for start, _ in group.occurrences):
            return True
    return False


def _listing(problems: Iterable[Problem]) -> str:
    lines = [f"  {problem}" for problem in problems]
    left = len(lines) - _MAX_SHOWN
    return "\n".join(lines[:_MAX_SHOWN] + ([f"  ... and {left} more"] if left > 0 else []))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


__all__ = [
    "ItemFileError",
    "ItemFileReport",
    "Problem",
    "read_items",
    "validate_items",
    "write_items",
]
