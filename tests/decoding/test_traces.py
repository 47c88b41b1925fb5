"""Traces: rows that sum to one, nothing evicted or future in them, and the states of the model's own cache."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, token_ids, tokenizer
from torch.utils._python_dispatch import TorchDispatchMode

import routelens as rl
from routelens.models import adapter_of

N = 18
QUESTION = token_ids(5, seed=1)
VARIANTS = ["llama", "gemma2", "mistral"]


def mask_for(cache, seed=0):
    info = rl.model_info(cache.model)
    generator = torch.Generator().manual_seed(seed)
    return rl.KeepMask(
        torch.rand(info.n_layers, info.n_kv_heads, cache.n_prefix, generator=generator) < 0.4
    )


def traced(cache, edit=None, *, trace=True, max_new_tokens=6):
    return rl.answer(cache, edit, question_ids=QUESTION, max_new_tokens=max_new_tokens, trace=trace)


@pytest.fixture(params=VARIANTS)
def cache(request, tiny, kind):
    return rl.prefill(tiny(request.param, kind), token_ids=token_ids(N))


def test_rows_sum_to_one_and_see_neither_evicted_nor_future_columns(cache):
    keep = mask_for(cache)
    trace = traced(cache, keep).trace
    n_rows = trace.pattern.shape[2]
    assert torch.allclose(trace.pattern.sum(-1), torch.ones(()), atol=1e-5)
    evicted = ~keep.keep.repeat_interleave(2, dim=1)
    assert (trace.pattern[..., :N] * evicted[:, :, None] == 0).all()
    future = torch.ones(n_rows, n_rows, dtype=torch.bool).triu(1)
    assert (trace.pattern[..., N:][..., future] == 0).all()
    assert (trace.pattern[..., N:].diagonal(dim1=2, dim2=3) > 0).all()


def test_every_generated_row_is_there_but_the_last_token_which_was_never_read(cache):
    answer = traced(cache)
    assert answer.trace.token_ids == (
        *QUESTION.tolist(),
        *answer.token_ids[: 6 - answer.stopped - 0][:5],
    )
    assert answer.trace.pattern.shape[2:] == (
        len(answer.trace.token_ids),
        N + len(answer.trace.token_ids),
    )
    assert answer.trace.prompt_row == len(QUESTION) - 1
    assert answer.trace.n_prefix == N
    assert answer.trace.n_kv_heads == 2


def test_the_pattern_is_the_one_the_models_own_forward_computes(cache):
    keep = mask_for(cache)
    answer = traced(cache, keep)
    ids = torch.cat([token_ids(N), torch.tensor(answer.trace.token_ids)])
    found = {}

    def remember(pattern, hook):
        found[hook.name] = pattern[0, :, N:].detach()

    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(4)]
    with cache.model.hooks(
        fwd_hooks=[
            *rl.attention_hooks(cache.model, keep),
            *((name, remember) for name in names),
        ]
    ):
        adapter_of(cache.model).plain_logits(ids[None])
    expected = torch.stack([found[name] for name in names])
    assert torch.allclose(answer.trace.pattern, expected, atol=1e-4)


def test_the_prompt_trace_is_that_row_of_the_whole_trace_to_the_bit(cache):
    keep = mask_for(cache)
    whole, row = (traced(cache, keep, trace=t).trace for t in (True, "prompt"))
    assert row.pattern.shape == (4, 4, 1, N + len(QUESTION))
    assert torch.equal(
        row.pattern[:, :, 0], whole.pattern[:, :, len(QUESTION) - 1, : N + len(QUESTION)]
    )
    assert torch.equal(row.prompt_attention, whole.prompt_attention)
    assert (row.row_offset, row.prompt_row) == (len(QUESTION) - 1, 0)
    assert torch.equal(row.residual, whole.residual)
    assert row.token_ids == tuple(QUESTION.tolist())


def test_head_max_is_the_largest_weight_of_any_head(cache):
    keep = mask_for(cache)
    whole, row = (traced(cache, keep, trace=t).trace for t in (True, "prompt"))
    expected = whole.pattern[:, :, : len(QUESTION), : N + len(QUESTION)].amax(dim=1)
    assert torch.equal(row.head_max, expected)
    assert whole.head_max is None


def test_residual_states_are_those_of_run_with_cache(tiny, kind):
    model = tiny("llama", kind)
    cache = rl.prefill(model, token_ids=token_ids(N))
    trace = traced(cache).trace
    ids = torch.cat([token_ids(N), QUESTION])[None]
    _, stored = model.run_with_cache(ids)
    before = [stored[f"blocks.{layer}.hook_resid_pre"] for layer in range(4)]
    states = torch.stack([*before, stored["blocks.3.hook_resid_post"]])[:, 0, N:]
    assert trace.residual.shape == (5, 32)
    assert torch.allclose(trace.residual, states[:, -1], atol=1e-4)
    assert torch.allclose(trace.question_residual, states.mean(1), atol=1e-4)


def test_token_texts_line_up_with_the_columns(tiny, kind):
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(tiny("qwen2", kind), item)
    own = rl.model_info(cache.model).tokenizer
    for trace in (True, "prompt"):
        found = rl.answer(cache, max_new_tokens=4, trace=trace).trace
        assert len(found.tokens) == found.pattern.shape[-1]
        ids = [*cache.token_ids.tolist(), *found.token_ids]
        assert list(found.tokens) == [own.decode([i]) for i in ids]
        assert {0, 1, 2, 3} <= set(found.sink_positions)
        assert set(found.sink_positions).isdisjoint(cache.content_positions)


def test_traces_of_a_batch_are_each_rows_own(tiny, kind):
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(tiny("qwen2", kind), item)
    masks = [mask_for(cache, seed) for seed in range(5)]
    together = rl.answer_many(cache, masks, max_new_tokens=5, trace=True, batch_size=5)
    for mask, answer in zip(masks, together, strict=True):
        alone = rl.answer(cache, mask, max_new_tokens=5, trace=True)
        assert torch.allclose(answer.trace.pattern, alone.trace.pattern, atol=1e-5)
        assert answer.trace.token_ids == alone.trace.token_ids


def test_rows_that_stop_early_have_shorter_traces(kind):
    model = rl.load_model(build("qwen2"), tokenizer=tokenizer(), kind=kind)
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(model, item)
    masks = [mask_for(cache, seed) for seed in range(6)]
    free = rl.answer_many(cache, masks, max_new_tokens=5)
    rl.model_info(model).generation_config.eos_token_id = [
        a.token_ids[i % 5] for i, a in enumerate(free)
    ]
    n_question = len(cache.prompt.suffix_ids)
    for answer in rl.answer_many(cache, masks, max_new_tokens=5, trace=True, batch_size=6):
        n_read = len(answer.token_ids) - (not answer.stopped)
        assert answer.trace.pattern.shape[2] == n_question + n_read
        assert answer.trace.token_ids[n_question:] == answer.token_ids[:n_read]
        assert torch.allclose(answer.trace.pattern.sum(-1), torch.ones(()), atol=1e-5)


def test_no_trace_costs_none(cache):
    assert traced(cache, trace=False).trace is None


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6), n_prefix=st.integers(1, 30), n_question=st.integers(1, 9))
def test_rows_sum_to_one_for_any_lengths(tiny, seed, n_prefix, n_question):
    """One-token contexts and one-token questions among them."""
    cache = rl.prefill(tiny("gemma2", "bridge"), token_ids=token_ids(n_prefix, seed=seed))
    answer = rl.answer(
        cache,
        mask_for(cache, seed),
        question_ids=token_ids(n_question, seed=seed + 1),
        max_new_tokens=3,
        trace=True,
    )
    assert torch.allclose(answer.trace.pattern.sum(-1), torch.ones(()), atol=1e-5)


class Sizes(TorchDispatchMode):
    """Remembers the largest tensor that any operation returned."""

    def __init__(self):
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        return out


@pytest.mark.parametrize("trace", [False, "prompt", True])
def test_decoding_builds_nothing_of_the_size_of_the_prefix_squared(tiny, kind, trace):
    n = 600
    cache = rl.prefill(tiny("llama_long", kind), token_ids=token_ids(n))
    with Sizes() as sizes:
        traced(cache, rl.KeepMask.full(4, 2, n), trace=trace, max_new_tokens=3)
    assert 0 < sizes.largest < n * n


def test_prefill_builds_no_pattern(tiny, kind):
    """A causal mask [n, n] at most, never one for each head."""
    n = 600
    with Sizes() as sizes:
        rl.prefill(tiny("llama_long", kind), token_ids=token_ids(n))
    assert sizes.largest <= n * n
