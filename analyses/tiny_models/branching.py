"""Attention of many questions on one passage, each seeing the passage and itself: what the passage costs is paid once.

The passage attends causally to itself. A branch (a question with its answer) attends to the whole passage and causally to itself; its scores are a
rectangle on the passage beside a small square, so nothing grows with the square of all branches together, as it would under one mask.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

NAME = "branching"


@dataclass(frozen=True)
class Layout:
    """Where a batch's tokens belong: ``n_prefix`` columns of passage (padded), then the branches' tokens.

    ``slots`` gives, for each place of each branch, its column past the prefix (padding: the last column), and ``places`` for each
    of those columns its place among the flattened slots.
    """

    n_prefix: int
    slots: Tensor  # batch branch place
    places: Tensor  # batch rest
    hidden: Tensor  # batch 1 branch·place n_prefix + place: 0 where seen, −∞ elsewhere


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """An attention function in Hugging Face's sense; the batch's layout comes in place of a mask."""
    layout: Layout = kwargs["layout"]
    batch, n_heads, _, d_head = query.shape
    group = n_heads // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    n, rest = layout.n_prefix, query.shape[2] - layout.n_prefix
    prefix_q, branch_q = query.split([n, rest], dim=2)
    prefix_k, branch_k = key.split([n, rest], dim=2)
    prefix_v, branch_v = value.split([n, rest], dim=2)
    on_prefix = F.scaled_dot_product_attention(
        prefix_q, prefix_k, prefix_v, is_causal=True, scale=scaling
    )
    _, n_branches, n_places = layout.slots.shape
    index = layout.slots.reshape(batch, 1, -1, 1).expand(-1, n_heads, -1, d_head)
    shape = (batch, n_heads, n_branches, n_places, d_head)
    flat = (batch, n_heads, n_branches * n_places, -1)
    own_q, own_k, own_v = (
        x.gather(2, index).reshape(shape) for x in (branch_q * scaling, branch_k, branch_v)
    )
    scores = torch.cat(
        [
            own_q.reshape(flat) @ prefix_k.transpose(2, 3),
            (own_q @ own_k.transpose(3, 4)).reshape(flat),
        ],
        dim=-1,
    )
    pattern = (scores + layout.hidden).softmax(-1)
    onto_prefix, onto_self = pattern.split([n, n_places], dim=-1)
    z = onto_prefix @ prefix_v
    own = onto_self.reshape(*shape[:4], n_places) @ own_v
    z = z + own.reshape(flat)
    back = layout.places[:, None, :, None].expand(-1, n_heads, -1, d_head)
    on_branches = z.gather(2, back)
    return torch.cat([on_prefix, on_branches], dim=2).transpose(1, 2), None


def register() -> str:
    """The name under which Hugging Face models find :func:`attend`."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attend)
    return NAME
