"""From the trace of an answer to its routing graph (D15 [C]).

Masking renormalises, and what a masked row read changes what later layers ask for: the compressed graph G_α is therefore built from a
trace made *under* the mask, never by deleting edges from the full cache's graph. :func:`severed` sets the two side by side.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.cache import ContextCache
from routelens.routes.context import ContextEdges, checked_eps, context_edges, edges_above
from routelens.routes.graph import RoutingGraph, Rows
from routelens.types import AttentionEdit, KeepMask, Trace


def routing_graph(
    trace: Trace,
    keep: KeepMask | AttentionEdit | None = None,
    *,
    eps: float | None = None,
    rows: Rows = "decode",
    context: ContextCache | ContextEdges | None = None,
    answer_token: int = 0,
) -> RoutingGraph:
    """The token-attention graph of one traced answer (D15 [C]); under a mask, the compressed graph G_α.

    Args:
        trace: ``rl.answer(cache, keep, trace=True).trace``.
        keep: The mask or edit the trace was made under; checked against it (None: not checked).
        eps: Attention edges weigh more than this; default 1 / n_prefix.
        rows: "decode": question and generated rows read; "all": context rows too, as in the dense prefill.
        context: For ``rows="all"``: the cache, or what ``context_edges`` made of it.
        answer_token: Which answer token's prediction is the target: 0 is the last prompt row's, k the row k later.

    Raises:
        ValueError: A "prompt" trace without all rows, a negative eps, a mask of another shape or one the trace was not made under.
    """
    return _built(trace, keep, eps, rows, context, answer_token, strongest=False)


def strongest_heads(
    trace: Trace,
    *,
    rows: Rows = "decode",
    context: ContextCache | ContextEdges | None = None,
    answer_token: int = 0,
) -> RoutingGraph:
    """The graph at ε = 0 with the strongest head of every edge alone: all that threshold-free measures need."""
    return _built(trace, None, 0.0, rows, context, answer_token, strongest=True)


@dataclass(frozen=True)
class Severed:
    """What a mask did to the graph, head by head.

    ``severed``: edges of the full graph that are gone, with the full graph's weights; ``appeared``: edges the full graph does not have;
    ``kept``: edges of both, with the weights under the mask. ``evicted`` are the severed ones whose entry was evicted (the rest fell to
    ε or below); None where the mask was not given.
    """

    severed: RoutingGraph
    appeared: RoutingGraph
    kept: RoutingGraph
    evicted: RoutingGraph | None = None

    def __str__(self) -> str:
        gone = "" if self.evicted is None else f" ({self.evicted.n_head_edges} of them evicted)"
        return (
            f"{self.severed.n_head_edges} severed{gone}, {self.appeared.n_head_edges} appeared, "
            f"{self.kept.n_head_edges} kept"
        )


def severed(full: RoutingGraph, compressed: RoutingGraph, keep: KeepMask | None = None) -> Severed:
    """The edges that a mask severed, those that appeared under it, and those that kept.

    Args:
        full: The full cache's graph.
        compressed: G_α of the same rows, at the same eps.
        keep: The mask of G_α, to tell evicted entries from those that lost their weight.

    Raises:
        ValueError: Graphs of other rows, tokens, targets or thresholds, or a mask of another shape.
    """
    for name in ("n_layers", "n_heads", "n_prefix", "tokens", "target", "rows", "eps"):
        ours, theirs = getattr(full, name), getattr(compressed, name)
        if ours != theirs:
            shown = (ours, theirs) if name != "tokens" else ("some texts", "others")
            raise ValueError(
                f"severed: both graphs have the same {name}; got {shown[0]} and {shown[1]}. Build both with "
                "the same options, up to a row that read the same tokens."
            )
    gone = torch.from_numpy(~np.isin(full.keys, compressed.keys))
    new = torch.from_numpy(~np.isin(compressed.keys, full.keys))
    evicted = None
    if keep is not None:
        _check_mask("severed", keep, full.n_layers, full.n_heads, full.n_prefix)
        layer, head, q_pos, k_pos = full.head_edges.T
        read = (q_pos >= full.n_prefix) & (k_pos < full.n_prefix)
        lost = _evicted(keep, full.n_heads)[layer, head, k_pos.clamp(max=full.n_prefix - 1)]
        evicted = full.subset(gone & read & lost)
    return Severed(full.subset(gone), compressed.subset(new), compressed.subset(~new), evicted)


def _built(
    trace: Trace,
    keep: KeepMask | AttentionEdit | None,
    eps: float | None,
    rows: Rows,
    context: ContextCache | ContextEdges | None,
    answer_token: int,
    *,
    strongest: bool,
) -> RoutingGraph:
    n, n_layers, n_heads = trace.n_prefix, trace.pattern.shape[0], trace.pattern.shape[1]
    eps = checked_eps("routing_graph", eps, n)
    if rows not in ("decode", "all"):
        raise ValueError(f"routing_graph: rows is 'decode' or 'all'; got {rows!r}.")
    if (context is None) == (rows == "all"):
        raise ValueError(
            "routing_graph: rows='all' needs context=cache for the prefill's edges, and rows='decode' takes none; "
            f"got rows={rows!r} and context={type(context).__name__}."
        )
    pattern = _rows_to_the_target(trace, answer_token)
    _check_keep(keep, pattern, n)
    found = [edges_above(layer, eps, n, strongest=strongest) for layer in pattern]
    index = torch.cat(
        [torch.cat([i.new_full((len(i), 1), layer), i], 1) for layer, (i, _) in enumerate(found)]
    )
    weights = torch.cat([w for _, w in found])
    if context is not None:
        if isinstance(context, ContextCache):
            context = context_edges(context, eps=eps, strongest=strongest)
        _check_context(context, eps, (n_layers, n_heads, n))
        above = context.weights > eps
        index = torch.cat([context.head_edges[above], index.cpu()])
        weights = torch.cat([context.weights[above], weights.cpu()])
    target = n + pattern.shape[2] - 1
    tokens = trace.tokens or tuple(f"#{i}" for i in range(trace.pattern.shape[3]))
    return RoutingGraph(
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=trace.n_kv_heads or n_heads,
        n_prefix=n,
        tokens=tokens[: target + 1],
        target=target,
        eps=eps,
        rows=rows,
        head_edges=index,
        weights=weights,
        predicts=tokens[target + 1] if trace.tokens and target + 1 < len(tokens) else "",
    )


def _rows_to_the_target(
    trace: Trace, answer_token: int
) -> Float[Tensor, "n_layers n_heads row k_pos"]:
    n_rows = trace.pattern.shape[2]
    if trace.row_offset or trace.pattern.shape[3] != trace.n_prefix + n_rows:
        raise ValueError(
            f"routing_graph: every question row is part of the graph; the trace holds {n_rows} of "
            f"{trace.pattern.shape[3] - trace.n_prefix}. Trace all rows: rl.answer(cache, keep, trace=True)."
        )
    target = trace.prompt_row + answer_token
    if answer_token < 0 or target >= n_rows:
        raise ValueError(
            f"routing_graph: answer_token lies in [0, {n_rows - trace.prompt_row}), the tokens whose predicting row "
            f"was traced; got {answer_token}."
        )
    if trace.tokens and len(trace.tokens) != trace.pattern.shape[3]:
        raise ValueError(
            f"routing_graph: the trace has one text for each of its {trace.pattern.shape[3]} columns; got "
            f"{len(trace.tokens)}."
        )
    pattern = trace.pattern[:, :, : target + 1]
    if bool(pattern.isnan().any()):
        raise ValueError("routing_graph: the trace's pattern holds NaN; the model diverged.")
    return pattern


def _check_keep(keep: KeepMask | AttentionEdit | None, pattern: Tensor, n_prefix: int) -> None:
    mask = keep.keep if isinstance(keep, AttentionEdit) else keep
    if mask is None:
        return
    n_layers, n_heads = pattern.shape[:2]
    _check_mask("routing_graph", mask, n_layers, n_heads, n_prefix)
    read = pattern[..., :n_prefix].amax(dim=2) > 0
    if bool((read & _evicted(mask, n_heads).to(read.device)).any()):
        raise ValueError(
            "routing_graph: the trace reads entries that keep evicts, so it was made under another mask. Masking "
            "renormalises: trace the answer under it, rl.answer(cache, keep, trace=True)."
        )


def _check_mask(who: str, keep: KeepMask, n_layers: int, n_heads: int, n_prefix: int) -> None:
    found = tuple(keep.keep.shape)
    if found[0] != n_layers or found[2] != n_prefix or not found[1] or n_heads % found[1]:
        raise ValueError(
            f"{who}: keep is [n_layers, n_kv_heads, n_prefix] = ({n_layers}, a divisor of {n_heads} heads, {n_prefix}) "
            f"for this graph; got {found}."
        )


def _evicted(keep: KeepMask, n_heads: int) -> Bool[Tensor, "n_layers n_heads n_prefix"]:
    """What each query head cannot read (D2: it inherits its group's mask)."""
    return ~keep.keep.cpu().repeat_interleave(n_heads // keep.n_kv_heads, dim=1)


def _check_context(context: ContextEdges, eps: float, shape: tuple[int, int, int]) -> None:
    found = (context.n_layers, context.n_heads, context.n_prefix)
    if found != shape or context.eps > eps:
        raise ValueError(
            "routing_graph: the context's edges are those of the trace's own cache, at its eps or a lower one; got "
            f"(layers, heads, prefix) {found} at {context.eps} for {shape} at {eps}."
        )
