"""One row of a file as it was read, and what is wrong with one: each knows the place it stands in.

A place is a line where a file has lines (JSON lines, CSV), an entry of a list, a row of a table, and inside one big value the
path to the record: ``data[0].paragraphs[2].qas[1]``.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Problem:
    """What is wrong with one row of a file (or with the file as a whole, where it names neither line nor place)."""

    path: str
    line: int | None
    message: str
    place: str = ""

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        if self.place:
            where += f"{':' if self.line is None else ': '}{self.place}"
        return f"{where}: {self.message}"


@dataclass(frozen=True)
class Row:
    """One value of a file. ``line`` is where it starts, ``place`` its entry or row where lines do not tell.

    ``alone``: the value is the whole file, so a place inside it says more than its line.
    """

    value: Any
    line: int | None = None
    place: str = ""
    alone: bool = False

    def at(self, inner: str = "") -> tuple[int | None, str]:
        """Line and place of a record inside this row."""
        place = ", ".join(part for part in (self.place, inner) if part)
        return (None if self.alone and inner else self.line), place

    def called(self, inner: str = "") -> str:
        """That place in words, without the file's name."""
        line, place = self.at(inner)
        return ", ".join(([] if line is None else [f"line {line}"]) + ([place] if place else []))


def decode_text(file: Path, raw: bytes) -> str | Problem:
    """The bytes as text without a byte-order mark, or what is wrong with them."""
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return Problem(str(file), line, explain(error, raw.rfind(b"\n", 0, error.start) + 1))


def explain(error: Exception, line_start: int = 0) -> str:
    """Why a value did not parse; ``line_start`` is the byte at which the line of a decoding error begins."""
    if isinstance(error, json.JSONDecodeError):
        return f"broken JSON ({error.msg}, column {error.colno})."
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"not UTF-8 (byte {byte:#04x} at {error.start - line_start}); save it as UTF-8."
    if isinstance(error, RecursionError):
        return "broken JSON (nested too deeply)."
    return str(error)
