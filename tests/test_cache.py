"""Prefill: what the cache holds is what the model's own forward computed, in every regime, and it grows with n alone."""

import pytest
import torch
from tiny_models import build, token_ids, tokenizer

import routelens as rl
from routelens.models import adapter_of
from routelens.models.adapters import rotate

N = 24
CONTEXT = "Paris is the capital of France (Paris). The quick brown fox jumps."
ITEM = rl.Item(context=CONTEXT, question="Where is it?", answer="France", id="a", passage_id="p")
OTHER = rl.Item(context=CONTEXT, question="Who jumps?", answer="fox", id="b", passage_id="p")
VARIANTS = ["llama", "qwen2", "qwen3", "gemma2", "mistral", "llama3_rope"]


def stored(model, ids, name):
    """An activation of the model's own forward, layer by layer."""
    found = {}
    names = [f"blocks.{layer}.attn.{name}" for layer in range(4)]
    hooks = [(n, lambda x, hook: found.__setitem__(hook.name, x[0].detach())) for n in names]
    with torch.no_grad(), model.hooks(fwd_hooks=hooks):
        model(ids[None])
    assert len(found) == 4
    return list(found.values())


@pytest.mark.parametrize("variant", VARIANTS)
def test_keys_are_rotated_and_values_are_as_projected(tiny, kind, variant):
    model, ids = tiny(variant, kind), token_ids(N)
    cache = rl.prefill(model, token_ids=ids)
    for ours, own in zip(cache.keys, stored(model, ids, "hook_rot_k"), strict=True):
        assert torch.allclose(ours, own.transpose(0, 1), atol=1e-5)
    for ours, own in zip(cache.values, stored(model, ids, "hook_v"), strict=True):
        assert torch.allclose(ours, own.transpose(0, 1), atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_queries_are_unrotated_and_the_layers_rotary_rotates_them(tiny, kind, variant):
    model, ids = tiny(variant, kind), token_ids(N)
    cache = rl.prefill(model, token_ids=ids)
    for state, own in zip(cache.layers(), stored(model, ids, "hook_rot_q"), strict=True):
        cos, sin = state.rotary(torch.arange(N))
        assert cos.shape == sin.shape == (N, state.keys.shape[-1])
        assert torch.allclose(rotate(state.queries, cos, sin), own.transpose(0, 1), atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_layer_states_the_scale_and_cap_of_its_scores(tiny, kind, variant):
    """q·k·scale, capped, is what the model's own forward hands to softmax."""
    model, ids = tiny(variant, kind), token_ids(N)
    cache = rl.prefill(model, token_ids=ids)
    for state, own in zip(cache.layers(), stored(model, ids, "hook_attn_scores"), strict=True):
        cos, sin = state.rotary(torch.arange(N))
        keys = state.keys.repeat_interleave(2, dim=0)
        scores = rotate(state.queries, cos, sin) @ keys.transpose(1, 2) * state.scale
        if state.softcap is not None:
            scores = torch.tanh(scores / state.softcap) * state.softcap
        seen = torch.ones(N, N, dtype=torch.bool).tril() & (own[0] > -1e30)
        assert torch.allclose(scores[:, seen], own[:, seen], atol=1e-4)
    assert (state.n_heads, state.n_kv_heads, state.n_prefix) == (4, 2, N)


def test_rotary_goes_on_past_the_models_context(tiny, kind):
    """Expected Attention looks ahead of the prompt; angles go on as they began, and the model is not touched."""
    model = tiny("llama", kind)
    state = next(rl.prefill(model, token_ids=token_ids(N)).layers())
    n_ctx = rl.model_info(model).n_ctx
    before = adapter_of(model).plain_logits(token_ids(N)[None])
    cos, sin = state.rotary(torch.arange(n_ctx - 2, n_ctx + 40))
    angles = torch.arange(n_ctx - 2, n_ctx + 40)[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
    assert torch.allclose(cos, angles.cos().repeat(1, 2), atol=1e-4)
    assert torch.allclose(sin, angles.sin().repeat(1, 2), atol=1e-4)
    assert torch.equal(adapter_of(model).plain_logits(token_ids(N)[None]), before)


@pytest.mark.parametrize("variant", ["llama", "gemma2"])
def test_a_longer_context_has_the_same_keys_where_it_is_the_same(tiny, kind, variant):
    """Causality: nothing that follows is in them."""
    model, ids = tiny(variant, kind), token_ids(N + 10)
    long, short = (rl.prefill(model, token_ids=x) for x in (ids, ids[:N]))
    for one, other in zip(long.keys, short.keys, strict=True):
        assert torch.allclose(one[:, :N], other, atol=1e-5)


def test_the_cache_names_its_tokens_and_evidence(tiny, kind):
    cache = rl.prefill(tiny("qwen2", kind), ITEM)
    assert cache.n_prefix == len(cache.token_ids) == cache.keys[0].shape[1]
    assert cache.evidence.status == "located"
    text = tokenizer().decode(cache.token_ids[list(cache.answer_positions)])
    assert text.strip() == "France"
    assert set(cache.answer_positions) <= set(cache.content_positions)
    assert cache.groups[0].occurrences == (cache.answer_positions,)
    assert min(cache.content_positions) >= 4


def test_given_ids_are_prefilled_as_they_are(tiny, kind):
    ids = token_ids(N)
    for given in (ids, ids.tolist()):
        cache = rl.prefill(tiny("llama", kind), token_ids=given)
        assert cache.token_ids.tolist() == ids.tolist()
    assert cache.evidence.status == "not_locatable"
    assert cache.answer_positions == ()
    assert cache.content_positions == tuple(range(4, N))


def test_a_one_token_context_is_a_context(tiny, kind):
    cache = rl.prefill(tiny("gemma2", kind), token_ids=[7])
    answer = rl.answer(cache, question_ids=[8], max_new_tokens=2)
    assert len(answer.token_ids) <= 2
    assert rl.evict(cache, policy="snapkv", compression_ratio=0.9).n_kept == 8


@pytest.mark.parametrize("regime", ["agnostic", "aware_one", "aware_list", "score_only"])
def test_answers_in_every_regime_are_those_of_the_whole_prompt(tiny, kind, regime):
    model = tiny("qwen2", kind)
    questions = () if regime == "aware_one" else (ITEM.question, OTHER.question)
    cache = rl.prefill(model, ITEM, regime=regime, questions=questions)
    prompt = cache.prompt
    ids = torch.tensor([[*prompt.prefix_ids, *prompt.suffix_ids]])
    expected = adapter_of(model).plain_logits(ids)[0, -1]
    ours = rl.forced_logits(cache, None, list(prompt.suffix_ids))[-1]
    assert torch.allclose(ours, expected, atol=2e-4)
    state = next(cache.layers())
    assert state.n_prefix == cache.n_prefix
    assert state.keys.shape[1] == cache.n_prefix + len(prompt.scoring_ids)
    assert rl.evict(cache, policy="snapkv", compression_ratio=0.5).k_pos == cache.n_prefix


@pytest.mark.parametrize("regime", ["agnostic", "aware_list", "score_only"])
def test_another_question_on_the_passage_uses_the_same_cache(tiny, kind, regime):
    questions = (ITEM.question, OTHER.question)
    model = tiny("qwen2", kind)
    cache = rl.prefill(model, ITEM, regime=regime, questions=questions)
    own = rl.prefill(model, OTHER, regime=regime, questions=questions)
    ours = rl.answer(cache, item=OTHER, max_new_tokens=5)
    assert ours.token_ids == rl.answer(own, max_new_tokens=5).token_ids
    assert ours.item_id == "b"


def test_in_aware_one_the_question_is_part_of_the_prefix(tiny, kind):
    cache = rl.prefill(tiny("qwen2", kind), ITEM, regime="aware_one")
    with pytest.raises(ValueError, match="the same question"):
        rl.answer(cache, item=OTHER)


def test_a_prefix_needs_an_item_or_ids_and_not_both(tiny, kind):
    model = tiny("llama", kind)
    for arguments in ({}, {"item": ITEM, "token_ids": [5]}):
        with pytest.raises(ValueError, match="either an item or token_ids"):
            rl.prefill(model, **arguments)


def test_a_context_that_does_not_fit_is_refused_and_never_cut(tiny, kind):
    model = tiny("llama", kind)
    rl.prefill(model, token_ids=token_ids(192))
    with pytest.raises(ValueError, match="got 193"):
        rl.prefill(model, token_ids=token_ids(193))
    with pytest.raises(ValueError, match="192 positions"):
        rl.prefill(model, rl.Item(context="fox " * 300, question="Who?", answer="fox"))
    with pytest.raises(ValueError):
        rl.prefill(model, token_ids=[])


def test_prefill_holds_no_graph_and_copies_nothing_of_the_model(tiny, kind):
    cache = rl.prefill(tiny("llama", kind), token_ids=token_ids(N))
    for tensor in (*cache.keys, *cache.values, *cache.queries):
        assert not tensor.requires_grad
        # What is held is what is needed: no view of something larger.
        assert tensor.untyped_storage().nbytes() == tensor.nbytes


def test_a_model_not_seen_before_is_checked_on_first_use(kind, monkeypatch):
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)
    calls = []
    from routelens.models import _INFO, selfcheck

    own = selfcheck.self_check
    monkeypatch.setattr(selfcheck, "self_check", lambda *a: calls.append(1) or own(*a))
    del _INFO[model]
    rl.prefill(model, token_ids=token_ids(N))
    rl.prefill(model, token_ids=token_ids(N))
    assert calls == [1]
