"""What a newcomer runs first runs as it stands: the README's ten lines, and the example."""

import re
import runpy
import sys
from pathlib import Path

import routelens as rl

ROOT = Path(__file__).parents[2]


def test_the_readmes_ten_lines_run(tiny, monkeypatch, capsys):
    (code,) = re.findall(
        r"## Ten lines\n+```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    model, asked = tiny("llama_long", "bridge"), []

    def load(name):
        asked.append(name)
        return model

    monkeypatch.setattr(rl, "load_model", load)
    exec(compile(code, "README.md", "exec"), {})
    assert asked[0] in rl.list_models()
    printed = capsys.readouterr().out
    ratios = [float(ger) for ger in re.findall(r"% removed, GER ([\d.]+):", printed)]
    assert len(ratios) == 4
    assert ratios == sorted(ratios) and ratios[0] == 0 < ratios[-1]


def test_the_example_runs_on_a_models_folder(tiny_folder, monkeypatch, capsys):
    script = ROOT / "examples" / "compress_and_ask.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tiny_folder("llama_long"))])
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert "0% removed  GER 0.00" in printed and printed.count("removed") == 6
