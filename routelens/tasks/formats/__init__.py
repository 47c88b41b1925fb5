"""Formats of question answering on passages: SQuAD, HotpotQA, RULER, LongBench, kvpress, and our own columns.

A record's fields say which format it is, never the file's name: the first format that claims the record reads it, and our own
columns take what no other claims, so that a record of no format is told which columns are missing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from routelens.tasks.formats import columns, hotpotqa, kvpress, longbench, ruler, squad
from routelens.tasks.formats.base import Format, Found, show

FORMATS: tuple[Format, ...] = (
    squad.FORMAT,
    hotpotqa.FORMAT,
    ruler.FORMAT,
    longbench.FORMAT,
    kvpress.FORMAT,
    columns.FORMAT,
)


def read_record(value: Any, source: Path) -> tuple[str, Iterator[Found]]:
    """The format's name, and all that the record holds; ``source`` is the file it stands in."""
    if not isinstance(value, dict):
        return "", iter([Found(None, (f"a row is a JSON object {{...}}; got {show(value)}.",))])
    form = next(form for form in FORMATS if form.claims(value))
    return form.name, form.read(value, source)


__all__ = ["FORMATS", "Format", "Found", "read_record"]
