"""Options of TransformerLens models: run with the same numbers, or refused by name."""

import pytest
import torch
from conftest import skip_without
from tiny_models import build, token_ids, tokenizer

import routelens as rl
from routelens.models import adapter_of

ROTARY = {"positional_embedding_type": "rotary", "rotary_dim": 8}
FINE = {
    "gpt2": {},
    "attention only": {"attn_only": True},
    "parallel blocks": {"parallel_attn_mlp": True},
    "scaled by layer": {"scale_attn_by_inverse_layer_idx": True},
    "unscaled": {"use_attn_scale": False},
    "rotary": ROTARY,
    "partly rotary": {**ROTARY, "rotary_dim": 4},
    "no norms": {"normalization_type": None},
    "folded norms": {"normalization_type": "LNPre"},
    "logits capped": {"output_logits_soft_cap": 1.0},
    "scores capped": {"attn_scores_soft_cap": 0.5},
    "short window": {"use_local_attn": True, "window_size": 5, "attn_types": ["local", "global"]},
    "long window": {"use_local_attn": True, "window_size": 40, "attn_types": ["global", "local"]},
    "grouped": {"n_key_value_heads": 2},
    "split inputs": {"use_split_qkv_input": True, "n_key_value_heads": 2},
    "attention input": {"use_attn_in": True},
    "results by head": {"use_attn_result": True},
    "mlp input": {"use_hook_mlp_in": True},
    "other outputs": {"d_vocab_out": 20},
    "token hook": {"use_hook_tokens": True},
}
REFUSED = {
    "shortformer": {"positional_embedding_type": "shortformer"},
    "alibi": {"positional_embedding_type": "alibi"},
    "bidirectional": {"attention_dir": "bidirectional"},
    "rotary_adjacent_pairs": {**ROTARY, "rotary_adjacent_pairs": True},
    "use_logn_attn": {**ROTARY, "use_logn_attn": True, "train_seq_length": 40},
    "use_dynamic_ntk_rope": {**ROTARY, "use_dynamic_ntk_rope": True, "train_seq_length": 40},
    "clip_qkv": {"clip_qkv": 0.05},
    "use_attention_sinks": {"use_attention_sinks": True},
    "ungroup_grouped_query_attention": {
        "n_key_value_heads": 1,
        "ungroup_grouped_query_attention": True,
    },
}


def hooked_transformer(**options):
    skip_without("hooked")
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    fixed = {
        "n_layers": 2,
        "d_model": 32,
        "n_ctx": 64,
        "d_head": 8,
        "n_heads": 4,
        "d_vocab": 50,
        "act_fn": "gelu",
        "d_mlp": 64,
        "device": "cpu",
        "seed": 0,
    }
    model = HookedTransformer(HookedTransformerConfig(**{**fixed, **options})).eval()
    torch.manual_seed(0)
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3)
    return model


def paths_agree(model, *, n_prefix=45, atol=2e-4):
    """Masked logits by the shared prefix and by hooks in the model's own forward."""
    info = rl.model_info(model)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 50, (n_prefix + 4,), generator=generator)
    keep = rl.KeepMask(
        torch.rand(info.n_layers, info.n_kv_heads, n_prefix, generator=generator) < 0.5
    )
    cache = rl.prefill(model, token_ids=ids[:n_prefix])
    with torch.no_grad(), model.hooks(fwd_hooks=rl.attention_hooks(model, keep)):
        expected = adapter_of(model).plain_logits(ids[None])[0, n_prefix:]
    gap = (rl.forced_logits(cache, keep, ids[n_prefix:]) - expected).abs().max()
    assert gap <= atol * max(1.0, float(expected.std()))


@pytest.mark.parametrize("name", FINE)
def test_an_option_that_is_known_gives_the_same_numbers_on_both_paths(name):
    model = hooked_transformer(**FINE[name])
    assert rl.load_model(model) is model
    paths_agree(model)


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_would_be_silently_wrong_is_refused_by_name(name):
    model = hooked_transformer(**REFUSED[name])
    with pytest.raises(ValueError, match=name):
        rl.load_model(model)


def test_an_option_switched_on_after_loading_is_seen_at_the_next_use(tiny):
    skip_without("hooked")
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind="hooked")
    cache = rl.prefill(model, token_ids=token_ids(10))
    model.set_ungroup_grouped_query_attention(True)
    with pytest.raises(ValueError, match="ungroup_grouped_query_attention"):
        rl.answer(cache, question_ids=[5], max_new_tokens=1)
    model.set_ungroup_grouped_query_attention(False)
    assert rl.answer(cache, question_ids=[5], max_new_tokens=1).token_ids


@pytest.mark.parametrize("option", ["use_split_qkv_input", "use_attn_result"])
def test_hook_points_that_are_switched_on_after_loading_still_get_the_same_numbers(option):
    skip_without("hooked")
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind="hooked")
    getattr(model, f"set_{option}")(True)
    paths_agree(model)


@pytest.mark.parametrize("option", ["use_split_qkv_input", "use_attn_in", "use_attn_result"])
def test_the_bridges_hook_points_that_the_fast_path_would_skip_are_refused(option):
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind="bridge")
    getattr(model, f"set_{option}")(True)
    with pytest.raises(ValueError, match=option):
        rl.prefill(model, token_ids=token_ids(10))
    getattr(model, f"set_{option}")(False)
    rl.prefill(model, token_ids=token_ids(10))


def test_a_bridge_of_an_unknown_architecture_is_refused():
    from transformer_lens.model_bridge import TransformerBridge

    bridge = TransformerBridge.boot_transformers(
        "gpt_neox", hf_model=build("gpt_neox"), tokenizer=_bridge_tokenizer(), device="cpu"
    )
    with pytest.raises(ValueError, match="gpt_neox"):
        rl.load_model(bridge)


def _bridge_tokenizer():
    own = tokenizer()
    own.init_kwargs.update(name_or_path="", add_bos_token=True)
    return own


def test_a_bridge_of_ones_own_is_checked_and_used():
    from transformer_lens.model_bridge import TransformerBridge

    bridge = TransformerBridge.boot_transformers(
        "llama", hf_model=build("llama"), tokenizer=_bridge_tokenizer(), device="cpu"
    )
    assert rl.load_model(bridge) is bridge
    paths_agree(bridge)


def test_a_bridge_in_compatibility_mode_gives_its_own_numbers():
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind="bridge")
    model.enable_compatibility_mode()
    rl.load_model(model)
    paths_agree(model, atol=1e-3)


def test_a_context_of_a_handful_of_tokens_can_be_loaded():
    model = hooked_transformer(n_ctx=6)
    rl.load_model(model)
    paths_agree(model, n_prefix=2)


def test_something_that_is_no_model_is_refused():
    with pytest.raises(ValueError, match="got Linear"):
        rl.model_info(torch.nn.Linear(2, 2))
