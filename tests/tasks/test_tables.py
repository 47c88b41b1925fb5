"""Tables of questions (kvpress's and others') in CSV, TSV and Parquet, and files that are no good as any of these."""

import csv
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from item_files import DATA, evidence, problems_of, write_rows

from routelens.tasks import read_items, validate_items


def test_kvpress_columns_are_read_and_its_settings_kept_as_metadata():
    key, numbers, place, _ = read_items(DATA / "kvpress.jsonl")
    assert (key.answer, key.aliases) == ("05312", ())
    assert key.metadata == {"answer_prefix": "The pass key is ", "max_new_tokens": 16}
    assert (numbers.answer, numbers.question_type) == ("111, 222", "Part")
    assert evidence(numbers) == [["111"], ["222"]]
    assert (place.answer, place.aliases, place.task) == ("Oslo", ("Norway",), "qa_1")


@pytest.mark.parametrize("kind", ["python", "pandas", "tsv", "parquet", "json list", "json lines"])
def test_a_table_is_the_same_in_every_kind_of_file(kind, tmp_path):
    items = read_items(DATA / "kvpress.jsonl")
    rows = [json.loads(line) for line in (DATA / "kvpress.jsonl").read_text("utf-8").splitlines()]
    frame = pd.DataFrame(rows)
    path = tmp_path / {"tsv": "a.tsv", "parquet": "a.parquet"}.get(kind, "a.csv")
    if kind == "python":
        path = DATA / "kvpress.csv"
    elif kind == "pandas":
        frame.to_csv(path)  # with the index
    elif kind == "tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif kind == "parquet":
        frame["answer"] = [
            answer if isinstance(answer, list) else [answer] for answer in frame.answer
        ]
        frame.to_parquet(path)
    else:
        path = tmp_path / "a.json"
        frame.to_json(path, orient="records", lines=kind == "json lines", force_ascii=False)
    assert read_items(path) == items
    metadata = [item.metadata for item in read_items(path)]
    assert [kept["max_new_tokens"] for kept in metadata] == [16, 32, 32, 8]
    assert {name for kept in metadata for name in kept} == {"answer_prefix", "max_new_tokens"}


def test_every_format_can_come_as_parquet(tmp_path):
    for name in ("squad_rows.jsonl", "hotpotqa_rows.jsonl", "longbench.jsonl", "ruler_niah.jsonl"):
        rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
        pd.DataFrame(rows).to_parquet(tmp_path / "no-name")
        assert read_items(tmp_path / "no-name") == read_items(DATA / name)


def test_a_null_answer_in_parquet_is_unanswerable_and_problems_name_the_row(tmp_path):
    frame = pd.DataFrame(
        {
            "context": ["Bo lives in Arn."] * 3,
            "question": ["Where?", "Who?", None],
            "answer": ["Arn", None, "Arn"],
            "answer_prefix": ["A:"] * 3,
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    (problem,) = problems_of(tmp_path / "a.parquet")
    assert problem.startswith("row 3: question missing")
    with pytest.warns(UserWarning):
        answers = [item.answer for item in read_items(tmp_path / "a.parquet", skip_bad_rows=True)]
    assert answers == ["Arn", None]


def test_every_problem_of_a_csv_is_told_with_the_line_on_which_its_row_starts():
    problems = problems_of(DATA / "kvpress_broken.csv")
    for problem, part in zip(
        problems,
        (
            "5: answer is empty, which may mean that the passage does not say",
            "7: answer looks like a list or an object but is neither JSON's nor Python's; got ['Arn' 'Bo']",
            "8: 3 cells under 6 columns",
            "9: question must hold some text; got a text ''",
        ),
        strict=True,
    ):
        assert problem.startswith(part)
    assert len(problems) == 4


def test_answerable_says_what_an_empty_cell_means():
    with pytest.warns(UserWarning):
        items = read_items(DATA / "kvpress_broken.csv", skip_bad_rows=True)
    assert [item.answer for item in items] == ["Arn", None, ""]


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', \"b's\"]", ["a", "b's"]),
        ("[sic] a", ["[sic] a"]),
        ("007", ["007"]),
        ("1e3", ["1e3"]),
        ("true", ["true"]),
        ("None", ["None"]),
        ("NA", ["NA"]),
    ],
)
def test_a_cell_is_a_list_only_where_it_is_written_as_one(tmp_path, cell, answer):
    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("context", "question", "answer"), ("c", "q", cell)])
    (item,) = read_items(path)
    assert list(item.golds) == answer


