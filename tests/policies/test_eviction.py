"""A cache and a policy give a keep mask; a grid of budgets costs one scoring pass."""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import torch
from policy_cases import EVERY_POLICY, Layers, label, make_cache, make_layer
from torch.utils._python_dispatch import TorchDispatchMode

from routelens.eviction import evict, evict_layers, evict_many
from routelens.policies import POLICIES, AdaKV, KeyNorm, Policy, Random, SnapKV
from routelens.types import KeepMask, LayerState


@dataclass(frozen=True)
class Counting(Policy):
    """Key norm that counts its calls."""

    calls: list = field(default_factory=list, hash=False)

    def score(self, layer: LayerState) -> torch.Tensor:
        self.calls.append(layer.layer)
        return KeyNorm().score(layer)


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=label)
def test_a_grid_gives_the_masks_that_single_calls_give(policy):
    cache = make_cache(24, n_layers=2)
    many = evict_many(
        cache, policy, compression_ratios=(0.9, 0.3), budgets=(5,), rounding="kvpress"
    )
    singles = [
        evict(cache, policy, compression_ratio=0.9, rounding="kvpress"),
        evict(cache, policy, compression_ratio=0.3, rounding="kvpress"),
        evict(cache, policy, budget=5),
    ]
    assert [mask.hash for mask in many] == [mask.hash for mask in singles]
    assert [mask.attainable for mask in many] == [mask.attainable for mask in singles]


def test_a_grid_scores_each_layer_once():
    cache, policy = make_cache(24), Counting()
    evict_many(cache, policy, compression_ratios=[i / 13 for i in range(13)], budgets=[1, 2])
    assert policy.calls == [0, 1, 2] and cache.n_passes == 1


def test_layers_stream_and_are_not_held():
    alive = []

    def watched() -> Iterator[LayerState]:
        for index in range(10):
            layer = make_layer(64, layer=index, n_layers=10)
            alive.append(weakref.ref(layer.keys))
            yield layer
            del layer
            # The loop that reads them may still hold the last one, never those before it.
            assert sum(reference() is not None for reference in alive) <= 1

    assert evict_layers(watched(), KeyNorm(), compression_ratio=0.9).keep.shape == (10, 3, 64)


class LargestTensor(TorchDispatchMode):
    """Records the size of the largest tensor that any operation returns."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple) else (out,):
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
        return out


@pytest.mark.parametrize("name", POLICIES)
def test_no_tensor_grows_with_the_square_of_the_text(name):
    layer = make_layer(2048, n_kv_heads=1, n_groups=1)
    with LargestTensor() as largest:
        evict(Layers([layer]), name, compression_ratio=0.9)
    assert 2048 <= largest.numel <= 64 * 2048


def test_the_mask_is_a_keep_mask_on_the_cpu():
    mask = evict(make_cache(40), "adakv", compression_ratio=0.5)
    assert isinstance(mask, KeepMask)
    assert mask.keep.shape == (3, 3, 40) and mask.keep.device.type == "cpu"
    assert mask.compression_ratio == 0.5 and mask.attainable


def test_a_policy_is_named_configured_or_given():
    cache = make_cache(40)
    by_name = evict(cache, "adakv", budget=8)
    by_config = evict(cache, {"name": "adakv", "policy": {"name": "expected_attention"}}, budget=8)
    by_default = evict(cache, budget=8)
    assert by_name.hash == by_config.hash == by_default.hash
    assert evict(cache, AdaKV(KeyNorm()), budget=8).hash != by_name.hash


def test_a_seed_replaces_randoms_own_and_leaves_others_alone():
    cache = make_cache(40)
    seeded = evict(cache, "random", compression_ratio=0.5, seed=3)
    assert seeded.hash == evict(cache, Random(seed=3), compression_ratio=0.5).hash
    assert seeded.hash != evict(cache, "random", compression_ratio=0.5).hash
    plain = evict(cache, "key_norm", compression_ratio=0.5)
    assert plain.hash == evict(cache, "key_norm", compression_ratio=0.5, seed=3).hash


def test_one_layer_out_of_budget_makes_the_mask_unattainable():
    mask = evict(make_cache(40), SnapKV(window_size=30), compression_ratio=0.9)
    assert not mask.attainable and mask.n_kept == 3 * 3 * 4


def test_exactly_one_of_ratio_and_budget_is_asked_for():
    cache = make_cache(8)
    with pytest.raises(ValueError, match="KeyNorm: give either compression_ratio or budget"):
        evict(cache, "key_norm")
    with pytest.raises(ValueError, match="exactly one"):
        evict(cache, "key_norm", compression_ratio=0.5, budget=3)
    with pytest.raises(ValueError, match="KeyNorm: evict_many needs compression_ratios or budgets"):
        evict_many(cache, "key_norm")


def test_a_bad_ratio_is_refused_before_any_layer_is_read():
    cache = make_cache(8)
    with pytest.raises(ValueError, match=r"KeyNorm: .*got 4\.0\. To keep 25 % pass 0\.75\."):
        evict(cache, "key_norm", compression_ratio=4.0)
    with pytest.raises(ValueError, match="To keep 25 %"):
        evict_many(cache, "key_norm", compression_ratios=(0.5, 1.0))
    with pytest.raises(ValueError, match="no policy is named"):
        evict(cache, "keynorms", compression_ratio=0.5)
    assert cache.n_passes == 0


def test_layers_out_of_order_missing_or_twice_are_refused():
    states = make_cache(8).states
    for wrong, message in (
        ([states[1], states[0], states[2]], "got layer 1 where 0 was due"),
        ([states[0], states[0], states[1]], "got layer 0 where 1 was due"),
        (states[:2], "got 2 of 3"),
        ([], "got 0 of 0"),
    ):
        with pytest.raises(ValueError, match=message):
            evict(Layers(wrong), "key_norm", compression_ratio=0.5)
