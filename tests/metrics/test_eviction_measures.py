"""Eviction rate, GER, erasure and sizes (D1, D3, D4, D6): hand-worked masks and laws."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import (
    delta_ger,
    erasure,
    eviction_rate,
    global_eviction_ratio,
    group_intact,
    k_eff,
    retention,
    sizes,
    token_eviction,
)
from routelens.types import Evidence, KeepMask, TokenGroup

laws = settings(deadline=None, max_examples=40)

# Two layers, two KV heads, four tokens; 1 = kept.
HAND = KeepMask(
    torch.tensor(
        [
            [[1, 0, 0, 1], [1, 1, 0, 0]],
            [[0, 0, 0, 1], [1, 0, 0, 1]],
        ],
        dtype=torch.bool,
    )
)


def masks(n_layers=3, n_kv_heads=2, k_pos=6):
    cells = n_layers * n_kv_heads * k_pos
    return st.lists(st.booleans(), min_size=cells, max_size=cells).map(
        lambda bits: KeepMask(torch.tensor(bits).reshape(n_layers, n_kv_heads, k_pos))
    )


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("layer", [0, 0.5, 1, 0]),  # token 1 is gone from layer 1 only
        ("model", [0, 0, 1, 0]),
        ("soft", [0.25, 0.75, 1, 0.25]),
    ],
)
def test_token_eviction_by_hand(scope, expected):
    assert token_eviction(HAND, scope=scope).tolist() == expected
    assert eviction_rate(HAND, (0, 1, 2, 3), scope=scope) == sum(expected) / 4
    assert global_eviction_ratio(HAND, (1, 2), scope=scope) == sum(expected[1:3]) / 2


def test_delta_ger_is_above_zero_where_the_evidence_is_hit_harder():
    assert delta_ger(HAND, (2,), (0, 1, 2, 3)) == pytest.approx(1 - 1.5 / 4)
    assert delta_ger(HAND, (0,), (0, 1, 2, 3)) < 0


def test_nothing_to_average_is_nan_not_zero():
    assert math.isnan(global_eviction_ratio(HAND, ()))
    assert math.isnan(eviction_rate(HAND, ()))
    assert math.isnan(delta_ger(HAND, (), (0, 1)))
    assert math.isnan(retention(HAND, ()))


def test_a_bare_tensor_serves_as_well():
    assert eviction_rate(HAND.keep, torch.tensor([0, 1])) == eviction_rate(HAND, (0, 1))


def test_positions_outside_the_prefix_are_refused():
    with pytest.raises(ValueError, match=r"lie in \[0, 4\); got \[4\]"):
        eviction_rate(HAND, (0, 4))
    with pytest.raises(ValueError, match="global_eviction_ratio"):
        global_eviction_ratio(HAND, (-1,))


def test_k_eff_is_one_where_heads_agree_and_the_head_count_where_they_are_independent():
    generator = torch.Generator().manual_seed(0)
    alike = (torch.rand(40, 1, 500, generator=generator) > 0.7).expand(40, 4, 500)
    apart = torch.rand(40, 4, 500, generator=generator) > 0.7
    assert k_eff(KeepMask(alike.contiguous()), range(500)) == pytest.approx(1)
    assert k_eff(KeepMask(apart), range(500)) == pytest.approx(4, rel=0.03)


def test_k_eff_is_nan_at_the_ends():
    assert math.isnan(k_eff(KeepMask.full(2, 2, 4), range(4)))
    assert math.isnan(k_eff(~KeepMask.full(2, 2, 4), range(4)))
    assert math.isnan(k_eff(HAND, ()))


PAYLOAD = TokenGroup(((0, 1), (3,)))
BRIDGE = TokenGroup(((2,),), role="bridge")


def test_a_group_is_intact_where_any_occurrence_is_whole():
    assert group_intact(HAND, TokenGroup(((0, 1),))).tolist() == [True, False]
    assert group_intact(HAND, PAYLOAD).tolist() == [True, True]
    assert group_intact(HAND, BRIDGE).tolist() == [False, False]


def test_an_occurrence_may_be_held_by_several_heads():
    # Token 3 is in head 0 and token 1 in head 1 of layer 0 only.
    assert group_intact(HAND, TokenGroup(((1, 3),))).tolist() == [True, False]


def test_erasure_by_hand():
    found = erasure(HAND, (PAYLOAD, BRIDGE))
    assert (found.layer, found.model, found.strict) == (True, True, False)
    assert (found.payload_layer, found.payload_model) == (False, False)
    assert (found.bridge_layer, found.bridge_model) == (True, True)


def test_half_of_the_layers_is_enough_to_erase():
    found = erasure(HAND, (TokenGroup(((1,),)),))
    assert (found.layer, found.model, found.strict) == (True, False, False)


def test_strict_needs_every_payload_token_gone_everywhere():
    assert erasure(HAND, (TokenGroup(((2,),)),)).strict is True
    assert erasure(HAND, (TokenGroup(((1, 2),)),)).strict is False


def test_the_model_scope_wants_one_occurrence_with_all_its_tokens():
    found = erasure(HAND, (TokenGroup(((1, 2),)),))
    assert found.model is True  # token 2 is nowhere
    assert erasure(HAND, (TokenGroup(((1, 2), (0,))),)).model is False


def test_without_evidence_erasure_is_none_neither_true_nor_false():
    """An answer that cannot be located counts as neither erased nor kept."""
    nothing = erasure(HAND, Evidence((), "not_locatable").groups)
    assert set(vars(nothing).values()) == {None}
    unlocated = TokenGroup(())
    assert set(vars(erasure(HAND, (unlocated,))).values()) == {None}
    assert erasure(HAND, (PAYLOAD, unlocated)).layer is None
    assert erasure(HAND, (BRIDGE, unlocated)).layer is True
    assert erasure(HAND, (PAYLOAD,)).bridge_layer is None


def test_ger_of_an_unlocatable_answer_is_nan():
    evidence = Evidence((), "not_locatable")
    assert math.isnan(global_eviction_ratio(HAND, evidence.answer_positions))


def test_sizes_by_hand():
    found = sizes(HAND, (1, 2, 3), d_head=16, bytes_per_element=2)
    assert found.compression_ratio == pytest.approx(1 - 7 / 16)
    assert found.kept_per_head_mean == 7 / 4
    assert found.kept_per_head_min == 1
    assert found.kept_content_tokens == 4 / 4
    assert found.bytes_kept == 2 * 7 * 16 * 2
    assert found.bytes_full == 2 * 16 * 16 * 2


@laws
@given(masks())
def test_the_scopes_are_ordered_and_bounded(mask):
    every = range(mask.k_pos)
    model, layer, soft = (eviction_rate(mask, every, scope=s) for s in ("model", "layer", "soft"))
    assert 0 <= model <= layer + 1e-12 <= soft + 2e-12 <= 1 + 1e-9
    assert soft == pytest.approx(mask.compression_ratio)


@laws
@given(masks(), st.permutations(range(2)), st.permutations(range(3)))
def test_relabelling_heads_and_layers_changes_nothing(mask, heads, layers):
    shuffled = KeepMask(mask.keep[layers][:, heads])
    groups = (TokenGroup(((0, 1), (4,))), TokenGroup(((5,),), role="bridge"))
    assert erasure(shuffled, groups) == erasure(mask, groups)
    for scope in ("layer", "model", "soft"):
        assert eviction_rate(shuffled, (0, 3, 5), scope=scope) == pytest.approx(
            eviction_rate(mask, (0, 3, 5), scope=scope)
        )


@laws
@given(masks(), masks())
def test_keeping_more_never_raises_eviction(mask, other):
    more = mask | other
    groups = (TokenGroup(((0, 1), (4,))), TokenGroup(((5,),), role="bridge"))
    for scope in ("layer", "model", "soft"):
        assert global_eviction_ratio(more, (0, 1, 4), scope=scope) <= (
            global_eviction_ratio(mask, (0, 1, 4), scope=scope) + 1e-12
        )
    fewer, larger = erasure(mask, groups), erasure(more, groups)
    for name, erased in vars(larger).items():
        assert erased <= getattr(fewer, name)


@laws
@given(masks())
def test_strict_erasure_implies_model_and_model_implies_layer(mask):
    found = erasure(mask, (TokenGroup(((0, 1), (4,))),))
    assert not found.strict or found.model
    assert not found.model or found.layer
