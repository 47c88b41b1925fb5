"""The attention kernels alone: worked numbers, layouts, and gradients against finite differences."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import token_ids
from transformer_lens.hook_points import HookPoint

from routelens.models import AttentionSite, Heads, RecordPrefix, SharedPrefix, adapter_of
from routelens.models.attention import from_hook_layout, grouped, to_hook_layout


def site(**changes):
    usual = {
        "layer": 0,
        "scale": 1.0,
        "softcap": None,
        "window": None,
        "scores_hook": HookPoint(),
        "pattern_hook": HookPoint(),
    }
    return AttentionSite(**{**usual, **changes})


def heads(q, k, v):
    return Heads(q, k, v, q)


def test_two_keys_by_hand():
    """Scores ln 3 and 0 give weights ¾ and ¼; the suffix token sees the prefix key and itself."""
    prefix_k, prefix_v = [torch.tensor([[[math.log(3)]]])], [torch.tensor([[[8.0]]])]
    attend = SharedPrefix(prefix_k, prefix_v, n_prefix=1).at(torch.tensor([[0]]))
    one = torch.ones(1, 1, 1, 1)
    z = attend(site(), heads(one, torch.zeros(1, 1, 1, 1), 4 * one))
    assert z.item() == pytest.approx(0.75 * 8 + 0.25 * 4)


def test_an_evicted_key_leaves_all_weight_to_the_rest_and_a_gated_one_does_not():
    prefix_k, prefix_v = [torch.tensor([[[math.log(3)]]])], [torch.tensor([[[8.0]]])]
    one = torch.ones(1, 1, 1, 1)
    call = (site(), heads(one, torch.zeros(1, 1, 1, 1), 4 * one))
    slots = torch.tensor([[0]])
    nothing = torch.zeros(1, 1, 1, 1, dtype=torch.bool)
    evicted = SharedPrefix(prefix_k, prefix_v, n_prefix=1, keep=nothing).at(slots)
    gated = SharedPrefix(prefix_k, prefix_v, n_prefix=1, gate=torch.zeros(1, 1, 1, 1, 1)).at(slots)
    assert evicted(*call).item() == pytest.approx(4)
    assert gated(*call).item() == pytest.approx(0.25 * 4)


def test_a_bias_acts_after_the_soft_cap():
    prefix_k, prefix_v = [torch.full((1, 1, 1), 50.0)], [torch.tensor([[[1.0]]])]
    bias = torch.full((1, 1, 1, 1, 1), 1.5)
    attend = SharedPrefix(prefix_k, prefix_v, n_prefix=1, bias=bias).at(torch.tensor([[0]]))
    one = torch.ones(1, 1, 1, 1)
    z = attend(site(softcap=2.0), heads(one, torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1)))
    assert z.item() == pytest.approx(1 / (1 + math.exp(-(2.0 + 1.5))), abs=1e-6)


def test_query_heads_are_grouped_by_repetition_and_not_by_turns():
    q = torch.arange(6.0).reshape(1, 1, 6, 1)
    assert grouped(q, 2)[:, 0, :, 0, 0].tolist() == [[0, 1, 2], [3, 4, 5]]


@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5)
)
def test_the_hook_layout_is_undone_by_its_inverse(n_kv_heads, group, batch, q_pos, k_pos):
    scores = torch.randn(n_kv_heads, batch, group, q_pos, k_pos)
    there = to_hook_layout(scores)
    assert there.shape == (batch, n_kv_heads * group, q_pos, k_pos)
    assert torch.equal(from_hook_layout(there, n_kv_heads), scores)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 9),
    st.integers(1, 2),
    st.sampled_from([None, 1, 3, 20]),
    st.sampled_from([None, 1.0]),
)
def test_prefill_is_causal_softmax_attention(n, n_kv_heads, window, softcap):
    torch.manual_seed(n)
    q = torch.randn(1, n, 4, 3, dtype=torch.float64)
    k, v = (torch.randn(1, n, n_kv_heads, 3, dtype=torch.float64) for _ in range(2))
    z = RecordPrefix()(site(scale=0.7, window=window, softcap=softcap), heads(q, k, v))
    for head in range(4):
        kv = head // (4 // n_kv_heads)
        for row in range(n):
            first = 0 if window is None else max(0, row - window + 1)
            scores = 0.7 * (k[0, first : row + 1, kv] @ q[0, row, head])
            if softcap is not None:
                scores = torch.tanh(scores / softcap) * softcap
            expected = scores.softmax(0) @ v[0, first : row + 1, kv]
            assert torch.allclose(z[0, row, head], expected, atol=1e-9)


def test_finished_rows_leave_with_their_keys_masks_and_gates():
    torch.manual_seed(0)
    keys, values = [torch.randn(2, 5, 3)], [torch.randn(2, 5, 3)]
    keep = torch.rand(3, 1, 2, 5) < 0.5
    gate = torch.rand(3, 1, 4, 1, 5)
    first, second = (
        heads(torch.randn(3, 1, 4, 3), torch.randn(3, 1, 2, 3), torch.randn(3, 1, 2, 3))
        for _ in range(2)
    )
    rows = torch.tensor([2, 0])
    slots = torch.zeros(3, 1, dtype=torch.long)

    def fresh():
        return SharedPrefix(keys, values, n_prefix=5, keep=keep, gate=gate)

    all_rows = fresh()
    all_rows.at(slots)(site(), first)
    expected = all_rows.at(slots + 1)(site(), second)
    some_rows = fresh()
    some_rows.at(slots)(site(), first)
    some_rows.select(rows)
    part = heads(*(x[rows] for x in (second.q, second.k, second.v)))
    z = some_rows.at(slots[rows] + 1)(site(), part)
    assert torch.allclose(z, expected[rows], atol=1e-6)


def test_slots_are_overwritten_by_what_is_read_into_them_later():
    torch.manual_seed(0)
    keys, values = [torch.randn(1, 4, 3)], [torch.randn(1, 4, 3)]
    draft, final = (
        heads(torch.randn(1, 3, 1, 3), torch.randn(1, 3, 1, 3), torch.randn(1, 3, 1, 3))
        for _ in range(2)
    )
    slots = torch.arange(3)[None]
    twice = SharedPrefix(keys, values, n_prefix=4)
    twice.at(slots)(site(), draft)
    once = SharedPrefix(keys, values, n_prefix=4)
    assert torch.equal(twice.at(slots)(site(), final), once.at(slots)(site(), final))


def test_more_suffix_tokens_than_the_first_allocation_holds(tiny, kind):
    """Slots grow in steps of 32."""
    from routelens import forced_logits, prefill

    model = tiny("llama", kind)
    ids = token_ids(100, seed=3)
    cache = prefill(model, token_ids=ids[:10])
    logits = forced_logits(cache, None, ids[10:])
    expected = adapter_of(model).plain_logits(ids[None])[0, 10:]
    assert (logits - expected).abs().max() < 3e-4


def differences(scalar, parameter, entries, step):
    """Central differences of a scalar function at some entries of a parameter."""
    found = []
    for index in entries.tolist():
        moved = []
        for sign in (1, -1):
            shifted = parameter.detach().clone()
            shifted.view(-1)[index] += sign * step
            moved.append(float(scalar(shifted)))
        found.append((moved[0] - moved[1]) / (2 * step))
    return torch.tensor(found, dtype=parameter.dtype)


@pytest.mark.parametrize("name", ["gate", "bias"])
@pytest.mark.parametrize("variant", ["llama", "gemma2"])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_gradients_at_gates_and_biases_equal_finite_differences(tiny, kind, variant, name, n_rows):
    """The context's K and V are constants; the route into the answer is not."""
    model = tiny(variant, kind, "float64")
    adapter = adapter_of(model)
    record = RecordPrefix()
    context, question = token_ids(4), token_ids(3, seed=1)
    slots = torch.arange(3)[None]
    with torch.no_grad():
        adapter.run(context[None], torch.arange(4)[None], record, logit_rows=None)
    weights = torch.randn(adapter.d_vocab, generator=torch.Generator().manual_seed(0)).double()
    keep = torch.ones(1, 4, 2, 4, dtype=torch.bool)
    keep[0, :, 1, 2] = False

    def scalar(value):
        attend = SharedPrefix(
            record.keys, record.values, n_prefix=4, keep=keep, **{name: value[None]}
        )
        logits = adapter.run(
            question[None], slots + 4, attend.at(slots), logit_rows=torch.tensor([[2]])
        )
        return (logits[0, 0] * weights).sum()

    generator = torch.Generator().manual_seed(1)
    value = torch.rand(4, 4, n_rows, 4, dtype=torch.float64, generator=generator)
    value.requires_grad_(True)
    with torch.enable_grad():
        scalar(value).backward()
    assert value.grad is not None
    assert value.grad[:, 2:, :, 2].abs().max() == 0  # evicted: no route, no gradient
    entries = torch.randperm(value.numel(), generator=generator)[:40]
    with torch.no_grad():
        # Hugging Face's norms compute in float32 whatever the model's dtype: wider steps for the bridge.
        numeric = differences(scalar, value, entries, 1e-6 if kind == "hooked" else 1e-3)
    atol, rtol = (1e-6, 1e-5) if kind == "hooked" else (3e-2, 1e-2)
    assert torch.allclose(value.grad.view(-1)[entries], numeric, atol=atol, rtol=rtol)
    assert value.grad.abs().max() > 1e-3


