"""Files in the public formats: what becomes of their questions, and how what is wrong with them is told."""

import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from item_files import DATA, by_id, evidence, problems_of, write_rows

from routelens.cli import main
from routelens.matching import evidence_groups
from routelens.tasks import read_items, validate_items, write_items

GOOD = sorted(path.name for path in DATA.iterdir() if "broken" not in path.name)
BROKEN = sorted(path.name for path in DATA.iterdir() if "broken" in path.name)


# What holds for every format


@pytest.mark.parametrize("name", GOOD)
def test_a_good_file_gives_items_and_no_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        items = read_items(DATA / name)
    report = validate_items(DATA / name)
    assert report.ok
    assert len(items) == report.n_items == report.n_rows > 0
    assert report.n_located + len(report.not_locatable) + report.n_unanswerable == report.n_items
    (form,) = report.formats
    assert form[0].lower() == name.split("_")[0].split(".")[0]
    assert f"({form[0]})" in str(report)


@pytest.mark.parametrize("name", GOOD)
def test_questions_of_one_text_share_it_and_its_passage(name):
    first = {}
    for item in read_items(DATA / name):
        same = first.setdefault(item.context, item)
        assert item.context is same.context
        assert item.passage_id == same.passage_id
    assert len({item.passage_id for item in first.values()}) == len(first)


@pytest.mark.parametrize("name", GOOD)
def test_items_of_any_format_are_written_and_read_back_as_they_were(name, tmp_path):
    items = read_items(DATA / name)
    write_items(items, tmp_path / "items.jsonl")
    again = read_items(tmp_path / "items.jsonl")
    assert again == items
    assert [item.metadata for item in again] == [item.metadata for item in items]


@pytest.mark.parametrize("name", GOOD)
def test_a_byte_order_mark_and_crlf_do_not_matter(name, tmp_path):
    raw = (DATA / name).read_bytes()
    text = name.endswith(".csv")  # line ends within its quoted cells are part of the text
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + (raw if text else raw.replace(b"\n", b"\r\n")))
    assert read_items(path) == read_items(DATA / name)


@pytest.mark.parametrize("name", [name for name in GOOD if name.endswith("json")])
def test_the_layout_of_json_does_not_matter(name, tmp_path):
    """Over several lines, on one, and under another name."""
    value = json.loads((DATA / name).read_text(encoding="utf-8"))
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, indent="\t")):
        path = tmp_path / "again.jsonl"
        path.write_text(text, encoding="utf-8")
        assert read_items(path) == read_items(DATA / name)


@pytest.mark.parametrize("name", BROKEN)
def test_bad_rows_can_be_left_out_of_any_format_and_are_counted(name, capsys):
    report = validate_items(DATA / name)
    with pytest.raises(ValueError, match=f"{len(report.problems)} problems"):
        read_items(DATA / name)
    left_out = report.n_rows - report.n_items
    with pytest.warns(UserWarning, match=f"left out {left_out} of {report.n_rows} rows"):
        items = read_items(DATA / name, skip_bad_rows=True)
    assert len(items) == report.n_items > 0
    assert main(["tasks", "validate", str(DATA / name)]) == 1
    printed = capsys.readouterr().out
    assert all(f"{DATA / name}:" in line for line in printed.splitlines() if ": got" in line)


def test_the_command_line_reads_any_format_before_a_model_loads(tmp_path, capsys):
    sweep = ["sweep", "--model", "no-such-model", "--out", str(tmp_path / "run"), "--dry-run"]
    for name in GOOD:
        assert main([*sweep, "--data", str(DATA / name)]) == 0
        assert main(["tasks", "validate", str(DATA / name)]) == 0
    assert main([*sweep, "--data", str(DATA / "squad_broken.json")]) == 2
    assert "squad_broken.json:data[0].paragraphs[0].qas[0]: " in capsys.readouterr().err


# SQuAD


def test_squad_answers_stand_where_answer_start_says():
    items = by_id("squad_v1.json")
    buyer, cost = items["m1"], items["m3"]
    assert (buyer.answer, buyer.aliases) == ("Orla Venn", ("Venn",))
    assert buyer.answer_spans == ((0, 9), (5, 9))
    assert (cost.answer, cost.aliases) == ("3.50 marks", ("3.50",))
    assert buyer.task == "squad"
    assert buyer.metadata == {"title": "Tarrow_Mill"}


