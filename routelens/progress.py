"""A progress bar for long work, with an estimate of what is left. Drawn with rich on a terminal, silent elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def track(
    what: str, total: int, done: int = 0, *, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of steps just made; ``done`` steps were made before."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not (shown and console.is_terminal),
    )
    with bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda steps: bar.advance(task, steps)
