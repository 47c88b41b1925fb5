"""What is asked of a ticket: everything its statement says, and nothing implied (D17 [C])."""

import math
from dataclasses import dataclass
from typing import Any

from routelens.cache import ContextCache, prefill
from routelens.routes.attribution import RANKINGS
from routelens.routes.units import ABLATIONS, UNIT_KINDS
from routelens.types import Item


@dataclass(frozen=True)
class Search:
    """How to look for a ticket; every field is part of the ticket's statement.

    Args:
        unit: "kv", "edge" or "token".
        ablation: "renorm" (physical eviction) or "zero"; default renorm, for edges zero.
        margin: share of the full cache's mean margin that must remain, in [0, 1].
        protect: leading positions that are always kept and counted apart (4 protects the sinks).
        budget: forward equivalents at most.
        ranking: what orders the units.
        seed: of the random ranking and of the certificate's order.
    """

    unit: str = "kv"
    ablation: str | None = None
    margin: float = 0.5
    protect: int = 0
    budget: float = 4000.0
    ranking: str = "gradient"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.unit not in UNIT_KINDS:
            raise ValueError(
                f"find_ticket: unit is one of {', '.join(UNIT_KINDS)}; got {self.unit!r}."
            )
        if self.ablation is None:
            object.__setattr__(self, "ablation", "zero" if self.unit == "edge" else "renorm")
        if self.ablation not in ABLATIONS:
            raise ValueError(
                f"find_ticket: ablation is one of {', '.join(ABLATIONS)}; got {self.ablation!r}."
            )
        if self.ranking not in RANKINGS:
            raise ValueError(
                f"find_ticket: ranking is one of {', '.join(RANKINGS)}; got {self.ranking!r}."
            )
        if not (math.isfinite(self.margin) and 0 <= self.margin <= 1):
            raise ValueError(
                "find_ticket: margin is the share of the full cache's margin that must remain, in "
                f"[0, 1]; got {self.margin}."
            )
        if not self.budget > 0:
            raise ValueError(
                f"find_ticket: budget is a number of forward equivalents above 0; got {self.budget}."
            )
        if self.protect < 0:
            raise ValueError(f"find_ticket: protect is a number of positions; got {self.protect}.")


def cache_and_item(
    who: str, model: Any, item: Item | None, cache: ContextCache | None
) -> tuple[ContextCache, Item]:
    """What is searched: the given cache or a prefill for the item, and the given item or the cache's; ValueError without one."""
    if cache is None:
        if item is None:
            raise ValueError(f"{who}: pass an item, or a cache that was made for one.")
        cache = prefill(model, item)
    item = item or cache.item
    if item is None:
        raise ValueError(f"{who}: this cache was made from token ids; pass an item too.")
    return cache, item
