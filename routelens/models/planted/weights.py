"""The weights of a planted model: every feature a random direction, every head a few outer products.

Features get orthonormal codes, drawn by the seed; filler words random vectors of length ½ in four dimensions that no head of the plan reads.
A head that looks from features q to features k and writes w for what the entry says v has

    W_Q = S·√d_head · Σ q ⊗ r_k    b_Q = (S/2)·√d_head · r_first    W_K = Σ k ⊗ r_k + first ⊗ r_first
    W_V = Σ v ⊗ r_v                W_O = strength · Σ r_v ⊗ w

with r a random orthonormal basis of each KV head. All KV heads hold all keys and values of the plan, so grouped query heads can
differ. Attention only, no normalisation, learned positions that are zero but for the first (and where positions are read).

Heads without a part are idle: they park on the first word, or attend at random, and write noise to the logits. Queries and keys
never see it, and however they attend, all of them together move no logit by more than ``noise``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from routelens.models.planted.plan import Head, Plan
from routelens.models.planted.words import END, STRANGE, TOWN, UNKNOWN, Draws

N_JUNK = 4
FIRST = "first"


@dataclass(frozen=True)
class Shape:
    """The size of a model; ``n_positions`` get a position code where a plan reads positions."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    n_ctx: int
    n_positions: int


@dataclass(frozen=True)
class Codes:
    """A direction of the residual stream for every feature, and ``N_JUNK`` more for the fillers."""

    index: dict[str, int]
    directions: Float[Tensor, "feature d_model"]

    def of(self, features: Sequence[str]) -> Float[Tensor, "chosen d_model"]:
        """The codes of some features, one a row."""
        return self.directions[[self.index[feature] for feature in features]]


@dataclass(frozen=True)
class Basis:
    """One KV head's directions: of what it can be found by, and of what it says."""

    keys: dict[str, Float[Tensor, " d_head"]]
    values: dict[str, Float[Tensor, " d_head"]]


def place_heads(draws: Draws, plan: Plan, shape: Shape) -> list[list[tuple[int, int]]]:
    """(layer, head) of every head of the plan, stage by stage: layers in order, heads anywhere in them."""
    layers = sorted(draws.sample(range(shape.n_layers), len(plan.stages)))
    return [
        [(layer, head) for head in draws.sample(range(shape.n_heads), len(stage))]
        for layer, stage in zip(layers, plan.stages, strict=True)
    ]


def build_model(
    draws: Draws,
    plan: Plan,
    shape: Shape,
    places: Sequence[Sequence[tuple[int, int]]],
    *,
    sharpness: float,
    noise: float,
    name: str,
) -> Any:
    """The HookedTransformer of a plan whose heads stand at ``places``; ``noise`` (logits) bounds all idle heads together."""
    heads = {
        place: head
        for stage, at in zip(plan.stages, places, strict=True)
        for head, place in zip(stage, at, strict=True)
    }
    keys = [*sorted({entry for head in heads.values() for _, entry in head.looks}), FIRST]
    values = sorted({said for head in heads.values() for said, _ in head.writes})
    codes = _codes(draws, plan, [*keys, *values])
    d_head = max(len(keys), len(values))
    model = _blank(shape, codes.directions.shape[1], d_head, len(plan.lexicon) + 2, name)
    _fill_words(draws, model, plan, codes)
    _fill_positions(model, codes, shape)
    loudest = max(_length(meaning, values) for meaning in plan.lexicon.values())
    n_idle = shape.n_layers * shape.n_heads - len(heads)
    written = _unread(plan, codes) * noise / (max(1, n_idle) * loudest)
    group = shape.n_heads // shape.n_kv_heads
    for layer in range(shape.n_layers):
        attn = model.blocks[layer].attn
        for kv_head in range(shape.n_kv_heads):
            basis = _fill_kv_head(draws, attn, kv_head, keys, values, codes)
            for head in range(kv_head * group, (kv_head + 1) * group):
                attn.b_Q[head] = 0.5 * sharpness * d_head**0.5 * basis.keys[FIRST]
                planned = heads.get((layer, head))
                if planned is None:
                    _fill_idle(draws, attn, head, written)
                else:
                    _fill_head(attn, head, planned, codes, basis, sharpness)
    return model


def _blank(shape: Shape, d_model: int, d_head: int, d_vocab: int, name: str) -> Any:
    """A model of zeros."""
    HookedTransformer, Config = _transformer_lens()
    grouped = shape.n_kv_heads != shape.n_heads
    config = Config(
        n_layers=shape.n_layers,
        n_heads=shape.n_heads,
        n_key_value_heads=shape.n_kv_heads if grouped else None,
        d_model=d_model,
        d_head=d_head,
        n_ctx=shape.n_ctx,
        d_vocab=d_vocab,
        attn_only=True,
        normalization_type=None,
        positional_embedding_type="standard",
        device="cpu",
        init_weights=False,
        default_prepend_bos=False,
        model_name=name,
    )
    model = HookedTransformer(config, move_to_device=False).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.zero_()
    return model


def _transformer_lens() -> tuple[Any, Any]:
    try:
        from transformer_lens import HookedTransformer
        from transformer_lens.config.hooked_transformer_config import HookedTransformerConfig
    except ImportError as error:
        raise ValueError(
            "planted: a planted model is a HookedTransformer, which TransformerLens 3 has and 4 has not. "
            "Install routelens[hooked]."
        ) from error
    return HookedTransformer, HookedTransformerConfig


