"""The criterion of a ticket (D17 [C]): does the model still give its own answer when only these units are left?

The answer's tokens are fed back as they stand (teacher-forced): greedy decoding gives them exactly when each is the argmax at its
row, so one forward of question and answer rows over the shared prefix judges a set, and many sets share a batch. A forward can start
at the first layer where a batch differs from a set whose states are known. A set *suffices* when every token is still the argmax and
the mean margin (a token's logit minus the best other) is at least ``margin`` times the full cache's, both by more than a tolerance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from routelens.batches import shared_attention
from routelens.cache import ContextCache
from routelens.models import SharedPrefix, adapter_of
from routelens.routes.units import Space
from routelens.types import AttentionEdit

TOLERANCE = 1e-4
"""Of max(1, |full margin|): fp32 rounding between batch layouts (D17)."""

_TOKENS_AT_ONCE = 2048
_FULL_ENOUGH = 8


@dataclass(frozen=True)
class Verdicts:
    """For each set of a batch: its mean and its weakest token margin, in logits; the weakest is below 0 where a token changed."""

    mean: Float[Tensor, " batch"]
    weakest: Float[Tensor, " batch"]


@dataclass
class Cost:
    """Forward equivalents: a forward of question and answer rows counts 1, its part from layer l on (L − l) / L, forward and backward 3."""

    forwards: float = 0.0
    by_stage: dict[str, float] = field(default_factory=dict)
    stage: str = ""

    def add(self, forwards: float) -> None:
        self.forwards += forwards
        self.by_stage[self.stage] = self.by_stage.get(self.stage, 0.0) + forwards


class Criterion:
    """Judges sets of units by the answer that the full cache gives.

    Args:
        cache: the prefilled passage.
        suffix: ids of the question's rows.
        answer: ids of the full cache's greedy answer, without the stop token.
        space: the units.
        ablation: what happens to those that are left out.
        margin: the share of the full cache's mean margin that must remain.
        always: units that are kept in every set (protected ones).
    """

    def __init__(
        self,
        cache: ContextCache,
        suffix: tuple[int, ...],
        answer: tuple[int, ...],
        space: Space,
        *,
        ablation: str,
        margin: float,
        always: Bool[Tensor, " n_units"],
    ) -> None:
        self.cache, self.space, self.ablation, self.margin = cache, space, ablation, margin
        self.adapter = adapter_of(cache.model)
        self.answer, self.always = answer, always
        self.ids = torch.tensor([[*suffix, *answer[:-1]]])
        self.rows = torch.arange(len(suffix) - 1, len(suffix) - 1 + len(answer))
        self.cost = Cost()
        self._known: tuple[Bool[Tensor, " n_units"], list[Tensor]] | None = None
        full = torch.ones(1, space.n_units, dtype=torch.bool)
        self.full_margin = float(self.judge(full).mean[0])
        self.tolerance = TOLERANCE * max(1.0, abs(self.full_margin))

    @property
    def n_rows(self) -> int:
        return self.ids.shape[1]

    def suffices(self, verdicts: Verdicts) -> Bool[Tensor, " batch"]:
        """Sets that suffice for certain: every token by more than the tolerance, and the margin too."""
        enough = verdicts.mean >= self.margin * self.full_margin + self.tolerance
        return enough & (verdicts.weakest > self.tolerance)

    def judge(self, sets: Bool[Tensor, "batch n_units"]) -> Verdicts:
        """Margins under each set of units, in batches that share the prefix and, where they can, their lower layers."""
        sets = sets | self.always
        first = self._first_difference(sets)
        mean, weakest = torch.empty(len(sets)), torch.empty(len(sets))
        for chosen in _batches(first, max(1, _TOKENS_AT_ONCE // self.n_rows)):
            margins = self._margins(sets[chosen], int(first[chosen[0]]))
            mean[chosen], weakest[chosen] = margins.mean(1), margins.amin(1)
        return Verdicts(mean, weakest)

    def remember(self, chosen: Bool[Tensor, " n_units"]) -> None:
        """Keep the states of a set, so that sets which differ from it in upper layers alone start there."""
        if not self.adapter.can_start_late or self.space.kind == "token":
            return
        states: list[Tensor] = []
        self._margins(
            (chosen | self.always)[None], 0, residual=lambda _, stream: states.append(stream)
        )
        self._known = (chosen | self.always, states)

    def attention(self, sets: Bool[Tensor, "batch n_units"]) -> SharedPrefix:
        """Attention under each set."""
        attention = shared_attention(self.cache, [AttentionEdit()])
        device = self.cache.keys[0].device
        kept = self.space.kept(sets).to(device)
        if self.ablation == "renorm" and self.space.kind != "edge":
            attention.keep = kept
        elif self.ablation == "renorm":
            attention.bias = self.space.per_head(kept.float()).log()
        else:
            attention.gate = self.space.per_head(kept.float())
        return attention

    @torch.no_grad()
    def _margins(
        self,
        sets: Bool[Tensor, "batch n_units"],
        first: int,
        residual: Callable[[int, Tensor], None] | None = None,
    ) -> Float[Tensor, "batch answer_token"]:
        batch = len(sets)
        start = None
        if first and self._known is not None:
            start = (first, self._known[1][first].expand(batch, -1, -1))
        self.cost.add(batch * (1 - first / self.space.n_layers))
        return self.answer_margins(self.run(self.attention(sets), batch, start, residual)).cpu()

    def run(
        self,
        attention: SharedPrefix,
        batch: int,
        start: tuple[int, Tensor] | None = None,
        residual: Callable[[int, Tensor], None] | None = None,
    ) -> Float[Tensor, "batch answer_token d_vocab"]:
        """Logits at the answer's rows."""
        ids = self.ids.expand(batch, -1)
        slots = torch.arange(self.n_rows).expand(batch, -1)
        logits = self.adapter.run(
            ids,
            slots + self.cache.n_prefix,
            attention.at(slots),
            logit_rows=self.rows.expand(batch, -1),
            residual=residual,
            start=start,
        )
        assert logits is not None
        return logits.float()

    def answer_margins(
        self, logits: Float[Tensor, "batch answer_token d_vocab"]
    ) -> Float[Tensor, "batch answer_token"]:
        """Each answer token's logit minus the best other."""
        answer = torch.tensor(self.answer, device=logits.device)
        index = answer[None, :, None].expand(len(logits), -1, 1)
        own = logits.gather(2, index)[..., 0]
        return own - logits.scatter(2, index, -torch.inf).amax(-1)

    def _first_difference(self, sets: Bool[Tensor, "batch n_units"]) -> Tensor:
        """The first layer in which each set differs from the remembered one; 0 without one."""
        if self._known is None or self.space.kind == "token":
            return torch.zeros(len(sets), dtype=torch.long)
        per_layer = (sets ^ self._known[0]).reshape(len(sets), self.space.n_layers, -1).any(-1)
        same = (~per_layer).long().cumprod(1).sum(1)
        return same.clamp(max=self.space.n_layers - 1)


def _batches(first: Int[Tensor, " batch"], size: int) -> Iterator[Int[Tensor, " some"]]:
    """The sets in batches of at most ``size``, by the layer they start at; a layer shares a batch only with one too small to fill it."""
    order = torch.argsort(first, stable=True)
    at = 0
    while at < len(order):
        chosen = order[at : at + size]
        lowest = int(first[chosen[0]])
        same = int((first[chosen] == lowest).sum())
        chosen = chosen[: max(same, _FULL_ENOUGH)]
        yield chosen
        at += len(chosen)