def test_only_the_annotated_place_of_a_repeated_answer_is_evidence_in_squad():
    """Orla Venn is named twice; the annotators chose the first."""
    buyer = by_id("squad_v1.json")["m1"]
    assert buyer.context.count("Orla Venn") == 2
    assert evidence(buyer) == [["Orla Venn", "Venn"]]


def test_annotations_that_overlap_are_not_counted_as_repeated():
    """Of five answers only one can be read in places apart: the strudel, or the coffee."""
    assert validate_items(DATA / "squad_v1.json").n_repeated == 1


def test_squad_v2_questions_without_an_answer_are_unanswerable():
    items = by_id("squad_v2.json")
    assert items["f1"].answer == "Jonas Wray"
    assert items["f2"].answer is None
    assert evidence_groups(items["f2"]) == ()
    assert [plausible["text"] for plausible in items["f2"].metadata["plausible_answers"]] == [
        "Hask"
    ]
    assert {item.task for item in items.values()} == {"squad_v2"}


def test_flat_squad_rows_are_read_and_no_answer_means_unanswerable():
    born, painted = read_items(DATA / "squad_rows.jsonl")
    assert (born.id, born.answer, born.aliases) == ("r1", "Hask", ("on Hask",))
    assert evidence(born) == [["Hask", "on Hask"]]
    assert painted.answer is None


def test_one_squad_article_a_line_is_read(tmp_path):
    articles = json.loads((DATA / "squad_v1.json").read_text(encoding="utf-8"))["data"]
    path = write_rows(tmp_path / "articles.jsonl", *articles)
    assert read_items(path) == read_items(DATA / "squad_v1.json")
    del articles[1]["paragraphs"][0]["qas"][0]["question"]
    (problem,) = problems_of(write_rows(path, *articles))
    assert problem.startswith("2: paragraphs[0].qas[0]: question missing")


def test_every_problem_of_a_squad_file_is_told_with_its_record():
    where, messages = zip(
        *(problem.split(": ", 1) for problem in problems_of(DATA / "squad_broken.json")),
        strict=True,
    )
    question = "data[0].paragraphs[0].qas[{}]"
    assert where == (
        *map(question.format, (0, 1, 3, 4, 5, 6)),
        "data[0].paragraphs[1]",
        "data[0].paragraphs[2]",
        "data[1]",
    )
    for message, part in zip(
        messages,
        (
            "holds 'ain, Jonas' at answer_start 60, not 'Jonas Wray'; it stands at 65",
            "answer_start is a number from 0 on; got null",
            "is_impossible is true, but answers holds a text 'Ord'",
            "answers is empty",
            "question missing (required: question, answers; present: id, answers)",
            "a question is an object {...}; got a text 'Who?'",
            "context missing (required: context, qas; present: qas)",
            "qas missing",
            "an article is an object with a list of paragraphs",
        ),
        strict=True,
    ):
        assert part in message


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (3, "answers is a list of objects"),
        ({"text": ["Hask"], "answer_start": []}, "equally long"),
        ([{"text": "", "answer_start": 0}], "text must hold some text"),
        ([{"text": "Arn", "answer_start": True}], "answer_start is a number"),
        ([{"text": "Arn", "answer_start": -1}], "answer_start is a number"),
        ([{"text": "Arn", "answer_start": 999}], "holds '' at answer_start 999"),
        ([{"text": "Bel", "answer_start": 0}], "it stands nowhere"),
        ([{"text": "a\ud800", "answer_start": 0}], "half of a surrogate pair"),
    ],
)
def test_wrong_squad_answers_are_named(tmp_path, answers, message):
    question = {"id": "q", "question": "Where?", "answers": answers}
    article = {"title": "t", "paragraphs": [{"context": "Bo lives in Arn.", "qas": [question]}]}
    (problem,) = problems_of(write_rows(tmp_path / "a.json", {"version": "1.1", "data": [article]}))
    assert problem.startswith("data[0].paragraphs[0].qas[0]: ")
    assert message in problem


