"""The smallest set found that suffices: prefixes of a ranking, then elimination until no unit can go (D17 [C]).

Pure: a *judge* says of many sets at once whether they suffice and how well. Sufficiency is not monotone (adding a unit can break
it), so neither bisection nor one elimination sweep ends 1-minimal. ``best_prefix`` tries prefixes of a ranking on a geometric grid and
refines it; ``eliminate`` takes out whole chunks, several at a time, with chunks that halve, until a round over single units finds none
that can go: delta debugging (Zeller and Hildebrandt 2002) with every round one batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Numbers = Int[Tensor, " _"]


class BudgetError(Exception):
    """The search has used up its forwards."""


@dataclass(frozen=True)
class Judged:
    """For each set: whether it suffices, and by how much (more is better)."""

    suffices: Bool[Tensor, " batch"]
    score: Float[Tensor, " batch"]


Judge = Callable[[Sequence[Numbers]], Judged]
"""Judges sets given as the numbers of their units."""


def best_prefix(
    order: Numbers, judge: Judge, *, n_tries: int = 12, rounds: int = 3
) -> Numbers | None:
    """The shortest prefix of a ranking found to suffice; None where none of those tried does.

    The first round spreads its tries geometrically over all lengths (the whole included), later ones between the longest prefix that
    fails below the best and the best.
    """
    low, high = 0, len(order)
    best: Numbers | None = None
    for _ in range(rounds):
        sizes = _spread(low, high, n_tries)
        if not sizes:
            break
        suffices = judge([order[:size] for size in sizes]).suffices.tolist()
        good = [size for size, ok in zip(sizes, suffices, strict=True) if ok]
        if good:
            best, high = order[: good[0]], good[0] - 1
        below = [s for s, ok in zip(sizes, suffices, strict=True) if not ok and s <= high]
        low = max([low, *below])
        if best is None or high <= low:
            break
    return best


def eliminate(
    kept: Numbers,
    judge: Judge,
    *,
    on_smaller: Callable[[Numbers], None] = lambda _: None,
    first_chunk: int | None = None,
) -> Numbers:
    """A 1-minimal subset of a set that suffices, ``kept`` in order of importance (the most important first).

    ``on_smaller`` hears of every smaller set that suffices. The last round over single units is the proof that none can go.
    """
    size = max(1, (len(kept) + 3) // 4 if first_chunk is None else first_chunk)
    while len(kept):
        size = min(size, len(kept))
        chunks = _chunks(len(kept), size)
        without = [_without(kept, [chunk]) for chunk in chunks]
        judged = judge(without)
        able = [
            i for i in torch.argsort(judged.score, descending=True).tolist() if judged.suffices[i]
        ]
        if able:
            kept = _largest_removal(kept, [chunks[i] for i in able], without[able[0]], judge)
            on_smaller(kept)
        elif size == 1:
            break
        else:
            size = (size + 1) // 2
    return kept


def _largest_removal(kept: Numbers, chunks: list[range], one: Numbers, judge: Judge) -> Numbers:
    """The smallest sufficient set that lacks the first chunks of a list; ``one`` lacks the first alone and suffices."""
    if len(chunks) == 1:
        return one
    counts = sorted({*_powers(len(chunks)), len(chunks)})
    tried = [_without(kept, chunks[:count]) for count in counts]
    judged = judge(tried)
    good = [i for i, ok in enumerate(judged.suffices.tolist()) if ok]
    return tried[good[-1]] if good else one


def _powers(n: int) -> list[int]:
    """2, 3, 4, 6, 8, 12, … below n."""
    found, at = [], 2
    while at < n:
        found += [at, at * 3 // 2] if at * 3 // 2 < n else [at]
        at *= 2
    return found


def _chunks(n: int, size: int) -> list[range]:
    """Runs of a ranking, the least important first."""
    return [range(max(0, end - size), end) for end in range(n, 0, -size)]


def _without(kept: Numbers, chunks: Sequence[range]) -> Numbers:
    stays = torch.ones(len(kept), dtype=torch.bool)
    for chunk in chunks:
        stays[chunk.start : chunk.stop] = False
    return kept[stays]


def _spread(low: int, high: int, n: int) -> list[int]:
    """Up to ``n`` sizes in (low, high], spread geometrically, ``high`` among them."""
    if high <= low:
        return []
    start = low + 1
    if high - low <= n:
        return list(range(start, high + 1))
    ratio = (high / start) ** (1 / (n - 1))
    sizes = {min(high, max(start, round(start * ratio**k))) for k in range(n)}
    return sorted(sizes | {high})
