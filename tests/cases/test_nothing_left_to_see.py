"""A row whose whole context is gone sees itself and stays finite: question and answer tokens are never evicted (D20)."""

import pytest
import torch
from tiny_models import token_ids

import routelens as rl

N = 16


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_one_layer_without_any_context_spoils_nothing(tiny, kind, dtype):
    cache = rl.prefill(tiny("llama", kind, dtype), token_ids=token_ids(N))
    keep = rl.KeepMask.full(4, 2, N).with_positions(range(N), keep=False, layers=[1])
    answer = rl.answer(cache, keep, question_ids=[40], max_new_tokens=3, trace=True)
    pattern = answer.trace.pattern
    assert pattern.isfinite().all()
    assert (pattern[1, :, 0, N] == 1).all()  # a lone question token looks at itself
    assert (pattern[0, :, 0, :N].sum(-1) > 0).all() and (pattern[2, :, 0, :N].sum(-1) > 0).all()
    assert rl.forced_logits(cache, keep, [40, 50, 60]).isfinite().all()


@pytest.mark.parametrize("part", ["gate", "bias"])
def test_neither_do_gates_and_biases_that_shut_everything(tiny, kind, part):
    cache = rl.prefill(tiny("llama", kind), token_ids=token_ids(N))
    shut = torch.full((4, 4, 1, N), {"gate": 0.0, "bias": -torch.inf}[part])
    edit = rl.AttentionEdit(**{part: shut})
    assert rl.forced_logits(cache, edit, [40, 50, 60]).isfinite().all()
    trace = rl.answer(cache, edit, question_ids=[40], max_new_tokens=2, trace=True).trace
    assert (trace.pattern[..., :N] == 0).all()


def test_hooks_that_evict_everything_leave_the_context_rows_and_finite_logits(tiny, kind):
    model = tiny("llama", kind)
    ids = token_ids(N + 3)[None]
    nothing = rl.KeepMask(torch.zeros(4, 2, N, dtype=torch.bool))
    with torch.no_grad():
        own = model(ids)
        hooked = model.run_with_hooks(ids, fwd_hooks=rl.attention_hooks(model, nothing))
    assert hooked.isfinite().all()
    assert torch.equal(hooked[:, :N], own[:, :N])
    assert not torch.equal(hooked[:, N:], own[:, N:])
