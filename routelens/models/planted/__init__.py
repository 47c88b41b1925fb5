"""Models whose route is known, because it was put there: hand-set weights, worked out on paper.

    from routelens.models.planted import planted

    chain = planted("two_hop", seed=3)
    cache = rl.prefill(chain.model, chain.item)
    assert rl.answer(cache).outcome == "correct"
    chain.routes["edge"]                      # ({(0, 0, 0, 6), (1, 0, 0, 4)},): (layer, head, row, pos)

A planted model is a small attention-only HookedTransformer with a tokenizer of whole words; it answers one-word questions
about its passage. What each kind's route is, and why, stands in ``kinds.py``; how the weights are set in ``weights.py``. Everything is drawn
from the seed by one rule: who and what the passage is about, codes, where facts stand, which layers and heads carry
them, and strengths (S in 20 to 28 nats, a in 8 to 12, β in .1 to .2).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from routelens import models
from routelens.models.planted.kinds import KINDS
from routelens.models.planted.plan import Cast, Plan
from routelens.models.planted.weights import Shape, build_model, place_heads
from routelens.models.planted.words import (
    FILLERS,
    PEOPLE,
    PLACES,
    Draws,
    item_of,
    placed,
    tokenizer_of,
    write_passage,
)
from routelens.types import Item

__all__ = ["KINDS", "SIZES", "Planted", "Sizes", "planted"]

Route = frozenset[tuple[int, ...]]
SHARPNESS, COPY, PRIOR = (20.0, 28.0), (8.0, 12.0), (0.1, 0.2)
"""Ranges of the strengths S (nats), a (logits) and β (share of a)."""
NOISE = 0.08
"""Share of a by which all idle heads together move a logit at most: less than any kind's distance from the criterion."""
N_AFTER = 40
"""Positions of the model past the passage."""
PROMPT_FORMAT = {"question_template": "{question}", "instruction": "", "use_chat_template": False}
"""The question's words are all that follows the passage."""


@dataclass(frozen=True)
class Sizes:
    """How large a planted model and its passage are; 0 means as few as the kind needs.

    ``n_context`` and ``n_question`` count words (tokens), ``n_names`` the people and places in the vocabulary,
    ``n_others`` the other people the passage tells about, as far as there is room, ``n_copies`` (2 to 4) how often "or" states
    its fact.
    """

    n_context: int = 8
    n_question: int = 1
    n_layers: int = 0
    n_heads: int = 0
    n_kv_heads: int = 0
    n_names: int = 6
    n_others: int = 1
    n_copies: int = 2


SIZES = {
    "small": Sizes(),
    "large": Sizes(
        n_context=160, n_question=3, n_layers=4, n_heads=4, n_kv_heads=2, n_names=24, n_others=8
    ),
}
"""``small`` has at most 16 edges, and 16 KV entries, onto its passage: few enough to try all subsets."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A model with its item and the route its weights give.

    Attributes:
        kind: A name in ``KINDS``.
        seed: What everything was drawn from.
        model: A HookedTransformer, as ``rl.load_model`` gives it.
        item: Passage, question, answer and evidence.
        routes: For unit "edge" (layer, head, row, pos), "kv" (layer, kv_head, pos) and "token" (pos,) all minimal sufficient
            sets under ``ablation`` and ``margin``; row 0 is the first token after the prefix.
        traps: The same for sets that are 1-minimal and hold a smaller sufficient set (kind "standoff").
        others: Other questions that the passage answers, for a query swap.
        values: Words that can stand in the evidence in place of the answer's, for a value swap.
        ablation: What the routes are stated for.
        margin: The share of the full margin they are stated for.
    """

    kind: str
    seed: int
    model: Any
    item: Item
    routes: Mapping[str, tuple[Route, ...]]
    traps: Mapping[str, tuple[Route, ...]]
    others: tuple[Item, ...]
    values: tuple[str, ...]
    ablation: Literal["zero"] = "zero"
    margin: float = 0.5


