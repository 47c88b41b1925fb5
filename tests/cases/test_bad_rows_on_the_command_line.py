"""Rows that do not read stop a sweep before a model loads, or are left out on request and counted."""

import json

import pytest

from routelens.cli import main

GOOD = {"context": "Ada was born in Oslo.", "question": "Where?", "answer": "Oslo"}


@pytest.fixture
def data(tmp_path):
    lines = [json.dumps(GOOD), json.dumps({**GOOD, "question": "Who?"}), "[]", '{"context": "A']
    lines.append(json.dumps({name: GOOD[name] for name in ("context", "question")}))
    (tmp_path / "mine.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "mine.jsonl"


def command(data, *options):
    where = ("--data", str(data), "--out", str(data.parent / "run"), "--model", "no-such-model")
    return main(["sweep", *where, "--policies", "full", "--ratios", "0,0.5", *options])


def test_every_problem_has_its_file_and_line_and_the_exit_code_says_so(data, capsys):
    assert command(data) == 2
    error = capsys.readouterr().err
    assert all(f"mine.jsonl:{line}:" in error for line in (3, 4, 5))
    assert "answer missing" in error and "present: context, question" in error
    assert "no-such-model" not in error and not (data.parent / "run").exists()


def test_on_request_the_good_rows_run_and_the_others_are_counted(data, capsys):
    with pytest.warns(UserWarning, match="left out 3 of 5 rows"):
        assert command(data, "--skip-bad-rows", "--dry-run") == 0
    assert "4 rows" in capsys.readouterr().out  # two items, two ratios
