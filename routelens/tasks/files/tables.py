"""Rows of tables: CSV and TSV as pandas and Hugging Face write them, and Parquet.

Cells of a CSV are texts and stay as they are written: 007, 1,000 and 3.10 are not turned into numbers. A list in a cell is
read where it is exactly what JSON or Python writes for one; NumPy's way (``['a' 'b']``) cannot be told from a text, and is
refused. An empty cell is no value, except that an answer cannot be left open: ``answerable`` says what is meant.
"""

import ast
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from routelens.tasks.files.rows import Problem, Row, decode_text

_ANSWERS = ("answer", "answers", "outputs")
_NESTED = (*_ANSWERS, "aliases", "answer_spans", "required_groups", "metadata", "all_classes")
_TEXTS = ("context", "question")
_WHOLE_NUMBERS = ("max_new_tokens", "length")
_TRUTH = {"true": True, "false": False}
_BRACKETS = {"[": "]", "{": "}"}
_MAX_CELL = 2**31 - 1
_BATCH = 64


class _CellError(ValueError):
    """A cell that says nothing certain."""


def csv_rows(file: Path, delimiter: str) -> Iterator[Row | Problem]:
    """The rows below the header, each with the line on which it starts."""
    text = decode_text(file, file.read_bytes())
    if isinstance(text, Problem):
        yield text
        return
    limit = csv.field_size_limit(_MAX_CELL)  # contexts are longer than the 131,072 it allows
    try:
        yield from _records(file, text, delimiter)
    finally:
        csv.field_size_limit(limit)


def parquet_rows(file: Path) -> Iterator[Row | Problem]:
    """The rows of the table, numbered from 1; empty values are left out, except an answer's (the passage does not say)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(_filled(values), place=f"row {number}")
    except (pa.ArrowException, OSError) as error:
        message = f"the Parquet file cannot be read ({str(error).partition(chr(10))[0]})."
        yield Problem(str(file), None, message, f"row {number + 1}" if number else "")


def _records(file: Path, text: str, delimiter: str) -> Iterator[Row | Problem]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            start, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header:
                yield _row(file, start, header, cells)
                continue
            header = cells
            message = _header_problem(header, delimiter)
            if message:
                yield Problem(str(file), start, message)
                return
    except csv.Error as error:
        yield Problem(str(file), line, f"broken CSV ({error}); quote cells with quotes in them.")


def _header_problem(header: list[str], delimiter: str) -> str:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        return f"the column {', '.join(map(repr, twice))} stands twice in the header."
    if len(header) == 1:
        wanted = "tabs" if delimiter == "\t" else "commas"
        return f"the header holds one column, {header[0]!r}; separate columns by {wanted}."
    return ""


def _row(file: Path, line: int, header: list[str], cells: list[str]) -> Row | Problem:
    if len(cells) != len(header):
        message = (
            f"{len(cells)} cells under {len(header)} columns; "
            "quote cells that hold separators or line ends."
        )
        return Problem(str(file), line, message)
    texts = dict(zip(header, cells, strict=True))
    texts.pop("", None)  # the index that pandas writes unless told not to
    try:
        return Row(_values(texts), line)
    except _CellError as error:
        return Problem(str(file), line, str(error))


def _values(texts: dict[str, str]) -> dict[str, Any]:
    values = {name: _value(name, text) for name, text in texts.items() if text or name in _TEXTS}
    empty = [name for name in _ANSWERS if name in texts and name not in values]
    if not empty or any(name in values for name in _ANSWERS):
        return values
    if "answerable" not in values:
        raise _CellError(
            f"{empty[0]} is empty, which may mean that the passage does not say or that the answer is an "
            "empty text; add a column answerable with true or false."
        )
    return {**values, empty[0]: "" if values["answerable"] is True else None}


def _value(name: str, text: str) -> Any:
    plain = text.strip()
    if name in _NESTED and plain[:1] in _BRACKETS and plain.endswith(_BRACKETS[plain[0]]):
        return _nested(name, plain)
    if name in _WHOLE_NUMBERS and plain.isascii() and plain.isdigit():
        return int(plain)
    if name == "answerable":
        return _TRUTH.get(plain.lower(), text)
    return text


def _nested(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if value is None or repr(value) != text:
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise _CellError(
            f"{name} looks like a list or an object but is neither JSON's nor Python's; got {shown}. "
            'Write a list as ["a", "b"], and a text in brackets as ["[text]"].'
        )
    return value


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    filled = {name: value for name, value in values.items() if value is not None}
    if "answer" in values and not any(name in filled for name in _ANSWERS):
        filled["answer"] = None
    return filled
