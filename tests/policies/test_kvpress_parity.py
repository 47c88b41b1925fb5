"""Scores and keep masks equal those that kvpress 0.5.5 recorded on two real models.

The recordings lie in ``tests/data/reference``: ids, masks at four ratios, and Expected Attention's raw scores. An entry may
differ only where its score lies within 1e-5 (relative) of the cut-off, since another library version rounds the keys otherwise.
kvpress marks protected positions by one tied sentinel score, and which of the tied positions it kept is the accident of a
sort: where a budget falls among them, the test checks the counts and that both masks stay inside the tie, and prints every
entry in which they differ (``pytest -rP`` shows them).
"""

import functools
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from routelens.eviction import evict_many
from routelens.policies import (
    AdaKV,
    Chunk,
    ExpectedAttention,
    KeyNorm,
    Policy,
    SinkRecent,
    SnapKV,
    n_kept,
)
from routelens.types import LayerState

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        "ROUTELENS_MODELS" not in os.environ,
        reason="ROUTELENS_MODELS does not name the folder of the real models",
    ),
]

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
MODELS = {"smol": "smollm2-135m", "qwen": "qwen2.5-coder-0.5b"}
CASES = [(model, context) for model in MODELS for context in ("bio0", "long0")]
RATIOS = (0.3, 0.5, 0.7, 0.9)
NEAR = 1e-5

EXACT = {
    "ea": ExpectedAttention(),
    "adakv_ea": AdaKV(ExpectedAttention()),
    "chunk1024_ea": Chunk(ExpectedAttention(), chunk_length=1024),
    "knorm": KeyNorm(),
    "streaming": SinkRecent(),
}

every_case = pytest.mark.parametrize(("model", "context"), CASES)


@functools.cache
def load(model: str):
    from transformers import AutoModelForCausalLM

    folder, file = os.environ["ROUTELENS_MODELS"], f"{MODELS[model]}.gguf"
    if not (Path(folder) / file).is_file():
        pytest.skip(f"no {file} in ROUTELENS_MODELS")
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()


