"""Which entries the answer hangs on: rankings of units for the search (D17 [C]).

``gradient`` integrates the gradient of the answer's weakest log-odds (a soft minimum over its tokens) along gates that open together from
nothing to everything: the mean over a few points t of ∂M/∂g at g = t, and takes its size. The sign is left out: where every token of an
answer must stay, an entry that speaks against it holds the others in check as often as not, and rankings by the signed effect find no
prefix but the whole. Under ``renorm`` a gate g adds log g to the score, under ``zero`` it multiplies the
pattern. ``recompute`` takes the gradient at the full set alone and, under renorm, the exact effect of one key's removal on its row's
output, a / (1 − a) times what the first order says. ``attention`` is attention mass, ``random`` the control.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.batches import shared_attention
from routelens.routes.criterion import Criterion
from routelens.types import AttentionEdit

RANKINGS = ("gradient", "recompute", "attention", "random")
POINTS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
_SOFTNESS = 1.0  # logits
_EPS = 1e-6


def scores(
    criterion: Criterion,
    kept: Bool[Tensor, " n_units"],
    *,
    ranking: str = "gradient",
    points: tuple[float, ...] = POINTS,
    seed: int = 0,
) -> Float[Tensor, " n_units"]:
    """How much each unit of a set matters, with everything outside it ablated; −∞ outside."""
    space = criterion.space
    if ranking == "random":
        generator = torch.Generator().manual_seed(seed)
        found = torch.rand(space.n_units, generator=generator)
    elif ranking == "attention":
        found = space.per_unit(_pattern(criterion, kept))
    else:
        at = (1.0,) if ranking == "recompute" else points
        gradient, pattern = _gate_gradient(criterion, kept, at)
        if ranking == "recompute" and criterion.ablation == "renorm":
            gradient = gradient / (1 - pattern).clamp(min=_EPS)
        found = space.per_unit(gradient).abs()
    return found.masked_fill(~kept, -torch.inf)


def _gate_gradient(
    criterion: Criterion, kept: Bool[Tensor, " n_units"], points: tuple[float, ...]
) -> tuple[Tensor, Tensor]:
    """Mean over the points of ∂M/∂g for every edge, and the pattern at the last point: [layer, head, row, pos]."""
    space = criterion.space
    open_ = space.per_head(space.kept((kept & ~criterion.always)[None]).float())
    always = space.per_head(space.kept(criterion.always[None]).float())
    t = torch.tensor(points)[:, None, None, None, None]
    gates = (open_ * t + always).expand(-1, -1, -1, criterion.n_rows, -1).contiguous()
    device = criterion.cache.keys[0].device
    gates = gates.to(device).requires_grad_()
    attention = shared_attention(criterion.cache, [AttentionEdit()])
    if criterion.ablation == "renorm":
        attention.bias = gates.clamp(min=0).log()
    else:
        attention.gate = gates
    patterns: list[Tensor] = []
    n = criterion.cache.n_prefix
    attention.listener = lambda _, pattern: patterns.append(pattern[-1, :, :, :n].detach())
    with torch.enable_grad():
        logits = criterion.run(attention, len(points))
        answer = torch.tensor(criterion.answer, device=logits.device)
        index = answer[None, :, None].expand(len(points), -1, 1)
        others = logits.scatter(2, index, -torch.inf).logsumexp(-1)
        odds = logits.gather(2, index)[..., 0] - others
        weakest = -_SOFTNESS * torch.logsumexp(-odds / _SOFTNESS, dim=1)
        (gradient,) = torch.autograd.grad(weakest.sum(), gates)
    criterion.cost.add(3 * len(points))
    gradient = torch.nan_to_num(gradient, nan=0.0, posinf=0.0, neginf=0.0) * (gates > 0)
    return gradient.mean(0).cpu(), torch.stack(patterns).cpu()


@torch.no_grad()
def _pattern(criterion: Criterion, kept: Bool[Tensor, " n_units"]) -> Tensor:
    """Attention from question and answer rows onto the prefix under a set: [layer, head, row, pos]."""
    attention = criterion.attention((kept | criterion.always)[None])
    patterns: list[Tensor] = []
    n = criterion.cache.n_prefix
    attention.listener = lambda _, pattern: patterns.append(pattern[0, :, :, :n])
    criterion.run(attention, 1)
    criterion.cost.add(1)
    return torch.stack(patterns).cpu()
