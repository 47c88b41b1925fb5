"""Rows of a JSON-lines file (or of a ``.json`` file that holds one list), each with its line number.

Reading goes on past a broken row: it yields a :class:`Problem` in the row's place, so that one look at a file tells all that
is wrong with it. UTF-8 with or without a byte-order mark, any line ends; blank lines are passed over.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ENCODING_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Problem:
    """What is wrong with one row of a file (or with the file as a whole, where ``line`` is None)."""

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


@dataclass(frozen=True)
class Row:
    """One parsed JSON value and the line on which it starts."""

    line: int
    value: Any


def read_rows(path: str | os.PathLike[str]) -> Iterator[Row | Problem]:
    """The rows of the file, one by one; a file that cannot be read at all is one problem without a line.

    A ``.json`` file that begins with ``[`` is one list and is read whole; every other file is read line by line.
    """
    file = Path(path)
    refusal = _refusal(file)
    if refusal:
        yield Problem(str(path), None, refusal)
        return
    n_rows = 0
    for row in _list_rows(file) if _is_list(file) else _line_rows(file):
        n_rows += 1
        yield row
    if not n_rows:
        yield Problem(str(path), None, "the file holds no row; write one JSON object a line.")


def _refusal(file: Path) -> str:
    """Why the file cannot be read, or an empty text."""
    if not file.exists():
        return "no such file."
    if file.is_dir():
        return "this is a folder; give the file in it."
    try:
        with file.open("rb") as stream:
            head = stream.read(2)
    except OSError as error:
        return f"the file cannot be read ({error.strerror}); check its permissions."
    encoding = _ENCODING_MARKS.get(head)
    return f"the file is {encoding}; save it as UTF-8." if encoding else ""


def _is_list(file: Path) -> bool:
    if file.suffix.lower() != ".json":
        return False
    with file.open("rb") as stream:
        return stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _line_rows(file: Path) -> Iterator[Row | Problem]:
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not raw.strip():
                continue
            try:
                yield Row(number, _decoder().decode(raw.decode("utf-8").strip()))
            except (ValueError, RecursionError) as error:
                yield Problem(str(file), number, _explain(error))


def _list_rows(file: Path) -> Iterator[Row | Problem]:
    """The entries of one JSON list; after a broken entry nothing can be told apart, so reading ends there."""
    try:
        text = file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        yield Problem(str(file), None, _explain(error))
        return
    decoder = _decoder()
    index = _skip_blanks(text, text.index("[") + 1)
    line, counted = 1, 0
    while text[index : index + 1] != "]":
        line, counted = line + text.count("\n", counted, index), index
        try:
            value, index = decoder.raw_decode(text, index)
        except (ValueError, RecursionError) as error:
            yield Problem(str(file), getattr(error, "lineno", line), _explain(error))
            return
        yield Row(line, value)
        index = _skip_blanks(text, index)
        if text[index : index + 1] == ",":
            index = _skip_blanks(text, index + 1)
        elif text[index : index + 1] != "]":
            message = "broken JSON: the list goes on without a comma or ends without ']'."
            yield Problem(str(file), line + text.count("\n", counted, index), message)
            return
    if text[index + 1 :].strip():
        yield Problem(str(file), line, "broken JSON: text follows the end of the list.")


def _skip_blanks(text: str, index: int) -> int:
    while index < len(text) and text[index] in " \t\r\n":
        index += 1
    return index


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique_keys)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"the key {', '.join(map(repr, twice))} stands twice in one object.")
    return values


def _explain(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"broken JSON ({error.msg}, column {error.colno})."
    if isinstance(error, UnicodeDecodeError):
        return (
            f"not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}); save it as UTF-8."
        )
    if isinstance(error, RecursionError):
        return "broken JSON (nested too deeply)."
    return str(error)
