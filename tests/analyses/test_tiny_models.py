"""The bundled models' training: what it reads is what routelens will show them, and stopping changes nothing."""

from dataclasses import replace
from functools import lru_cache, partial

import pytest
import torch
from safetensors.torch import load_file

import routelens as rl
from analyses.tiny_models import data, tokens, train
from analyses.tiny_models.architectures import ARCHITECTURES
from analyses.tiny_models.formats import FORMAT
from analyses.tiny_models.muon import orthogonal
from routelens.prompts import build_prompt, gold_ids
from routelens.tasks import make_task

N_TEXTS = 200
TINY = ("knowledge", "coreference")
SEED = 5


@lru_cache
def tokenizer_of(name):
    """The architecture's tokenizer, learned from few texts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "N_TEXTS", N_TEXTS)
        return tokens.make_tokenizer(ARCHITECTURES[name])


@pytest.fixture(params=sorted(ARCHITECTURES))
def architecture(request):
    return ARCHITECTURES[request.param]


@pytest.fixture
def tokenizer(architecture):
    return tokenizer_of(architecture.name)


@pytest.fixture
def reader(tokenizer):
    return data.Reader(tokenizer)


def passage(name, index=0):
    return make_task(name, **data.MIXTURE[name][1]).passage(index, seed=SEED)


# What a model reads


@pytest.mark.parametrize("listed", [False, True], ids=["alone", "after the list"])
@pytest.mark.parametrize("name", data.MIXTURE)
def test_an_example_is_what_build_prompt_makes_of_the_items(tokenizer, reader, name, listed):
    items = passage(name)
    example = reader.example(items, listed=listed)
    options = {"regime": "aware_list", "questions": [i.question for i in items]} if listed else {}
    assert example.task == name
    assert len(example.branches) == len(items)
    for item, (question, answer) in zip(items, example.branches, strict=True):
        prompt = build_prompt(tokenizer, item, format=FORMAT, **options)
        gold = gold_ids(tokenizer, prompt, item.answer or data.ABSTENTION)
        assert example.prefix == list(prompt.prefix_ids)
        assert question == list(prompt.suffix_ids)
        assert answer == [*gold, tokenizer.eos_token_id]


def test_sinks_are_no_words_of_the_passage_and_a_word_is_the_same_in_passage_and_reply(tokenizer):
    (item, *_) = passage("knowledge")
    item = replace(item, context="Oslow sleeps.", required_groups=())
    prompt = build_prompt(tokenizer, item, format=FORMAT)
    text = tokenizer.decode(prompt.prefix_ids[:4])
    assert "Oslow" not in text
    gold = gold_ids(tokenizer, prompt, "Oslow")
    runs = [prompt.prefix_ids[at : at + len(gold)] for at in range(len(prompt.prefix_ids))]
    assert gold in runs


def examples_of(reader):
    """Two passages of different length, one of them after the list of its questions."""
    return [
        reader.example(passage("knowledge", 0)[:4], listed=False),
        reader.example(passage("knowledge", 1)[:3], listed=True),
    ]


def test_labels_are_the_next_tokens_of_passages_and_answers(reader):
    examples = examples_of(reader)
    batch = data.collate(examples)
    n_labels = 0
    for row, example in enumerate(examples):
        n = len(example.prefix)
        assert batch.ids[row, :n].tolist() == example.prefix
        assert batch.labels[row, : n - 1].tolist() == example.prefix[1:]
        at = batch.layout.n_prefix
        for question, answer in example.branches:
            here = slice(at, at + len(question) + len(answer) - 1)
            assert batch.ids[row, here].tolist() == question + answer[:-1]
            assert batch.positions[row, here].tolist() == list(range(n, n + here.stop - at))
            said = batch.is_answer[row, here]
            assert batch.labels[row, here][said].tolist() == answer
            assert batch.labels[row, here][~said].tolist() == [-100] * (len(question) - 1)
            at = here.stop
            n_labels += len(answer)
        n_labels += n - 1
    assert int((batch.labels != -100).sum()) == n_labels
    assert batch.n_tokens == sum(example.n_tokens for example in examples)


@torch.no_grad()
def test_a_branch_sees_the_passage_and_itself_as_if_it_stood_there_alone(
    architecture, tokenizer, reader
):
    model = train.new_model(architecture, tokenizer).eval()
    for parameter in model.parameters():  # initial weights hardly attend to anything
        if parameter.ndim == 2:
            parameter.mul_(4)
    examples = examples_of(reader)
    batch = data.collate(examples)
    states = model.model(
        input_ids=batch.ids, position_ids=batch.positions, use_cache=False, layout=batch.layout
    ).last_hidden_state
    logits = model.lm_head(states)
    model.set_attn_implementation("eager")
    alone = partial(model, use_cache=False)
    tolerance = 1e-4 * float(logits.std())  # float32, sums in another order
    for row, example in enumerate(examples):
        n, at = len(example.prefix), batch.layout.n_prefix
        before = list(example.prefix)
        for number, (question, answer) in enumerate(example.branches):
            branch = question + answer[:-1]
            reference = alone(input_ids=torch.tensor([example.prefix + branch])).logits[0]
            found = logits[row, at : at + len(branch)]
            torch.testing.assert_close(logits[row, :n], reference[:n], rtol=0, atol=tolerance)
            torch.testing.assert_close(found, reference[n:], rtol=0, atol=tolerance)
            # The control: a branch that also saw those before it would say something else.
            after_all = alone(input_ids=torch.tensor([before + branch])).logits[0, -len(branch) :]
            assert number == 0 or float((found - after_all).abs().max()) > 100 * tolerance
            before += branch
            at += len(branch)


# What a step reads


@pytest.fixture
def small(tokenizer, monkeypatch):
    """Two tasks, micro-batches of a passage or two, and a tokenizer that is there already."""
    for name in set(data.MIXTURE) - set(TINY):
        monkeypatch.delitem(data.MIXTURE, name)
    monkeypatch.setattr(data, "FIRST", {name: 1.0 for name in TINY})
    few = data.micro_batch
    for module in (data, train):
        monkeypatch.setattr(module, "micro_batch", lambda *args: few(*args[:4], n_tokens=150))
    monkeypatch.setattr(train, "make_tokenizer", lambda one: tokenizer_of(one.name))


def same(one, other):
    return (
        one.task == other.task
        and torch.equal(one.ids, other.ids)
        and torch.equal(one.positions, other.positions)
        and torch.equal(one.labels, other.labels)
        and torch.equal(one.layout.hidden, other.layout.hidden)
    )


def test_micro_batches_are_a_function_of_the_step_alone(small, reader, tokenizer):
    first = data.micro_batches(reader, 7)
    others = [data.micro_batches(reader, step) for step in (0, 8, data.FIRST_STEPS)]
    again = data.micro_batches(data.Reader(tokenizer), 7)
    assert len(first) == data.MICRO_BATCHES
    assert all(map(same, first, again))
    seen = [tuple(batch.ids[0].tolist()) for step in [first, *others] for batch in step]
    assert len(set(seen)) == len(seen)


def test_another_seed_gives_other_micro_batches(small, reader):
    step, other = data.micro_batches(reader, 7), data.micro_batches(reader, 7, seed=SEED)
    assert not any(map(same, step, other))


def test_tasks_are_drawn_by_their_shares(reader, monkeypatch):
    drawn = []
    monkeypatch.setattr(data, "micro_batch", lambda reader, name, *_: drawn.append(name))
    for step in range(data.FIRST_STEPS, data.FIRST_STEPS + 700):
        data.micro_batches(reader, step)
    for name, (share, _) in data.MIXTURE.items():
        assert drawn.count(name) / len(drawn) == pytest.approx(share, abs=0.04)
    drawn.clear()
    for step in range(200):
        data.micro_batches(reader, step)
    assert {*drawn} == {*data.FIRST}


def test_training_validation_and_evaluation_read_different_passages():
    texts = [
        {passage.context for passage in make_task(name).generate(20, seed)}
        for name in TINY
        for seed in (data.TRAINING_SEED, data.VALIDATION_SEED, 0)
    ]
    assert len(set.union(*texts)) == sum(map(len, texts)) == 20 * len(texts)


# How it learns


@pytest.mark.parametrize("shape", [(128, 352), (352, 128), (64, 128)])
def test_orthogonal_brings_singular_values_near_one_and_keeps_the_directions(shape):
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(3, *shape, generator=generator)
    matrices *= torch.tensor([1e-3, 1.0, 1e3])[:, None, None]
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    assert float(values[0].max() / values[0].min()) > 3
    found = orthogonal(matrices)
    assert found.shape == matrices.shape
    spread = torch.linalg.svdvals(found)
    assert 0.6 < float(spread.min()) <= float(spread.max()) < 1.25
    inside = left.transpose(1, 2) @ found @ right.transpose(1, 2)
    off = inside - torch.diag_embed(torch.diagonal(inside, dim1=1, dim2=2))
    assert float(off.abs().max()) < 1e-3
    assert float(torch.diagonal(inside, dim1=1, dim2=2).min()) > 0


def test_the_rate_rises_stays_and_falls_to_zero():
    n_steps = 10 * train.WARM_UP
    rates = [train.schedule(step, n_steps) for step in range(n_steps)]
    falls_from = round((1 - train.COOL_DOWN) * n_steps)
    assert rates[0] == 1 / train.WARM_UP
    assert set(rates[train.WARM_UP : falls_from]) == {1.0}
    assert rates[: train.WARM_UP] == sorted(rates[: train.WARM_UP])
    assert rates[falls_from:] == sorted(rates[falls_from:], reverse=True)
    assert 0 < rates[-1] < 0.01


def test_a_run_that_was_stopped_goes_on_to_the_same_weights(small, architecture, tmp_path):
    run = partial(train.train, architecture, n_steps=4, log_every=1, save_every=2)
    run(tmp_path / "whole")
    run(tmp_path / "parts", stop_at=2)
    halfway = load_file(tmp_path / "parts" / "checkpoint.safetensors")
    assert not (tmp_path / "parts" / "model").exists()
    run(tmp_path / "parts")
    whole, parts = (
        load_file(tmp_path / name / "checkpoint.safetensors") for name in ("whole", "parts")
    )
    assert whole.keys() == parts.keys() == halfway.keys()
    assert all(torch.equal(value, parts[name]) for name, value in whole.items())
    moved = [name for name, value in halfway.items() if not torch.equal(value, whole[name])]
    assert len(moved) > 0.9 * len(whole)
    for log in ("losses.csv", "validation.csv"):
        texts = [(tmp_path / name / log).read_text() for name in ("whole", "parts")]
        assert texts[0] == texts[1]
    assert [line.split(",")[0] for line in texts[0].splitlines()] == ["step", "4"]


def test_a_finished_run_leaves_a_folder_that_loads_with_its_prompt_format(
    small, architecture, tmp_path
):
    train.train(architecture, tmp_path, n_steps=1)
    model = rl.load_model(tmp_path / "model", device="cpu")
    assert rl.model_info(model).prompt_format == FORMAT.config()
    assert rl.answer(rl.prefill(model, passage("knowledge")[0]), max_new_tokens=1).token_ids
