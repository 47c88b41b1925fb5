"""Attention edits: gates cut edges without renormalising, biases move log-odds by the dose, and rows keep their own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import token_ids

import routelens as rl
from routelens.models import adapter_of

N = 16
QUESTION = token_ids(5, seed=1)
SHAPE = (4, 4, 1, N)


@pytest.fixture
def cache(tiny, kind):
    return rl.prefill(tiny("llama", kind), token_ids=token_ids(N))


def traced(cache, edit, **options):
    return rl.answer(
        cache, edit, question_ids=QUESTION, **{"max_new_tokens": 4, "trace": True, **options}
    ).trace


def random_edit(seed=0, *, n_rows=1, keep=True, gate=True, bias=True):
    generator = torch.Generator().manual_seed(seed)
    shape = (4, 4, n_rows, N)
    return rl.AttentionEdit(
        keep=rl.KeepMask(torch.rand(4, 2, N, generator=generator) < 0.7) if keep else None,
        gate=torch.rand(shape, generator=generator) if gate else None,
        bias=torch.randn(shape, generator=generator) if bias else None,
    )


def test_a_closed_gate_zeroes_its_edge_in_every_row_and_nothing_else(cache):
    gate = torch.ones(SHAPE)
    gate[0, 2, 0, 7] = 0
    cut, whole = traced(cache, rl.AttentionEdit(gate=gate)), traced(cache, None)
    assert (cut.pattern[0, 2, :, 7] == 0).all()
    assert (whole.pattern[0, 2, :, 7] > 0).all()
    rows = slice(0, len(QUESTION))  # the rows whose input is the same in both
    others = torch.ones(4, N + len(QUESTION), dtype=torch.bool)
    others[2, 7] = False
    first = [t.pattern[0, :, rows, : N + len(QUESTION)] for t in (cut, whole)]
    same = first[0].transpose(1, 2)[others], first[1].transpose(1, 2)[others]
    assert torch.allclose(*same, atol=1e-6)
    assert (cut.pattern[0, 2, rows].sum(-1) < 1).all()


def test_a_gate_for_some_rows_leaves_the_rows_after_them_alone(cache):
    gate = torch.ones(4, 4, 2, N)
    gate[:, :, 1] = 0
    trace = traced(cache, rl.AttentionEdit(gate=gate))
    mass = trace.pattern[..., :N].sum(-1)
    assert (mass[:, :, 1] == 0).all()
    assert (mass[:, :, [0, 2, 3, 4, 5, 6, 7]] > 0).all()


@pytest.mark.parametrize("n_rows", [1, 3, 5, 7])
@pytest.mark.parametrize("part", ["keep", "gate", "bias", "all"])
def test_both_paths_apply_an_edit_alike(cache, part, n_rows):
    chosen = {name: part in (name, "all") for name in ("keep", "gate", "bias")}
    edit = random_edit(n_rows=n_rows, **chosen)
    ids = torch.cat([token_ids(N), QUESTION])
    model = cache.model
    with torch.no_grad(), model.hooks(fwd_hooks=rl.attention_hooks(model, edit)):
        expected = adapter_of(model).plain_logits(ids[None])[0, N:]
    assert (rl.forced_logits(cache, edit, QUESTION) - expected).abs().max() < 2e-4
    tokens = [
        rl.answer(cache, edit, question_ids=QUESTION, max_new_tokens=5, backend=backend).token_ids
        for backend in ("shared", "hooks")
    ]
    assert tokens[0] == tokens[1]


def test_a_bias_of_minus_infinity_in_every_row_is_eviction(cache):
    keep = rl.KeepMask.full(4, 2, N).with_positions([1, 5, 6, 11], keep=False)
    bias = torch.zeros(SHAPE).masked_fill(
        ~keep.keep.repeat_interleave(2, dim=1)[:, :, None], -torch.inf
    )
    biased = rl.forced_logits(cache, rl.AttentionEdit(bias=bias), QUESTION)
    assert torch.equal(biased, rl.forced_logits(cache, keep, QUESTION))


@pytest.mark.parametrize("dose", [0.5, 1.0, 8.0, -3.0])
def test_a_bias_moves_the_log_odds_of_an_edge_by_the_dose(cache, dose):
    bias = torch.zeros(SHAPE)
    bias[0, 1, 0, 4] = dose
    shifted, plain = traced(cache, rl.AttentionEdit(bias=bias)), traced(cache, None)
    rows = slice(0, len(QUESTION))

    def log_odds(trace):
        weight = trace.pattern[0, 1, rows, 4].double()
        rest = trace.pattern[0, 1, rows].double().sum(-1) - weight
        return weight.log() - rest.log()

    assert torch.allclose(
        log_odds(shifted) - log_odds(plain), torch.tensor(dose).double(), atol=1e-3
    )


def test_a_bias_does_not_bring_an_evicted_entry_back(cache):
    keep = rl.KeepMask.full(4, 2, N).with_positions([4], keep=False)
    edit = rl.AttentionEdit(keep=keep, bias=torch.full(SHAPE, 50.0))
    assert traced(cache, edit).pattern[..., 4].abs().max() == 0


def test_one_edit_of_each_kind_shares_a_batch(tiny, kind):
    """Among them edits of one row and of several: a single row goes on for every later token."""
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(tiny("llama", kind), item)
    n = cache.n_prefix

    def resized(edit):
        generator = torch.Generator().manual_seed(edit)
        n_rows = (1, 3, 30)[edit % 3]
        gate = torch.rand(4, 4, n_rows, n, generator=generator) if edit % 2 else None
        bias = torch.randn(4, 4, n_rows, n, generator=generator) if edit > 2 else None
        keep = rl.KeepMask(torch.rand(4, 2, n, generator=generator) < 0.5) if edit % 4 else None
        return rl.AttentionEdit(keep=keep, gate=gate, bias=bias)

    edits = [resized(i) for i in range(7)] + [None, rl.KeepMask.full(4, 2, n)]
    together = rl.answer_many(cache, edits, max_new_tokens=10, trace=True)
    for edit, answer in zip(edits, together, strict=True):
        alone = rl.answer(cache, edit, max_new_tokens=10, trace=True)
        assert answer.token_ids == alone.token_ids
        assert torch.allclose(answer.trace.pattern, alone.trace.pattern, atol=1e-5)


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 10**6))
def test_a_gate_of_ones_and_a_bias_of_zeros_change_nothing(tiny, seed):
    cache = rl.prefill(tiny("llama", "bridge"), token_ids=token_ids(N, seed=seed))
    neutral = rl.AttentionEdit(gate=torch.ones(SHAPE), bias=torch.zeros(SHAPE))
    plain = rl.forced_logits(cache, None, QUESTION)
    assert torch.equal(rl.forced_logits(cache, neutral, QUESTION), plain)


def test_edits_of_an_item_are_not_mixed_up_by_deduplication(tiny, kind):
    item = rl.Item(context="Paris is the capital of France.", question="Where?", answer="France")
    cache = rl.prefill(tiny("llama", kind), item)
    closed, half = (
        rl.AttentionEdit(gate=torch.full((4, 4, 1, cache.n_prefix), g)) for g in (0.0, 0.5)
    )
    answers = rl.answer_many(cache, [closed, half, None], max_new_tokens=4, trace=True)
    sums = [a.trace.pattern[0, :, 0, : cache.n_prefix].sum() for a in answers]
    assert sums[0] == 0 < sums[1] < sums[2]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (rl.AttentionEdit(gate=torch.ones(4, 2, 1, N)), "gate is"),
        (rl.AttentionEdit(bias=torch.ones(4, 4, 1, N + 1)), "bias is"),
        (rl.AttentionEdit(gate=torch.ones(4, 4, 0, N)), "gate is"),
        (rl.AttentionEdit(bias=torch.full(SHAPE, torch.nan)), "NaN"),
        (rl.AttentionEdit(bias=torch.full(SHAPE, torch.inf)), "inf"),
    ],
)
def test_an_edit_of_another_shape_or_without_numbers_is_refused(cache, edit, words):
    with pytest.raises(ValueError, match=words):
        rl.forced_logits(cache, edit, QUESTION)
