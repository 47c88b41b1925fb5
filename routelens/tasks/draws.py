"""Random draws that are the same on every machine and Python version.

A stream is keyed by what it is for (task, seed, passage index, …): SHA-256 of the key seeds a generator of which only
``random()`` is used, the one method whose sequence Python guarantees across versions.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """One stream of draws; equal keys give equal streams, other keys independent ones."""

    def __init__(self, *key: str | int) -> None:
        digest = hashlib.sha256(json.dumps(key).encode()).digest()
        self._random = random.Random(int.from_bytes(digest, "big"))

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self._random.random() * n)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def choice(self, values: Sequence[T]) -> T:
        """One of the values."""
        return values[self.below(len(values))]

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """The values in random order."""
        deck = list(values)
        for last in range(len(deck) - 1, 0, -1):
            other = self.below(last + 1)
            deck[last], deck[other] = deck[other], deck[last]
        return deck

    def sample(self, values: Sequence[T], k: int) -> list[T]:
        """Up to ``k`` different entries of ``values``, in random order."""
        return self.shuffled(values)[:k]
