"""A user's hooks keep firing, keep acting and survive; whatever ends a run early, the model is as it was, to the bit."""

import pytest
import torch
from tiny_models import build, token_ids, tokenizer

import routelens as rl
from routelens.models import adapter_of

N_PREFIX = 20
ACTING = [
    "hook_embed",
    "blocks.1.hook_resid_pre",
    "blocks.1.hook_resid_post",
    "blocks.1.hook_attn_out",
    "blocks.1.hook_mlp_out",
    "blocks.1.attn.hook_q",
    "blocks.1.attn.hook_k",
    "blocks.1.attn.hook_v",
    "blocks.1.attn.hook_rot_q",
    "blocks.1.attn.hook_rot_k",
    "blocks.1.attn.hook_attn_scores",
    "blocks.1.attn.hook_pattern",
    "blocks.1.attn.hook_z",
]


@pytest.fixture
def fresh(kind):
    """A model of the test's own: hooks are put on it."""
    return rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)


def plain(model):
    with torch.no_grad():
        return adapter_of(model).plain_logits(token_ids(25, seed=9)[None])


def state_of(model):
    """Everything that a run could leave behind on a module."""
    return [
        (
            module.__dict__.get("forward"),
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
            module.training,
        )
        for module in model.modules()
    ]


def untouched(model):
    """Whether no attention component has a forward of its own, as TransformerLens leaves them."""
    return all("forward" not in block.attn.__dict__ for block in model.blocks)


def answer(model, **options):
    cache = rl.prefill(model, token_ids=token_ids(N_PREFIX))
    keep = rl.evict(cache, policy="random", compression_ratio=0.5)
    question = token_ids(4, seed=1)
    return rl.answer(cache, keep, question_ids=question, max_new_tokens=4, **options)


def fired_by(model, run):
    """Names of the hook points that fire, with how often."""
    counts = {}
    # Hook points that are off, until an option switches them on.
    off = ("hook_mlp_in", "hook_attn_in", "_input", "hook_result")

    def count(tensor, hook):
        counts[hook.name] = counts.get(hook.name, 0) + 1

    names = [name for name in model.hook_dict if not name.endswith(off)]
    with model.hooks(fwd_hooks=[(name, count) for name in names]):
        run()
    return counts


@pytest.mark.parametrize("variant", ["llama", "qwen2", "gemma2", "qwen3"])
def test_the_shared_prefix_fires_every_hook_point_that_the_models_own_forward_fires(
    tiny, kind, variant
):
    model = tiny(variant, kind)
    cache = rl.prefill(model, token_ids=token_ids(N_PREFIX))
    question = token_ids(4, seed=1)
    own = fired_by(model, lambda: plain(model))
    ours = fired_by(model, lambda: rl.forced_logits(cache, None, question))
    assert len(own) > 40
    assert ours == own


def test_prefill_fires_them_as_well_but_for_the_unembedding(tiny, kind):
    model = tiny("llama", kind)
    own = fired_by(model, lambda: plain(model))
    ours = fired_by(model, lambda: rl.prefill(model, token_ids=token_ids(N_PREFIX)))
    assert set(own) - set(ours) <= {
        name for name in own if name.startswith(("ln_final", "unembed"))
    }


@pytest.mark.parametrize("name", ACTING)
def test_a_users_edit_acts_in_prefill_and_decoding_as_in_the_models_own_forward(fresh, name):
    def scale(tensor, hook):
        """By another factor for each head and dimension (each head, where the last axes are positions)."""
        if tensor.ndim == 4 and name.endswith(("scores", "pattern")):
            return tensor * torch.linspace(0.5, 1.5, 4)[:, None, None]
        axes = tensor.shape[2:]
        return tensor * torch.linspace(0.5, 1.5, axes.numel()).reshape(axes)

    before = rl.forced_logits(
        rl.prefill(fresh, token_ids=token_ids(N_PREFIX)), None, token_ids(4, seed=1)
    )
    with fresh.hooks(fwd_hooks=[(name, scale)]):
        ids = torch.cat([token_ids(N_PREFIX), token_ids(4, seed=1)])
        with torch.no_grad():
            expected = adapter_of(fresh).plain_logits(ids[None])[0, N_PREFIX:]
        cache = rl.prefill(fresh, token_ids=ids[:N_PREFIX])
        ours = rl.forced_logits(cache, None, ids[N_PREFIX:])
    assert (ours - expected).abs().max() < 2e-4
    assert (ours - before).abs().max() > 1e-2


@pytest.mark.parametrize("backend", ["shared", "hooks"])
def test_a_users_pattern_edit_changes_the_answer_on_both_paths(fresh, backend):
    before = answer(fresh, backend=backend)

    def look_at_the_first_token_only(pattern, hook):
        edited = torch.zeros_like(pattern)
        edited[..., 0] = 1.0
        return edited

    for layer in range(4):
        fresh.add_hook(f"blocks.{layer}.attn.hook_pattern", look_at_the_first_token_only)
    assert answer(fresh, backend=backend).token_ids != before.token_ids
    fresh.reset_hooks()
    assert answer(fresh, backend=backend).token_ids == before.token_ids


def test_users_hooks_fire_in_every_forward_and_survive(fresh):
    calls = []
    for name in ("blocks.0.hook_resid_post", "blocks.0.attn.hook_pattern"):
        fresh.add_hook(name, lambda tensor, hook: calls.append(hook.name))
    result = answer(fresh)
    n_forwards = 1 + len(result.token_ids)  # the prefill, the question, every token but the last
    assert len(result.token_ids) == 4
    assert len(calls) == 2 * n_forwards
    plain(fresh)
    assert len(calls) == 2 * n_forwards + 2


