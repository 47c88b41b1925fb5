"""The command line end to end on a tiny model, and its messages."""

import ast
import json
from pathlib import Path

import pytest

import routelens as rl
from routelens.cli import main


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "items.jsonl"
    row = {"context": "Ada was born in Oslo.", "question": "Where was Ada born?", "answer": "Oslo"}
    path.write_text(json.dumps(row) + "\n")
    return path


def test_sweep_and_report_on_a_file_and_a_folder(tiny_folder, data, tmp_path, capsys):
    out = tmp_path / "run"
    command = [
        "sweep",
        "--model",
        str(tiny_folder("llama_long")),
        "--data",
        str(data),
        "--out",
        str(out),
    ]
    command += [
        "--policies",
        "full,random",
        "--ratios",
        "0,0.5",
        "--max-new-tokens",
        "3",
        "--device",
        "cpu",
    ]
    assert main(command) == 0
    assert len(rl.read_run(out)) == 4
    assert main(["report", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "report.html" in printed and (out / "report.html").stat().st_size > 10_000


def test_dry_run_says_how_much_it_is_and_loads_nothing(data, tmp_path, capsys):
    command = ["sweep", "--model", "no-such-model", "--data", str(data), "--dry-run"]
    assert main([*command, "--out", str(tmp_path / "run")]) == 0
    assert "70 rows" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["sweep", "--policies", "snapk", "--out", "x"], "snapkv"),
        (["sweep", "--ratios", "4", "--out", "x"], "To keep 25 %"),
        (["sweep", "--task", "knowlege", "--out", "x"], "knowledge"),
        (["sweep", "--model", "smolm2-135m", "--passages", "1", "--out", "x"], "smollm2-135m"),
        (["sweep", "--model", "./nowhere", "--passages", "1", "--out", "x"], "nowhere"),
        (["sweep", "--task", "base", "--data", "f.jsonl", "--out", "x"], "either"),
        (["report", "no-such-run"], "no-such-run"),
        (["tasks", "show", "nothing"], "nothing"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(
    command, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    captured = capsys.readouterr()
    assert message in captured.err and "Traceback" not in captured.err


def test_bad_rows_are_named_by_line_before_a_model_loads(tmp_path, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text(
        '{"context": "A b.", "question": "Q?", "answer": "b"}\n{"context": "A b."}\n[]\n'
    )
    assert main(["sweep", "--model", "no-such-model", "--data", str(path), "--out", "x"]) == 2
    error = capsys.readouterr().err
    assert "bad.jsonl:2" in error and "bad.jsonl:3" in error


def test_validate_names_every_problem_and_fails(tmp_path, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"context": "A b.", "question": "Q?", "answer": "b"}\n{"context": "A b."}\n')
    assert main(["tasks", "validate", str(path)]) == 1
    assert "bad.jsonl:2" in capsys.readouterr().out
    assert main(["tasks", "validate", str(tmp_path / "nothing.jsonl")]) == 1


def test_lists_print(capsys):
    for command in (["policies"], ["models"], ["tasks"], ["tasks", "show", "base", "--seed", "3"]):
        assert main(command) == 0
    printed = capsys.readouterr().out
    assert "snapkv(window_size=64" in printed and "smollm2-135m-q4" in printed


def test_import_is_fast_and_loads_no_heavy_library():
    import subprocess
    import sys

    code = "import sys, routelens; print([m for m in ('torch', 'transformer_lens', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_type_checkers_see_the_same_ones():
    missing = [name for name in rl.__all__ if not hasattr(rl, name)]
    assert missing == []
    tree = ast.parse(Path(rl.__file__).read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        a.name for node in typed.body if isinstance(node, ast.ImportFrom) for a in node.names
    }
    assert imported | {"__version__"} == set(rl.__all__)
