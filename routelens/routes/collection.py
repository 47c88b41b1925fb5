"""Tickets of many questions: searched passage by passage, one file each, so that a search that was stopped goes on where it was.

All tickets of a folder share their settings; each is a file as ``Ticket.save`` writes it. The questions of a passage share its
prefill, and are one another's query swaps (D17 [C]).
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from routelens.cache import format_of, prefill
from routelens.models import load_model, model_info
from routelens.progress import track
from routelens.prompts import build_prompt
from routelens.routes.collected import summary_of, table_of
from routelens.routes.controls import with_controls
from routelens.routes.results import Ticket
from routelens.routes.statement import Search
from routelens.routes.ticket import search_ticket
from routelens.routes.ticket_folder import Entry, Folder, entry_of
from routelens.types import Item

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Collection:
    """The tickets of a folder in the order of their items; ``entries`` are those items, also where a ticket is still missing."""

    path: Path
    settings: dict[str, Any]
    entries: tuple[Entry, ...]
    tickets: tuple[Ticket, ...]

    def __len__(self) -> int:
        return len(self.tickets)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(self.tickets)

    @property
    def n_missing(self) -> int:
        """Items without a ticket yet."""
        return len(self.entries) - len(self.tickets)

    def table(self) -> "pd.DataFrame":
        """One row a ticket: item and tags, how the search ended, sizes, costs, and each control (True: as a real ticket's would come out)."""
        entries = {entry.item: entry for entry in self.entries}
        table = table_of([(entries[ticket.item_id], ticket) for ticket in self.tickets])
        table.attrs["settings"] = self.settings
        return table

    def summary(self) -> str:
        """How the searches ended, median sizes and costs, and how many tickets pass each control, in words."""
        return summary_of(self.table(), self.settings, self.n_missing)

    def __str__(self) -> str:
        return self.summary()


def find_tickets(
    model: Any,
    items: Iterable[Item],
    *,
    out: str | os.PathLike[str],
    unit: str = "kv",
    ablation: str | None = None,
    margin: float = 0.5,
    protect: int = 0,
    budget: float = 4000.0,
    ranking: str = "gradient",
    seed: int = 0,
    require_correct: bool = True,
    controls: bool = True,
    max_new_tokens: int = 32,
    limit: int | None = None,
    progress: bool = True,
) -> Collection:
    """The tickets of many items, each in a file of its own in ``out``; the same call goes on where an earlier one stopped.

    Args:
        model: What ``load_model`` returned, or a name for it.
        items: Questions on passages; those of one passage share its prefill, and are each other's query swaps.
        out: The collection's folder: new, empty, or one begun with the same settings.
        unit: As in ``find_ticket``, and so are ``ablation``, ``margin``, ``protect``, ``budget`` (of each ticket), ``ranking``,
            ``seed``, ``require_correct`` and ``max_new_tokens``.
        ablation: "renorm" or "zero".
        margin: Share of the full cache's mean margin that must remain.
        protect: Leading positions that are always kept.
        budget: Forward equivalents at most.
        ranking: What orders the units.
        seed: Of the random ranking and of the certificate's order.
        require_correct: Whether the full cache's answer must be right.
        controls: Whether every certified ticket gets its controls.
        max_new_tokens: Tokens of an answer at most.
        limit: The first so many items only. A larger one later adds to the folder.
        progress: Whether to draw a progress bar.

    Raises:
        ValueError: Bad settings, no item, an id that names two items, prompts that do not fit the model, or a folder that holds something
            else, or tickets of other settings or items (the message says what differs).
        OSError: The folder cannot be written.
    """
    search = Search(unit, ablation, margin, protect, budget, ranking, seed)
    everything = _distinct(items)
    if not everything or (limit is not None and limit < 1):
        raise ValueError(
            f"find_tickets: there must be an item to search for; got {len(everything)} items and limit={limit}."
        )
    chosen = everything[:limit]
    others = _others(everything) if controls else {}
    if isinstance(model, str | os.PathLike):
        model = load_model(os.fspath(model))
    info = model_info(model)
    _check_prompts(model, chosen, max_new_tokens)
    settings = {
        "model": info.name,
        "model_kind": info.kind,
        "model_revision": info.revision,
        "dtype": info.dtype,
        "prompt_format": format_of(model).config(),
        "search": asdict(search),
        "require_correct": require_correct,
        "controls": controls,
        "max_new_tokens": max_new_tokens,
    }
    entries = [entry_of(item, others.get(item.id, ())) for item in chosen]
    folder = Folder.begin(Path(out), settings, entries)
    found = {item.id: ticket for item in chosen if (ticket := folder.stored(item.id)) is not None}
    with track("tickets", len(chosen), len(found), shown=progress) as advance:
        for group in _by_passage(item for item in chosen if item.id not in found).values():
            cache = prefill(model, group[0])
            for item in group:
                started = time.perf_counter()
                ticket = search_ticket(
                    cache,
                    item,
                    search,
                    require_correct=require_correct,
                    max_new_tokens=max_new_tokens,
                )
                if controls and ticket.status == "certified":
                    ticket = with_controls(cache, item, ticket, others=others[item.id])
                folder.add(ticket, time.perf_counter() - started)
                found[item.id] = ticket
                advance(1)
    return Collection(
        folder.path,
        folder.settings,
        tuple(folder.entries[item.id] for item in chosen),
        tuple(found[item.id] for item in chosen),
    )


def read_tickets(path: str | os.PathLike[str]) -> Collection:
    """The collection in a folder, finished or in progress; files that cannot be read are left out with a warning."""
    folder = Folder.read(Path(path))
    found = [folder.stored(item) for item in folder.entries]
    return Collection(
        folder.path,
        folder.settings,
        tuple(folder.entries.values()),
        tuple(ticket for ticket in found if ticket is not None),
    )


def _distinct(items: Iterable[Item]) -> list[Item]:
    """The items without exact repetitions, in order."""
    found: dict[str, Item] = {}
    for item in items:
        if found.setdefault(item.id, item) != item:
            raise ValueError(
                f"find_tickets: an id names one item; {item.id!r} names two that differ, with the questions "
                f"{found[item.id].question!r} and {item.question!r}. Give each item an id of its own."
            )
    return list(found.values())


def _by_passage(items: Iterable[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.context, []).append(item)
    return groups


def _others(items: Sequence[Item]) -> dict[str, list[Item]]:
    """For each item the passage's other questions, of all items, so that no ticket depends on a limit."""
    groups = _by_passage(items)
    return {
        item.id: [other for other in groups[item.context] if other.question != item.question]
        for item in items
    }


def _check_prompts(model: Any, items: Sequence[Item], max_new_tokens: int) -> None:
    """Every prompt is built once before anything is searched; ValueError names those that do not fit."""
    info, problems = model_info(model), []
    if info.tokenizer is None:
        raise ValueError(
            "find_tickets: the model has no tokenizer; pass load_model(…, tokenizer=…)."
        )
    room = info.n_ctx - max_new_tokens
    for item in items:
        try:
            build_prompt(
                info.tokenizer,
                item,
                regime="agnostic",
                questions=(),
                format=format_of(model),
                max_positions=room,
            )
        except ValueError as error:
            problems.append(f"item {item.id}: {error}")
    if problems:
        shown = "\n".join(problems[:10])
        more = f"\n… and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise ValueError(f"find_tickets: {len(problems)} prompts do not fit:\n{shown}{more}")
