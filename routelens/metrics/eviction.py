"""What a keep mask removed: global eviction of tokens (D3), of the evidence (D4), its erasure (D6), and the sizes (D1).

A token's global eviction g is, per scope: ``layer``, 1 where no KV head of the layer keeps it,
averaged over layers (primary [C]); ``model``, 1 where no (layer, head) keeps it; ``soft``, the
share of (layer, head) pairs that do not. The paper's GER (https://arxiv.org/abs/2603.01426) is the
first or the second [I].
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.types import KeepMask, TokenGroup

Scope = Literal["layer", "model", "soft"]
Keep = KeepMask | Bool[Tensor, "n_layers n_kv_heads k_pos"]
Positions = Iterable[int] | Tensor | np.ndarray


@dataclass(frozen=True)
class Erasure:
    """Whether an item's evidence is erased (D6), per scope, for all required groups and for each role apart.

    None where there is no such group, or where a group without located tokens leaves the answer
    open.
    """

    layer: bool | None
    model: bool | None
    strict: bool | None
    payload_layer: bool | None
    payload_model: bool | None
    bridge_layer: bool | None
    bridge_model: bool | None


@dataclass(frozen=True)
class Sizes:
    """How much of a cache is left (D1): entries are (layer, KV head, position) triples; bytes count keys and values."""

    compression_ratio: float
    kept_per_head_mean: float
    kept_per_head_min: int
    kept_content_tokens: float
    bytes_kept: int
    bytes_full: int


def token_eviction(keep: Keep, *, scope: Scope = "layer") -> Float[Tensor, " k_pos"]:
    """Global eviction g of every prefix token, in [0, 1] (D3; layer [C], model and soft [I])."""
    kept = _bool(keep)
    if scope == "layer":
        return (~kept.any(dim=1)).double().mean(dim=0)
    if scope == "model":
        return (~kept.flatten(0, 1).any(dim=0)).double()
    if scope == "soft":
        return (~kept).double().mean(dim=(0, 1))
    raise ValueError(f"token_eviction: scope is one of {get_args(Scope)}; got {scope!r}.")


def eviction_rate(keep: Keep, content_positions: Positions, *, scope: Scope = "layer") -> float:
    """Mean global eviction over the content tokens; NaN where there is none (D4)."""
    return _mean_at(token_eviction(keep, scope=scope), content_positions, "eviction_rate")


def global_eviction_ratio(
    keep: Keep, answer_positions: Positions, *, scope: Scope = "layer"
) -> float:
    """GER: mean global eviction over the answer-relevant tokens; NaN where there is none (D4 [S])."""
    return _mean_at(token_eviction(keep, scope=scope), answer_positions, "global_eviction_ratio")


def delta_ger(
    keep: Keep,
    answer_positions: Positions,
    content_positions: Positions,
    *,
    scope: Scope = "layer",
) -> float:
    """GER - eviction rate: above 0 where the evidence is hit harder than the average content token (D4 [C])."""
    ger = global_eviction_ratio(keep, answer_positions, scope=scope)
    return ger - eviction_rate(keep, content_positions, scope=scope)


def k_eff(keep: Keep, positions: Positions) -> float:
    """ln(rate_layer) / ln(α_eff) over the same tokens: how many KV heads act independently (D4 [C]).

    1 where all heads evict alike, n_kv_heads where they evict independently; NaN at a rate of 0 or
    1.
    """
    chosen = _index(positions, _bool(keep), "k_eff").tolist()
    rate = eviction_rate(keep, chosen, scope="layer")
    removed = eviction_rate(keep, chosen, scope="soft")
    if not (0 < rate < 1 and 0 < removed < 1):
        return math.nan
    return math.log(rate) / math.log(removed)


def group_intact(keep: Keep, group: TokenGroup) -> Bool[Tensor, " n_layers"]:
    """Per layer, whether some occurrence has every token kept by at least one KV head of that layer (D6)."""
    kept = _bool(keep)
    return _intact(kept.any(dim=1), group)


def erasure(keep: Keep, groups: Sequence[TokenGroup]) -> Erasure:
    """Whether the evidence is erased under the mask (D6).

    ``layer`` (primary [C]): some required group is not intact in at least half of the layers (half
    counts as erased). ``model``: some required group has no occurrence whose every token is kept by
    at least one (layer, head). ``strict``: every payload token is gone from every layer and head.
    """
    kept = _bool(keep)
    in_layer, anywhere = kept.any(dim=1), kept.flatten(0, 1).any(dim=0)[None]
    by_layer = [_erased(in_layer, group) for group in groups]
    by_model = [_erased(anywhere, group) for group in groups]

    def some(flags: list[bool | None], role: str | None = None) -> bool | None:
        chosen = [f for f, g in zip(flags, groups, strict=True) if role in (None, g.role)]
        if True in chosen:
            return True
        return None if not chosen or None in chosen else False

    payload = [t for g in groups if g.role == "payload" for occ in g.occurrences for t in occ]
    strict = not bool(anywhere[0, _index(payload, kept, "erasure")].any()) if payload else None
    return Erasure(
        layer=some(by_layer),
        model=some(by_model),
        strict=strict,
        payload_layer=some(by_layer, "payload"),
        payload_model=some(by_model, "payload"),
        bridge_layer=some(by_layer, "bridge"),
        bridge_model=some(by_model, "bridge"),
    )


def sizes(
    keep: Keep, content_positions: Positions, *, d_head: int, bytes_per_element: int
) -> Sizes:
    """What is left of the cache, in entries, content tokens and bytes (D1).

    ``kept_content_tokens`` is the mean over layers and KV heads of the content tokens kept. Bytes
    are an estimate of a real cache (masking saves none): 2 (key and value) x entries x d_head x
    bytes per element, over KV heads, not query heads.
    """
    kept = _bool(keep)
    per_head = kept.sum(dim=-1)
    content = kept[..., _index(content_positions, kept, "sizes")].sum(dim=-1)
    entry = 2 * d_head * bytes_per_element
    return Sizes(
        compression_ratio=1.0 - int(per_head.sum()) / max(1, kept.numel()),
        kept_per_head_mean=float(per_head.double().mean()),
        kept_per_head_min=int(per_head.min()),
        kept_content_tokens=float(content.double().mean()),
        bytes_kept=entry * int(per_head.sum()),
        bytes_full=entry * kept.numel(),
    )


def _bool(keep: Keep) -> Bool[Tensor, "n_layers n_kv_heads k_pos"]:
    mask = keep if isinstance(keep, KeepMask) else KeepMask(keep)
    return mask.keep.cpu()


def _index(positions: Positions, kept: Tensor, who: str) -> Tensor:
    chosen = torch.as_tensor(
        positions if isinstance(positions, Tensor | np.ndarray) else list(positions)
    ).to(kept.device, torch.long)
    k_pos = kept.shape[-1]
    outside = chosen[(chosen < 0) | (chosen >= k_pos)]
    if outside.numel():
        raise ValueError(
            f"{who}: positions index the prefix and lie in [0, {k_pos}); got {sorted(outside.tolist())}."
        )
    return chosen


def _mean_at(evicted: Tensor, positions: Positions, who: str) -> float:
    chosen = _index(positions, evicted, who)
    return float(evicted[chosen].mean()) if chosen.numel() else math.nan


def _intact(held: Tensor, group: TokenGroup) -> Tensor:
    """Per row of ``held`` [row, k_pos], whether some occurrence is held whole."""
    whole = [held[:, _index(run, held, "erasure")].all(dim=-1) for run in group.occurrences if run]
    return torch.stack(whole).any(dim=0) if whole else held.new_zeros(held.shape[0])


def _erased(held: Tensor, group: TokenGroup) -> bool | None:
    if not any(group.occurrences):
        return None
    return bool((~_intact(held, group)).double().mean() >= 0.5)
