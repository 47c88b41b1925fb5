"""Where attention is replaced: the seam between a TransformerLens model and everything that edits its routing.

While a model runs under :func:`routelens.models.run`, each layer projects and rotates its queries, keys and values as always,
then hands them to an *attend* function in place of softmax(QKᵀ)V. Two are here. :class:`RecordPrefix` is a plain causal
forward that keeps what it saw (the prefill). :class:`SharedPrefix` lets rows of a batch, each with its own mask, read one
prefix that exists once in memory, and their own suffixes:

    scores = [q·K_prefixᵀ | q·K_suffixᵀ]·scale → soft cap → + bias → −∞ where evicted, future or out of the window
    z      = softmax(scores) ∘ gate · [V_prefix | V_suffix]

Evicted keys are masked before the softmax, which equals removing them physically; context rows are never masked, since the
prefix was computed before eviction (D20). The hook points ``hook_attn_scores`` and ``hook_pattern`` fire on the same
tensors as in the model's own forward, so a user's hooks keep working.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Heads:
    """One layer's projected heads: queries and keys after RoPE, and the queries before it."""

    q: Float[Tensor, "batch pos n_heads d_head"]
    k: Float[Tensor, "batch pos n_kv_heads d_head"]
    v: Float[Tensor, "batch pos n_kv_heads d_head"]
    q_unrotated: Float[Tensor, "batch pos n_heads d_head"]


@dataclass(frozen=True)
class AttentionSite:
    """What an attend function must know about the layer it stands in.

    ``scale`` multiplies q·k; ``softcap`` and ``window`` (tokens a query may look back, itself included) are None where the
    layer has none. The two hook points belong to the model.
    """

    layer: int
    scale: float
    softcap: float | None
    window: int | None
    scores_hook: Any
    pattern_hook: Any

    @property
    def hooked(self) -> bool:
        """Whether somebody listens on scores or pattern, so that they must be materialised."""
        return any(
            point.fwd_hooks or point.bwd_hooks or point._forward_hooks
            for point in (self.scores_hook, self.pattern_hook)
        )

    def finish_scores(self, scores: Tensor) -> Tensor:
        """Scores after the soft cap (in place of them where there is none)."""
        if self.softcap is None:
            return scores
        return torch.tanh(scores / self.softcap) * self.softcap


Attend = Callable[[AttentionSite, Heads], Float[Tensor, "batch pos n_heads d_head"]]