def planted(kind: str, seed: int = 0, *, size: str = "small", **sizes: int) -> Planted:
    """A model of one kind with its item and its route.

    Args:
        kind: A name in ``KINDS``, whose docstrings work the routes out.
        seed: Of everything drawn.
        size: The sizes to start from, "small" or "large" (of "induction" with 64 words: each position has a code of its own).
        sizes: Fields of :class:`Sizes` that differ.

    Raises:
        ValueError: An unknown kind, size or field, or sizes that cannot hold the kind.
    """
    if kind not in KINDS:
        raise ValueError(f"planted: kind is one of {', '.join(KINDS)}; got {kind!r}.")
    chosen = _sizes(kind, size, sizes)
    name = f"planted-{kind}-{seed}"
    draws = Draws(int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big"))
    cast = Cast(
        people=tuple(draws.sample(PEOPLE, chosen.n_names)),
        places=tuple(draws.sample(PLACES, chosen.n_names)),
        n_others=chosen.n_others,
        n_copies=chosen.n_copies,
        n_positions=chosen.n_context + chosen.n_question + 4,
        copy=draws.uniform(*COPY),
        prior=draws.uniform(*PRIOR),
        draws=draws,
    )
    plan = KINDS[kind](cast)
    shape = _shape(kind, plan, chosen)
    passage, told = write_passage(
        draws, plan.tale, plan.others, n_context=chosen.n_context, ordered=plan.ordered
    )
    lead = "".join(f"{draws.choice(FILLERS)} " for _ in range(chosen.n_question - 1))
    places = place_heads(draws, plan, shape)
    model = build_model(
        draws,
        plan,
        shape,
        places,
        sharpness=draws.uniform(*SHARPNESS),
        noise=NOISE * cast.copy,
        name=name,
    )
    row = chosen.n_question - 1
    found = [
        tuple(
            frozenset(
                (*places[stage][head], row, passage.positions[fact]) for stage, head, fact in units
            )
            for units in sets
        )
        for sets in (plan.routes, plan.traps)
    ]
    routes, traps = (_by_unit(sets, shape.n_heads // shape.n_kv_heads) for sets in found)
    stated = {word for word in cast.places if any(word in said for said in passage.words)}
    return Planted(
        kind=kind,
        seed=seed,
        model=_loaded(model, tokenizer_of(plan.lexicon)),
        item=item_of(plan.tale, passage, name=name, lead=lead),
        routes=routes,
        traps=traps,
        others=tuple(item_of(tale, placed(tale, passage), name=name, lead=lead) for tale in told),
        values=tuple(word for word in cast.places if word not in stated),
    )


def _sizes(kind: str, size: str, changes: dict[str, int]) -> Sizes:
    known = [field.name for field in fields(Sizes)]
    unknown = sorted(set(changes) - set(known))
    if unknown or size not in SIZES:
        raise ValueError(
            f"planted: size is one of {', '.join(SIZES)}, with {', '.join(known)} to change; got "
            f"{', '.join(unknown) or repr(size)}."
        )
    chosen = SIZES[size]
    if kind == "induction" and size == "large":
        chosen = replace(chosen, n_context=64)
    chosen = replace(chosen, **changes)
    # Each tale has people and a place of its own, and two places are left for rivals and value swaps.
    needed = max(4, 2 * (chosen.n_others + 1) if kind == "two_hop" else chosen.n_others + 3)
    if not needed <= chosen.n_names <= len(PEOPLE):
        raise ValueError(
            f"planted: {kind} with {chosen.n_others} others takes n_names between {needed} and "
            f"{len(PEOPLE)}; got {chosen.n_names}."
        )
    if chosen.n_question < 1 or not 2 <= chosen.n_copies <= 4:
        raise ValueError(
            "planted: n_question is at least 1 (the asking word) and n_copies between 2 and 4; got "
            f"{chosen.n_question} and {chosen.n_copies}."
        )
    return chosen


def _shape(kind: str, plan: Plan, sizes: Sizes) -> Shape:
    widest = max(len(stage) for stage in plan.stages)
    n_layers, n_heads = sizes.n_layers or len(plan.stages), sizes.n_heads or widest
    n_kv_heads = sizes.n_kv_heads or n_heads
    if n_layers < len(plan.stages) or n_heads < widest or n_heads % n_kv_heads:
        raise ValueError(
            f"planted: {kind} needs {len(plan.stages)} layers and {widest} heads a layer, and n_kv_heads must divide "
            f"n_heads; got n_layers={n_layers}, n_heads={n_heads}, n_kv_heads={n_kv_heads}."
        )
    n_after = sizes.n_question + N_AFTER
    return Shape(
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        n_ctx=sizes.n_context + n_after,
        n_positions=sizes.n_context + sizes.n_question + 4,
    )


def _by_unit(edges: tuple[Route, ...], group: int) -> dict[str, tuple[Route, ...]]:
    """Routes of edges with their projections: an edge reads the KV entry of its head's group."""
    return {
        "edge": edges,
        "kv": tuple(
            frozenset((layer, head // group, pos) for layer, head, _, pos in route)
            for route in edges
        ),
        "token": tuple(frozenset((pos,) for *_, pos in route) for route in edges),
    }


def _loaded(model: Any, tokenizer: Any) -> Any:
    """The model known to routelens, with its prompt format.

    Unchecked: the self-check asks with arbitrary words, which a small planted model answers alike with and without a passage.
    """
    model.tokenizer = tokenizer
    model.cfg.tokenizer_prepends_bos = False
    models.load_model(model, tokenizer=tokenizer, check=False)
    models._INFO[model] = replace(models._INFO[model], prompt_format=PROMPT_FORMAT)
    return model
