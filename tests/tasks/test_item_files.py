"""Items from files: whose columns are read, how a bad file is refused, and that writing and reading are inverse."""

import json
import os
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.tasks import load_task, read_items, validate_items, write_items
from routelens.types import EvidenceGroup, Item

DATA = Path(__file__).parent.parent / "data" / "items"
ROW = {"context": "Bo lives in Arn.", "question": "Where does Bo live?", "answer": "Arn"}


def write_rows(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def problems_of(path):
    with pytest.raises(ValueError) as caught:
        read_items(path)
    return [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]


def with_changes(**changes):
    return {key: value for key, value in {**ROW, **changes}.items() if value is not ...}


# What is read


def test_our_own_columns_become_the_items_fields():
    keep, who, unanswerable, both = read_items(DATA / "good.jsonl")
    assert keep.answer == "otter"
    assert keep.aliases == ("an otter",)
    assert who.id == "who"
    assert [who.context[slice(*span)] for span in who.answer_spans] == ["Ada Holm", "Ada Holm"]
    assert who.required_groups == (EvidenceGroup(((0, 8), (35, 43))),)
    assert (who.answer_type, who.question_type, who.direction) == ("Person", "Standard", "reverse")
    assert unanswerable.answer is None
    assert not unanswerable.answerable
    assert [group.role for group in both.required_groups] == ["payload", "bridge"]
    assert both.required_groups[1].name == "town"


def test_questions_of_one_context_share_a_passage_and_its_text_in_memory():
    items = read_items(DATA / "good.jsonl")
    assert len({item.passage_id for item in items}) == 1
    assert len({item.id for item in items}) == len(items)
    assert all(item.context is items[0].context for item in items)


@pytest.mark.parametrize(
    "row",
    [
        with_changes(answer=None),
        with_changes(answerable=False),
        with_changes(answer=..., answerable=False),
        with_changes(answer=None, answerable=False),
    ],
)
def test_null_or_not_answerable_means_unanswerable(tmp_path, row):
    (item,) = read_items(write_rows(tmp_path / "a.jsonl", row))
    assert item.answer is None


@pytest.mark.parametrize("answer", ["yes", "U.S.", ""])
def test_an_answer_that_is_not_in_the_context_is_read_and_counted(tmp_path, answer):
    """A status, not an error."""
    row = with_changes(context="The United States voted.", answer=answer, id="x")
    path = write_rows(tmp_path / "a.jsonl", row)
    (item,) = read_items(path)
    assert item.answer == answer
    assert validate_items(path).not_locatable == ("x",)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: b"\n  \n" + raw,
    ],
    ids=["byte-order mark", "CRLF", "no last line end", "blank lines"],
)
def test_marks_and_line_ends_do_not_matter(tmp_path, change):
    path = tmp_path / "changed.jsonl"
    path.write_bytes(change((DATA / "good.jsonl").read_bytes()))
    assert read_items(path) == read_items(DATA / "good.jsonl")


def test_a_json_list_is_read_with_its_line_numbers(tmp_path):
    lines = problems_of(DATA / "list.json")
    assert [line.split(":")[0] for line in lines] == ["7", "11"]
    path = tmp_path / "list.json"
    path.write_text(
        "\ufeff" + json.dumps([ROW, with_changes(context="Bo left.")]), encoding="utf-8"
    )
    assert [item.context for item in read_items(path)] == [ROW["context"], "Bo left."]


@pytest.mark.parametrize("text", ["[", "[{}", "[{},", "[1 2]", "[{}] x", '["'])
def test_a_broken_json_list_is_refused(tmp_path, text):
    path = tmp_path / "list.json"
    path.write_text(text)
    assert "broken JSON" in problems_of(path)[-1]


# How a bad file is refused


def test_every_problem_of_a_file_is_told_at_once_with_file_and_line():
    """Three bad lines, three messages."""
    path = DATA / "broken.jsonl"
    with pytest.raises(ValueError) as caught:
        read_items(path)
    header, *lines = str(caught.value).splitlines()
    assert header == f"read_items: {path} has 3 problems."
    assert lines == [
        f"  {path}:4: answer missing (required: context, question or input, "
        "answer or answers or outputs; present: context, question).",
        f"  {path}:6: a row is a JSON object {{...}}; got a list [].",
        f"  {path}:7: broken JSON (Expecting value, column 45).",
    ]


def test_bad_rows_are_left_out_on_request_with_a_count():
    with pytest.warns(UserWarning, match="left out 3 of 8 rows") as caught:
        items = read_items(DATA / "broken.jsonl", skip_bad_rows=True)
    assert [item.answer for item in items] == ["Arn", "Bel", "Cor", "Elm", "Gow"]
    assert len(caught) == 1
    assert "broken.jsonl:4: answer missing" in str(caught[0].message)


def test_a_good_file_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_items(DATA / "good.jsonl", skip_bad_rows=True)) == 4


def test_a_file_with_no_good_row_is_refused_even_when_bad_rows_are_left_out(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [], 3)
    with pytest.raises(ValueError, match="2 problems"):
        read_items(path, skip_bad_rows=True)


