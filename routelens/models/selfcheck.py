"""What a model must show at load, since the ways to be silently wrong are many.

A dropped KV cache, discarded edits, a mask before the soft cap, a conversion that forgot a bias: none raises an error. So ten greedy
tokens of the source model, decoded without a cache, must come out of ours as well, without a cache and over a shared prefix; and
evicting the whole context must change the logits, equally so through the fast path and through plain hooks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from routelens.models.adapters import Adapter
from routelens.models.attention import RecordPrefix, SharedPrefix
from routelens.models.hooks import attention_hooks
from routelens.types import KeepMask

N_PREFIX, N_GREEDY = 20, 10
TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 1.5e-1}
"""Logit difference allowed, relative to the larger of 1 and the logits' standard deviation: the largest one, in half
precision the root mean square (single logits stray there: .34 standard deviations measured, the mean square .05).
Hugging Face computes norms in float32 even in float64."""
HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Greedy:
    """A prompt with its greedy continuation, and the logits that chose each of its tokens."""

    sequence: Int[Tensor, "1 pos"]
    logits: Float[Tensor, "step d_vocab"]

    @property
    def n_prefix(self) -> int:
        """Tokens read as the cached prefix: all of the prompt but its last."""
        return self.sequence.shape[1] - len(self.logits) - 1


@torch.no_grad()
def greedy_reference(
    logits_of: Callable[[Tensor], Tensor], *, d_vocab: int, n_ctx: int, device: torch.device
) -> Greedy:
    """Ten greedy tokens on a fixed prompt of arbitrary ids, each step a whole uncached forward."""
    n_prefix = max(1, min(N_PREFIX, n_ctx - N_GREEDY - 2))
    ids = [(7919 * i + 13) % d_vocab for i in range(n_prefix + 1)]
    sequence, steps = torch.tensor([ids], device=device), []
    for _ in range(min(N_GREEDY, n_ctx - n_prefix - 1)):
        steps.append(logits_of(sequence)[0, -1].float())
        sequence = torch.cat([sequence, steps[-1].argmax().view(1, 1)], dim=1)
    return Greedy(sequence.cpu(), torch.stack(steps).cpu())


@torch.no_grad()
def self_check(adapter: Adapter, reference: Greedy | None) -> bool:
    """Whether a source model's tokens were compared too; ValueError says what is wrong."""
    name = f"load_model: this {adapter.kind}"
    compared = reference is not None
    if reference is None:
        reference = greedy_reference(
            adapter.plain_logits,
            d_vocab=adapter.d_vocab,
            n_ctx=adapter.n_ctx,
            device=adapter.device,
        )
    n = reference.n_prefix
    plain = adapter.plain_logits(reference.sequence[:, :-1])[0, n:].float().cpu()
    _same(
        plain, reference.logits, adapter.dtype, f"{name} does not compute what its source computes"
    )
    record = _prefix(adapter, reference.sequence[:, :n])
    cached = _forced(adapter, record, reference.sequence[:, n:-1], n)
    _same(cached, plain, adapter.dtype, f"{name} decodes otherwise with a cache than without")
    _eviction_works(adapter, record, reference.sequence[:, : n + 1], plain[:1], name)
    return compared


def _prefix(adapter: Adapter, prefix: Int[Tensor, "1 pos"]) -> RecordPrefix:
    record = RecordPrefix()
    adapter.run(prefix, torch.arange(prefix.shape[1])[None], record, logit_rows=None)
    return record


def _forced(
    adapter: Adapter, record: RecordPrefix, tokens: Tensor, n: int, keep: Tensor | None = None
) -> Float[Tensor, "step d_vocab"]:
    """Logits after each token, read one at a time over the cached prefix."""
    suffix = SharedPrefix(record.keys, record.values, n_prefix=n, keep=keep)
    row, steps = torch.zeros(1, 1, dtype=torch.long), []
    for slot in range(tokens.shape[1]):
        at = suffix.at(row + slot)
        logits = adapter.run(tokens[:, slot : slot + 1], row + slot + n, at, logit_rows=row)
        assert logits is not None
        steps.append(logits[0, 0].float().cpu())
    return torch.stack(steps)


def _eviction_works(
    adapter: Adapter, record: RecordPrefix, tokens: Tensor, full: Tensor, name: str
) -> None:
    n = tokens.shape[1] - 1
    nothing = torch.zeros(adapter.n_layers, adapter.n_kv_heads, n, dtype=torch.bool)
    evicted = _forced(adapter, record, tokens[:, n:], n, keep=nothing[None])
    if _gap(evicted, full, adapter.dtype) <= 2 * _allowed(full, adapter.dtype):
        raise ValueError(
            f"{name} gives the same logits when its whole context is evicted: edits do not reach it."
        )
    with adapter.model.hooks(fwd_hooks=attention_hooks(adapter.model, KeepMask(nothing))):
        hooked = adapter.plain_logits(tokens)[0, -1:].float().cpu()
    _same(evicted, hooked, adapter.dtype, f"{name} evicts otherwise through its hook points")


def _allowed(logits: Tensor, dtype: torch.dtype) -> float:
    return TOLERANCE.get(dtype, 1e-3) * max(1.0, float(logits.std()))


def _gap(ours: Tensor, theirs: Tensor, dtype: torch.dtype) -> float:
    difference = (ours - theirs).abs()
    return float(difference.square().mean().sqrt() if dtype in HALF else difference.max())


def _same(ours: Tensor, theirs: Tensor, dtype: torch.dtype, what: str) -> None:
    """ValueError unless logits agree and greedy tokens are the same (near-ties within the tolerance aside)."""
    if not torch.isfinite(ours).all():
        raise ValueError(f"{what}: its logits are not finite.")
    allowed = _allowed(theirs, dtype)
    gap = _gap(ours, theirs, dtype)
    ours_token, theirs_token = ours.argmax(-1), theirs.argmax(-1)
    steps = torch.arange(len(theirs))
    margin = theirs[steps, theirs_token] - theirs[steps, ours_token]
    swapped = dtype not in HALF and bool((margin > 2 * allowed).any())
    if gap > allowed or swapped:
        raise ValueError(
            f"{what}: logits differ by {gap:.3g} (up to {allowed:.3g} is rounding), greedy tokens "
            f"{ours_token.tolist()} against {theirs_token.tolist()}. Answers would be wrong without an "
            "error, so the model is refused. Are the installed versions inside routelens's ranges?"
        )