readable = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    before=readable,
    answer=readable.filter(str.strip),
    after=readable,
    indent=st.none() | st.just(2),
)
def test_any_squad_answer_is_found_at_its_offset(tmp_path_factory, before, answer, after, indent):
    qas = [
        {
            "id": "q",
            "question": "?",
            "answers": [{"text": answer, "answer_start": len(before)}],
        }
    ]
    paragraph = {"context": before + answer + after, "qas": qas}
    path = tmp_path_factory.mktemp("squad") / "a.json"
    data = {"version": "1.1", "data": [{"title": "", "paragraphs": [paragraph]}]}
    path.write_text(json.dumps(data, ensure_ascii=False, indent=indent), encoding="utf-8")
    (item,) = read_items(path)
    ((start, end),) = item.answer_spans
    assert item.context[start:end] == answer == item.answer


# HotpotQA


def test_hotpotqa_paragraphs_become_one_passage():
    item = by_id("hotpotqa.json")["h1"]
    assert item.context.startswith(
        'Ruth Calder\nRuth Calder is a Harrish botanist. She wrote "Reeds of the Lower Senn".\n\n'
        "Reeds of the Lower Senn\nReeds of the Lower Senn is a book of 1961. It was printed"
    )
    assert item.metadata == {"type": "bridge", "level": "easy"}
    assert item.task == "hotpotqa"


def test_supporting_sentences_are_bridges_and_the_answer_in_them_is_the_payload():
    """Dorvale stands in four places, one of them a supporting sentence."""
    item = by_id("hotpotqa.json")["h1"]
    assert item.context.count("Dorvale") == 4
    assert evidence(item) == [["Dorvale"]]
    assert evidence(item, "bridge") == [
        ['She wrote "Reeds of the Lower Senn".'],
        ["It was printed in Dorvale."],
    ]
    ((payload,),) = [g.occurrences for g in item.required_groups if g.role == "payload"]
    assert item.context[: payload[1]].endswith("printed in Dorvale")


def test_a_repeated_supporting_fact_is_one_bridge():
    item = by_id("hotpotqa.json")["h3"]
    assert evidence(item) == [["Owen Pryce"]]
    assert len(evidence(item, "bridge")) == 2


def test_an_answer_outside_the_supporting_sentences_is_looked_for_in_their_paragraphs(tmp_path):
    row = json.loads((DATA / "hotpotqa.json").read_text())[0]
    row["supporting_facts"] = [["Dorvale", 1]]
    (item,) = read_items(write_rows(tmp_path / "a.json", row))
    assert evidence(item) == [["Dorvale", "Dorvale"]]  # its title, and its first sentence


def test_yes_no_and_answers_in_no_supporting_paragraph_are_not_locatable():
    """The passage says "no harbour", which is no evidence of the answer no."""
    items = by_id("hotpotqa.json")
    for name in ("h2", "h4"):
        assert evidence(items[name]) == []
        assert evidence(items[name], "bridge")
    assert items["h2"].answer == "no"
    assert validate_items(DATA / "hotpotqa.json").not_locatable == ("h2", "h4")


def test_both_layouts_of_hotpotqa_give_the_same_items():
    assert read_items(DATA / "hotpotqa_rows.jsonl") == read_items(DATA / "hotpotqa.json")


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        (["One.", "Two."], "One. Two."),
        (["One.", " Two."], "One. Two."),
        (["One. ", "Two."], "One. Two."),
        (["一つ。", "二つ。"], "一つ。二つ。"),
        (["One.", "", "Two."], "One. Two."),
    ],
)
def test_sentences_never_run_together(tmp_path, sentences, text):
    """2WikiMultihopQA's have no blank between them, HotpotQA's begin with one."""
    row = {"_id": "w", "question": "Which?", "answer": "x", "context": [["T", sentences]]}
    row["supporting_facts"] = [["T", len(sentences) - 1]]
    (item,) = read_items(write_rows(tmp_path / "a.jsonl", row))
    assert item.context == f"T\n{text}"
    assert evidence(item, "bridge") == [[sentences[-1].strip()]]


