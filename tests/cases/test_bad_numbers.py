"""Numbers that cannot be meant are refused before a model loads and leave no folder behind."""

import pytest

import routelens as rl
from routelens.cli import main

ITEM = rl.Item(context="Ada was born in Oslo.", question="Where?", answer="Oslo")


@pytest.mark.parametrize("option", ["max_new_tokens", "batch_size"])
@pytest.mark.parametrize("number", [0, -3])
def test_a_sweep_needs_tokens_and_rows(tmp_path, option, number):
    with pytest.raises(ValueError, match=rf"sweep: {option} .* at least 1; got {number}"):
        rl.sweep("no-such-model", [ITEM], out=tmp_path / "run", **{option: number})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy-seeds", "0,x"), '--policy-seeds: whole numbers, as in "0,1,2"; got'),
        (("--ratios", "1.0"), "To keep 25 % pass 0.75"),
        (("--ratios", ""), "--ratios: numbers in [0, 1)"),
        (("--ratios", "none"), "needs compression ratios or budgets"),
        (("--budgets", "0"), "at least 1; got 0"),
        (("--limit", "0"), "at least 1; got 0"),
        (("--passages", "0"), "at least 1; got 0"),
        (("--policies", "snapkv,,full"), "no policy is named ''"),
        (("--regimes", "aware"), "aware_one or aware_list"),
    ],
)
def test_the_command_line_says_what_was_wrong(tmp_path, capsys, options, message):
    out = tmp_path / "run"
    command = ["sweep", "--passages", "1", "--model", "no-such-model", "--out", str(out)]
    assert main([*command, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not out.exists()


def test_a_device_that_torch_does_not_know_is_refused_in_words(tiny_folder):
    with pytest.raises(ValueError, match="device is a name that torch knows.*got 'gpu'"):
        rl.load_model(tiny_folder("llama"), device="gpu")
