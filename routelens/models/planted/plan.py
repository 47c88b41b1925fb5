"""What a kind of planted route is written in: heads that look and write, a cast to speak of, and words with meanings."""

from collections.abc import Callable
from dataclasses import dataclass

from routelens.models.planted.words import FILLERS, TOWN, UNKNOWN, Draws, Fact, Lexicon, Tale

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Head:
    """A row with a feature looks for entries with its partner; what those entries say is written as another feature.

    ``looks`` pairs row features with entry features, ``writes`` entry features with written ones, at ``strength``. A head
    that looks for nothing parks on the first word.
    """

    looks: Pairs = ()
    writes: Pairs = ()
    strength: float = 1.0


@dataclass(frozen=True)
class Cast:
    """Whom a plan can speak of, and its strengths: ``copy`` is a, ``prior`` is β."""

    people: tuple[str, ...]
    places: tuple[str, ...]
    n_others: int
    n_copies: int
    n_positions: int
    copy: float
    prior: float
    draws: Draws

    def pairs(self, row: str, entry: str) -> Pairs:
        """The features of two families, person by person."""
        return tuple((f"{row}:{name}", f"{entry}:{name}") for name in self.people)

    def says(self, written: str, *, of: str = "says") -> Pairs:
        """From what an entry says to what is written, place by place."""
        return tuple((f"{of}:{name}", f"{written}:{name}") for name in self.places)

    def reader(self, *, strength: float = 1.0, entry: str = "tells") -> Head:
        """The head that finds what is told of the person asked for, and puts it out."""
        return Head(self.pairs("ask", entry), self.says("out"), strength * self.copy)

    def tales(self, facts_of: Callable[[str, str], tuple[Fact, ...]]) -> tuple[Tale, ...]:
        """Other people's tales: distractors, and questions for a query swap."""
        rest = list(zip(self.people, self.places, strict=True))[1 : 1 + self.n_others]
        return tuple(Tale(f"{who}?", where, facts_of(who, where)) for who, where in rest)


Unit = tuple[int, int, int]
"""(stage, head within the stage, fact): an entry before layers, heads and positions are drawn."""


@dataclass(frozen=True)
class Plan:
    """A kind, worked out for one cast.

    ``stages`` are the heads in layer order; ``routes`` the minimal sufficient sets; ``traps`` sets that are sufficient, and
    from which no single entry can be taken, although they hold a smaller sufficient one. ``prior`` is the logit of "unknown";
    ``ordered`` keeps the facts of the tale in their order.
    """

    tale: Tale
    others: tuple[Tale, ...]
    lexicon: Lexicon
    stages: tuple[tuple[Head, ...], ...]
    routes: tuple[tuple[Unit, ...], ...]
    prior: float
    traps: tuple[tuple[Unit, ...], ...] = ()
    ordered: bool = False


def told(who: str, where: str) -> tuple[Fact, ...]:
    """The one-word fact "Cora=Oslo"."""
    return (Fact((f"{who}={where}",), where),)


def questions(cast: Cast, *, town: float | None = None) -> Lexicon:
    """Question words, fillers, and the words that end an answer; ``town`` is the logit with which that word follows a place."""
    end = {"stop": 2.0 * cast.copy}
    after_place = end if town is None else {"more": town}
    return {
        UNKNOWN: end,
        TOWN: end,
        **{word: {} for word in FILLERS},
        **{name: {f"says:{name}": 1.0, **after_place} for name in cast.places},
        **{f"{who}?": {f"ask:{who}": 1.0} for who in cast.people},
    }


def statements(cast: Cast, *, town: float | None = None) -> Lexicon:
    """All that, and "Cora=Oslo" for every person and place."""
    equations = {
        f"{who}={where}": {f"tells:{who}": 1.0, f"says:{where}": 1.0}
        for who in cast.people
        for where in cast.places
    }
    return questions(cast, town=town) | equations
