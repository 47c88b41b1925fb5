"""What a search for a restoration set found, in words and as JSON (D17, D23 [C])."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from routelens.cache import ContextCache
from routelens.models import model_info
from routelens.routes.results import Certificate, FoundUnits
from routelens.routes.statement import Search
from routelens.routes.units import Space, Unit
from routelens.types import KeepMask

RepairStatus = Literal[
    "certified", "budget_exhausted", "no_route_needed", "not_a_failure", "baseline_failure"
]
_N_NAMED = 3
_LONGEST = 40


@dataclass(frozen=True)
class Place:
    """Neighbouring tokens with entries to return: their text, and which entries, as (layer, kv_head, pos)."""

    text: str
    units: tuple[Unit, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """Prefix positions, ascending."""
        return tuple(sorted({pos for *_, pos in self.units}))

    @property
    def layers(self) -> tuple[int, ...]:
        """Layers, ascending."""
        return tuple(sorted({layer for layer, *_ in self.units}))

    def __str__(self) -> str:
        return f"{self.text!r} in {_ranges(self.layers)}"


@dataclass(frozen=True)
class Restoration(FoundUnits):
    """Evicted entries whose return repairs an answer, and all that is claimed of them.

    ``status`` is a ticket's (``certified``, ``budget_exhausted`` with the best set so far, ``no_route_needed``: the compressed answer
    already begins with the full cache's tokens, so no return can be asked for), or ``not_a_failure`` (the compressed answer is
    correct), or ``baseline_failure`` (the full cache's is not). ``numbers`` are the entries' numbers in ``space``, ``keep_hash`` names the mask
    they are to be added to; ``repaired`` is the answer then. See :mod:`routelens.routes.restoration` for
    ``n_still_correct``.
    """

    item_id: str
    model: str
    model_revision: str
    search: Search
    space: Space
    status: RepairStatus
    numbers: tuple[int, ...]
    keep_hash: str
    n_evicted: int
    answer: str
    answer_ids: tuple[int, ...]
    compressed: str
    compressed_outcome: str | None
    evidence_positions: tuple[int, ...]
    places: tuple[Place, ...] = ()
    repaired: str = ""
    n_still_correct: int = 0
    full_margin: float = float("nan")
    reason: str = ""
    forward_equivalents: dict[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None

    @property
    def share(self) -> float:
        """They as a share of what was evicted; NaN where nothing was."""
        return self.size / self.n_evicted if self.n_evicted else float("nan")

    def restored(self, keep: KeepMask) -> KeepMask:
        """The mask with the entries returned; ValueError for another mask than the one that was searched."""
        if keep.hash != self.keep_hash:
            raise ValueError(
                f"Restoration.restored: the entries belong to the mask {self.keep_hash}; got {keep.hash}."
            )
        flat = keep.keep.cpu().flatten().clone()
        flat[torch.tensor(self.numbers, dtype=torch.long)] = True
        return KeepMask(flat.reshape(keep.keep.shape))

    @property
    def in_words(self) -> str:
        """One sentence."""
        if self.status == "not_a_failure":
            return f"nothing to repair: the compressed answer {self.compressed!r} is correct"
        if self.status == "baseline_failure":
            return f"nothing to restore: {self.reason} ({self.answer!r})"
        if not self.size:
            return f"no set found: {self.reason}"
        entries = "1 entry" if self.size == 1 else f"{self.size} entries"
        named = ", ".join(map(str, self.places[:_N_NAMED]))
        more = len(self.places) - _N_NAMED
        if more > 0:
            named += f" and {more} more place" + ("s" if more > 1 else "")
        if self.status == "certified":
            return f"returning {entries}, {named}, repairs the answer"
        return f"returning {entries}, {named}, is the best found: {self.reason}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON."""
        row = asdict(self) | {"units": [list(unit) for unit in self.units]}
        Path(path).write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Restoration":
        """Read what :meth:`save` wrote; ValueError where it is something else."""
        try:
            row = json.loads(Path(path).read_text("utf-8"))
            row.pop("units")
            lists = ("numbers", "answer_ids", "evidence_positions")
            made: dict[str, Any] = {
                "search": Search(**row["search"]),
                "space": Space(**row["space"]),
                "places": tuple(
                    Place(place["text"], tuple(map(tuple, place["units"])))
                    for place in row["places"]
                ),
                "certificate": row["certificate"] and Certificate(**row["certificate"]),
            }
            return cls(**row | {name: tuple(row[name]) for name in lists} | made)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"Restoration.load: {path} was not written by Restoration.save ({error})."
            ) from error

    def __str__(self) -> str:
        lines = [
            f"{self.in_words} · {self.model} · item {self.item_id}",
            f"full cache {self.answer!r}, compressed {self.compressed!r} ({self.compressed_outcome})",
        ]
        if self.size:
            where = (
                "some on the answer's tokens" if self.touches_evidence else "none on the answer's"
            )
            lines.append(
                f"{self.size} of {self.n_evicted:,} evicted entries ({self.share:.2%}), {where} · margin "
                f"{self.search.margin:g} · {self.cost:.0f} forward equivalents"
            )
            if self.status == "certified":
                lines.append(
                    "without any one of them the full cache's answer is lost; it is still correct in other words "
                    f"{self.n_still_correct} of {self.size} times"
                )
        lines += [
            f"{place.positions[0]:5} {place.text!r:18} "
            + " ".join(f"L{layer}K{kv_head}" for layer, kv_head, _ in place.units)
            for place in self.places
        ]
        return "\n".join(lines)


def places_of(cache: ContextCache, space: Space, numbers: tuple[int, ...]) -> tuple[Place, ...]:
    """The entries by runs of neighbouring tokens, those with most entries first."""
    units = space.units(numbers)
    positions = sorted({pos for *_, pos in units})
    starts = [at for at in positions if at - 1 not in positions]
    found = []
    for start in starts:
        end = next(at for at in range(start, space.n_prefix + 1) if at not in positions)
        here = tuple(unit for unit in units if start <= unit[-1] < end)
        found.append(Place(_text(cache, start, end), here))
    return tuple(sorted(found, key=lambda place: -len(place.units)))


def _text(cache: ContextCache, start: int, end: int) -> str:
    """What the tokens say: the passage's own words, or the tokens' text outside of it; shortened."""
    prompt, tokenizer = cache.prompt, model_info(cache.model).tokenizer
    inside = prompt.offsets[start:end]
    if inside and inside[0][0] >= 0 and inside[-1][1] <= len(prompt.context):
        text = prompt.context[inside[0][0] : inside[-1][1]]
    elif tokenizer is not None:
        text = tokenizer.decode(list(prompt.prefix_ids[start:end]))
    else:
        text = " ".join(map(str, prompt.prefix_ids[start:end]))
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _ranges(layers: tuple[int, ...]) -> str:
    """``L3, L5–L7``."""
    starts = [layer for layer in layers if layer - 1 not in layers]
    ends = [layer for layer in layers if layer + 1 not in layers]
    return ", ".join(f"L{a}" if a == b else f"L{a}–L{b}" for a, b in zip(starts, ends, strict=True))
