"""Rows of a JSON file, whichever of three shapes it has: one value a line, one list, or one object.

The first line tells them apart: a line that is a value on its own begins JSON lines (or is all there is: a list's entries are
then the rows); one that only opens a bracket begins a value over several lines. Only where the first line is neither does the
file's name say whether it is a broken row (``.jsonl``, ``.ndjson``) or part of something longer. Blank lines are passed over, and any
line ends will do.
"""

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from routelens.tasks.files.rows import Problem, Row, decode_text, explain

_LINE_SUFFIXES = (".jsonl", ".ndjson")


def json_rows(file: Path) -> Iterator[Row | Problem]:
    """The rows of the file one by one, and a problem in the place of each that is broken."""
    lines = _filled_lines(file)
    first, second = next(lines, None), next(lines, None)
    lines.close()
    if first is None:
        return
    row = _parse(file, *first)
    if isinstance(row, Row) and second is None:
        yield from _only_value(row)
    elif isinstance(row, Row) or not _opens_value(file, first[1].strip(), second):
        yield from _line_rows(file)
    elif first[1].lstrip().startswith(b"["):
        yield from _list_rows(file)
    else:
        yield from _object_row(file)


def _opens_value(file: Path, line: bytes, second: tuple[int, bytes] | None) -> bool:
    """Whether a first line that is no value on its own begins one over several lines."""
    if line.startswith(b"["):
        return True
    if not line.startswith(b"{") or second is None:
        return False
    return line == b"{" or file.suffix.lower() not in _LINE_SUFFIXES


def _only_value(row: Row) -> Iterator[Row]:
    """The rows of a file that is one line."""
    if not isinstance(row.value, list):
        yield Row(row.value, row.line, alone=True)
        return
    for number, value in enumerate(row.value):
        yield Row(value, row.line, f"[{number}]")


def _filled_lines(file: Path) -> Generator[tuple[int, bytes], None, None]:
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if raw.strip():
                yield number, raw


def _parse(file: Path, number: int, raw: bytes) -> Row | Problem:
    try:
        return Row(_decoder().decode(raw.decode("utf-8").strip()), number)
    except (ValueError, RecursionError) as error:
        return Problem(str(file), number, explain(error))


def _line_rows(file: Path) -> Iterator[Row | Problem]:
    for number, raw in _filled_lines(file):
        yield _parse(file, number, raw)


def _object_row(file: Path) -> Iterator[Row | Problem]:
    """The one object that is the whole file."""
    text = decode_text(file, file.read_bytes())
    if isinstance(text, Problem):
        yield text
        return
    start = _skip_blanks(text, 0)
    line = text.count("\n", 0, start) + 1
    try:
        value, end = _decoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        yield Problem(str(file), getattr(error, "lineno", line), explain(error))
        return
    if text[end:].strip():
        line = text.count("\n", 0, _skip_blanks(text, end)) + 1
        message = "several JSON values, but not one a line; write one object a line."
        yield Problem(str(file), line, message)
        return
    yield Row(value, line, alone=True)


def _list_rows(file: Path) -> Iterator[Row | Problem]:
    """The entries of one JSON list; after a broken entry nothing can be told apart, so reading ends there."""
    text = decode_text(file, file.read_bytes())
    if isinstance(text, Problem):
        yield text
        return
    decoder = _decoder()
    index = _skip_blanks(text, text.index("[") + 1)
    line, counted, n_rows = 1, 0, 0
    while text[index : index + 1] != "]":
        line, counted = line + text.count("\n", counted, index), index
        place = f"[{n_rows}]"
        try:
            value, index = decoder.raw_decode(text, index)
        except (ValueError, RecursionError) as error:
            yield Problem(str(file), getattr(error, "lineno", line), explain(error), place)
            return
        yield Row(value, line, place)
        n_rows += 1
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
