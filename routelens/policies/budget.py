"""How many KV entries stay: the one place where a compression ratio becomes a count (D1).

A budget is either a compression ratio α, the fraction of entries *removed*, or an absolute number of entries per KV
head. Rounding "floor" keeps n_kept = max(1, floor(n·(1−α) + 1e-9)), so that 100 entries at 0.9 keep 10; rounding
"kvpress" keeps max(1, int(n·(1−α))), as kvpress 0.5.5 does, where binary floating point makes that 9.
"""

import math
import operator
from dataclasses import dataclass, field
from numbers import Real
from typing import SupportsIndex

Number = float | int
ROUNDINGS = ("floor", "kvpress")

# Far below one entry for any prefix that fits a machine, far above the error of n·(1−α) in double precision.
_SLACK = 1e-9


def n_kept(n: int, compression_ratio: Number, rounding: str = "floor") -> int:
    """The entries kept of ``n`` at a compression ratio, never fewer than one (D1 [C]).

    Raises:
        ValueError: for a ratio outside [0, 1), a bool or NaN, or an unknown rounding.
    """
    return Budget(compression_ratio=compression_ratio, rounding=rounding, who="n_kept").n_kept(n)


@dataclass(frozen=True)
class Budget:
    """A compression ratio (fraction removed) or a number of entries per KV head, exactly one of them (D1).

    ``who`` only opens the error messages.
    """

    compression_ratio: Number | None = None
    entries: SupportsIndex | None = None
    rounding: str = "floor"
    who: str = field(default="Budget", compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.compression_ratio is None) == (self.entries is None):
            raise ValueError(
                f"{self.who}: give either compression_ratio or budget, exactly one of them; got "
                f"compression_ratio={self.compression_ratio!r} and budget={self.entries!r}."
            )
        if self.rounding not in ROUNDINGS:
            raise ValueError(
                f"{self.who}: rounding is 'floor' or 'kvpress'; got {self.rounding!r}."
            )
        if self.entries is not None:
            _check_entries(self.who, self.entries)
        else:
            _check_ratio(self.who, self.compression_ratio)

    def n_kept(self, n: int) -> int:
        """The entries kept of ``n`` per KV head: at least one, at most ``n`` (D1 [C])."""
        if self.entries is not None:
            return min(n, operator.index(self.entries))
        assert self.compression_ratio is not None
        share = n * (1 - float(self.compression_ratio))
        count = int(share) if self.rounding == "kvpress" else math.floor(share + _SLACK)
        return min(n, max(1, count))


def check_count(who: str, option: str, value: int, minimum: int) -> None:
    """Raise a ValueError unless ``value`` is a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ValueError(f"{who}: {option} is a whole number of at least {minimum}; got {value!r}.")


def _check_ratio(who: str, ratio: object) -> None:
    number = float(ratio) if isinstance(ratio, Real) and not isinstance(ratio, bool) else math.nan
    if not 0 <= number < 1:
        raise ValueError(
            f"{who}: compression_ratio is the fraction of KV entries removed and must be in [0, 1); "
            f"got {ratio!r}. To keep 25 % pass 0.75."
        )


def _check_entries(who: str, entries: object) -> None:
    try:
        whole = not isinstance(entries, bool) and operator.index(entries) >= 1  # type: ignore[arg-type]
    except TypeError:
        whole = False
    if not whole:
        raise ValueError(
            f"{who}: budget is a whole number of KV entries per head, at least 1; got {entries!r}. "
            "To remove a fraction pass compression_ratio."
        )
