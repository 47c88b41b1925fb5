"""What a format is: which records it claims, and how one becomes items.

A format writes one file: a ``FORMAT`` with a name, a test of the record's fields that no other format's records pass, and
a function that yields a :class:`Found` for everything in the record that should be an item. One file, one line in
``formats/__init__.py``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routelens.types import Item

Record = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """An item of a record, or all that keeps it from being one; ``place`` is its path inside the record."""

    item: Item | None
    problems: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class Format:
    """A way of writing questions on passages down. ``read`` gets the record and the file it stands in."""

    name: str
    claims: Callable[[Record], bool]
    read: Callable[[Record, Path], Iterator[Found]]


def show(value: Any) -> str:
    """The value and its kind in a few words, for a message."""
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    if value is None:
        return "null"
    text = repr(value)
    return f"{kinds.get(type(value), 'a number')} {text if len(text) <= 60 else text[:57] + '...'}"