@pytest.mark.parametrize("cell", ["[redacted]", "['a' 'b']", "{'text': array(['a'])}", "[1990]"])
def test_a_cell_that_may_be_a_list_is_refused(tmp_path, cell):
    path = tmp_path / "a.csv"
    path.write_text(f'context,question,answer\nc,q,"{cell}"\n')
    (problem,) = problems_of(path)
    assert problem.startswith("2: answer ")


def test_flat_squad_rows_are_read_from_a_csv(tmp_path):
    rows = [json.loads(line) for line in (DATA / "squad_rows.jsonl").read_text().splitlines()]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    assert read_items(tmp_path / "a.csv") == read_items(DATA / "squad_rows.jsonl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context,question,question\nc,q,a\n", "1: the column 'question' stands twice"),
        ("context;question;answer\nc;q;a\n", "1: the header holds one column"),
        ('context,question,answer\nc,q,a\nc,q,"a\n', "3: broken CSV"),
        ("context,question\nc,q\n", "2: answer missing"),
        ("context,question,answer\n", "the file holds no row"),
    ],
)
def test_a_broken_csv_is_told(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert problems_of(path)[0].strip().startswith(message)


def test_long_cells_are_read_and_the_limit_is_as_it_was(tmp_path):
    limit = 131_072
    csv.field_size_limit(limit)
    path = tmp_path / "a.csv"
    path.write_text(f"context,question,answer\n{'word ' * 40_000}end,q,end\n")
    (item,) = read_items(path)
    assert len(item.context) > 200_000
    assert csv.field_size_limit() == limit


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), min_size=1)
words = cells.filter(lambda text: text.strip() and text.strip()[0] not in "[{")


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(words, words, words), min_size=1, max_size=4, unique=True))
def test_any_texts_are_read_from_csv_as_from_json_lines(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("table")
    frame = pd.DataFrame(rows, columns=["context", "question", "answer"])
    frame.to_csv(folder / "a.csv", index=False)
    write_rows(folder / "a.jsonl", *frame.to_dict("records"))
    assert read_items(folder / "a.csv") == read_items(folder / "a.jsonl")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"PK\x03\x04\x14", "Excel"),
        (b"ARROW1\x00\x00", "save it as Parquet"),
        (b"PAR1 but no more", "the Parquet file cannot be read"),
    ],
)
def test_files_that_are_something_else_are_refused(tmp_path, content, message):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    (problem,) = problems_of(path)
    assert message in problem


@pytest.mark.parametrize(
    ("name", "text", "where", "message"),
    [
        ("a.json", '{"version": "1.1",\n "data": [\n}', "3", "broken JSON"),
        ("a.jsonl", '{"context": "c",\n{"context": "c"}', "1", "broken JSON"),
        ("a.json", '{\n "context": "c"\n}\n{\n "context": "d"\n}', "4", "several JSON values"),
        ("a.json", '{\n "context": "M\udcfc"\n}', "2", "not UTF-8 (byte 0xfc at 14)"),
        (
            "a.json",
            '{"data": [], "version": "1.1"}',
            "1",
            "context and question and answer missing",
        ),
        ("a.json", '{"data": [{"paragraphs": []}]}', None, "the file holds no question"),
    ],
)
def test_a_broken_document_is_told_once(tmp_path, name, text, where, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    first = validate_items(path).problems[0]
    assert str(first).startswith(f"{path}:{where}: " if where else f"{path}: ")
    assert message in first.message
