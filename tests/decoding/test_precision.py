"""Other dtypes: in float64 the two paths agree to nine digits, in bfloat16 everything runs and softmax stays in float32."""

import pytest
import torch
from tiny_models import token_ids

import routelens as rl
from routelens.models import adapter_of

N = 20
ITEM = rl.Item(
    context="Paris is the capital of France (Paris).", question="Where is it?", answer="France"
)


def masked_and_hooked(model):
    ids = token_ids(N + 6)
    cache = rl.prefill(model, token_ids=ids[:N])
    keep = rl.evict(cache, policy="random", compression_ratio=0.6)
    with torch.no_grad(), model.hooks(fwd_hooks=rl.attention_hooks(model, keep)):
        expected = adapter_of(model).plain_logits(ids[None])[0, N:]
    return rl.forced_logits(cache, keep, ids[N:]), expected


@pytest.mark.parametrize("variant", ["llama", "qwen2", "gemma2", "qwen3"])
def test_the_paths_agree_to_nine_digits_in_float64(tiny, variant):
    ours, expected = masked_and_hooked(tiny(variant, "hooked", "float64"))
    assert ours.dtype == torch.float64
    assert (ours - expected).abs().max() < 1e-9


@pytest.mark.parametrize("variant", ["llama", "qwen2", "gemma2", "qwen3"])
def test_the_bridge_agrees_as_far_as_its_own_softmax_goes(tiny, variant):
    """TransformerLens computes the bridge's softmax, and Hugging Face its norms, in float32 throughout."""
    ours, expected = masked_and_hooked(tiny(variant, "bridge", "float64"))
    assert ours.dtype == torch.float64
    assert (ours - expected).abs().max() < 1e-4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_runs_through_every_door(tiny, kind, dtype):
    cache = rl.prefill(tiny("qwen2", kind, dtype), ITEM)
    keeps = rl.evict_many(cache, policy="adakv", compression_ratios=(0.5, 0.9))
    nothing = rl.KeepMask(torch.zeros_like(keeps[0].keep))
    generator = torch.Generator().manual_seed(0)
    shape = (4, 4, 1, cache.n_prefix)
    edit = rl.AttentionEdit(
        gate=torch.rand(shape, generator=generator), bias=torch.randn(shape, generator=generator)
    )
    answers = rl.answer_many(
        cache, [None, *keeps, nothing, edit], max_new_tokens=4, trace=True, log_p_gold=True
    )
    for answer in answers:
        assert answer.trace.pattern.dtype == torch.float32
        assert answer.trace.residual.dtype == torch.float32
        answer.trace.pattern.numpy()
        assert answer.log_p_gold < 0
        assert all(margin >= 0 for margin in answer.margins)
    for answer in answers[:-1]:
        assert torch.allclose(answer.trace.pattern.sum(-1), torch.ones(()), atol=1e-5)
    assert answers[3].trace.pattern[..., : cache.n_prefix].abs().max() == 0
    assert rl.forced_logits(cache, nothing, [5, 6]).isfinite().all()


def test_bfloat16_evicts_what_float32_evicts(tiny, kind):
    """Rounded, but the same route: closer to the masked float32 logits than those are to the unmasked."""
    ids = token_ids(N + 4)
    logits = {}
    for dtype in ("float32", "bfloat16"):
        cache = rl.prefill(tiny("qwen2", kind, dtype), token_ids=ids[:N])
        keep = rl.KeepMask.full(4, 2, N).with_positions(range(2, 16), keep=False)
        for name, mask in (("masked", keep), ("full", None)):
            logits[dtype, name] = rl.forced_logits(cache, mask, ids[N:]).float()
    rounding = (logits["bfloat16", "masked"] - logits["float32", "masked"]).square().mean()
    effect = (logits["float32", "full"] - logits["float32", "masked"]).square().mean()
    assert rounding < 0.05 * effect


def test_equal_logits_go_to_the_lowest_token(monkeypatch):
    """Ties are common in bfloat16; the choice must not depend on how a kernel orders them."""
    from routelens.batches import _greedy

    logits = torch.zeros(3, 500, dtype=torch.bfloat16)
    logits[0, [40, 7, 300]] = 2.0
    logits[1, 499] = 1.0
    tokens, margins = _greedy(logits)
    assert tokens == [7, 499, 0]
    assert margins == [0.0, 1.0, 0.0]


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_cuda_gives_the_answers_of_the_cpu(tiny_folder, kind, dtype):
    models = [
        rl.load_model(tiny_folder("qwen2"), kind=kind, device=device, dtype=dtype)
        for device in ("cpu", "cuda")
    ]
    logits = []
    for model in models:
        cache = rl.prefill(model, ITEM)
        keep = rl.evict(cache, policy="random", compression_ratio=0.5)
        answer = rl.answer(cache, keep, max_new_tokens=3, trace=True, log_p_gold=True)
        assert answer.trace.pattern.device.type == "cpu"
        logits.append(rl.forced_logits(cache, keep, [20, 30, 40]).float().cpu())
    tolerance = 1e-3 if dtype == "float32" else 0.3
    assert (logits[0] - logits[1]).abs().max() < tolerance