def test_a_permanent_hook_survives_both_backends(fresh):
    calls = []
    fresh.add_perma_hook("blocks.0.hook_resid_post", lambda tensor, hook: calls.append(1))
    for backend in ("shared", "hooks"):
        answer(fresh, backend=backend)
    before = len(calls)
    plain(fresh)
    assert len(calls) == before + 1


def test_a_users_hooks_context_around_an_answer_is_still_there_afterwards(fresh):
    calls = []
    hooks = [("blocks.0.attn.hook_z", lambda tensor, hook: calls.append(1))]
    with fresh.hooks(fwd_hooks=hooks):
        answer(fresh, backend="hooks")
        answer(fresh)
        before = len(calls)
        plain(fresh)
        assert len(calls) == before + 1
    plain(fresh)
    assert len(calls) == before + 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("backend", ["shared", "hooks"])
def test_whatever_is_raised_in_the_third_forward_the_model_is_as_before(fresh, error, backend):
    logits, state, calls = plain(fresh), state_of(fresh), []

    def third_time(tensor, hook):
        calls.append(1)
        if len(calls) == 3:
            raise error("stop")

    fresh.add_hook("blocks.2.hook_mlp_out", third_time)
    with pytest.raises(error):
        answer(fresh, backend=backend)
    fresh.reset_hooks()
    assert len(calls) == 3
    assert untouched(fresh)
    assert torch.equal(plain(fresh), logits)
    assert state_of(fresh) == state


def test_an_answer_iterator_left_midway_leaves_nothing_behind(fresh):
    logits, state = plain(fresh), state_of(fresh)
    item = rl.Item(context="Paris is the capital.", question="Where is it?", answer="Paris")
    cache = rl.prefill(fresh, item)
    keeps = [rl.evict(cache, policy="random", compression_ratio=0.5, seed=s) for s in range(4)]
    answers = rl.iter_answers(cache, keeps, max_new_tokens=2, batch_size=1)
    next(answers)
    assert untouched(fresh)
    assert state_of(fresh) == state
    assert torch.is_grad_enabled()
    assert torch.equal(plain(fresh), logits)
    answers.close()
    assert state_of(fresh) == state


def test_loading_prefilling_and_answering_leave_the_models_own_forward(fresh, tiny_hf):
    assert untouched(fresh)
    answer(fresh)
    assert untouched(fresh)
    with torch.no_grad():
        expected = tiny_hf("llama")(token_ids(25, seed=9)[None]).logits
    assert (plain(fresh) - expected).abs().max() < 3e-4


def test_another_model_in_the_process_runs_on_while_this_one_is_edited(kind):
    """Two bridges share the Hugging Face classes; nothing may be patched there."""
    ours, other = (
        rl.load_model(build("llama", seed=seed), tokenizer=tokenizer(), kind=kind)
        for seed in (0, 1)
    )
    expected, seen = plain(other), []

    def look_across(tensor, hook):
        seen.append(torch.equal(plain(other), expected))

    ours.add_hook("blocks.2.hook_resid_pre", look_across)
    answer(ours)
    assert len(seen) == 5
    assert all(seen)


def test_an_answer_inside_a_hook_of_another_answer_restores_the_outer_one(kind):
    ours, other = (
        rl.load_model(build("llama", seed=seed), tokenizer=tokenizer(), kind=kind)
        for seed in (0, 1)
    )
    alone, inner = answer(ours), answer(other)
    seen = []
    ours.add_hook("blocks.1.hook_resid_pre", lambda tensor, hook: seen.append(answer(other)))
    assert answer(ours).token_ids == alone.token_ids
    assert {result.token_ids for result in seen} == {inner.token_ids}


def test_training_mode_and_gradients_are_as_before(fresh):
    fresh.train()
    answer(fresh)
    assert all(module.training for module in fresh.modules())
    assert torch.is_grad_enabled()


def test_the_hooks_can_be_given_to_run_with_hooks(fresh):
    """The reference path, as a user writes it: with and without the model's own cache."""
    ids = token_ids(N_PREFIX + 4)[None]
    cache = rl.prefill(fresh, token_ids=ids[0, :N_PREFIX])
    keep = rl.evict(cache, policy="random", compression_ratio=0.7)
    with torch.no_grad():
        logits = fresh.run_with_hooks(ids, fwd_hooks=rl.attention_hooks(fresh, keep))
    assert torch.allclose(
        logits[0, N_PREFIX:], rl.forced_logits(cache, keep, ids[0, N_PREFIX:]), atol=2e-4
    )
    with torch.no_grad():
        untouched = fresh(ids)
    assert torch.equal(logits[0, :N_PREFIX], untouched[0, :N_PREFIX])


@pytest.mark.parametrize("shape", [(4, 4, 5), (4, 1, 5), (3, 2, 5), (5, 2, 5)])
def test_hooks_for_the_mask_of_another_model_are_refused(tiny, kind, shape):
    """A mask of fewer KV heads would be spread over the wrong query heads."""
    keep = rl.KeepMask(torch.ones(shape, dtype=torch.bool))
    with pytest.raises(ValueError, match="2 KV heads for masks"):
        rl.attention_hooks(tiny("llama", kind), keep)
    with pytest.raises(ValueError, match="4 heads for gates"):
        rl.attention_hooks(tiny("llama", kind), rl.AttentionEdit(gate=torch.ones(4, 2, 1, 5)))


def test_hooks_for_an_empty_edit_are_none_and_for_two_lengths_refused(fresh):
    assert rl.attention_hooks(fresh, rl.AttentionEdit()) == []
    keep = rl.KeepMask.full(4, 2, 5)
    with pytest.raises(ValueError, match="prefix of 5"):
        rl.attention_hooks(fresh, rl.AttentionEdit(keep=keep, gate=torch.ones(4, 4, 1, 6)))
