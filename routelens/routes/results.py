"""What a search for a ticket found: the set, its statement, its proof and its controls; saved as JSON, printed as a table (D17 [C])."""

import json
import os
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from jaxtyping import Bool
from torch import Tensor

from routelens.routes.statement import Search
from routelens.routes.units import Space, Unit
from routelens.types import AttentionEdit, KeepMask

Status = Literal["certified", "budget_exhausted", "no_route_needed", "not_answered"]


@dataclass(frozen=True)
class Certificate:
    """Sufficiency and 1-minimality, recomputed from nothing with greedy decoding.

    ``margin`` is the ticket's mean margin (logits), ``worst_removal`` the largest that is left by taking out any one unit with the answer unchanged
    (−∞ where every removal changes it); ``forward_equivalents`` what the proof cost.
    """

    holds: bool
    margin: float
    worst_removal: float
    n_removals: int
    forward_equivalents: float
    reason: str = ""


class FoundUnits:
    """What a set of units that a search found says of itself, whatever it was searched for."""

    space: Space
    numbers: tuple[int, ...]
    evidence_positions: tuple[int, ...]
    forward_equivalents: dict[str, float]

    @property
    def size(self) -> int:
        """Units found, without protected ones."""
        return len(self.numbers)

    @property
    def cost(self) -> float:
        """Forward equivalents of the search, the certificate apart."""
        return sum(self.forward_equivalents.values())

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units as tuples."""
        return self.space.units(self.numbers)

    @property
    def positions(self) -> tuple[int, ...]:
        """Prefix positions the units stand on, ascending."""
        return tuple(sorted({number % self.space.n_prefix for number in self.numbers}))

    @property
    def touches_evidence(self) -> bool:
        """Whether any unit stands on a token of the answer (if not: leakage, D16)."""
        return bool(set(self.positions) & set(self.evidence_positions))


@dataclass(frozen=True)
class Ticket(FoundUnits):
    """A set of units and all that is claimed of it.

    ``numbers`` are the units' numbers in ``space``; ``n_candidates`` how many there were to choose from, ``n_protected`` how many are kept
    besides. ``forward_equivalents`` are by stage of the search.
    """

    item_id: str
    model: str
    model_revision: str
    search: Search
    space: Space
    status: Status
    numbers: tuple[int, ...]
    answer: str
    answer_ids: tuple[int, ...]
    outcome: str | None
    tokens: tuple[str, ...]
    evidence_positions: tuple[int, ...]
    full_margin: float = float("nan")
    n_candidates: int = 0
    n_protected: int = 0
    reason: str = ""
    forward_equivalents: dict[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    controls: Any = None

    @property
    def share(self) -> float:
        """The ticket as a share of the candidate units; NaN where there were none."""
        return self.size / self.n_candidates if self.n_candidates else float("nan")

    @property
    def flat(self) -> Bool[Tensor, " n_units"]:
        """The set with the protected units."""
        return self.space.flat(self.numbers) | self.space.leading(self.search.protect)

    @property
    def edit(self) -> AttentionEdit:
        """What decoding needs to run on the ticket alone."""
        return self.edit_of(self.flat)

    def edit_of(self, flat: Bool[Tensor, " n_units"]) -> AttentionEdit:
        """What decoding needs to run on another set of the ticket's space, under its ablation."""
        return self.space.edit(flat, self.search.ablation or "renorm")

    @property
    def keep(self) -> KeepMask:
        """The ticket as a keep mask; ValueError for edges, which no cache can keep."""
        if self.space.kind == "edge":
            raise ValueError(
                "Ticket.keep: edges are not KV entries; use .edit, or .entries for the entries they read."
            )
        return self.entries

    @property
    def entries(self) -> KeepMask:
        """The KV entries that the ticket reads."""
        kv = replace(self.space, kind="kv")
        return KeepMask(self.space.projected(self.flat, kv).reshape(kv.shape))

    @property
    def entries_edit(self) -> AttentionEdit:
        """The ticket with its edges widened to the KV entries they read, under the same ablation: any row may read them."""
        kv = replace(self.space, kind="kv")
        flat = self.space.projected(self.flat, kv)
        return kv.edit(flat, self.search.ablation or "renorm")

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self) | {"units": [list(unit) for unit in self.units]}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ticket as JSON."""
        Path(path).write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Ticket":
        """Read a ticket written by :meth:`save`; ValueError where it is none."""
        from routelens.routes.controls import Controls

        try:
            row = json.loads(Path(path).read_text("utf-8"))
            row.pop("units", None)
            lists = {
                n: tuple(row[n]) for n in ("numbers", "answer_ids", "tokens", "evidence_positions")
            }
            certificate, controls = row["certificate"], row["controls"]
            return cls(
                **row
                | lists
                | {
                    "search": Search(**row["search"]),
                    "space": Space(**row["space"]),
                    "certificate": Certificate(**certificate) if certificate else None,
                    "controls": Controls.from_json(controls) if controls else None,
                }
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"Ticket.load: {path} is not a ticket ({error}).") from error

    def __str__(self) -> str:
        search = self.search
        lines = [
            f"{self.status}: {self.answer!r}"
            + (f" ({self.reason})" if self.reason else "")
            + f" · {self.model} · item {self.item_id}",
            f"{self.size} of {self.n_candidates:,} {search.unit} units ({self.share:.2%}), "
            f"{search.ablation}, margin {search.margin:g}"
            + (f", {self.n_protected} protected" if self.n_protected else "")
            + f" · {self.cost:.0f} forward equivalents",
        ]
        if self.size:
            lines += [
                f"stands on the evidence: {'yes' if self.touches_evidence else 'no'}",
                *self._table(),
            ]
        if self.controls is not None:
            lines.append(str(self.controls))
        return "\n".join(lines)

    def _table(self) -> list[str]:
        """One line a token: its text and the layers and heads that hold it."""
        held: dict[int, list[str]] = defaultdict(list)
        letter = "H" if self.space.kind == "edge" else "K"
        for unit in self.units:
            held[unit[-1]].append("" if len(unit) == 1 else f"L{unit[0]}{letter}{unit[1]}")
        evidence = set(self.evidence_positions)
        return [
            f"{position:5} {'*' if position in evidence else ' '} {self.tokens[position]!r:18} "
            + " ".join(dict.fromkeys(held[position]))
            for position in sorted(held)
        ]