def test_every_problem_of_a_hotpotqa_file_is_told_with_its_line_and_entry():
    problems = problems_of(DATA / "hotpotqa_broken.json")
    for problem, part in zip(
        problems,
        (
            "3: [1]: answer missing (required: question, answer, context, supporting_facts; present:",
            "4: [2]: supporting_facts[0]: 'Ruth Calder' has 2 sentences",
            "4: [2]: supporting_facts[1]: the context holds no paragraph called 'Nobody'",
            "4: [2]: supporting_facts[2]: sentence 1 of 'Owen Pryce' is empty",
            "5: [3]: context[0] is [title, [sentence, …]]; got",
            "6: [4]: supporting_facts missing",
            "7: [5]: supporting_facts[0]: the context holds 2 paragraphs called 'Ruth Calder'",
            "8: [6]: a row is a JSON object {...}; got a list []",
        ),
        strict=True,
    ):
        assert problem.startswith(part)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": []}, "context must hold some text"),
        ({"context": [["T"]]}, "context is a list of [title, [sentence, …]]"),
        ({"context": {"title": ["T"], "sentences": []}}, "context is a list of"),
        ({"supporting_facts": []}, "supporting_facts is a list of [title, number]"),
        ({"supporting_facts": [["T", "0"]]}, "got a text '0'"),
        ({"answer": None}, "answer is a text; got null"),
        ({"context": [["T", ["a\ud800"]]]}, "half of a surrogate pair"),
    ],
)
def test_wrong_hotpotqa_fields_are_named(tmp_path, change, message):
    row = {
        "question": "?",
        "answer": "a",
        "context": [["T", ["a."]]],
        "supporting_facts": [["T", 0]],
    }
    (problem,) = problems_of(write_rows(tmp_path / "a.jsonl", row, {**row, **change}))
    assert problem.startswith("2: ")
    assert message in problem


# LongBench


def test_longbench_answers_are_alternatives_with_all_their_occurrences():
    report = by_id("longbench.jsonl")["4a7c"]
    assert report.question == "Who wrote the report?"
    assert (report.answer, report.aliases) == ("Ivo Brandane", ("I. Brandane",))
    assert evidence(report) == [["Ivo Brandane", "Ivo Brandane"]]
    assert report.task == "hotpotqa"
    assert set(report.metadata) == {"length", "dataset", "language", "all_classes"}


def test_longbench_in_chinese_is_located():
    assert evidence(by_id("longbench.jsonl")["4a7d"]) == [["李明"]]


def test_qaspers_unanswerable_is_no_answer():
    items = by_id("longbench.jsonl")
    assert items["4a7e"].answer is None
    assert (items["4a7f"].answer, items["4a7f"].aliases) == ("a small model", ())


def test_longbench_sets_that_are_no_question_answering_and_broken_rows_are_told():
    problems = problems_of(DATA / "longbench_broken.jsonl")
    for problem, part in zip(
        problems,
        (
            "4: answer missing (required: context, question or input, answer or answers or outputs; ",
            "5: LongBench's triviaqa_e is not question answering: its context holds worked examples",
            "6: a row is a JSON object",
            "7: broken JSON",
            "8: input must hold some text",
            "9: choice_A, … make this a choice between letters",
        ),
        strict=True,
    ):
        assert problem.startswith(part)


# RULER


def test_a_needle_prompt_is_split_before_its_question():
    one, several, both = read_items(DATA / "ruler_niah.jsonl")
    assert (
        one.question == "What is the special magic number for oak mentioned in the provided text?"
    )
    assert one.context.startswith("A special magic number is hidden within the following text.")
    assert one.context.endswith("The reeds stood still. A heron walked by.")
    assert (one.answer, one.required_groups) == ("7310442", ())
    assert evidence(one) == [["7310442"]]
    assert several.question.startswith("What are all the special magic numbers for oak mentioned")
    assert "special magic numbers for oak mentioned" not in several.context
    assert both.question.startswith("What are all the special magic numbers for oak, and ash")


@settings(max_examples=60, deadline=None)
@given(
    text=readable.filter(str.strip),
    key=st.from_regex(r"[a-z]{1,8}-[a-z]{1,8}", fullmatch=True),
    led=st.booleans(),
    flat=st.booleans(),
)
def test_any_needle_prompt_is_split_where_its_question_begins(
    tmp_path_factory, text, key, led, flat
):
    opening = "A special magic uuid is hidden within the following text. Make sure to memorize it."
    question = f"What is the special magic uuid for {key} mentioned in the provided text?"
    lead = f" The special magic uuid for {key} mentioned in the provided text is" if led else ""
    whole = f"{opening}\n{text}\n{question}{lead}"
    whole = " ".join(whole.split()) if flat else whole
    path = tmp_path_factory.mktemp("ruler") / "a.jsonl"
    (item,) = read_items(write_rows(path, {"index": 0, "input": whole, "outputs": ["1f-9"]}))
    assert item.question == question
    passage = f"{opening}\n{text}"
    assert item.context == (" ".join(passage.split()) if flat else passage.strip())
    assert item.metadata.get("answer_prefix", "") == lead.strip()


