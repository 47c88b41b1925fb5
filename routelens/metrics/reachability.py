"""Is the evidence reachable in the token-attention graph (D15 [C], rows = "decode")?

Nodes (l, i), l = 0..L. Edges run source → target: (l-1, j) → (l, i) where the maximum over heads of
the masked, renormalised pattern of layer l exceeds ε, and the residual edge (l-1, i) → (l, i). Only
question and generated rows read; a prefix token is a source in every layer. Walking back from the
target (L, last prompt row), one boolean vector over rows per layer says who still reaches it, and
every prefix column one of those rows attends to is reachable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.types import TokenGroup, Trace


@dataclass(frozen=True)
class Reach:
    """What of the evidence a path leads from (D15); None where the item has no such group.

    ``any``: some payload token (the paper's [S]); ``occurrence``: every token of some payload
    occurrence; ``groups``: of every required group, every token of some occurrence. ``reached``
    says it for each prefix position.
    """

    any: bool | None
    occurrence: bool | None
    groups: bool | None
    reached: Bool[Tensor, " n_prefix"]


def head_max(trace: Trace) -> Float[Tensor, "n_layers row k_pos"]:
    """The maximum over heads of a trace's pattern: the weights of the graph's attention edges (D15)."""
    return trace.pattern.amax(dim=1)


def reachable(
    head_max: Float[Tensor, "n_layers row k_pos"],
    n_prefix: int,
    groups: Sequence[TokenGroup],
    *,
    target_row: int,
    eps: float | None = None,
) -> Reach:
    """What of the evidence reaches the target row's output (D15 [C], rows = "decode").

    Args:
        head_max: attention maximum over heads, ``k_pos`` = the prefix, then the rows themselves.
        n_prefix: prefix length in tokens.
        groups: the item's required groups, in prefix positions.
        target_row: the last prompt row, counted among ``row``.
        eps: edges weigh more than this; default 1 / n_prefix.
    """
    n_rows = head_max.shape[1]
    if head_max.shape[2] != n_prefix + n_rows:
        raise ValueError(
            "reachable: columns are the prefix, then every row; got "
            f"{head_max.shape[2]} columns for {n_prefix} prefix tokens and {n_rows} rows. Trace all rows."
        )
    if not 0 <= target_row < n_rows:
        raise ValueError(f"reachable: target_row lies in [0, {n_rows}); got {target_row}.")
    eps = 1 / max(1, n_prefix) if eps is None else eps
    if eps < 0:
        raise ValueError(f"reachable: eps is an attention weight, at least 0; got {eps}.")
    edges = head_max > eps
    live = torch.zeros(n_rows, dtype=torch.bool, device=head_max.device)
    live[target_row] = True
    reached = torch.zeros(n_prefix, dtype=torch.bool, device=head_max.device)
    for layer in reversed(range(head_max.shape[0])):
        sources = edges[layer, live].any(dim=0)
        reached |= sources[:n_prefix]
        live |= sources[n_prefix:]  # the residual edges keep the rows that were live
    return reach_of(reached, groups)


def reach_of(reached: Bool[Tensor, " n_prefix"], groups: Sequence[TokenGroup]) -> Reach:
    """The three readings of D15, from which prefix positions a path leads from."""
    arrived = reached.tolist()
    payload = [
        run for group in groups if group.role == "payload" for run in group.occurrences if run
    ]
    return Reach(
        any=any(arrived[t] for run in payload for t in run) if payload else None,
        occurrence=any(all(arrived[t] for t in run) for run in payload) if payload else None,
        groups=_all_groups(arrived, groups),
        reached=reached,
    )


def _all_groups(arrived: list[bool], groups: Sequence[TokenGroup]) -> bool | None:
    whole = [
        any(all(arrived[t] for t in run) for run in group.occurrences if run)
        for group in groups
        if any(group.occurrences)
    ]
    if False in whole:
        return False
    return True if groups and len(whole) == len(groups) else None
