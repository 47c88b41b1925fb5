"""Masking onto a shared prefix equals decoding with a physically pruned Hugging Face cache, in both model classes."""

import pytest
import torch
from pruned_cache import PrunedCache
from tiny_models import token_ids

from routelens import KeepMask, answer, forced_logits, prefill

N_PREFIX = 50
MAIN = ("llama", "qwen2", "gemma2", "mistral")
OTHERS = (
    "llama_no_grouping",
    "llama_one_kv_head",
    "llama_wide_heads",
    "llama_tied",
    "llama3_rope",
    "qwen2_windows",
    "qwen3",
    "mistral_no_window",
    "mistral_long_window",
    "gemma",
    "gemma2_cap2",
    "gemma2_final_cap2",
)
BRIDGE_ONLY = ("llama_yarn", "llama_bias")


def per_head(hf_model, share, *, seed=0, equal=True):
    """A random mask: of every KV head the same number of entries, or each entry with probability ``share``."""
    config = hf_model.config
    shape = (config.num_hidden_layers, config.num_key_value_heads, N_PREFIX)
    draws = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    if not equal:
        return KeepMask(draws < share)
    n_kept = max(1, int(share * N_PREFIX))
    return KeepMask(torch.zeros(shape).scatter(-1, draws.topk(n_kept).indices, 1).bool())


def compare(model, hf_model, keep, *, atol=1e-3, n_question=6, seed=1):
    """Logits of question rows and greedy tokens against the pruned cache."""
    context, question = token_ids(N_PREFIX), token_ids(n_question, seed=seed)
    cache = prefill(model, token_ids=context)
    expected = PrunedCache(hf_model, context, keep.keep).read(question)
    logits = forced_logits(cache, keep, question)
    assert (logits - expected).abs().max() <= atol
    greedy = PrunedCache(hf_model, context, keep.keep).greedy(question, 6)
    ours = answer(cache, keep, question_ids=question, max_new_tokens=6)
    assert list(ours.token_ids) == greedy[: len(ours.token_ids)]
    assert ours.stopped == (len(ours.token_ids) < 6)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("variant", MAIN)
def test_masked_logits_are_those_of_a_physically_pruned_cache(tiny, tiny_hf, variant, kind, share):
    keep = per_head(tiny_hf(variant), share)
    compare(tiny(variant, kind), tiny_hf(variant), keep)


@pytest.mark.parametrize("variant", OTHERS)
def test_so_they_are_in_every_variant_of_the_families(tiny, tiny_hf, variant, kind):
    compare(tiny(variant, kind), tiny_hf(variant), per_head(tiny_hf(variant), 0.1))


@pytest.mark.parametrize("variant", BRIDGE_ONLY)
def test_what_only_the_bridge_can_load_is_masked_as_well(tiny, tiny_hf, variant):
    compare(tiny(variant, "bridge"), tiny_hf(variant), per_head(tiny_hf(variant), 0.3))


@pytest.mark.parametrize("variant", MAIN)
def test_heads_may_keep_different_numbers_of_entries(tiny, tiny_hf, variant, kind):
    keep = per_head(tiny_hf(variant), 0.3, equal=False)
    assert len(keep.keep.sum(-1).unique()) > 1
    compare(tiny(variant, kind), tiny_hf(variant), keep)


def test_deleting_the_same_five_positions_everywhere_is_the_golden_case(tiny, tiny_hf, kind):
    evicted = [3, 4, 5, 9, 12]
    keep = KeepMask.full(4, 2, N_PREFIX).with_positions(evicted, keep=False)
    compare(tiny("llama", kind), tiny_hf("llama"), keep, atol=1e-4)


def test_evicting_the_first_token_is_no_special_case(tiny, tiny_hf, kind):
    keep = KeepMask.full(4, 2, N_PREFIX).with_positions([0], keep=False)
    compare(tiny("llama", kind), tiny_hf("llama"), keep)


def test_kv_head_masks_reach_the_query_heads_of_their_own_group(tiny, kind):
    context, question = token_ids(16), token_ids(4, seed=1)
    keep = KeepMask.full(4, 2, 16).with_positions(range(1, 16), keep=False, kv_heads=[1])
    cache = prefill(tiny("llama", kind), token_ids=context)
    trace = answer(cache, keep, question_ids=question, max_new_tokens=2, trace=True).trace
    mass = trace.pattern[..., 1:16].sum(-1)
    assert (mass[:, 2:] == 0).all()
    assert (mass[:, :2] > 0).all()


@pytest.mark.parametrize("backend", ["shared", "hooks"])
def test_eviction_goes_on_at_every_generated_token(tiny, tiny_hf, kind, backend):
    context, question = token_ids(20), token_ids(5, seed=2)
    keep = KeepMask.full(4, 2, 20).with_positions(range(2, 12), keep=False)
    cache = prefill(tiny("llama", kind), token_ids=context)
    ours = answer(cache, keep, question_ids=question, max_new_tokens=8, backend=backend)
    expected = PrunedCache(tiny_hf("llama"), context, keep.keep).greedy(question, 8)
    assert list(ours.token_ids) == expected[: len(ours.token_ids)]


@pytest.mark.parametrize("n_prefix", [6, 30])
def test_a_sliding_window_counts_original_positions(tiny, tiny_hf, kind, n_prefix):
    """gemma2's window of 8 is longer, and shorter, than the prefix."""
    context, question = token_ids(n_prefix, seed=5), token_ids(4, seed=6)
    keep = KeepMask.full(4, 2, n_prefix).with_positions([1, n_prefix - 2], keep=False)
    cache = prefill(tiny("gemma2", kind), token_ids=context)
    expected = PrunedCache(tiny_hf("gemma2"), context, keep.keep).read(question)
    assert (forced_logits(cache, keep, question) - expected).abs().max() <= 1e-4
