"""Eviction as plain TransformerLens hooks: the reference path, and what a user adds to ``run_with_hooks``.

    model.run_with_hooks(tokens, fwd_hooks=attention_hooks(model, keep))

The hooks act on rows after the prefix only. They work with and without the model's own KV cache, since a row's position is
counted from the end of the key axis. :class:`~routelens.models.attention.SharedPrefix` is the fast path; the two are tested
against each other.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from routelens.types import AttentionEdit, KeepMask

Hook = tuple[str, Callable[..., Tensor]]


def attention_hooks(
    model: Any, edit: KeepMask | AttentionEdit, *, n_prefix: int | None = None
) -> list[Hook]:
    """Forward hooks ``(name, fn)`` that apply an edit to every row at position ``n_prefix`` and later.

    ``n_prefix`` (tokens) defaults to the edit's own length.
    """
    edit = AttentionEdit(keep=edit) if isinstance(edit, KeepMask) else edit
    keep = None if edit.keep is None else edit.keep.keep
    lengths = [x.shape[-1] for x in (keep, edit.gate, edit.bias) if x is not None]
    if not lengths:
        return []
    n_layers, n_heads = model.cfg.n_layers, model.cfg.n_heads
    n_kv_heads = getattr(model.cfg, "n_key_value_heads", None) or n_heads
    for part, heads in ((keep, n_kv_heads), (edit.gate, n_heads), (edit.bias, n_heads)):
        if part is not None and tuple(part.shape[:2]) != (n_layers, heads):
            raise ValueError(
                f"attention_hooks: this model has {n_layers} layers and {n_kv_heads} KV heads for masks, {n_heads} "
                f"heads for gates and biases; got {tuple(part.shape)}."
            )
    n_prefix = lengths[0] if n_prefix is None else n_prefix
    if any(length != n_prefix for length in lengths):
        raise ValueError(
            f"attention_hooks: every part of an edit covers the prefix of {n_prefix} tokens; got {lengths}."
        )
    hooks: list[Hook] = []
    for layer in range(model.cfg.n_layers):
        if edit.keep is not None or edit.bias is not None:
            name = f"blocks.{layer}.attn.hook_attn_scores"
            hooks.append((name, _scores_hook(edit, layer, n_prefix)))
        if edit.gate is not None:
            name = f"blocks.{layer}.attn.hook_pattern"
            hooks.append((name, _pattern_hook(edit.gate[layer], n_prefix)))
    return hooks


def _suffix_rows(tensor: Tensor, n_prefix: int) -> Tensor:
    """Which rows of a [.., q_pos, k_pos] tensor are past the prefix, as indices of the query axis."""
    q_pos, k_pos = tensor.shape[-2:]
    first = max(0, n_prefix - (k_pos - q_pos))
    return torch.arange(first, q_pos, device=tensor.device)


def _row_values(
    values: Float[Tensor, "n_heads row k_pos"], rows: Tensor, tensor: Tensor, fill: float
) -> Tensor:
    """A gate or bias for those query rows; rows past its last one get ``fill``."""
    values = values.to(tensor.device, tensor.dtype)
    if values.shape[1] == 1:
        return values.expand(-1, len(rows), -1)
    suffix = rows + tensor.shape[-1] - tensor.shape[-2] - values.shape[-1]
    chosen = values[:, suffix.clamp(max=values.shape[1] - 1)]
    return chosen.masked_fill((suffix >= values.shape[1])[None, :, None], fill)


def _scores_hook(edit: AttentionEdit, layer: int, n_prefix: int) -> Callable[..., Tensor]:
    def hook_fn(scores: Tensor, hook: Any) -> Tensor:
        rows = _suffix_rows(scores, n_prefix)
        if not len(rows):
            return scores
        scores = scores.clone()
        part = scores[:, :, rows, :n_prefix]
        if edit.bias is not None:
            part = part + _row_values(edit.bias[layer], rows, scores, 0.0)
        if edit.keep is not None:
            keep = edit.keep.keep[layer].to(scores.device)
            group = scores.shape[1] // keep.shape[0]
            evicted = ~keep.repeat_interleave(group, dim=0)[None, :, None, :]
            part = part.masked_fill(evicted, -torch.inf)
        scores[:, :, rows, :n_prefix] = part
        return scores

    return hook_fn


def _pattern_hook(gate: Float[Tensor, "n_heads row k_pos"], n_prefix: int) -> Callable[..., Tensor]:
    def hook_fn(pattern: Tensor, hook: Any) -> Tensor:
        rows = _suffix_rows(pattern, n_prefix)
        if not len(rows):
            return pattern
        pattern = pattern.clone()
        pattern[:, :, rows, :n_prefix] *= _row_values(gate, rows, pattern, 1.0)
        return pattern

    return hook_fn
