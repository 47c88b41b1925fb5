"""The reference for eviction: a Hugging Face model whose KV cache is physically pruned.

Evicted keys and values are deleted from the cache's tensors, KV head by KV head; what follows reads on at its original
positions. Where heads keep different numbers, the shorter ones are padded, and the padding masked. Masks state which
key *positions* a row may see, so that sliding windows count original positions and not compacted ones.
"""

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache


class PrunedCache:
    """``read(ids)`` gives logits, one row a token, after pruning the cache of ``context`` down to ``keep``."""

    def __init__(self, hf_model: Any, context: Tensor, keep: Tensor) -> None:
        self.model, self.n_seen = hf_model, len(context)
        self.cache = DynamicCache()
        with torch.no_grad():
            hf_model(context[None], past_key_values=self.cache, use_cache=True)
        self.positions = []
        for layer, kept in zip(self.cache.layers, keep, strict=True):
            positions = _padded_positions(kept)
            index = positions.clamp(min=0)[None, :, :, None]
            index = index.expand(-1, -1, -1, layer.keys.shape[-1])
            layer.keys, layer.values = layer.keys.gather(2, index), layer.values.gather(2, index)
            self.positions.append(positions)

    @torch.no_grad()
    def read(self, ids: Tensor) -> Tensor:
        rows = torch.arange(self.n_seen, self.n_seen + len(ids))
        self.n_seen += len(ids)
        self.positions = [
            torch.cat([old, rows.expand(len(old), -1)], dim=1) for old in self.positions
        ]
        attentions = [layer.self_attn for layer in self.model.model.layers]
        handles = [
            attention.register_forward_pre_hook(self._masking(layer, rows), with_kwargs=True)
            for layer, attention in enumerate(attentions)
        ]
        try:
            out = self.model(
                ids[None], position_ids=rows[None], past_key_values=self.cache, use_cache=True
            )
        finally:
            for handle in handles:
                handle.remove()
        return out.logits[0]

    def greedy(self, question: Tensor, n_tokens: int) -> list[int]:
        logits, tokens = self.read(question), []
        for _ in range(n_tokens):
            tokens.append(int(logits[-1].argmax()))
            logits = self.read(torch.tensor(tokens[-1:]))
        return tokens

    def _masking(self, layer: int, rows: Tensor) -> Any:
        config, keys = self.model.config, self.positions[layer]
        window = getattr(config, "sliding_window", None)
        kinds = getattr(config, "layer_types", None)
        if kinds is not None and kinds[layer] != "sliding_attention":
            window = None
        seen = (keys[:, None] >= 0) & (keys[:, None] <= rows[None, :, None])
        if window is not None:
            seen &= keys[:, None] > rows[None, :, None] - window
        # In the dtype's own range: eager attention adds masks to scores.
        mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
        n_heads = config.num_attention_heads
        mask = mask.repeat_interleave(n_heads // len(keys), dim=0)[None]

        def hook(_module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
            return args, {**kwargs, "attention_mask": mask}

        return hook


def _padded_positions(keep: Tensor) -> Tensor:
    """The kept positions of each KV head, −1 where a head keeps fewer than another."""
    longest = int(keep.sum(-1).max())
    positions = torch.full((len(keep), longest), -1)
    for head, kept in enumerate(keep):
        places = kept.nonzero()[:, 0]
        positions[head, : len(places)] = places
    return positions
