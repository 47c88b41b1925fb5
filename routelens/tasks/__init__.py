"""Tasks: passages with questions, made from a seed or read from a file (D21).

The registry is one dict: a task is one file and one line here. ``load_task`` gives a list, ``iter_task`` a stream;
``read_items``, ``write_items`` and ``validate_items`` do the same for a file of one's own.
"""

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.base_task import Base
from routelens.tasks.coreference import Coreference
from routelens.tasks.hops import Hops
from routelens.tasks.importers import (
    ItemFileReport,
    read_items,
    validate_items,
    write_items,
)
from routelens.tasks.knowledge import Knowledge
from routelens.tasks.long_context import LongContext
from routelens.tasks.multi_entity import MultiEntity
from routelens.tasks.multi_presence import MultiPresence
from routelens.tasks.needle import Needle
from routelens.types import Item

TASKS: dict[str, type[Task]] = {
    "base": Base,
    "coreference": Coreference,
    "hops": Hops,
    "knowledge": Knowledge,
    "long_context": LongContext,
    "multi_entity": MultiEntity,
    "multi_presence": MultiPresence,
    "needle": Needle,
}


def load_task(
    name: str, *, n_passages: int | None = None, seed: int = 0, **options: Any
) -> list[Item]:
    """The items of a task, passage by passage (D21).

    Args:
        name: a key of ``TASKS``.
        n_passages: how many passages; default: the task's own number.
        seed: an integer from 0 on; the same on every machine and Python version.
        options: fields of the task's class, such as ``questions_per_passage``.

    Raises:
        ValueError: where the task or an option is unknown, or a number out of range.
    """
    return list(iter_task(name, n_passages=n_passages, seed=seed, **options))


def iter_task(
    name: str, *, n_passages: int | None = None, seed: int = 0, **options: Any
) -> Iterator[Item]:
    """The items of :func:`load_task` one by one; a passage is made when its first item is asked for."""
    return make_task(name, **options).generate(n_passages, seed)


def make_task(name: str, **options: Any) -> Task:
    """The task of that name with its options set."""
    if name not in TASKS:
        near = get_close_matches(name, TASKS, n=3, cutoff=0.3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(
            f"load_task: name is one of {', '.join(sorted(TASKS))}; got {name!r}.{hint} "
            "For a file of your own use read_items(path)."
        )
    known = sorted(option.name for option in fields(TASKS[name]))
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"load_task: {name} has the options {', '.join(known)}; got {', '.join(unknown)}."
        )
    return TASKS[name](**options)


__all__ = [
    "TASKS",
    "Draft",
    "ItemFileReport",
    "Question",
    "Task",
    "iter_task",
    "load_task",
    "make_task",
    "read_items",
    "validate_items",
    "write_items",
]
