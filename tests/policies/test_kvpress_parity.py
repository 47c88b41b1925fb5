"""Scores and keep masks equal those that kvpress 0.5.5 recorded on two real models.

The recordings lie in ``tests/data/reference``: ids, masks at four ratios, and Expected Attention's raw scores. An entry may
differ only where its score lies within 1e-5 (relative) of the cut-off, since another library version rounds the keys otherwise.
kvpress marks protected positions by one tied sentinel score, and which of the tied positions it kept is the accident of a
sort: where a budget falls among them, the test checks the counts and that both masks stay inside the tie, and prints every
entry in which they differ (``pytest -rP`` shows them).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from routelens.cache import prefill
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

pytestmark = pytest.mark.real

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
CASES = [(model, context) for model in ("smol", "qwen") for context in ("bio0", "long0")]
RATIOS = (0.3, 0.5, 0.7, 0.9)
NEAR = 1e-5

EXACT = {
    "ea": ExpectedAttention(),
    "adakv_ea": AdaKV(ExpectedAttention()),
    "chunk1024_ea": Chunk(ExpectedAttention(), chunk_length=1024),
    "knorm": KeyNorm(),
    "streaming": SinkRecent(),
}


@dataclass(frozen=True)
class Recorded:
    """One recorded context, prefilled here from the same token ids."""

    name: str
    states: list[LayerState]
    masks: Mapping[str, np.ndarray]
    scores: np.ndarray

    def layers(self):
        return iter(self.states)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def recorded(request, real_model) -> Recorded:
    model, context = request.param
    stem = f"{model}_{context}"
    ids = json.loads((REFERENCE / f"{stem}.json").read_text())["token_ids"]
    cache = prefill(real_model(model), token_ids=ids)
    return Recorded(
        name=f"{model} {context}",
        states=list(cache.layers()),
        masks=np.load(REFERENCE / f"{stem}.npz"),
        scores=np.load(REFERENCE / f"{stem}_ea_scores.npz")["scores"],
    )


def ours_and_theirs(recorded: Recorded, policy: Policy, name: str):
    """Our mask and kvpress's, [layer, kv_head, pos], at each ratio."""
    masks = evict_many(recorded, policy, compression_ratios=RATIOS, rounding="kvpress")
    for ratio, mask in zip(RATIOS, masks, strict=True):
        yield ratio, mask.keep.numpy(), recorded.masks[f"{name}__a{ratio}"]


def scores_of(policy: Policy, recorded: Recorded) -> np.ndarray:
    with torch.no_grad():
        return np.stack([policy.score(layer).numpy() for layer in recorded.states])


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


def test_expected_attention_scores_are_kvpress_s_within_a_thousandth_where_float32_resolves_them(
    recorded,
):
    ours = scores_of(ExpectedAttention(), recorded)[..., 4:]
    theirs = recorded.scores[..., 4:]
    error = np.abs(ours - theirs) / np.abs(theirs)
    print(f"{recorded.name}: largest relative error {error.max():.1e}, mean {error.mean():.1e}")
    # With qwen's key bias the logits of layer 0 reach 9e4, and float32 resolves a score there to no better than a
    # thousandth: kvpress's own are 1.2e-3 to 1.5e-3 from float64's.
    allowed = np.full(len(error), 1e-3)
    allowed[0] = 2e-3 if recorded.name.startswith("qwen") else 1e-3
    assert (error.max(axis=(1, 2)) <= allowed).all()


@pytest.mark.parametrize("name", EXACT)
def test_masks_are_kvpress_s(recorded, name):
    policy = EXACT[name]
    scores = scores_of(policy, recorded)
    for ratio, ours, theirs in ours_and_theirs(recorded, policy, name):
        where = f"{recorded.name} {name} {ratio}"
        assert_equal_but_at_the_cut_off(where, ours, theirs, scores, shared=name == "adakv_ea")


def test_chunked_masks_are_kvpress_s_in_every_chunk_that_holds_more_than_its_sinks(recorded):
    policy = Chunk(ExpectedAttention(), chunk_length=64)
    scores = scores_of(policy, recorded)
    for ratio, ours, theirs in ours_and_theirs(recorded, policy, "chunk64_ea"):
        for start in range(0, ours.shape[2], 64):
            chunk = slice(start, min(start + 64, ours.shape[2]))
            where = f"{recorded.name} chunk64_ea {ratio}, from {start}"
            here, there = ours[..., chunk], theirs[..., chunk]
            kept = n_kept(here.shape[2], ratio, "kvpress")
            assert (here.sum(axis=-1) == kept).all() and (there.sum(axis=-1) == kept).all()
            if kept < 4:
                assert not here[..., 4:].any() and not there[..., 4:].any()
                differing_ties(where, here, there)
            else:
                assert_equal_but_at_the_cut_off(where, here, there, scores[..., chunk])


@pytest.mark.parametrize("window", [16, 64])
def test_snapkv_masks_are_kvpress_s_but_for_ties_inside_the_window(recorded, window):
    policy = SnapKV(window_size=window)
    scores = scores_of(policy, recorded)
    for ratio, ours, theirs in ours_and_theirs(recorded, policy, f"snapkv{window}"):
        where = f"{recorded.name} snapkv{window} {ratio}"
        assert np.array_equal(ours.sum(axis=-1), theirs.sum(axis=-1))
        if ours[0, 0].sum() < window:
            assert not ours[..., :-window].any() and not theirs[..., :-window].any()
            differing_ties(where, ours, theirs)
        else:
            assert_equal_but_at_the_cut_off(where, ours, theirs, scores)
