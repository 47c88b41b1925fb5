"""What users of such tools have reported about their own data, for items read from files."""

import pandas as pd
import pytest
from item_files import DATA, by_id, evidence, problems_of, write_rows

from routelens.matching import evidence_groups
from routelens.metrics import word_f1
from routelens.tasks import read_items, validate_items

FILES = ("a.jsonl", "a.csv", "a.parquet")


def from_file(path, **row):
    if path.suffix == ".jsonl":
        write_rows(path, row)
    elif path.suffix == ".csv":
        pd.DataFrame([row]).to_csv(path, index=False)
    else:
        pd.DataFrame([row]).to_parquet(path)
    (item,) = read_items(path)
    return item


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("answer", ["yes", "U.S.", "", "3,677 seated"])
def test_an_answer_not_in_the_text_is_not_locatable_and_still_scored(tmp_path, name, answer):
    """It counts neither as erased nor as kept."""
    context = "The United States sent 3,677 people."
    path = tmp_path / name
    item = from_file(path, context=context, question="Q?", answer=answer, answerable=True, id="x")
    report = validate_items(path)
    assert (report.not_locatable, report.n_located) == (("x",), 0)
    assert "0 of 1 located" in str(report)
    assert "'x'" in str(report)
    assert evidence_groups(item) == ()
    assert word_f1(answer, item.golds) == 100


@pytest.mark.parametrize("name", FILES)
def test_all_places_of_a_repeated_answer_are_one_group(tmp_path, name):
    item = from_file(
        tmp_path / name,
        context="Bo met Ann. Ann wept; ann left. Anna stayed.",
        question="Whom?",
        answer="Ann",
    )
    assert evidence(item) == [["Ann", "Ann", "ann"]]
    assert validate_items(tmp_path / name).n_repeated == 1


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("context", "answer", "found"),
    [
        ("会議は東京都で開かれた。", "東京", "東京"),
        ("Der Fluss ist der Rhein.", "rhein", "Rhein"),
        ("Er wohnt in „Mu\u0308nchen“.", "München", "Mu\u0308nchen"),
        ("서울에서 만났다", "서울", "서울"),
        ("Она живёт в Москве.", "москве", "Москве"),
        ("Sie lobt den Apfelstrudel 😀 sehr.", "😀", "😀"),
        ("يسكن بو في أرن.", "أرن", "أرن"),
    ],
)
def test_answers_in_any_language_are_located(tmp_path, name, context, answer, found):
    """Text of any script reads back as it was written."""
    item = from_file(tmp_path / name, context=context, question="Q?", answer=answer)
    assert evidence(item) == [[found]]


def test_squad_offsets_are_characters_in_any_language():
    items = by_id("squad_v1.json")
    assert evidence(items["c1"]) == [["den Apfelstrudel 😀", "den Kaffee"]]
    assert evidence(items["t1"]) == [["東京都の港", "東京"]]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("context", "answer", "found"),
    [
        ("It cost 1,000 marks, not 1,0001.", "1000", ["1,000"]),
        ("It cost 1000 marks.", "1,000", ["1000"]),
        ("pi is 3.14, not 314.", "3.14", ["3.14"]),
        ("pi is 3.14.", "14", []),
        ("It was \u22125 degrees, then 5.", "-5", ["\u22125"]),
        ("On 2020-01-02 and 20200102.", "2020-01-02", ["2020-01-02"]),
        ("Room 007, not 7.", "007", ["007"]),
        ("The code is 1e3.", "1e3", ["1e3"]),
        ("Room \uff14\uff12.", "42", ["\uff14\uff12"]),
    ],
)
def test_numbers_stay_as_they_are_written(tmp_path, name, context, answer, found):
    """No reader turns a text into a number."""
    item = from_file(tmp_path / name, context=context, question="Q?", answer=answer)
    assert item.answer == answer
    assert evidence(item) == ([found] if found else [])


def test_a_squad_number_is_found_as_it_stands():
    assert evidence(by_id("squad_v1.json")["m2"]) == [["1,204"]]


def test_numbers_in_a_parquet_column_of_numbers_are_refused(tmp_path):
    """3.10 would have become 3.1 already."""
    frame = pd.DataFrame({"context": ["a 3.10"], "question": ["?"], "answer": [3.10]})
    frame.to_parquet(tmp_path / "a.parquet")
    (problem,) = problems_of(tmp_path / "a.parquet")
    assert problem.startswith("row 1: answer is a text, a list of texts, or null")


def test_missing_keys_are_told_with_those_that_are_there_in_every_kind_of_row(tmp_path):
    """It names the required keys and the keys present."""
    rows = [
        {"context": "c", "question": "q"},
        {"input": "q", "context": "c", "dataset": "musique"},
        {"index": 1, "outputs": ["a"]},
        {"question": "q", "context": [["T", ["s."]]]},
        {"context": "c", "answers": {"text": [], "answer_start": []}},
        {"question": "q", "answer_prefix": "A:", "answer": "a"},
    ]
    problems = problems_of(write_rows(tmp_path / "a.jsonl", *rows))
    assert [problem.split(" (")[0] for problem in problems] == [
        "1: answer missing",
        "2: answer missing",
        "3: input missing",
        "4: answer and supporting_facts missing",
        "5: question missing",
        "6: context missing",
    ]
    for problem, row in zip(problems, rows, strict=True):
        assert "required: " in problem
        assert f"present: {', '.join(row)})" in problem


def test_a_file_of_several_formats_says_which_rows_are_which(tmp_path):
    names = ("longbench.jsonl", "kvpress.jsonl", "squad_rows.jsonl")
    text = "".join((DATA / name).read_text("utf-8") for name in names)
    path = tmp_path / "mixed.jsonl"
    path.write_text(text, encoding="utf-8")
    assert "(4 LongBench, 4 kvpress, 2 SQuAD)" in str(validate_items(path))