@functools.cache
def layer_states(model: str, context: str) -> list[LayerState]:
    """One prefill of the recorded token ids."""
    network = load(model)
    ids = json.loads((REFERENCE / f"{model}_{context}.json").read_text())["token_ids"]
    attentions = [block.self_attn for block in network.model.layers]
    queries: list[torch.Tensor] = []
    hooks = [
        attention.q_proj.register_forward_hook(lambda _, __, out: queries.append(out[0]))
        for attention in attentions
    ]
    try:
        with torch.no_grad():
            cache = network(torch.tensor([ids]), use_cache=True, logits_to_keep=1).past_key_values
    finally:
        for hook in hooks:
            hook.remove()

    def rotary(position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = network.model.rotary_emb(queries[0], position[None])
        return cos[0], sin[0]

    return [
        LayerState(
            layer=index,
            n_layers=len(attentions),
            keys=cache.layers[index].keys[0],
            values=cache.layers[index].values[0],
            queries=queries[index].view(len(ids), -1, attention.head_dim).transpose(0, 1),
            rotary=rotary,
            scale=attention.scaling,
            n_prefix=len(ids),
        )
        for index, attention in enumerate(attentions)
    ]


class Prefilled:
    """The recorded context's layers, as a cache yields them."""

    def __init__(self, model: str, context: str) -> None:
        self.states = layer_states(model, context)

    def layers(self):
        return iter(self.states)


def ours_and_theirs(model: str, context: str, policy: Policy, name: str):
    """Our mask and kvpress's, [layer, kv_head, pos], at each ratio."""
    masks = evict_many(
        Prefilled(model, context), policy, compression_ratios=RATIOS, rounding="kvpress"
    )
    recorded = np.load(REFERENCE / f"{model}_{context}.npz")
    for ratio, mask in zip(RATIOS, masks, strict=True):
        yield ratio, mask.keep.numpy(), recorded[f"{name}__a{ratio}"]


def scores_of(policy: Policy, model: str, context: str) -> np.ndarray:
    with torch.no_grad():
        return np.stack([policy.score(layer).numpy() for layer in layer_states(model, context)])


def assert_equal_but_at_the_cut_off(where: str, ours, theirs, scores, *, shared: bool = False):
    """Entries that differ lie within NEAR of the best evicted score of their head (or layer, where heads share)."""
    groups = (lambda x: x.reshape(len(x), 1, -1)) if shared else (lambda x: x)
    ours, theirs, scores = groups(ours), groups(theirs), groups(scores)
    cut_off = np.where(ours, -np.inf, scores).max(axis=-1, keepdims=True)
    differs = np.argwhere(ours != theirs)
    print(f"{where}: {len(differs)} of {ours.size} entries differ")
    for entry in (tuple(map(int, row)) for row in differs):
        gap = abs(scores[entry] / cut_off[entry[:-1]][0] - 1)
        print(f"  {entry}: score {scores[entry]:.9g}, {gap:.1e} from the cut-off")
        assert gap <= NEAR, f"{where}: {entry} is {gap:.1e} from the cut-off"


def differing_ties(where: str, ours, theirs) -> None:
    for layer, head in np.argwhere((ours != theirs).any(axis=-1)):
        mine = np.flatnonzero(ours[layer, head] & ~theirs[layer, head])
        other = np.flatnonzero(theirs[layer, head] & ~ours[layer, head])
        print(f"{where} L{layer}H{head}: only ours {mine.tolist()}, only kvpress {other.tolist()}")


@every_case
def test_expected_attention_scores_are_kvpress_s_within_a_thousandth(model, context):
    ours = scores_of(ExpectedAttention(), model, context)[..., 4:]
    theirs = np.load(REFERENCE / f"{model}_{context}_ea_scores.npz")["scores"][..., 4:]
    error = np.abs(ours - theirs) / np.abs(theirs)
    print(f"{model} {context}: largest relative error {error.max():.1e}, mean {error.mean():.1e}")
    assert error.max() <= 1e-3


@every_case
@pytest.mark.parametrize("name", EXACT)
def test_masks_are_kvpress_s(model, context, name):
    policy = EXACT[name]
    scores = scores_of(policy, model, context)
    for ratio, ours, theirs in ours_and_theirs(model, context, policy, name):
        where = f"{model} {context} {name} {ratio}"
        assert_equal_but_at_the_cut_off(where, ours, theirs, scores, shared=name == "adakv_ea")


@every_case
def test_chunked_masks_are_kvpress_s_in_every_chunk_that_holds_more_than_its_sinks(model, context):
    policy = Chunk(ExpectedAttention(), chunk_length=64)
    scores = scores_of(policy, model, context)
    for ratio, ours, theirs in ours_and_theirs(model, context, policy, "chunk64_ea"):
        for start in range(0, ours.shape[2], 64):
            chunk = slice(start, min(start + 64, ours.shape[2]))
            where = f"{model} {context} chunk64_ea {ratio}, from {start}"
            here, there = ours[..., chunk], theirs[..., chunk]
            kept = n_kept(here.shape[2], ratio, "kvpress")
            assert (here.sum(axis=-1) == kept).all() and (there.sum(axis=-1) == kept).all()
            if kept < 4:
                assert not here[..., 4:].any() and not there[..., 4:].any()
                differing_ties(where, here, there)
            else:
                assert_equal_but_at_the_cut_off(where, here, there, scores[..., chunk])


@every_case
@pytest.mark.parametrize("window", [16, 64])
def test_snapkv_masks_are_kvpress_s_but_for_ties_inside_the_window(model, context, window):
    policy = SnapKV(window_size=window)
    scores = scores_of(policy, model, context)
    for ratio, ours, theirs in ours_and_theirs(model, context, policy, f"snapkv{window}"):
        where = f"{model} {context} snapkv{window} {ratio}"
        assert np.array_equal(ours.sum(axis=-1), theirs.sum(axis=-1))
        if ours[0, 0].sum() < window:
            assert not ours[..., :-window].any() and not theirs[..., :-window].any()
            differing_ties(where, ours, theirs)
        else:
            assert_equal_but_at_the_cut_off(where, ours, theirs, scores)