def test_gradients_flow_through_several_tokens_read_one_at_a_time(tiny, kind):
    """Slots are written in place; a step's keys must still reach the loss of a later step."""
    adapter = adapter_of(tiny("llama", kind, "float64"))
    record, row = RecordPrefix(), torch.zeros(1, 1, dtype=torch.long)
    with torch.no_grad():
        adapter.run(token_ids(4)[None], torch.arange(4)[None], record, logit_rows=None)
    question = token_ids(3, seed=1)

    def last_logits(gate, *, at_once):
        attend = SharedPrefix(record.keys, record.values, n_prefix=4, gate=gate[None])
        if at_once:
            slots = torch.arange(3)[None]
            return adapter.run(question[None], slots + 4, attend.at(slots), logit_rows=row + 2)[
                0, 0
            ]
        for slot in range(3):
            logits = adapter.run(
                question[None, slot : slot + 1],
                row + slot + 4,
                attend.at(row + slot),
                logit_rows=row,
            )
        return logits[0, 0]

    found = []
    for at_once in (True, False):
        gate = torch.ones(4, 4, 3, 4, dtype=torch.float64, requires_grad=True)
        last_logits(gate, at_once=at_once)[7].backward()
        found.append(gate.grad)
    assert found[0][:, :, 0].abs().max() > 1e-6
    assert torch.allclose(found[0], found[1], atol=1e-5)