def test_several_needles_are_pieces_with_a_group_each():
    _, several, both = read_items(DATA / "ruler_niah.jsonl")
    assert several.answer == "1000001, 2000002"
    assert several.aliases == ()
    assert evidence(several) == [["1000001"], ["2000002"]]
    assert evidence(both) == [["1000001"], ["3000003"]]
    assert several.question_type == "Part"


def test_the_beginning_of_the_answer_is_kept_as_metadata_wherever_it_stood():
    one, several, _ = read_items(DATA / "ruler_niah.jsonl")
    for item in (one, several):
        assert item.metadata["answer_prefix"].strip().startswith("The special magic number")


def test_ruler_rows_of_one_index_are_told_apart():
    """Newer versions write the needle's position there."""
    items = read_items(DATA / "ruler_niah.jsonl")
    assert [item.metadata["index"] for item in items] == [90, 90, 91]
    assert len({item.id for item in items}) == 3


@pytest.mark.parametrize("index", [0, 1])
def test_a_chains_variables_are_pieces_and_their_assignments_bridges(index):
    item = read_items(DATA / "ruler_vt.jsonl")[index]
    assert (
        item.question == "Find all variables that are assigned the value 48213 in the text above."
    )
    assert item.context.startswith("Memorize and track the chain(s)")
    assert evidence(item) == [["ABCDE"] * 2, ["FGHIJ"] * 2, ["KLMNO"]]
    assert evidence(item, "bridge") == [
        ["VAR ABCDE = 48213"],
        ["VAR FGHIJ = VAR ABCDE"],
        ["VAR KLMNO = VAR FGHIJ"],
    ]


def test_a_ruler_question_on_documents_has_alternatives():
    captain, ferry = read_items(DATA / "ruler_qa.jsonl")
    assert captain.question == "Who is the captain of the Lisbet?"
    assert (captain.answer, captain.aliases) == ("Jonas Wray", ("Wray",))
    assert captain.context.endswith("His own question: who else?")
    assert ferry.question == "What is the Lisbet?"
    assert evidence(ferry) == [["a ferry"]]


def test_counted_words_are_read_but_not_located():
    items = read_items(DATA / "ruler_counts.jsonl")
    assert [item.answer for item in items] == ["reed, heron", "qua, vex"]
    assert len(validate_items(DATA / "ruler_counts.jsonl").not_locatable) == 2


def test_the_task_is_named_by_the_folder_where_the_prompt_agrees(tmp_path):
    text = (DATA / "ruler_niah.jsonl").read_text()
    for folder, task in (("niah_multivalue", "niah_multivalue"), ("qa_1", "niah")):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "validation.jsonl"
        path.write_text(text)
        assert {item.task for item in read_items(path)} == {task}


def test_a_prompt_that_is_not_rulers_says_what_to_add():
    problems = problems_of(DATA / "ruler_broken.jsonl")
    for problem, part in zip(
        problems,
        (
            "2: input begins '<|user|>",
            "3: input goes on after RULER's question for niah: it ends",
            "4: input ends with no question in RULER's words; add the columns context and question",
            "5: outputs missing (required: input, outputs; present: index, input)",
            "6: outputs holds several texts, and task says what they are",
            "7: input is a text; got a list",
            "7: outputs is a text, a list of texts, or null",
        ),
        strict=True,
    ):
        assert problem.startswith(part)


@pytest.mark.parametrize(
    ("task", "answer", "groups"),
    [
        ("niah_multivalue", "heron, reeds", [["heron"], ["reeds"]]),
        ("qa_1", "heron", [["heron"]]),
    ],
)
def test_outputs_beside_a_context_are_read_by_the_task(tmp_path, task, answer, groups):
    row = {
        "context": "A heron walks by the reeds.",
        "question": "Which?",
        "outputs": ["heron", "reeds"],
        "task": task,
    }
    (item,) = read_items(write_rows(tmp_path / "a.jsonl", row))
    assert item.answer == answer
    assert evidence(item) == groups


def test_a_piece_that_is_not_in_the_context_makes_the_answer_not_locatable(tmp_path):
    row = {
        "context": "The numbers are 111.",
        "question": "Which?",
        "outputs": ["111", "9"],
        "task": "niah",
    }
    (item,) = read_items(write_rows(tmp_path / "a.jsonl", row))
    assert evidence_groups(item) == ()