def _codes(draws: Draws, plan: Plan, read: Sequence[str]) -> Codes:
    """Orthonormal codes of all features there are."""
    features = {feature for meaning in plan.lexicon.values() for feature in meaning} | set(read)
    for stage in plan.stages:
        for head in stage:
            features |= {row for row, _ in head.looks} | {written for _, written in head.writes}
    features |= {"stop", "more"} | {f"out:{word}" for word in _said(plan)}
    names = sorted(features)
    basis = _orthonormal(draws, len(names) + N_JUNK, len(names) + N_JUNK)
    return Codes({name: i for i, name in enumerate(names)}, basis)


def _said(plan: Plan) -> list[str]:
    """Words that can be an answer."""
    return [word for word, meaning in plan.lexicon.items() if f"says:{word}" in meaning]


def _fill_words(draws: Draws, model: Any, plan: Plan, codes: Codes) -> None:
    """What the words mean, and what says them."""
    ids = {word: i for i, word in enumerate((STRANGE, END, *plan.lexicon))}
    meant, put_out = torch.zeros(2, len(ids), len(codes.directions))
    for word, meaning in plan.lexicon.items():
        for feature, weight in meaning.items():
            meant[ids[word], codes.index[feature]] = weight
        if not meaning:
            code = torch.randn(N_JUNK, generator=draws.generator)
            meant[ids[word], -N_JUNK:] = 0.5 * code / code.norm()
    said_by = {word: f"out:{word}" for word in _said(plan)} | {END: "stop", TOWN: "more"}
    for word, feature in said_by.items():
        put_out[ids[word], codes.index[feature]] = 1.0
    model.embed.W_E.copy_(meant @ codes.directions)
    model.unembed.W_U.copy_((put_out @ codes.directions).T)
    model.unembed.b_U[ids[UNKNOWN]] = plan.prior


def _fill_positions(model: Any, codes: Codes, shape: Shape) -> None:
    model.pos_embed.W_pos[0] += codes.of([FIRST])[0]
    coded = [t for t in range(shape.n_positions) if f"at:{t}" in codes.index]
    model.pos_embed.W_pos[coded] += codes.of([f"at:{t}" for t in coded])


def _fill_kv_head(
    draws: Draws, attn: Any, kv_head: int, keys: list[str], values: list[str], codes: Codes
) -> Basis:
    """Every key and value of the plan, in directions of the head's own."""
    d_head = attn.W_Q.shape[-1]
    read, said = (_orthonormal(draws, d_head, d_head)[: len(names)] for names in (keys, values))
    grouped = hasattr(attn, "_W_K")  # their W_K and W_V are copies, made on every access
    w_k, w_v = (attn._W_K, attn._W_V) if grouped else (attn.W_K, attn.W_V)
    w_k[kv_head] = codes.of(keys).T @ read
    w_v[kv_head] = codes.of(values).T @ said
    return Basis(dict(zip(keys, read, strict=True)), dict(zip(values, said, strict=True)))


def _fill_head(
    attn: Any, head: int, plan: Head, codes: Codes, basis: Basis, sharpness: float
) -> None:
    scale = sharpness * attn.W_Q.shape[-1] ** 0.5
    if plan.looks:
        rows, entries = zip(*plan.looks, strict=True)
        attn.W_Q[head] = scale * codes.of(rows).T @ torch.stack([basis.keys[e] for e in entries])
    said, written = zip(*plan.writes, strict=True)
    attn.W_O[head] = (
        plan.strength * torch.stack([basis.values[v] for v in said]).T @ codes.of(written)
    )


def _fill_idle(draws: Draws, attn: Any, head: int, written: Float[Tensor, "code d_model"]) -> None:
    """Half of the idle heads park, the others attend at random with scores of about 1; z of length 1 writes at most ``written``."""
    d_model, d_head = attn.W_Q.shape[1:]
    mixed = torch.randn(d_head, len(written), generator=draws.generator)
    longest = torch.linalg.matrix_norm(mixed, ord=2)
    attn.W_O[head] = draws.uniform(0.5, 1.0) / longest * mixed @ written
    queries = torch.randn(d_model, d_head, generator=draws.generator)
    if draws.uniform(0, 1) < 0.5:
        attn.b_Q[head] = 0.0
        attn.W_Q[head] = d_head**0.5 * queries


def _unread(plan: Plan, codes: Codes) -> Float[Tensor, "code d_model"]:
    """Directions that no head of the plan reads: the logits of what can be said, and the fillers' own."""
    outs = codes.of([f"out:{word}" for word in _said(plan)])
    return torch.cat([outs, codes.directions[-N_JUNK:]])


def _length(meaning: dict[str, float], features: Sequence[str]) -> float:
    """Length of a word's value vector; what a relay head adds to it is no longer than the word it copies."""
    return sum(weight**2 for name, weight in meaning.items() if name in features) ** 0.5


def _orthonormal(draws: Draws, n: int, d: int) -> Float[Tensor, "n d"]:
    """``n`` ≤ ``d`` random orthonormal rows."""
    rows, triangle = torch.linalg.qr(torch.randn(d, n, generator=draws.generator))
    return (rows * triangle.diagonal().sign()).T.contiguous()
