"""A model's folder can say how it wants to be asked, and whoever is silent about the wording gets that."""

import json
import shutil

import pytest

import routelens as rl

ITEM = rl.Item(
    context="Ada Vell lives in Norburg.", question="Where does Ada live?", answer="Norburg"
)


@pytest.fixture
def folder(tiny_folder, tmp_path):
    return shutil.copytree(tiny_folder("llama"), tmp_path / "asks")


def test_the_folders_wording_is_the_default_and_an_explicit_one_wins(folder):
    wanted = rl.PromptFormat(instruction="", question_template="Q {question} A")
    (folder / "prompt_format.json").write_text(json.dumps(wanted.config()))
    model = rl.load_model(folder)
    assert rl.prefill(model, ITEM).format == wanted
    assert "Q Where does Ada live? A" in rl.prefill(model, ITEM).prompt.suffix_text
    assert rl.prefill(model, ITEM, format=rl.COPY_FORMAT).format == rl.COPY_FORMAT


def test_a_folder_that_says_nothing_gets_the_default(folder):
    assert rl.prefill(rl.load_model(folder), ITEM).format == rl.DEFAULT_FORMAT


def test_the_wording_of_a_sweep_is_the_models_own_and_stands_in_the_manifest(folder, tmp_path):
    (folder / "prompt_format.json").write_text(json.dumps({"instruction": "Be brief."}))
    run = rl.sweep(
        rl.load_model(folder),
        [ITEM],
        policies=["full"],
        ratios=[0],
        out=tmp_path / "run",
        max_new_tokens=2,
        progress=False,
    )
    assert run.manifest["config"]["format"]["instruction"] == "Be brief."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "one JSON object"),
        ('{"instructoin": "x"}', "got instructoin"),
        ('{"question_template": "no slot"}', "question_template"),
    ],
)
def test_a_bad_file_is_refused_with_its_reason(folder, text, says):
    (folder / "prompt_format.json").write_text(text)
    with pytest.raises(ValueError, match=says):
        rl.prefill(rl.load_model(folder), ITEM)


def test_a_format_reads_back_what_it_wrote():
    assert rl.PromptFormat.from_config(rl.COPY_FORMAT.config()) == rl.COPY_FORMAT
