"""The check at load fails, in words, on each way of being silently wrong that it is there for."""

import pytest
import torch
from conftest import skip_without
from tiny_models import build, tokenizer

import routelens as rl
from routelens.models import SharedPrefix, hooked, hooks, loading
from routelens.models.adapters import HookedAdapter


def load(kind, variant="llama", *, dtype=torch.float32, **options):
    hf_model = build(variant).to(dtype)
    return rl.load_model(hf_model, tokenizer=tokenizer(), kind=kind, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_dropped_prefix_is_found_out(kind, monkeypatch, dtype):
    """What the bridge's own cache does under transformers 5.24: each cached step sees only itself."""
    attend = SharedPrefix.__call__

    def forgetful(self, site, heads):
        nothing = torch.zeros(len(heads.q), 4, 2, self.n_prefix, dtype=torch.bool)
        self.keep = nothing
        return attend(self, site, heads)

    monkeypatch.setattr(SharedPrefix, "__call__", forgetful)
    with pytest.raises(ValueError, match="decodes otherwise with a cache than without"):
        load(kind, dtype=dtype)


@pytest.mark.parametrize("variant", ["llama", "qwen2", "gemma2", "qwen3", "mistral"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounding_in_half_precision_is_no_finding(kind, variant, dtype):
    """Random weights of this size amplify rounding more than trained ones do."""
    assert rl.model_info(load(kind, variant, dtype=dtype)).hf_checked


def test_edits_that_do_not_arrive_are_found_out(kind, monkeypatch):
    attend = SharedPrefix.__call__

    def heedless(self, site, heads):
        self.keep = None
        return attend(self, site, heads)

    monkeypatch.setattr(SharedPrefix, "__call__", heedless)
    with pytest.raises(ValueError, match="edits do not reach it"):
        load(kind)


def test_hook_edits_that_a_model_discards_are_found_out(kind, monkeypatch):
    scores_hook = hooks._scores_hook

    def discarded(*args):
        hook_fn = scores_hook(*args)

        def watching(scores, hook):
            hook_fn(scores, hook)
            return scores

        return watching

    monkeypatch.setattr(hooks, "_scores_hook", discarded)
    with pytest.raises(ValueError, match="evicts otherwise through its hook points"):
        load(kind)


def test_a_conversion_that_drops_a_bias_is_found_out(monkeypatch):
    skip_without("hooked")
    convert = hooked.converter

    def forgetful(family):
        def without_bias(hf_model, cfg):
            state = convert(family)(hf_model, cfg)
            state["blocks.2.attn.b_Q"] = torch.zeros_like(state["blocks.2.attn.b_Q"])
            return state

        return without_bias

    monkeypatch.setattr(hooked, "converter", forgetful)
    with pytest.raises(ValueError, match="does not compute what its source computes"):
        load("hooked", "qwen2")


def test_a_conversion_that_forgets_a_weight_is_found_out(monkeypatch):
    skip_without("hooked")
    convert = hooked.converter

    def partial(family):
        return lambda hf_model, cfg: {
            name: tensor
            for name, tensor in convert(family)(hf_model, cfg).items()
            if name != "blocks.1.mlp.W_in"
        }

    monkeypatch.setattr(hooked, "converter", partial)
    with pytest.raises(ValueError, match=r"blocks\.1\.mlp\.W_in"):
        load("hooked")


def test_a_soft_cap_after_the_mask_is_found_out(kind, monkeypatch):
    """A cap squeezes −inf to a number: what is evicted is seen again."""
    from routelens.models.attention import AttentionSite

    monkeypatch.setattr(AttentionSite, "finish_scores", lambda self, scores: scores)
    with pytest.raises(ValueError, match="with a cache than without"):
        load(kind, "gemma2_cap2")


def test_positions_that_are_off_by_one_are_found_out(kind, monkeypatch):
    from routelens.models.adapters import Adapter

    run = Adapter.run

    def shifted(self, token_ids, positions, attend, **options):
        late = positions + 1 if isinstance(attend, SharedPrefix) else positions
        return run(self, token_ids, late, attend, **options)

    monkeypatch.setattr(Adapter, "run", shifted)
    with pytest.raises(ValueError, match="with a cache than without"):
        load(kind)


def test_weights_that_are_not_numbers_are_found_out(kind):
    hf_model = build("llama")
    hf_model.model.layers[3].mlp.up_proj.weight.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match="not finite"):
        rl.load_model(hf_model, tokenizer=tokenizer(), kind=kind)


def test_a_source_is_compared_and_an_existing_model_is_compared_with_itself(kind):
    model = load(kind)
    assert rl.model_info(model).hf_checked
    rl.load_model(model)
    assert not rl.model_info(model).hf_checked


def test_the_check_can_be_left_out(kind, monkeypatch):
    def never(*_):
        raise AssertionError("the check ran")

    monkeypatch.setattr("routelens.models.selfcheck.self_check", never)
    monkeypatch.setattr(loading, "greedy_of", never)
    model = load(kind, check=False)
    assert not rl.model_info(model).hf_checked


def test_a_window_that_is_not_applied_shows_in_the_checks_own_prompt(monkeypatch):
    """gemma2's window of 8 lies within the check's thirty tokens."""
    skip_without("hooked")
    site = HookedAdapter.site

    def unwindowed(self, layer):
        from dataclasses import replace

        return replace(site(self, layer), window=None)

    monkeypatch.setattr(HookedAdapter, "site", unwindowed)
    with pytest.raises(ValueError, match="with a cache than without"):
        load("hooked", "gemma2")
