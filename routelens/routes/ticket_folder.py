"""A folder of tickets: ``collection.json`` with the settings and the items in their order, and one file a ticket.

Every write is whole or absent. Settings and items are compared before anything is written; a ticket's file that cannot be read, or is another's,
counts as none.
"""

import hashlib
import json
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from routelens.files import write_atomic
from routelens.routes.results import Ticket
from routelens.types import Item

INDEX = "collection.json"
FORMAT = "routelens-tickets/1"
_VERSION: str = sys.modules["routelens"].__version__


@dataclass(frozen=True)
class Entry:
    """An item's place in a collection.

    ``content`` is a hash of all that its ticket depends on but the settings; ``seconds`` went into search, certificate and controls (the passage's
    prefill apart), NaN while there is no ticket.
    """

    item: str
    file: str
    content: str
    passage: str
    task: str
    answer_type: str
    question_type: str
    direction: str
    question: str
    seconds: float = float("nan")


@dataclass
class Folder:
    """A collection's folder: its index, and tickets in and out."""

    path: Path
    settings: dict[str, Any]
    versions: list[str]
    entries: dict[str, Entry]

    @classmethod
    def read(cls, path: Path) -> "Folder":
        try:
            row = json.loads((path / INDEX).read_text("utf-8"))
            if row["format"] != FORMAT:
                raise ValueError(f"its format is {row['format']!r}, not {FORMAT!r}")
            entries = {entry["item"]: Entry(**entry) for entry in row["items"]}
            return cls(path, row["settings"], list(row["versions"]), entries)
        except FileNotFoundError:
            raise ValueError(
                f"read_tickets: {path} holds no tickets: there is no {INDEX}. Pass the folder given to find_tickets as out=."
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"read_tickets: {path / INDEX} cannot be read ({error}), so the settings of the tickets beside it are unknown. "
                "Restore it, or search into another folder."
            ) from error

    @classmethod
    def begin(cls, path: Path, settings: dict[str, Any], asked: Sequence[Entry]) -> "Folder":
        """The folder, new or begun with these settings and items."""
        if not (path / INDEX).exists():
            _refuse_foreign(path)
            path.mkdir(parents=True, exist_ok=True)
            folder = cls(path, _plain(settings), [_VERSION], {one.item: one for one in asked})
            folder.write()
            return folder
        folder = cls.read(path)
        changes = [*_differences(folder.settings, _plain(settings)), *folder.other_items(asked)]
        if changes:
            shown = "\n  ".join(changes)
            raise ValueError(
                f"find_tickets: a folder holds tickets of one kind, and {path} was begun otherwise:\n  {shown}\n"
                "Go back to the stored settings to go on, or pass another folder."
            )
        if _VERSION not in folder.versions:
            warnings.warn(
                f"find_tickets: {path} was begun with routelens {folder.versions[-1]} and goes on with {_VERSION}.",
                stacklevel=3,
            )
            folder.versions.append(_VERSION)
        folder.entries = {one.item: one for one in asked} | folder.entries
        folder.write()
        return folder

    def other_items(self, asked: Sequence[Entry]) -> list[str]:
        """Where the asked items leave the stored ones; one list must begin like the other."""
        for number, (old, new) in enumerate(zip(self.entries.values(), asked, strict=False), 1):
            if old.item != new.item:
                return [f"item {number}: stored {old.item!r}, asked {new.item!r}"]
            if old.content != new.content:
                return [
                    f"item {number}, {old.item!r}: its content, or the passage's other questions, differ (to search for "
                    "some items of a passage only, pass limit=)"
                ]
        return []

    def write(self) -> None:
        row = {
            "format": FORMAT,
            "versions": self.versions,
            "settings": self.settings,
            "items": [asdict(entry) for entry in self.entries.values()],
        }
        write_atomic(self.path / INDEX, _json(row, indent=1))

    def add(self, ticket: Ticket, seconds: float) -> None:
        """Put a ticket on disk in one step, then its time."""
        entry = self.entries[ticket.item_id]
        write_atomic(self.path / entry.file, _json(ticket.to_json()))
        self.entries[entry.item] = replace(entry, seconds=seconds)
        self.write()

    def stored(self, item: str) -> Ticket | None:
        """An item's ticket; None where there is none, and with a warning where its file is damaged or another ticket's."""
        file = self.path / self.entries[item].file
        if not file.exists():
            return None
        try:
            ticket = Ticket.load(file)
            said = (ticket.item_id, ticket.model, ticket.model_revision, asdict(ticket.search))
            asked = (item, *(self.settings[n] for n in ("model", "model_revision", "search")))
            if said != asked:
                raise ValueError("it is the ticket of another item, model or search")
            return ticket
        except (ValueError, KeyError, AttributeError) as error:
            warnings.warn(f"{file} does not count: {error}", stacklevel=3)
            return None


def entry_of(item: Item, others: Sequence[Item]) -> Entry:
    """The item's entry; ``others`` are the questions that its query swap puts."""
    return Entry(
        item=item.id,
        file=_file_name(item.id),
        content=_hash([_content(one) for one in (item, *others)]),
        passage=item.passage_id,
        task=item.task,
        answer_type=item.answer_type,
        question_type=item.question_type,
        direction=item.direction,
        question=item.question,
    )


def _file_name(item_id: str) -> str:
    """A name that every file system takes, and that no other id has, also where case does not count."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", item_id)[:40].strip("-")
    return f"ticket-{readable}-{_hash(item_id)}.json"


def _content(item: Item) -> dict[str, Any]:
    """All of an item that its ticket and controls depend on; of free metadata, the sorts of value that a swap draws from."""
    content = asdict(replace(item, metadata={}))
    return content | {"metadata": item.metadata.get("kinds")}


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _json(value: Any, *, indent: int | None = None) -> bytes:
    """JSON in ASCII: an id or a token may be a half of a surrogate pair, which UTF-8 cannot hold."""
    return (json.dumps(value, indent=indent) + "\n").encode()


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings as they come back from the file."""
    return json.loads(_json(settings))


def _differences(stored: Any, asked: Any, at: str = "") -> list[str]:
    if not (isinstance(stored, dict) and isinstance(asked, dict)):
        return [] if stored == asked else [f"{at}: stored {stored!r}, asked {asked!r}"]
    return [
        line
        for name in {**stored, **asked}
        for line in _differences(stored.get(name), asked.get(name), f"{at}.{name}" if at else name)
    ]


def _refuse_foreign(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"find_tickets: {path} is a file; pass a folder.")
    others = sorted(one.name for one in path.glob("[!.]*")) if path.is_dir() else []
    if others:
        raise ValueError(
            f"find_tickets: tickets go into a new or empty folder, or one with a {INDEX}; {path} holds "
            f"{', '.join(others[:5])}{' …' if len(others) > 5 else ''}. Pass another folder."
        )
