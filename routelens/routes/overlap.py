"""Tickets beside one another: disjoint ones for one question, what those of a passage share, what a policy keeps of one (D17 [C]).

Disjoint tickets are found one after another, each with the earlier ones' units ablated throughout. How many there are is a lower bound on
the redundancy k: another first ticket may leave room for more. The shared core counts in how many tickets of a passage each unit stands, and sets
the overlap |A ∩ B| / |A ∪ B| of every pair beside a null in which both sets are drawn at random: |A ∩ B| is then hypergeometric. Real heads prefer some positions whatever is asked
(the first ones, the last), so an overlap above this null says that the units are no random ones, not that they carry the passage's facts.
Ticket survival is the share of a ticket's KV entries that a mask keeps; an edge counts by the entry it reads.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from jaxtyping import Bool
from torch import Tensor

from routelens.cache import ContextCache
from routelens.routes.results import Ticket
from routelens.routes.statement import Search, cache_and_item
from routelens.routes.ticket import search_ticket
from routelens.routes.units import Unit
from routelens.types import Item, KeepMask


def find_disjoint_tickets(
    model: Any,
    item: Item | None = None,
    *,
    cache: ContextCache | None = None,
    k: int = 3,
    unit: str = "kv",
    ablation: str | None = None,
    margin: float = 0.5,
    protect: int = 0,
    budget: float = 4000.0,
    ranking: str = "gradient",
    seed: int = 0,
    require_correct: bool = True,
    max_new_tokens: int = 32,
) -> tuple[Ticket, ...]:
    """Up to ``k`` certified tickets without a unit in common; their number is a lower bound on redundancy (D17 [C]).

    It stops at the first search that ends without a certificate. None at all can mean that there is no ticket, that the budget was too small, or that
    the answer needs no route: ``find_ticket`` says which. Options are those of ``find_ticket``; the budget is each search's own.

    Raises:
        ValueError: k below 1, or what ``find_ticket`` refuses.
    """
    if k < 1:
        raise ValueError(f"find_disjoint_tickets: k is at least 1; got {k}.")
    search = Search(unit, ablation, margin, protect, budget, ranking, seed)
    cache, item = cache_and_item("find_disjoint_tickets", model, item, cache)
    found: list[Ticket] = []
    used: Bool[Tensor, " n_units"] | None = None
    while len(found) < k:
        ticket = search_ticket(
            cache,
            item,
            search,
            require_correct=require_correct,
            max_new_tokens=max_new_tokens,
            without=used,
        )
        if ticket.status != "certified":
            break
        found.append(ticket)
        used = _own(ticket) if used is None else used | _own(ticket)
    return tuple(found)


def ticket_survival(ticket: Ticket, keep: KeepMask) -> float:
    """The share of the ticket's KV entries that a mask keeps, protected ones left out; NaN for an empty ticket.

    An edge counts by the entry it reads, two edges onto one entry once; a token by its entries in all layers and heads.
    """
    entries = _entries(ticket)
    if keep.keep.numel() != len(entries) or keep.k_pos != ticket.space.n_prefix:
        raise ValueError(
            "ticket_survival: the mask belongs to the ticket's prefix, "
            f"{(ticket.space.n_layers, ticket.space.n_kv_heads, ticket.space.n_prefix)}; got "
            f"{tuple(keep.keep.shape)}."
        )
    kept = entries & keep.keep.cpu().flatten()
    return int(kept.sum()) / int(entries.sum()) if entries.any() else float("nan")


@dataclass(frozen=True)
class Overlap:
    """Two tickets, by their place among those compared.

    ``expected`` is the Jaccard index of random sets of their sizes on average, ``p_value`` the chance that those share at least as many units.
    """

    first: int
    second: int
    n_shared: int
    jaccard: float
    expected: float
    p_value: float


@dataclass(frozen=True)
class Core:
    """What the tickets of a passage's questions share.

    ``kind`` is "kv" or "token"; edges count by the KV entries they read, since rows of different questions are not the same rows. ``items`` are the
    certified tickets' items; ``n_left_out`` counts the tickets without a certificate. ``counts`` says in how
    many tickets each unit stands, the most first.
    """

    kind: str
    items: tuple[str, ...]
    n_left_out: int
    n_candidates: int
    counts: tuple[tuple[Unit, int], ...]
    overlaps: tuple[Overlap, ...]
    tokens: tuple[str, ...]

    @property
    def n_tickets(self) -> int:
        """Certified tickets compared."""
        return len(self.items)

    @property
    def in_all(self) -> tuple[Unit, ...]:
        """Units in every ticket."""
        return tuple(unit for unit, count in self.counts if count == self.n_tickets)

    @property
    def in_half(self) -> tuple[Unit, ...]:
        """Units in at least half of the tickets."""
        return tuple(unit for unit, count in self.counts if 2 * count >= self.n_tickets)

    @property
    def jaccard(self) -> float:
        """The mean overlap of two tickets; NaN with fewer than two."""
        return _mean([pair.jaccard for pair in self.overlaps])

    @property
    def expected(self) -> float:
        """The same of random sets of the same sizes."""
        return _mean([pair.expected for pair in self.overlaps])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON."""
        Path(path).write_text(json.dumps(asdict(self), ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Core":
        """Read what :meth:`save` wrote; ValueError where it is something else."""
        try:
            row = json.loads(Path(path).read_text("utf-8"))
            made: dict[str, Any] = {
                "items": tuple(row["items"]),
                "tokens": tuple(row["tokens"]),
                "counts": tuple((tuple(unit), count) for unit, count in row["counts"]),
                "overlaps": tuple(Overlap(**pair) for pair in row["overlaps"]),
            }
            return cls(**row | made)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"Core.load: {path} was not written by Core.save ({error})."
            ) from error

    def __str__(self) -> str:
        out = f" ({self.n_left_out} without a certificate left out)" if self.n_left_out else ""
        lines = [
            f"{self.n_tickets} tickets{out} among {self.n_candidates:,} {self.kind} units: {len(self.in_all)} units in "
            f"all, {len(self.in_half)} in at least half of them",
            f"mean Jaccard {self.jaccard:.3f}; random sets of these sizes: {self.expected:.3f}",
        ]
        shared = dict(self.counts)
        for position in sorted({unit[-1] for unit in self.in_half}):
            held = [unit for unit in self.in_half if unit[-1] == position]
            where = " ".join(
                ("" if len(unit) == 1 else f"L{unit[0]}K{unit[1]} ") + f"({shared[unit]})"
                for unit in sorted(held)
            )
            lines.append(f"{position:5} {self.tokens[position]!r:18} {where}")
        return "\n".join(lines)


def shared_core(tickets: Sequence[Ticket]) -> Core:
    """The units that tickets of one passage share, and their overlaps beside those of random sets.

    Raises:
        ValueError: No ticket, or tickets of different models, prefixes, kinds of unit or numbers of protected positions.
    """
    if not tickets:
        raise ValueError("shared_core: pass at least one ticket.")
    layouts = {
        (t.model, t.model_revision, t.tokens, t.search.unit, t.search.protect) for t in tickets
    }
    if len(layouts) > 1:
        raise ValueError(
            "shared_core: tickets compare when model, prefix, unit and protect agree; got "
            f"{len(layouts)} different ones. Questions of one passage share a prefix in the agnostic regime."
        )
    first = tickets[0]
    space = first.space if first.search.unit == "token" else replace(first.space, kind="kv")
    own = [t for t in tickets if t.status == "certified"]
    sets = [
        frozenset(t.numbers if t.search.unit == "token" else _entries(t).nonzero()[:, 0].tolist())
        for t in own
    ]
    protected = min(first.search.protect, space.n_prefix) * space.n_units // space.n_prefix
    n = space.n_units - protected
    counts = Counter(number for numbers in sets for number in numbers)
    order = sorted(counts, key=lambda number: (-counts[number], number))
    return Core(
        kind=space.kind,
        items=tuple(t.item_id for t in own),
        n_left_out=len(tickets) - len(own),
        n_candidates=n,
        counts=tuple(zip(space.units(order), (counts[number] for number in order), strict=True)),
        overlaps=tuple(
            _overlap(i, j, sets[i], sets[j], n) for i, j in combinations(range(len(sets)), 2)
        ),
        tokens=first.tokens,
    )


def _overlap(i: int, j: int, one: frozenset[int], other: frozenset[int], n: int) -> Overlap:
    from scipy.stats import hypergeom

    a, b, shared = len(one), len(other), len(one & other)
    possible = range(max(0, a + b - n), min(a, b) + 1)
    chances = hypergeom.pmf(list(possible), n, a, b).tolist()
    expected = sum(p * m / (a + b - m) for m, p in zip(possible, chances, strict=True))
    p_value = float(hypergeom.sf(shared - 1, n, a, b))
    return Overlap(i, j, shared, shared / (a + b - shared), expected, p_value)


def _own(ticket: Ticket) -> Bool[Tensor, " n_units"]:
    """The ticket's units, without protected ones."""
    return ticket.space.flat(ticket.numbers)


def _entries(ticket: Ticket) -> Bool[Tensor, " n_entries"]:
    """The KV entries that the ticket's own units read."""
    return ticket.space.projected(_own(ticket), replace(ticket.space, kind="kv")).flatten()


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
