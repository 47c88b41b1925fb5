"""Tickets proved once more, by nothing that their search or their certificate uses (D17).

A set of units is judged by the definition alone: the whole sequence so far (prefix, question, the answer's tokens) goes through the model in
one plain forward a token, without any cache, and greedy decoding must give the answer's tokens with enough of the full model's
margin. In rows after the prefix an entry of the prefix outside the set is ablated: ``renorm`` adds −∞ to its score, ``zero`` multiplies its
weight by 0 after the softmax. Two models are run so: a Hugging Face model, whose attention function is replaced (:class:`HuggingFace`), and an
attention-only model written out by hand from its state dict in float64 (:class:`ByHand`).

Of a ticket only ``units``, ``search.ablation``, ``search.margin``, ``search.protect`` and ``answer_ids`` are read. No tolerance is used: a
certified ticket is one that is clear of the criterion by more than rounding.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

Unit = tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """For each set of a batch which entries of the prefix stay readable: ``kept`` is [batch, layer, head, row, pos]."""

    kept: Tensor
    ablation: str

    def rows(self, chosen: Sequence[int]) -> "Cut":
        """The same for some of the sets."""
        return replace(self, kept=self.kept[list(chosen)])

    def pattern(self, scores: Tensor, layer: int) -> Tensor:
        """The attention pattern of a whole sequence, [batch, head, q_pos, k_pos], from its causally masked scores."""
        batch, _, _, n_rows, n_prefix = self.kept.shape
        after = scores.shape[2] - n_prefix
        assert 0 < after <= n_rows and len(scores) == batch
        stays = torch.ones_like(scores)
        stays[:, :, n_prefix:, :n_prefix] = self.kept[:, layer, :, :after].to(scores)
        if self.ablation == "renorm":
            return torch.softmax(scores + stays.log(), dim=-1)
        assert self.ablation == "zero"
        return torch.softmax(scores, dim=-1) * stays


@dataclass(frozen=True)
class Shape:
    """Layers, query heads and KV heads."""

    n_layers: int
    n_heads: int
    n_kv_heads: int


def ablated_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    cut: Cut,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Eager attention with a cut: what Hugging Face calls in place of its own, [batch, head, pos, d_head] in."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    pattern = cut.pattern(query @ key.transpose(2, 3) * scaling + attention_mask, module.layer_idx)
    return (pattern @ value).transpose(1, 2).contiguous(), pattern


AttentionInterface.register("ablated", ablated_attention)
AttentionMaskInterface.register("ablated", eager_mask)


class HuggingFace:
    """A Hugging Face model of its own (its attention function is replaced for good)."""

    def __init__(self, model: Any) -> None:
        config = model.config
        if getattr(config, "attn_logit_softcapping", None):
            raise ValueError("independent_certifier: no attention with a soft cap is written here.")
        model.eval().set_attn_implementation("ablated")
        self.model = model
        self.shape = Shape(
            config.num_hidden_layers, config.num_attention_heads, config.num_key_value_heads
        )

    @torch.no_grad()
    def __call__(self, ids: Sequence[int], cut: Cut, n_last: int = 1) -> Tensor:
        """Logits after each of the last ids under each set of the cut: [batch, n_last, d_vocab]."""
        row = torch.tensor([list(ids)], device=self.model.device).expand(len(cut.kept), -1)
        on_device = replace(cut, kept=cut.kept.to(row.device))
        out = self.model(input_ids=row, use_cache=False, logits_to_keep=n_last, cut=on_device)
        return out.logits.double().cpu()


class ByHand:
    """An attention-only HookedTransformer without norms, from its state dict alone."""

    def __init__(self, model: Any) -> None:
        self.weights = {
            name.replace("._", "."): tensor.double() for name, tensor in model.state_dict().items()
        }
        strange = [
            name
            for name in self.weights
            if name.split(".")[0] not in ("embed", "pos_embed", "unembed") and ".attn." not in name
        ]
        if strange:
            raise ValueError(
                f"independent_certifier: only attention is written here; got {strange}."
            )
        n_layers = sum(name.endswith("attn.W_Q") for name in self.weights)
        self.shape = Shape(
            n_layers,
            len(self.weights["blocks.0.attn.W_Q"]),
            len(self.weights["blocks.0.attn.W_K"]),
        )

    def __call__(self, ids: Sequence[int], cut: Cut, n_last: int = 1) -> Tensor:
        """Logits after each of the last ids under each set of the cut: [batch, n_last, d_vocab]."""
        at = self.weights
        stream = at["embed.W_E"][list(ids)] + at["pos_embed.W_pos"][: len(ids)]
        stream = stream.expand(len(cut.kept), -1, -1)
        for layer in range(self.shape.n_layers):
            stream = stream + self._attention(layer, stream, cut)
        return stream[:, -n_last:] @ at["unembed.W_U"] + at["unembed.b_U"]

    def _attention(self, layer: int, stream: Tensor, cut: Cut) -> Tensor:
        def projected(name: str) -> Tensor:
            """[batch, head, pos, d_head], one for each query head."""
            weight, bias = (
                self.weights[f"blocks.{layer}.attn.{kind}_{name}"] for kind in ("W", "b")
            )
            heads = torch.einsum("bpm,hmd->bhpd", stream, weight) + bias[:, None]
            return heads.repeat_interleave(self.shape.n_heads // len(weight), dim=1)

        q, k, v = (projected(name) for name in "QKV")
        n = stream.shape[1]
        future = torch.full((n, n), -torch.inf, dtype=stream.dtype).triu(1)
        pattern = cut.pattern(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5 + future, layer)
        w_o, b_o = (self.weights[f"blocks.{layer}.attn.{name}_O"] for name in ("W", "b"))
        return torch.einsum("bhpd,hdm->bpm", pattern @ v, w_o) + b_o


@dataclass(frozen=True)
class Proof:
    """Whether a ticket is sufficient and 1-minimal, or the reason why not.

    ``full`` and ``margin`` are the mean margins (logits) of everything and of the ticket, NaN where another answer comes; ``worst`` the largest
    that taking out a unit leaves, −∞ where every removal changes the answer.
    """

    holds: bool
    reason: str
    full: float
    margin: float
    worst: float
    n_removals: int


def certify(
    model: HuggingFace | ByHand,
    prefix: Sequence[int],
    suffix: Sequence[int],
    ticket: Any,
    *,
    batch_size: int = 32,
    at_once: bool = False,
) -> Proof:
    """The proof of a ticket on a prompt, given as ids before and after the point where ablation starts.

    ``at_once`` reads all of the answer's tokens in one forward in place of one each: in a causal model greedy decoding gives them exactly when each
    is the argmax after those before it.
    """
    units, answer = frozenset(ticket.units), tuple(ticket.answer_ids)
    n_rows = len(suffix) + len(answer) - 1
    search = ticket.search

    def kept(chosen: Collection[Unit]) -> Tensor:
        return readable(chosen, model.shape, n_rows, len(prefix), search.protect)

    def judged(sets: Iterator[Tensor]) -> list[float]:
        found = []
        while some := list(islice(sets, batch_size)):
            cut = Cut(torch.stack(some), search.ablation)
            found += margins(model, (*prefix, *suffix), answer, cut, at_once=at_once)
        return found

    (full,) = judged(iter([torch.ones_like(kept(()))]))
    (whole,) = judged(iter([kept(units)]))
    nan, needed = float("nan"), search.margin * full
    if full != full:
        return Proof(False, "the whole model gives another answer", full, whole, nan, 0)
    if whole != whole:
        return Proof(False, "the set gives another answer", full, whole, nan, 0)
    if whole < needed:
        return Proof(False, f"{whole:.6g} of {needed:.6g} logits", full, whole, nan, 0)
    order = sorted(units)
    left = judged(kept(units - {unit}) for unit in order)
    spare = [unit for unit, margin in zip(order, left, strict=True) if margin >= needed]
    worst = max((margin for margin in left if margin == margin), default=-torch.inf)
    reason = f"{spare[0]} can go, and {len(spare) - 1} more" if spare else ""
    return Proof(not spare, reason, full, whole, worst, len(left))


def readable(
    units: Collection[Unit], shape: Shape, n_rows: int, n_prefix: int, protect: int
) -> Tensor:
    """Which entries a set of units keeps, [layer, head, row, pos]: (pos,), (layer, kv_head, pos) or (layer, head, row, pos)."""
    kept = torch.zeros(shape.n_layers, shape.n_heads, n_rows, n_prefix, dtype=torch.bool)
    kept[..., :protect] = True
    group = shape.n_heads // shape.n_kv_heads
    for unit in units:
        if len(unit) == 1:
            kept[:, :, :, unit[0]] = True
        elif len(unit) == 3:
            layer, kv_head, pos = unit
            kept[layer, kv_head * group : (kv_head + 1) * group, :, pos] = True
        else:
            kept[unit] = True
    return kept


def margins(
    forward: HuggingFace | ByHand,
    prompt: tuple[int, ...],
    answer: tuple[int, ...],
    cut: Cut,
    *,
    at_once: bool = False,
) -> list[float]:
    """Each set's mean margin over the answer's tokens, greedily decoded; NaN where another token comes."""
    total = torch.zeros(len(cut.kept), dtype=torch.float64)
    going = list(range(len(total)))
    step = len(answer) if at_once else 1
    for start in range(0, len(answer), step):
        if not going:
            break
        wanted = torch.tensor(answer[start : start + step])
        ids = (*prompt, *answer[: start + step - 1])
        logits = forward(ids, cut.rows(going), len(wanted))
        index = wanted[None, :, None].expand(len(logits), -1, 1)
        others = logits.scatter(2, index, -torch.inf).amax(-1)
        margin = logits.gather(2, index)[..., 0] - others
        total[going] += margin.masked_fill(logits.argmax(-1) != wanted, torch.nan).sum(1)
        going = [one for one in going if not total[one].isnan()]
    return (total / len(answer)).tolist()
