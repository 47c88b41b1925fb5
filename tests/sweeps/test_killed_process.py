"""A whole ``routelens sweep`` process is killed with SIGKILL part way; the same command given again ends as if nothing had been."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

import routelens as rl
from routelens.cli import main
from routelens.sweeps.schema import KEY

N_PASSAGES, N_CELLS = 12, 3 * 3
ITEMS = [
    {
        "context": f"Ada {name} was born in {city}. She plays the {thing} and keeps a goat.",
        "question": question,
        "answer": answer,
    }
    for name, city, thing in zip("ABCDEFGHIJKL", ("Oslo", "Rome") * 6, ("oboe",) * 12, strict=True)
    for question, answer in (("Where was she born?", city), ("What does she play?", thing))
]


@pytest.fixture
def command(tiny_folder, tmp_path):
    """``command(out)``: the arguments of one sweep, its data and model given by relative paths."""
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    (tmp_path / "model").symlink_to(tiny_folder("llama_long"))

    def arguments(out: str) -> list[str]:
        return [
            *("sweep", "--model", "./model", "--data", "items.jsonl", "--out", out),
            *("--policies", "full,random,adakv", "--ratios", "0,0.5,0.9"),
            *("--max-new-tokens", "6", "--device", "cpu", "--no-progress"),
        ]

    return arguments


def start(arguments: list[str], folder: Path) -> subprocess.Popen:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(rl.__file__).parents[1]),
        "OMP_NUM_THREADS": str(torch.get_num_threads()),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "routelens.cli", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def parts(run: Path) -> dict[str, bytes]:
    """The finished units' files with their contents."""
    return {file.name: file.read_bytes() for file in sorted((run / "rows").glob("part-*.parquet"))}


def test_a_sweep_killed_part_way_and_started_again_equals_an_undisturbed_one(
    command, tmp_path, monkeypatch
):
    run = tmp_path / "killed"
    child = start(command("killed"), tmp_path)
    while not parts(run):
        assert child.poll() is None, child.communicate()[1][-2000:]
        time.sleep(0.002)
    child.kill()
    child.communicate()
    saved = parts(run)
    assert 0 < len(saved) < N_PASSAGES, "the process was meant to be killed part way"
    assert 0 < len(rl.read_run(run)) <= len(saved) * 2 * N_CELLS

    again = start(command("killed"), tmp_path)
    assert again.wait() == 0, again.communicate()[1][-2000:]
    again.communicate()
    after = parts(run)
    assert len(after) == N_PASSAGES
    assert {name: after[name] for name in saved} == saved  # what was there was not done twice
    assert not list(run.rglob("*.tmp")) and not list(run.rglob("*.corrupt"))

    monkeypatch.chdir(tmp_path)
    assert main(command("undisturbed")) == 0
    found, expected = rl.read_run(run), rl.read_run("undisturbed")
    assert len(found) == len(ITEMS) * N_CELLS == len(found.drop_duplicates(list(KEY)))
    assert found.attrs["manifest"]["config_hash"] == expected.attrs["manifest"]["config_hash"]
    columns = [name for name in expected.columns if name != "wall_s"]
    pd.testing.assert_frame_equal(found[columns], expected[columns], rtol=1e-4, atol=1e-5)
