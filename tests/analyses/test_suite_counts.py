"""The scripts of analyses/suite: the table of counts, and which questions are put without their passage."""

import sys
from dataclasses import replace

import pandas as pd
import pytest

from analyses.suite import counts
from analyses.suite.no_context import NOTHING, askable, without_passage
from routelens.tasks import TASKS, load_task
from routelens.types import Item

PAPER = {
    "base": ("175 ± 25", 6, 200),
    "knowledge": ("32", 13, 4000),
    "multi_presence": ("500 ± 100", 10, 100),
    "multi_entity": ("500 ± 100", 10, 100),
    "long_context": ("1100 ± 200", 10, 100),
    "coreference": ("44", 9, 8000),
    "hops": ("-", 16, 100),
}
N_PASSAGES = 3


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """What the script writes about three passages of each task."""
    path = tmp_path_factory.mktemp("counts") / "new" / "counts.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["counts", "--passages", str(N_PASSAGES), "--out", str(path)])
        counts.main()
    return pd.read_csv(path).set_index("task")


def test_there_is_a_row_for_each_task_of_the_paper(table):
    assert list(table.index) == list(PAPER)
    assert set(PAPER) == set(TASKS) - {"needle"}
    assert set(table["passages counted"]) == {N_PASSAGES}


def test_the_papers_counts_stand_beside_the_tasks_own(table):
    for name, (words, n_questions, n_passages) in PAPER.items():
        row = table.loc[name]
        assert row["words (paper)"] == words
        assert row["questions (paper)"] == row["questions"] == n_questions
        assert row["passages (paper)"] == row["passages"] == n_passages
        assert row["stressor"] == TASKS[name].stressor


@pytest.mark.parametrize("name", PAPER)
def test_words_and_tags_are_those_of_the_passages_counted(table, name):
    items = load_task(name, n_passages=N_PASSAGES)
    row = table.loc[name]
    lengths = {item.passage_id: len(item.context.split()) for item in items}.values()
    assert row["words, mean"] == pytest.approx(sum(lengths) / N_PASSAGES, abs=0.05)
    for tag, share in (
        ("reverse", sum(item.direction == "reverse" for item in items) / len(items)),
        ("Part", sum(item.question_type == "Part" for item in items) / len(items)),
        ("(unanswerable)", sum(not item.answerable for item in items) / len(items)),
        ("Person", sum(i.answerable and i.answer_type == "Person" for i in items) / len(items)),
    ):
        assert row[tag] == pytest.approx(share, abs=5e-4), tag


def test_shares_of_answer_tags_question_tags_and_directions_each_make_a_whole(table):
    for tags in (
        counts.COLUMNS[:9],
        ("Standard", "Manipulated", "Part"),
        ("forward", "reverse"),
    ):
        assert table[list(tags)].sum(axis=1).tolist() == pytest.approx([1] * len(PAPER), abs=5e-3)


ITEM = Item(
    context="Ilva Drostava keeps a heron.",
    question="Which animal does Ilva Drostava keep?",
    answer="heron",
    answer_spans=[(22, 27)],
    passage_id="p0",
    id="q0",
)


def test_what_has_no_answer_or_names_it_is_not_asked_without_the_passage():
    unanswerable = replace(ITEM, answer=None, answer_spans=(), required_groups=())
    named = replace(ITEM, question="Is it a heron or a stork?")
    within_a_word = replace(ITEM, question="Who keeps the heronries?")
    assert askable([ITEM, unanswerable, named, within_a_word]) == [ITEM, within_a_word]


def test_without_its_passage_an_item_keeps_question_and_gold_and_has_no_evidence():
    asked = without_passage(ITEM)
    assert asked.context == NOTHING
    assert (asked.question, asked.answer, asked.id) == (ITEM.question, ITEM.answer, ITEM.id)
    assert asked.required_groups == asked.answer_spans == ()
    assert str(ITEM.answer) not in NOTHING


def test_all_questions_without_passage_share_one_prefill():
    items = askable(load_task("coreference", n_passages=2) + load_task("base", n_passages=1))
    asked = [without_passage(item) for item in items]
    assert len(asked) == 9 + 6
    assert {(item.context, item.passage_id) for item in asked} == {(NOTHING, "nothing")}
    assert [item.golds for item in asked] == [item.golds for item in items]
