"""Every subset of a few units, tried: the reference for whatever searches for routes.

A subset is what stays; every other candidate unit is ablated, ``zero`` (its cells of the pattern are multiplied by 0 after the
softmax) or ``renorm`` (−∞ on its scores). It is sufficient when the tokens of the full cache's greedy answer are
unchanged and their mean logit margin is at least ``margin`` times the full cache's (D17). Subsets are rows of a batch over
one shared prefix, the answer's tokens forced; nothing is searched, and nothing is left out.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

import routelens as rl
from routelens.models import SharedPrefix, adapter_of

Unit = tuple[int, ...]


@dataclass(frozen=True)
class Lattice:
    """All subsets of ``units``: bit i of a subset's index says whether unit i stays.

    ``distance`` is how far a subset is from changing sides, in shares of the full margin: to the margin asked for or to
    another token, whichever is nearer; negative where it is insufficient.
    """

    units: tuple[Unit, ...]
    distance: np.ndarray

    @property
    def sufficient(self) -> np.ndarray:
        """For each subset whether the answer stands."""
        return self.distance >= 0

    @property
    def slack(self) -> float:
        """The smallest distance of any subset from the criterion: how little rounding could matter."""
        return float(np.abs(self.distance).min())

    def index(self, units) -> int:
        """The index of a subset."""
        return sum(1 << self.units.index(unit) for unit in units)

    def says(self, units) -> bool:
        """Whether this subset is sufficient."""
        return bool(self.sufficient[self.index(units)])

    @property
    def minimal(self) -> set[frozenset[Unit]]:
        """Sufficient sets that hold no smaller sufficient set."""
        below = (
            self.sufficient.copy()
        )  # whether the subset holds any sufficient one, itself included
        for i in range(len(self.units)):
            pairs = below.reshape(-1, 2, 1 << i)
            pairs[:, 1] |= pairs[:, 0]
        return self._sets(self.sufficient & ~self._one_less(below))

    @property
    def one_minimal(self) -> set[frozenset[Unit]]:
        """Sufficient sets from which no single unit can be taken: what a ticket certifies."""
        return self._sets(self.sufficient & ~self._one_less(self.sufficient))

    def _one_less(self, truth: np.ndarray) -> np.ndarray:
        """For each subset whether it is true of the subset without one of its units."""
        found = np.zeros_like(truth)
        for i in range(len(self.units)):
            found.reshape(-1, 2, 1 << i)[:, 1] |= truth.reshape(-1, 2, 1 << i)[:, 0]
        return found

    def _sets(self, chosen: np.ndarray) -> set[frozenset[Unit]]:
        return {
            frozenset(unit for i, unit in enumerate(self.units) if index >> i & 1)
            for index in np.flatnonzero(chosen).tolist()
        }


def minimal_sets(cache, units, *, ablation="zero", margin=0.5) -> set[frozenset[Unit]]:
    """All minimal sufficient sets of the units."""
    return brute_force(cache, units, ablation=ablation, margin=margin).minimal


def context_units(cache, unit: str, *, n_rows: int | None = None) -> list[Unit]:
    """Every unit of the context: (layer, head, row, pos), (layer, kv_head, pos) or (pos,).

    ``n_rows`` (default: all) counts rows from the first token after the prefix to the one that predicts the answer's last token.
    """
    info = rl.model_info(cache.model)
    if n_rows is None:
        n_rows = len(cache.prompt.suffix_ids) + len(rl.answer(cache).token_ids) - 1
    axes = {
        "edge": (info.n_layers, info.n_heads, n_rows, cache.n_prefix),
        "kv": (info.n_layers, info.n_kv_heads, cache.n_prefix),
        "token": (cache.n_prefix,),
    }[unit]
    return list(np.ndindex(*axes))


@torch.no_grad()
def brute_force(
    cache, units, *, ablation="zero", margin=0.5, rest="kept", batch_size=4096
) -> Lattice:
    """The lattice of all 2^N subsets of ``units`` (N ≤ 16; units of one kind), for the cache's own item.

    ``rest`` says what happens to the cells of the context that belong to no unit: "kept" or "ablated", in every subset.
    """
    assert ablation in ("zero", "renorm") and rest in ("kept", "ablated")
    units = tuple(units)
    if not 0 < len(units) <= 16 or len(set(units)) < len(units):
        raise ValueError(f"brute_force takes 1 to 16 different units; got {len(units)}.")
    answer = torch.tensor(rl.answer(cache).token_ids)
    forced = torch.tensor([*cache.prompt.suffix_ids, *answer[:-1].tolist()])
    cells = _cells(cache, units, len(forced))
    subsets = np.arange(1 << len(units))
    bits = torch.from_numpy(subsets[:, None] >> np.arange(len(units)) & 1).float()
    nothing = torch.ones(1, *cells.shape)
    full = _margins(cache, forced, answer, {"gate": nothing}).mean()
    per_token = torch.cat(
        [
            _margins(cache, forced, answer, _edit(some, cells, ablation, rest))
            for some in bits.split(batch_size)
        ]
    )
    at_stake = torch.minimum(per_token.mean(1) - margin * full, per_token.min(1).values)
    return Lattice(units, (at_stake / full).numpy())


@dataclass(frozen=True)
class Cells:
    """Cells of [n_layers, n_heads, row, pos], by their flat index, with the unit that each belongs to."""

    shape: tuple[int, ...]
    where: torch.Tensor
    owner: torch.Tensor


def _cells(cache, units, n_rows: int) -> Cells:
    info = rl.model_info(cache.model)
    shape = (info.n_layers, info.n_heads, n_rows, cache.n_prefix)
    group = info.n_heads // info.n_kv_heads
    where, owner = [], []
    for index, unit in enumerate(units):
        mask = torch.zeros(shape, dtype=torch.bool)
        if len(unit) == 4:
            mask[unit] = True
        elif len(unit) == 3:
            layer, kv_head, pos = unit
            mask[layer, kv_head * group : (kv_head + 1) * group, :, pos] = True
        else:
            mask[..., unit[0]] = True
        where.append(mask.flatten().nonzero()[:, 0])
        owner.append(torch.full_like(where[-1], index))
    return Cells(shape, torch.cat(where), torch.cat(owner))


def _edit(bits, cells: Cells, ablation: str, rest: str):
    """The gates or biases of a batch of subsets."""
    kept = torch.full((len(bits), math.prod(cells.shape)), float(rest == "kept"))
    kept[:, cells.where] = bits[:, cells.owner]
    kept = kept.reshape(len(bits), *cells.shape)
    return {"gate": kept} if ablation == "zero" else {"bias": kept.log()}


def _margins(cache, forced, answer, edit):
    """[subset, answer token]: each answer token's logit minus the best other."""
    adapter, n = adapter_of(cache.model), cache.n_prefix
    batch = len(next(iter(edit.values())))
    slots = torch.arange(len(forced)).expand(batch, -1)
    attention = SharedPrefix(
        [k[:, :n] for k in cache.keys], [v[:, :n] for v in cache.values], n_prefix=n, **edit
    )
    rows = slots[:, len(forced) - len(answer) :]
    logits = adapter.run(
        forced.expand(batch, -1), slots + n, attention.at(slots), logit_rows=rows
    ).float()
    chosen = answer.expand(batch, -1)[..., None]
    own = logits.gather(-1, chosen)[..., 0]
    best_other = logits.scatter(-1, chosen, -torch.inf).max(-1).values
    return own - best_other
