"""The shared dataclasses: masks combine, save and hash; items refuse what cannot be meant."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from routelens import Answer, AttentionEdit, EvidenceGroup, Item, KeepMask, Trace
from routelens.types import stable_hash

CONTEXT = "Paris is the capital of France."


@st.composite
def masks(draw, count=1):
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 20)))
    n = shape[0] * shape[1] * shape[2]
    bits = [draw(st.lists(st.booleans(), min_size=n, max_size=n)) for _ in range(count)]
    found = [KeepMask(torch.tensor(b).reshape(shape)) for b in bits]
    return found[0] if count == 1 else found


def same(one, other):
    return torch.equal(one.keep, other.keep)


def test_a_mask_counts_what_it_keeps():
    keep = torch.zeros(2, 3, 10, dtype=torch.bool)
    keep[0, :, :5] = True
    mask = KeepMask(keep)
    assert (mask.n_layers, mask.n_kv_heads, mask.k_pos) == (2, 3, 10)
    assert mask.n_kept == 15
    assert mask.compression_ratio == pytest.approx(0.75)
    assert KeepMask.full(2, 3, 10).compression_ratio == 0.0


@given(masks(count=3))
def test_masks_combine_as_sets_do(three):
    a, b, c = three
    assert same(~(a & b), ~a | ~b)
    assert same(a & (b | c), (a & b) | (a & c))
    assert same(~~a, a)
    assert (a & b).n_kept + (a | b).n_kept == a.n_kept + b.n_kept


def test_masks_of_two_shapes_do_not_combine():
    for combine in (KeepMask.__and__, KeepMask.__or__):
        with pytest.raises(ValueError, match=r"\(1, 2, 3\) and \(1, 2, 4\)"):
            combine(KeepMask.full(1, 2, 3), KeepMask.full(1, 2, 4))


@settings(deadline=None)
@given(masks(), st.booleans())
def test_a_saved_mask_comes_back(tmp_path_factory, mask, attainable):
    path = tmp_path_factory.mktemp("mask") / "keep.safetensors"
    KeepMask(mask.keep, attainable).save(path)
    back = KeepMask.load(str(path))
    assert same(back, mask)
    assert back.keep.dtype == torch.bool
    assert back.attainable is attainable
    assert back.hash == mask.hash


def test_a_mask_is_saved_without_a_pickle(tmp_path):
    KeepMask.full(1, 1, 4).save(tmp_path / "keep")
    header = (tmp_path / "keep").read_bytes()
    assert json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["keep"]["shape"] == [
        1,
        1,
        4,
    ]


def test_files_that_are_no_masks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no file at"):
        KeepMask.load(tmp_path / "gone")
    (tmp_path / "text").write_text("keep everything")
    save_file({"other": torch.ones(2)}, tmp_path / "other")
    save_file({"keep": torch.ones(2)}, tmp_path / "flat")
    for name in ("text", "other"):
        with pytest.raises(ValueError, match="not a mask written by KeepMask.save"):
            KeepMask.load(tmp_path / name)
    with pytest.raises((ValueError, TypeError), match="keep"):
        KeepMask.load(tmp_path / "flat")


@given(masks(count=2))
def test_hashes_tell_masks_apart(two):
    a, b = two
    assert (a.hash == b.hash) == same(a, b)
    assert a.hash == KeepMask(a.keep.clone()).hash
    assert len(a.hash) == 16


def test_masks_of_the_same_bits_in_two_shapes_have_two_hashes():
    assert KeepMask.full(2, 3, 4).hash != KeepMask.full(3, 2, 4).hash


def test_with_positions_edits_the_chosen_layers_and_heads_of_a_copy():
    mask = KeepMask(torch.ones(3, 2, 6, dtype=torch.bool), attainable=False)
    edited = mask.with_positions([1, 4], keep=False, layers=[0, 2], kv_heads=[1])
    expected = torch.ones(3, 2, 6, dtype=torch.bool)
    for layer in (0, 2):
        expected[layer, 1, 1] = expected[layer, 1, 4] = False
    assert torch.equal(edited.keep, expected)
    assert mask.n_kept == 36
    assert edited.attainable is False
    assert same(edited.with_positions([1, 4]), mask)
    assert same(mask.with_positions([]), mask)
    assert same(mask.with_positions(iter([1]), keep=False), mask.with_positions((1,), keep=False))


@pytest.mark.parametrize("wrong", [[-1], [6], [0, 99]])
def test_positions_outside_the_prefix_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\[0, 6\)"):
        KeepMask.full(1, 1, 6).with_positions(wrong)


@pytest.mark.parametrize(
    "wrong", [torch.ones(2, 3), torch.ones(1, 2, 3), torch.ones(1, 2, 3, dtype=torch.int64)]
)
def test_a_mask_is_a_bool_tensor_of_three_axes(wrong):
    with pytest.raises((ValueError, TypeError)):
        KeepMask(wrong)


def test_an_empty_edit_holds_nothing():
    assert AttentionEdit() == AttentionEdit(None, None, None)


def test_an_item_makes_one_group_of_its_answer_spans():
    item = Item(context=CONTEXT, question="Where?", answer="Paris", answer_spans=((0, 5),))
    assert item.required_groups == (EvidenceGroup(((0, 5),)),)
    assert item.required_groups[0].role == "payload"
    assert item.golds == ("Paris",)


def test_required_groups_win_over_spans():
    groups = (EvidenceGroup(((0, 5),)), EvidenceGroup(((24, 30),), role="bridge"))
    item = Item(
        context=CONTEXT,
        question="?",
        answer="Paris",
        required_groups=groups,
        answer_spans=((0, 1),),
    )
    assert [group.occurrences for group in item.required_groups] == [((0, 5),), ((24, 30),)]


@pytest.mark.parametrize("span", [(0, 0), (5, 4), (-1, 3), (0, 99)])
def test_spans_lie_in_the_context(span):
    with pytest.raises(ValueError, match=r"0 <= start < end <= 31"):
        Item(context=CONTEXT, question="?", answer="Paris", answer_spans=(span,))


@pytest.mark.parametrize(("field", "value"), [("context", " \n"), ("question", "")])
def test_an_item_has_a_passage_and_a_question(field, value):
    with pytest.raises(ValueError, match=field):
        Item(**{"context": CONTEXT, "question": "?", "answer": "a", field: value})


def test_a_group_is_payload_or_bridge():
    with pytest.raises((ValueError, TypeError)):
        EvidenceGroup(((0, 1),), role="clue")


def test_an_unanswerable_item_has_no_golds():
    item = Item(context=CONTEXT, question="?", answer=None, aliases=("x",))
    assert not item.answerable
    assert item.golds == ()


def test_ids_are_given_or_made_from_the_text_and_so_stable():
    first, again, other = (
        Item(context=CONTEXT, question=q, answer="Paris") for q in ("Where?", "Where?", "Who?")
    )
    assert first.id == again.id != other.id
    assert first.passage_id == other.passage_id
    assert Item(context=CONTEXT, question="?", answer="a", id="mine", passage_id="p").id == "mine"


def test_stable_hash_does_not_depend_on_the_order_of_keys():
    assert stable_hash({"a": 1, "b": [2, 3]}) == stable_hash({"b": [2, 3], "a": 1})
    assert stable_hash({"a": 1}) != stable_hash({"a": 2})


def test_the_prompt_attention_of_a_trace_is_its_prompt_row_over_the_prefix():
    pattern = torch.rand(2, 3, 4, 9)
    trace = Trace(pattern, 5, 0, 2, (1, 2, 3, 4), (), torch.zeros(3, 2), torch.zeros(3, 2))
    assert torch.equal(trace.prompt_attention, pattern[:, :, 2, :5])


def test_answers_of_equal_content_are_equal():
    assert Answer("a", (1,)) == Answer("a", (1,)) != Answer("b", (1,))