def grouped(q: Tensor, n_kv_heads: int) -> Float[Tensor, "n_kv_heads batch group pos d_head"]:
    """Queries by the KV head that serves them: query heads j·G … (j+1)·G − 1 read KV head j."""
    batch, pos, n_heads, d_head = q.shape
    split = q.reshape(batch, pos, n_kv_heads, n_heads // n_kv_heads, d_head)
    return split.permute(2, 0, 3, 1, 4)


def to_hook_layout(grouped_scores: Tensor) -> Float[Tensor, "batch n_heads q_pos k_pos"]:
    """From [n_kv_heads, batch, group, q_pos, k_pos] to TransformerLens's layout."""
    n_kv_heads, batch, group, q_pos, k_pos = grouped_scores.shape
    return grouped_scores.permute(1, 0, 2, 3, 4).reshape(batch, n_kv_heads * group, q_pos, k_pos)


def from_hook_layout(scores: Tensor, n_kv_heads: int) -> Tensor:
    """The inverse of :func:`to_hook_layout`."""
    batch, n_heads, q_pos, k_pos = scores.shape
    split = scores.reshape(batch, n_kv_heads, n_heads // n_kv_heads, q_pos, k_pos)
    return split.permute(1, 0, 2, 3, 4)


class RecordPrefix:
    """Plain causal attention over one row of tokens, recording each layer's keys, values and unrotated queries.

    ``hidden`` marks positions that no later row sees; their own rows still see themselves.
    """

    def __init__(self, *, hidden: Bool[Tensor, " k_pos"] | None = None) -> None:
        self.hidden = hidden
        self.keys: list[Float[Tensor, "n_kv_heads k_pos d_head"]] = []
        self.values: list[Float[Tensor, "n_kv_heads k_pos d_head"]] = []
        self.queries: list[Float[Tensor, "n_heads k_pos d_head"]] = []

    def __call__(self, site: AttentionSite, heads: Heads) -> Tensor:
        """Attention output z of every row."""
        self.keys.append(heads.k[0].transpose(0, 1).contiguous())
        self.values.append(heads.v[0].transpose(0, 1).contiguous())
        self.queries.append(heads.q_unrotated[0].transpose(0, 1).contiguous())
        n_kv_heads = heads.k.shape[2]
        if site.hooked or site.softcap is not None:
            return _causal_eager(site, heads, self.hidden)
        q, k, v = (x.transpose(1, 2) for x in (heads.q, heads.k, heads.v))
        n = q.shape[2]
        causal = None
        if self.hidden is not None or (site.window is not None and n > site.window):
            causal = _visible(torch.arange(n, device=q.device), n, site.window, self.hidden)
        z = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=causal,
            is_causal=causal is None,
            scale=site.scale,
            enable_gqa=q.shape[1] != n_kv_heads,
        )
        return z.transpose(1, 2)


class SharedPrefix:
    """Attention of many suffix rows onto one shared prefix, each row under its own edit.

    ``keep`` is a bool mask per row (None: everything kept). ``gate`` and ``bias`` hold, per row of the batch, one row for
    each suffix token, the last one for all tokens after it too. Suffix keys and values live in slots: slot s of a row is its s-th token after the prefix,
    sees slots ≤ s, and overwrites what an earlier, discarded token left there.
    """

    def __init__(
        self,
        keys: list[Float[Tensor, "n_kv_heads k_pos d_head"]],
        values: list[Float[Tensor, "n_kv_heads k_pos d_head"]],
        *,
        n_prefix: int,
        keep: Bool[Tensor, "batch n_layers n_kv_heads k_pos"] | None = None,
        gate: Float[Tensor, "batch n_layers n_heads row k_pos"] | None = None,
        bias: Float[Tensor, "batch n_layers n_heads row k_pos"] | None = None,
    ) -> None:
        self.keys = keys
        self.values = values
        self.n_prefix = n_prefix
        self.keep = keep
        self.gate = gate
        self.bias = bias
        self.slots: Int[Tensor, "batch pos"] | None = None
        self.listener: Callable[[int, Tensor], None] | None = None
        self._suffix_keys: dict[int, Tensor] = {}
        self._suffix_values: dict[int, Tensor] = {}

    def at(self, slots: Int[Tensor, "batch pos"]) -> "SharedPrefix":
        """The same state, set to read the tokens at ``slots`` next."""
        self.slots = slots
        self._n_slots = int(slots.max()) + 1
        return self

    def select(self, rows: Int[Tensor, " row"]) -> None:
        """Drop every batch row but these: finished rows leave."""
        for store in (self._suffix_keys, self._suffix_values):
            for layer, tensor in store.items():
                store[layer] = tensor[rows.to(tensor.device)]
        for name in ("keep", "gate", "bias"):
            tensor = getattr(self, name)
            if tensor is not None:
                setattr(self, name, tensor[rows.to(tensor.device)])

    def __call__(self, site: AttentionSite, heads: Heads) -> Tensor:
        """Attention output z of the suffix rows."""
        assert self.slots is not None, "SharedPrefix.at(slots) comes first"
        layer, n = site.layer, self.n_prefix
        slots = self.slots.to(heads.q.device)
        suffix_k = self._write(self._suffix_keys, layer, slots, heads.k)
        suffix_v = self._write(self._suffix_values, layer, slots, heads.v)
        n_kv_heads, batch, pos = heads.k.shape[2], heads.q.shape[0], heads.q.shape[1]
        q = grouped(heads.q, n_kv_heads)
        group, d_head = q.shape[2], q.shape[4]

        prefix_scores = torch.matmul(
            q.reshape(n_kv_heads, -1, d_head), self.keys[layer].transpose(1, 2)
        )
        prefix_scores = prefix_scores.reshape(n_kv_heads, batch, group, pos, -1)
        suffix_scores = torch.matmul(
            q.reshape(n_kv_heads, batch, group * pos, d_head), suffix_k.permute(2, 0, 3, 1)
        ).reshape(n_kv_heads, batch, group, pos, -1)
        scores = torch.cat([prefix_scores, suffix_scores], dim=-1).mul_(site.scale)
        scores = site.finish_scores(scores)
        if self.bias is not None:
            scores[..., :n] += self._rows(self.bias, layer, slots, n_kv_heads)
        if self.keep is not None:
            kept = self.keep[:, layer].to(scores.device).transpose(0, 1)[:, :, None, None, :]
            scores[..., :n].masked_fill_(~kept, -torch.inf)
        self._hide_future(scores, slots, site.window)
        if site.hooked:
            scores = from_hook_layout(site.scores_hook(to_hook_layout(scores)), n_kv_heads)

        pattern = _softmax(scores)
        if self.gate is not None:
            gate = self._rows(self.gate, layer, slots, n_kv_heads)
            pattern = torch.cat([pattern[..., :n] * gate, pattern[..., n:]], dim=-1)
        if site.hooked:
            pattern = from_hook_layout(site.pattern_hook(to_hook_layout(pattern)), n_kv_heads)
        if self.listener is not None:
            self.listener(layer, to_hook_layout(pattern))

        pattern = pattern.to(heads.v.dtype)
        z = torch.matmul(pattern[..., :n].reshape(n_kv_heads, -1, n), self.values[layer]).reshape(
            n_kv_heads, batch, group, pos, d_head
        )
        z = z + torch.matmul(
            pattern[..., n:].reshape(n_kv_heads, batch, group * pos, -1),
            suffix_v.permute(2, 0, 1, 3),
        ).reshape(n_kv_heads, batch, group, pos, d_head)
        return z.permute(1, 3, 0, 2, 4).reshape(batch, pos, n_kv_heads * group, d_head)

    def _write(self, store: dict[int, Tensor], layer: int, slots: Tensor, new: Tensor) -> Tensor:
        """Put the new tokens into their slots; the store's rows up to the last slot in use."""
        batch, _, n_kv_heads, d_head = new.shape
        buffer = store.get(layer)
        capacity = 0 if buffer is None else buffer.shape[1]
        if capacity < self._n_slots:
            grown = new.new_zeros(batch, max(self._n_slots, capacity + 32), n_kv_heads, d_head)
            if buffer is not None:
                grown[:, :capacity] = buffer
            store[layer] = buffer = grown
        assert buffer is not None
        rows = torch.arange(batch, device=new.device)[:, None]
        if torch.is_grad_enabled():
            # An earlier token's backward pass still needs the buffer as it was.
            store[layer] = buffer = buffer.clone()
        buffer[rows, slots] = new
        return buffer[:, : self._n_slots]

    def _hide_future(self, scores: Tensor, slots: Tensor, window: int | None) -> None:
        n, columns = self.n_prefix, torch.arange(self._n_slots, device=scores.device)
        hidden = columns > slots[..., None]
        if window is not None:
            hidden |= columns <= slots[..., None] - window
            prefix = torch.arange(n, device=scores.device)
            out = prefix <= slots[..., None] + n - window
            scores[..., :n].masked_fill_(out[None, :, None], -torch.inf)
        scores[..., n:].masked_fill_(hidden[None, :, None], -torch.inf)

    def _rows(
        self, edit: Tensor, layer: int, slots: Tensor, n_kv_heads: int
    ) -> Float[Tensor, "n_kv_heads batch group pos k_pos"]:
        """A gate or bias at this layer for the present slots."""
        at_layer = edit[:, layer].to(slots.device)
        n_rows = at_layer.shape[2]
        if n_rows > 1:
            batch = torch.arange(len(slots), device=slots.device)[:, None]
            at_layer = at_layer.transpose(1, 2)[batch, slots.clamp(max=n_rows - 1)].transpose(1, 2)
        return from_hook_layout(at_layer, n_kv_heads)


def _softmax(scores: Tensor) -> Tensor:
    """Over the keys, in float32 at least."""
    return torch.softmax(scores, dim=-1, dtype=torch.promote_types(scores.dtype, torch.float32))


def _visible(
    positions: Tensor, n_keys: int, window: int | None, hidden: Tensor | None = None
) -> Bool[Tensor, "q_pos k_pos"]:
    keys = torch.arange(n_keys, device=positions.device)
    visible = keys <= positions[:, None]
    if hidden is not None:
        visible &= ~hidden.to(positions.device) | (keys == positions[:, None])
    return visible if window is None else visible & (keys > positions[:, None] - window)


def _causal_eager(site: AttentionSite, heads: Heads, hidden: Tensor | None) -> Tensor:
    """Causal attention with scores and pattern materialised, for hooked or soft-capped layers."""
    n, n_kv_heads = heads.q.shape[1], heads.k.shape[2]
    q = grouped(heads.q, n_kv_heads)
    k = heads.k.permute(2, 0, 3, 1)[:, :, None]
    scores = site.finish_scores(torch.matmul(q, k) * site.scale)
    visible = _visible(torch.arange(n, device=q.device), n, site.window, hidden)
    scores = scores.masked_fill(~visible, -torch.inf)
    scores = from_hook_layout(site.scores_hook(to_hook_layout(scores)), n_kv_heads)
    pattern = _softmax(scores).to(heads.v.dtype)
    pattern = from_hook_layout(site.pattern_hook(to_hook_layout(pattern)), n_kv_heads)
    z = torch.matmul(pattern, heads.v.permute(2, 0, 1, 3)[:, :, None])
    return z.permute(1, 3, 0, 2, 4).flatten(2, 3)
