"""Files as rows: JSON lines, one JSON list or object, CSV, TSV and Parquet, each row with the place it stands in.

Reading goes on past a broken row: it yields a :class:`Problem` in the row's place, so that one look at a file tells all that
is wrong with it. Text is UTF-8 with or without a byte-order mark. What the rows mean is ``formats/``'s business.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from routelens.tasks.files.json_rows import json_rows
from routelens.tasks.files.rows import Problem, Row
from routelens.tasks.files.tables import csv_rows, parquet_rows

_PARQUET = b"PAR1"
_REFUSED = {
    b"\xff\xfe": "the file is UTF-16; save it as UTF-8.",
    b"\xfe\xff": "the file is UTF-16; save it as UTF-8.",
    b"\x1f\x8b": "the file is compressed with gzip; unpack it first.",
    b"PK\x03\x04": "the file is a zip archive or an Excel sheet; unpack it, or save it as CSV.",
    b"ARROW1": "the file is in Arrow's own format; save it as Parquet or JSON lines.",
}
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_rows(path: str | os.PathLike[str]) -> Iterator[Row | Problem]:
    """The rows of the file, one by one; a file that cannot be read at all is one problem without a line.

    Parquet and JSON are told by their content; a table of text only by its name, ``.csv`` or ``.tsv``.
    """
    file = Path(path)
    head = _head(file)
    if isinstance(head, Problem):
        yield head
        return
    n_rows = 0
    for row in _rows(file, head):
        n_rows += 1
        yield row
    if not n_rows:
        yield Problem(str(path), None, "the file holds no row; write one JSON object a line.")


def _head(file: Path) -> bytes | Problem:
    """The file's first bytes, or why it cannot be read."""
    try:
        if not file.exists():
            return Problem(str(file), None, "no such file.")
        if file.is_dir():
            return Problem(str(file), None, "this is a folder; give the file in it.")
        with file.open("rb") as stream:
            head = stream.read(8)
    except OSError as error:
        message = f"the file cannot be read ({error.strerror}); check its permissions."
        return Problem(str(file), None, message)
    for mark, message in _REFUSED.items():
        if head.startswith(mark):
            return Problem(str(file), None, message)
    return head


def _rows(file: Path, head: bytes) -> Iterator[Row | Problem]:
    suffix = file.suffix.lower()
    if head.startswith(_PARQUET) or suffix == ".parquet":
        return parquet_rows(file)
    if suffix in _DELIMITERS:
        return csv_rows(file, _DELIMITERS[suffix])
    return json_rows(file)


__all__ = ["Problem", "Row", "read_rows"]
