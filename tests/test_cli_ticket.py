"""``routelens ticket`` end to end on a tiny model: tickets in files, a summary, going on, and one clear line for a mistake."""

import json

import pytest

import routelens as rl
from routelens.cli import main

ROWS = [
    ("Ada was born in Oslo. Max lives in Rome.", "Where was Ada born?", "Oslo"),
    ("Ada was born in Oslo. Max lives in Rome.", "Where does Max live?", "Rome"),
    ("Nils met Vera in Lima.", "Where did Nils meet Vera?", "Lima"),
]


@pytest.fixture
def command(tiny_folder, tmp_path):
    data = tmp_path / "items.jsonl"
    rows = [dict(zip(("context", "question", "answer"), row, strict=True)) for row in ROWS]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["--model", str(tiny_folder("llama_long")), "--data", str(data), "--device", "cpu"]
    small = ["--budget", "40", "--max-new-tokens", "2", "--unit", "token", "--margin", "0"]
    return ["ticket", *given, *small, "--any-answer", "--out", str(tmp_path / "tickets")]


def test_tickets_of_a_file_of_items_are_found_summarised_and_gone_on_with(
    command, tmp_path, capsys
):
    assert main([*command, "--limit", "1"]) == 0
    assert "1 ticket on 1 passage" in capsys.readouterr().out
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "3 tickets on 2 passages" in printed and "token units, renorm, margin 0" in printed
    assert "for any answer" in printed and str(tmp_path / "tickets") in printed
    found = rl.read_tickets(tmp_path / "tickets")
    assert len(found) == 3 and "not_answered" not in set(found.table()["status"])
    assert all(ticket.cost <= 40 + ticket.n_candidates for ticket in found)
    assert len(list((tmp_path / "tickets").glob("ticket-*.json"))) == 3


def test_without_any_answer_a_random_models_wrong_answers_have_no_ticket(command, capsys):
    command.remove("--any-answer")
    assert main([*command, "--no-controls"]) == 0
    assert "not_answered" in capsys.readouterr().out


def test_another_setting_in_the_same_folder_is_refused_with_what_differs(command, capsys):
    assert main(command) == 0
    assert main([*command, "--protect", "2"]) == 2
    error = capsys.readouterr().err
    assert "search.protect: stored 0, asked 2" in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--margin", "2"], "margin"),
        (["--margin", "nan"], "margin"),
        (["--budget", "0"], "budget"),
        (["--protect", "-1"], "protect"),
        (["--task", "knowlege"], "knowledge"),
        (["--task", "base", "--data", "f.jsonl"], "either"),
        (["--model", "smolm2-135m", "--passages", "1"], "smollm2-135m"),
    ],
)
def test_a_mistake_is_one_clear_line_and_nothing_is_written(
    arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["ticket", "--out", "x", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and "Traceback" not in captured.err
    assert not (tmp_path / "x").exists()
