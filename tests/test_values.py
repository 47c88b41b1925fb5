"""Masks, edits and traces compare by value; items take lists and hold tuples."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from routelens import Answer, AttentionEdit, EvidenceGroup, Item, KeepMask, Trace

CONTEXT = "Paris is the capital of France."


def mask(bits, attainable=True):
    return KeepMask(torch.tensor(bits).reshape(1, 1, -1), attainable)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=2, max_size=2))
def test_masks_are_equal_where_their_bits_are(two):
    one, other = map(mask, two)
    assert (one == other) is (two[0] == two[1])
    assert (one != other) is (two[0] != two[1])
    assert one == mask(two[0]) and hash(one) == hash(mask(two[0]))
    assert len({one, other, mask(two[0])}) == 1 + (two[0] != two[1])


def test_shape_and_attainability_count_and_other_things_are_never_equal():
    full = KeepMask.full(2, 3, 4)
    assert full != KeepMask.full(3, 2, 4) and full != KeepMask.full(2, 3, 5)
    assert full != replace(full, attainable=False)
    assert full.hash == replace(full, attainable=False).hash
    assert full != full.keep.tolist() and full != None and full != "full"  # noqa: E711
    assert full in [KeepMask.full(1, 1, 1), KeepMask.full(2, 3, 4)]


def test_edits_are_equal_where_their_parts_are():
    gate = torch.ones(1, 2, 1, 4)
    edit = AttentionEdit(keep=mask([True] * 4), gate=gate)
    same = AttentionEdit(keep=mask([True] * 4), gate=gate.clone())
    assert edit == same and hash(edit) == hash(same)
    assert edit != replace(edit, gate=gate * 0.5)
    assert edit != replace(edit, gate=None) and replace(edit, gate=None) != edit
    assert edit != replace(edit, gate=gate.double())
    assert edit != replace(edit, gate=None, bias=gate)
    assert edit != edit.keep


def test_answers_with_traces_are_compared_too():
    pattern = torch.rand(2, 3, 4, 9)
    residual = torch.zeros(3, 2)
    trace = Trace(pattern, 5, 0, 2, (1, 2, 3, 4), (), residual, residual)
    answers = [Answer("a", (1,), trace=replace(trace, pattern=pattern.clone())) for _ in range(2)]
    assert answers[0] == answers[1] and hash(answers[0]) == hash(answers[1])
    assert answers[0] != replace(answers[0], trace=replace(trace, pattern=pattern + 1))


def test_an_item_takes_lists_and_holds_tuples():
    lists = json.loads(
        '{"aliases": ["Paname"], "answer_spans": [[0, 5]], "required_groups": [[[0, 5], [24, 30]]]}'
    )
    listed = Item(context=CONTEXT, question="?", answer="Paris", **lists)
    tuples = Item(
        context=CONTEXT,
        question="?",
        answer="Paris",
        aliases=("Paname",),
        answer_spans=((0, 5),),
        required_groups=(EvidenceGroup(((0, 5), (24, 30))),),
    )
    assert listed == tuples and hash(listed) == hash(tuples)
    assert listed.aliases == ("Paname",) and listed.answer_spans == ((0, 5),)
    assert listed.required_groups == (EvidenceGroup(((0, 5), (24, 30))),)
    assert Item(
        context=CONTEXT, question="?", answer="Paris", answer_spans=[(0, 5)]
    ).required_groups


def test_spans_may_come_from_a_library_that_counts_in_its_own_integers():
    group = EvidenceGroup([(np.int64(0), torch.tensor(5))])
    assert group.occurrences == ((0, 5),)
    assert all(type(edge) is int for edge in group.occurrences[0])


@pytest.mark.parametrize("wrong", [(0, 5), [0, 5], [[0]], [[0, 1, 2]], [["a", "b"]], [[0.0, 5.0]]])
def test_what_is_no_list_of_spans_is_refused_in_words(wrong):
    with pytest.raises(
        ValueError, match=r"Item: answer_spans: spans are pairs .*\[\(start, end\)\]"
    ):
        Item(context=CONTEXT, question="?", answer="Paris", answer_spans=wrong)
    with pytest.raises(ValueError, match=r"Item: required_groups: spans are pairs"):
        Item(context=CONTEXT, question="?", answer="Paris", required_groups=[wrong])
    with pytest.raises(ValueError, match=r"EvidenceGroup: spans are pairs"):
        EvidenceGroup(wrong)


def test_one_text_is_no_list_of_aliases():
    with pytest.raises(ValueError, match=r"got the text 'Paname'. Pass \['Paname'\]"):
        Item(context=CONTEXT, question="?", answer="Paris", aliases="Paname")