def test_a_path_that_is_no_readable_file_is_refused(tmp_path):
    assert "no such file" in problems_of(tmp_path / "missing.jsonl")[0]
    assert "folder" in problems_of(tmp_path)[0]
    for text in ("", "\n \n"):
        (tmp_path / "empty.jsonl").write_text(text)
        assert "holds no row" in problems_of(tmp_path / "empty.jsonl")[0]
    (tmp_path / "wide.jsonl").write_text(json.dumps(ROW), encoding="utf-16")
    assert "UTF-16" in problems_of(tmp_path / "wide.jsonl")[0]


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    path = write_rows(tmp_path / "secret.jsonl", ROW)
    path.chmod(0)
    if os.access(path, os.R_OK):  # an administrator may read everything
        opened = Path.open

        def refuse(self, *args, **kwargs):
            if self == path:
                raise PermissionError(13, "Permission denied")
            return opened(self, *args, **kwargs)

        monkeypatch.setattr(Path, "open", refuse)
    assert "cannot be read (Permission denied)" in problems_of(path)[0]


def test_text_that_is_not_utf8_is_told_by_line(tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(json.dumps(ROW).encode() + b'\n{"context": "M\xfcller"}\n')
    assert problems_of(path) == ["2: not UTF-8 (byte 0xfc at 14); save it as UTF-8."]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": 3}, "context is a text; got a number 3"),
        ({"context": "  "}, "context must hold some text"),
        ({"context": ...}, "context missing"),
        ({"question": ["a"]}, "question is a text; got a list ['a']"),
        ({"question": ""}, "question must hold some text"),
        ({"question": None}, "question is a text; got null"),
        ({"question": ..., "answer": ...}, "question and answer missing"),
        ({"answer": 42}, "answer is a text, a list of texts, or null"),
        ({"answer": True}, "got a truth value True"),
        ({"answer": []}, "answer is a text, a list of texts, or null"),
        ({"answer": ["Arn", 3]}, "answer is a text, a list of texts, or null"),
        ({"answer": None, "answerable": True}, "answer is null, but answerable is true"),
        ({"answerable": "no"}, "answerable is true or false"),
        ({"aliases": "Arn"}, "aliases is a list of texts"),
        ({"aliases": [None]}, "aliases is a list of texts"),
        ({"answer_spans": 3}, "answer_spans is a list of [start, end]"),
        ({"answer_spans": [[12, 17]]}, "length of 16 characters; got a list [12, 17]"),
        ({"answer_spans": [[-1, 3]]}, "a span is [start, end]"),
        ({"answer_spans": [[3, 3]]}, "a span is [start, end]"),
        ({"answer_spans": [[3]]}, "a span is [start, end]"),
        ({"answer_spans": [[0, True]]}, "a span is [start, end]"),
        ({"answer_spans": [[0, 1.5]]}, "a span is [start, end]"),
        ({"required_groups": "all"}, "required_groups is a list"),
        ({"required_groups": [[[0, 99]]]}, "required_groups[0]: a span"),
        ({"required_groups": [[]]}, "required_groups[0] holds no span"),
        ({"required_groups": [{"occurrences": [[0, 2]], "role": "clue"}]}, "role is 'payload'"),
        ({"required_groups": [{"occurrences": [[0, 2]], "rule": "x"}]}, "required_groups[0] is"),
        ({"id": 1.5}, "id is a text or an integer"),
        ({"passage_id": ["p"]}, "passage_id is a text or an integer"),
        ({"answer_type": 3}, "answer_type is a text"),
        ({"metadata": []}, "metadata is an object"),
        ({"context": "a\ud800b"}, "context holds half of a surrogate pair"),
        ({"id": "a\ud800b"}, "id holds half of a surrogate pair"),
    ],
)
def test_a_wrong_column_is_named_with_what_came(tmp_path, changes, message):
    path = write_rows(tmp_path / "a.jsonl", ROW, with_changes(**changes))
    (problem,) = problems_of(path)
    assert problem.startswith("2: ")
    assert message in problem


def test_all_problems_of_one_row_are_told(tmp_path):
    row = with_changes(context=3, aliases="x", answer_spans=[[5, 2]])
    assert len(problems_of(write_rows(tmp_path / "a.jsonl", row))) == 3


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"context": "c", "question": "q", "answer": "a", "answer": "b"}')
    assert "'answer' stands twice" in problems_of(path)[0]


def test_ids_and_passage_ids_may_not_clash(tmp_path):
    path = write_rows(
        tmp_path / "a.jsonl",
        with_changes(id="a", passage_id="p"),
        with_changes(id="a", passage_id="p"),
        with_changes(id="b", passage_id="p", context="Bo left."),
        ROW,
        ROW,
    )
    same_id, other_context, twice = problems_of(path)
    assert same_id.startswith("2: id 'a' was used in line 1")
    assert other_context.startswith("3: passage_id 'p' belongs to another context in line 1")
    assert twice.startswith("5: id")
    assert "used in line 4" in twice


