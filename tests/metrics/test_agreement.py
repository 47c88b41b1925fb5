"""Head agreement and the use of survivors (D8, D9): hand-worked rows, a dominant first token, laws."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import (
    agreement_drop,
    agreement_summary,
    answer_share,
    argmax_diversity,
    consensus_norm,
    diversity_null,
    head_agreement,
    topk_jaccard,
    use_of_survivors,
)
from routelens.types import KeepMask, Trace

laws = settings(deadline=None, max_examples=15)


def rows_with_argmaxes(argmaxes, k_pos=12):
    """Rows [n_layers, n_heads, k_pos] whose argmax, sinks aside, is as asked; position 0 takes most mass."""
    rows = torch.full((len(argmaxes), len(argmaxes[0]), k_pos), 0.01)
    rows[..., 0] = 0.6
    for layer, heads in enumerate(argmaxes):
        for head, position in enumerate(heads):
            rows[layer, head, position] = 0.2
    return rows / rows.sum(-1, keepdim=True)


def trace_of(rows, sinks=(0, 1, 2, 3)):
    n_layers, n_heads, n_prefix = rows.shape
    pattern = torch.zeros(n_layers, n_heads, 2, n_prefix + 2)
    pattern[:, :, 1, :n_prefix] = rows
    state = torch.zeros(n_layers + 1, 5)
    return Trace(pattern, n_prefix, 0, 1, (1, 2), ("a", "b"), state, state, sinks)


def test_agreement_by_hand():
    rows = rows_with_argmaxes([[5, 5, 5, 5], [5, 5, 6, 7], [5, 6, 7, 8]])
    assert head_agreement(rows).tolist() == [1, 0.5, 0.25]
    assert argmax_diversity(rows).tolist() == [0.25, 0.75, 1]
    assert consensus_norm(rows).tolist() == pytest.approx([1, 1 / 3, 0])


def test_with_sinks_every_head_agrees_on_the_first_token():
    rows = rows_with_argmaxes([[5, 6, 7, 8]])
    assert head_agreement(rows, exclude_sinks=False).tolist() == [1]
    assert head_agreement(rows, exclude_sinks=True).tolist() == [0.25]


def test_a_trace_brings_its_own_sinks():
    rows = rows_with_argmaxes([[5, 6, 7, 8]])
    assert head_agreement(trace_of(rows)).tolist() == [0.25]
    # With 5 to 8 among the sinks, all heads tie on position 1, the lowest left.
    sinks = (0, 5, 6, 7, 8)
    assert head_agreement(trace_of(rows, sinks)).tolist() == [1]
    assert head_agreement(rows, sink_positions=sinks).tolist() == [1]


def test_ties_go_to_the_lowest_position():
    rows = torch.full((1, 3, 8), 1 / 8)
    assert head_agreement(rows).tolist() == [1]
    rows[0, 1, 7] += 1e-3
    assert head_agreement(rows).tolist() == pytest.approx([2 / 3])


def test_a_head_with_nothing_left_to_look_at_is_left_out():
    rows = rows_with_argmaxes([[5, 5, 6], [5, 5, 6]])
    rows[0, 2, 4:] = 0  # only sinks left
    rows[1, 1:, 4:] = 0
    summary = agreement_summary(rows)
    assert summary.n_heads_used.tolist() == [2, 1]
    assert summary.head_agreement[0] == 1
    assert all(math.isnan(v[1]) for v in (summary.head_agreement, summary.argmax_diversity))
    assert math.isnan(topk_jaccard(rows)[1])


def test_a_prefix_of_sinks_only_is_nan():
    assert head_agreement(torch.full((2, 3, 4), 0.25)).isnan().all()
    assert head_agreement(torch.full((2, 1, 9), 1 / 9)).isnan().all()  # one head agrees with nobody


def test_the_null_is_the_expected_number_of_distinct_draws():
    assert diversity_null(1, 10) == pytest.approx(1)
    assert diversity_null(2, 2) == pytest.approx(1.5)
    assert diversity_null(8, 1) == pytest.approx(1)
    assert math.isnan(diversity_null(4, 0))
    generator = torch.Generator().manual_seed(0)
    rows = torch.rand(4000, 1, 9, 54, generator=generator)
    assert diversity_null(9, 50) == pytest.approx(
        float(argmax_diversity(rows).mean()) * 9, rel=0.01
    )
    assert float(agreement_summary(rows).diversity_ratio.mean()) == pytest.approx(1, rel=0.01)


def test_topk_jaccard_by_hand():
    rows = torch.zeros(1, 3, 10)
    rows[0, 0, [4, 5]] = 0.5
    rows[0, 1, [5, 6]] = 0.5
    rows[0, 2, [8, 9]] = 0.5
    # Pairs: {4,5}|{5,6} 1/3, the others 0.
    assert topk_jaccard(rows, k=2)[0] == pytest.approx(1 / 9)
    assert topk_jaccard(rows)[0] == pytest.approx(1 / 9)  # evicted columns are in no top


def test_topk_takes_the_lowest_of_equals():
    rows = torch.full((1, 2, 12), 1 / 12)
    rows[0, 1, 6:] = 0.2
    # k = 2 of the candidates 4..11: {4, 5} against {6, 7}; k = 4: {4..7} against {6..9}.
    assert topk_jaccard(rows, k=2)[0] == 0
    assert topk_jaccard(rows, k=4)[0] == pytest.approx(2 / 6)


def test_agreement_drop_compares_the_first_and_the_last_third():
    falling = torch.tensor([0.9, 0.8, 0.5, 0.5, 0.5, 0.2, 0.1])
    assert agreement_drop(falling) == pytest.approx(0.85 - 0.15)
    assert agreement_drop(torch.stack([falling, falling.flip(0)])).tolist() == pytest.approx(
        [0.7, -0.7]
    )
    assert agreement_drop(torch.tensor([0.6, math.nan, 0.5, 0.1, 0.1, 0.1])) == pytest.approx(0.5)
    assert math.isnan(agreement_drop(torch.tensor([math.nan, 0.5, 0.1])))
    assert math.isnan(agreement_drop(torch.tensor([0.5])))


def test_without_sinks_the_answer_takes_all_that_is_left():
    rows = torch.zeros(2, 3, 10)
    rows[..., 0], rows[..., 7] = 0.95, 0.05
    assert answer_share(rows, (7,)).tolist() == [[1.0] * 3] * 2
    assert answer_share(rows, (7,), exclude_sinks=False).flatten().tolist() == pytest.approx(
        [0.05] * 6
    )
    assert answer_share(rows, ()).isnan().all()


def test_rerouting_by_hand():
    full = rows_with_argmaxes([[5, 6], [7, 8]])
    keep = KeepMask.full(2, 1, 12).with_positions([5], keep=False, layers=[0])
    keep = keep.with_positions([7, 8], keep=False, layers=[1])
    rows = rows_with_argmaxes([[9, 6], [9, 10]])
    rows[0, :, 5] = 0
    rows[1, :, [7, 8]] = 0
    # Evicted argmaxes: (0, 0), (1, 0), (1, 1); the first two now look at 9.
    use = use_of_survivors(full, rows, keep, (9,))
    assert float(use.reroute_rate) == pytest.approx(2 / 3)
    assert float(use.answer_mass) == pytest.approx(float(rows[..., 9].sum() / full[..., 9].sum()))


def test_kv_heads_serve_groups_of_neighbouring_query_heads():
    full = rows_with_argmaxes([[5, 5, 6, 6]])
    keep = KeepMask.full(1, 2, 12).with_positions([5], keep=False, kv_heads=[0])
    rows = rows_with_argmaxes([[9, 8, 6, 6]])
    assert float(use_of_survivors(full, rows, keep, (9,)).reroute_rate) == pytest.approx(1 / 2)


def test_many_masks_are_measured_at_once():
    full = rows_with_argmaxes([[5, 6], [7, 8]])
    masks = [KeepMask.full(2, 1, 12).with_positions([t], keep=False) for t in (5, 7, 11)]
    rows = torch.stack([full * mask.keep for mask in masks])
    together = use_of_survivors(full, rows, torch.stack([m.keep for m in masks]), (1, 9))
    for i, mask in enumerate(masks):
        alone = use_of_survivors(full, rows[i], mask, (1, 9))
        assert together.reroute_rate[i].item() == pytest.approx(
            alone.reroute_rate.item(), nan_ok=True
        )
        assert together.answer_mass[i].item() == pytest.approx(alone.answer_mass.item())


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_gives_the_cpu_numbers():
    rows = torch.rand(3, 2, 6, 40, generator=torch.Generator().manual_seed(0))
    rows[:, :, 0, 20:] = rows[:, :, 1, :20] = 0
    for measure in (head_agreement, argmax_diversity, consensus_norm, topk_jaccard):
        assert torch.allclose(measure(rows.cuda()).cpu(), measure(rows))
    keep = KeepMask(rows[0, :, :2] > 0)
    here = use_of_survivors(rows[0], rows[1], keep, (9,))
    there = use_of_survivors(rows[0].cuda(), rows[1].cuda(), keep, (9,))
    assert torch.allclose(there.reroute_rate.cpu(), here.reroute_rate)
    assert torch.allclose(there.answer_mass.cpu(), here.answer_mass)


def test_a_head_left_with_nothing_did_not_reroute():
    full = rows_with_argmaxes([[5, 6]])
    keep = KeepMask.full(1, 1, 12).with_positions(range(4, 12), keep=False)
    rows = full.clone()
    rows[..., 4:] = 0
    assert float(use_of_survivors(full, rows, keep, (0, 9)).reroute_rate) == 0


def test_use_of_survivors_is_nan_where_nothing_can_be_said():
    full = rows_with_argmaxes([[5, 6]])
    whole = KeepMask.full(1, 1, 12)
    assert math.isnan(use_of_survivors(full, full, whole, (9,)).reroute_rate)
    assert float(use_of_survivors(full, full, whole, (9,)).answer_mass) == 1
    assert math.isnan(use_of_survivors(full, full, whole, ()).answer_mass)


def test_heads_that_do_not_divide_are_refused():
    full = rows_with_argmaxes([[5, 6, 7]])
    with pytest.raises(ValueError, match="3 heads and 2 KV heads"):
        use_of_survivors(full, full, KeepMask.full(1, 2, 12), (9,))


def test_sinks_outside_the_prefix_are_refused():
    with pytest.raises(ValueError, match=r"lie in \[0, 12\)"):
        head_agreement(rows_with_argmaxes([[5, 6]]), sink_positions=(12,))


def test_half_precision_sums_in_single():
    """bf16 rows do not sum to 1; nothing here fails on them."""
    rows = torch.rand(3, 4, 64, generator=torch.Generator().manual_seed(0)).softmax(-1)
    half = rows.bfloat16()
    assert head_agreement(half).dtype == torch.float32
    assert answer_share(half, range(4, 64)).flatten().tolist() == pytest.approx(
        [1.0] * 12, abs=1e-6
    )


random_rows = st.tuples(st.integers(0, 10**6), st.integers(2, 6), st.integers(5, 24)).map(
    lambda t: torch.rand(2, 2, t[1], t[2], generator=torch.Generator().manual_seed(t[0]))
)


@laws
@given(random_rows)
def test_a_batch_is_its_rows_one_by_one(rows):
    for measure in (head_agreement, argmax_diversity, consensus_norm, topk_jaccard):
        together = measure(rows)
        apart = torch.stack([measure(row) for row in rows])
        assert torch.equal(together.nan_to_num(-1), apart.nan_to_num(-1))


@laws
@given(random_rows, st.randoms())
def test_relabelling_heads_changes_nothing(rows, random):
    order = random.sample(range(rows.shape[-2]), rows.shape[-2])
    for measure in (head_agreement, argmax_diversity, consensus_norm, topk_jaccard):
        same = torch.allclose(measure(rows), measure(rows[..., order, :]), equal_nan=True)
        assert same, measure.__name__


@laws
@given(random_rows)
def test_measures_are_bounded_and_consistent(rows):
    n_heads = rows.shape[-2]
    summary = agreement_summary(rows)
    rho, diversity = summary.head_agreement, summary.argmax_diversity
    assert ((1 / n_heads - 1e-6 <= rho) & (rho <= 1)).all()
    assert ((1 / n_heads - 1e-6 <= diversity) & (diversity <= 1)).all()
    assert ((summary.consensus_norm >= 0) & (summary.consensus_norm <= 1)).all()
    # All alike in one measure is all alike in the others.
    assert torch.equal(rho == 1, summary.consensus_norm == 1)
    jaccard = topk_jaccard(rows, k=3)
    assert ((jaccard >= 0) & (jaccard <= 1 + 1e-6)).all()


@laws
@given(random_rows)
def test_agreement_matches_a_plain_loop(rows):
    rho, diversity = head_agreement(rows), argmax_diversity(rows)
    for batch, layers in enumerate(rows):
        for layer, heads in enumerate(layers):
            tops = [int(head[4:].argmax()) for head in heads]
            most = max(tops.count(top) for top in tops)
            assert float(rho[batch, layer]) == pytest.approx(most / len(tops))
            assert float(diversity[batch, layer]) == pytest.approx(len(set(tops)) / len(tops))