def test_a_long_list_of_problems_is_counted_in_full_and_shown_in_part(tmp_path):
    path = write_rows(tmp_path / "a.jsonl", *[[]] * 250)
    with pytest.raises(ValueError, match=r"250 problems") as caught:
        read_items(path)
    assert len(caught.value.problems) == 250
    assert str(caught.value).endswith("... and 50 more")


# Writing


@pytest.mark.parametrize("name", ["base", "knowledge"])
def test_a_written_task_reads_back_as_it_was(tmp_path, name):
    items = load_task(name, n_passages=5)
    assert write_items(iter(items), tmp_path / "items.jsonl") == len(items)
    again = read_items(tmp_path / "items.jsonl")
    assert again == items
    assert [item.metadata for item in again] == [item.metadata for item in items]


TEXT_FIELDS = ("passage_id", "id", "task", "answer_type", "question_type", "direction")
texts = st.text(max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def item_fields(draw):
    """The arguments of an item; the groups as pairs of occurrences with their role and name."""
    context = draw(texts.filter(str.strip))
    spans = st.tuples(st.integers(0, len(context) - 1), st.integers(1, len(context))).filter(
        lambda span: span[0] < span[1]
    )
    some_spans = st.lists(spans, min_size=1, max_size=3).map(tuple)
    group = st.tuples(some_spans, st.sampled_from(["payload", "bridge"]), texts)
    return {
        "context": context,
        "question": draw(texts.filter(str.strip)),
        "answer": draw(st.none() | texts),
        "aliases": tuple(draw(st.lists(texts, max_size=3))),
        "answer_spans": tuple(draw(st.lists(spans, max_size=3))),
        "required_groups": draw(st.lists(group, max_size=3)),
        "metadata": draw(st.dictionaries(texts, json_values, max_size=3)),
        **{name: draw(texts) for name in TEXT_FIELDS},
    }


@settings(max_examples=150, deadline=None)
@given(fields=item_fields())
def test_any_item_reads_back_as_it_was(tmp_path_factory, fields):
    groups = tuple(EvidenceGroup(*group) for group in fields["required_groups"])
    item = Item(**{**fields, "required_groups": groups})
    path = tmp_path_factory.mktemp("items") / "items.jsonl"
    write_items([item], path)
    (again,) = read_items(path)
    assert again == item
    assert again.metadata == item.metadata


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "items.jsonl"
    items = load_task("knowledge", n_passages=1)
    write_items(items, path)

    def failing():
        yield items[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_items(failing(), path)
    assert read_items(path) == items
    assert list(tmp_path.iterdir()) == [path]


def test_items_that_would_not_read_back_are_not_written(tmp_path):
    path = tmp_path / "items.jsonl"
    item = Item(**ROW)
    for items, message in [
        ([item, item], "was used in item 1"),
        ([Item(**ROW, metadata={"pair": (1, 2)})], "does not read back"),
        ([Item(**ROW, metadata={"object": object()})], "cannot be written as JSON"),
        ([Item(**{**ROW, "answer": "\ud800"}, id="half")], "cannot be written as JSON"),
        ([Item(**ROW, required_groups=(EvidenceGroup(()),))], "without any span"),
    ]:
        with pytest.raises(ValueError, match=message):
            write_items(items, path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="cannot be written"):
        write_items([Item(**ROW)], tmp_path / "missing" / "items.jsonl")


# Validation


def test_validation_counts_how_the_evidence_is_located():
    report = validate_items(DATA / "good.jsonl")
    assert report.ok
    assert (report.n_rows, report.n_items, report.n_passages) == (4, 4, 1)
    assert (report.n_with_spans, report.n_matched, report.n_unanswerable) == (2, 1, 1)
    assert (report.n_located, report.n_repeated) == (3, 1)
    assert report.not_locatable == ()
    assert report.formats == (("routelens", 4),)
    assert "4 rows, 4 items on 1 passage (routelens)" in str(report)
    assert "3 of 3 located (2 by spans, 1 by whole-word match; 1 in several places)" in str(report)


def test_validation_names_the_first_answers_that_cannot_be_located(tmp_path):
    rows = [with_changes(answer="yes", id=f"q{number}") for number in range(7)]
    text = str(validate_items(write_rows(tmp_path / "a.jsonl", *rows)))
    assert "0 of 7 located" in text
    assert text.endswith("'q0', 'q1', 'q2', 'q3', 'q4' and 2 more")


def test_bridges_alone_do_not_locate_an_answer(tmp_path):
    group = {"occurrences": [[0, 2]], "role": "bridge"}
    row = with_changes(answer="Bel", required_groups=[group], id="x")
    assert validate_items(write_rows(tmp_path / "a.jsonl", row)).not_locatable == ("x",)


def test_validation_reports_problems_and_never_raises(tmp_path):
    report = validate_items(DATA / "broken.jsonl")
    assert not report.ok
    assert (report.n_rows, report.n_items, len(report.problems)) == (8, 5, 3)
    assert "3 problems:" in str(report)
    missing = validate_items(tmp_path / "missing.jsonl")
    assert (missing.n_rows, len(missing.problems)) == (0, 1)
