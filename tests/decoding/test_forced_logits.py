"""Forced logits, margins and the gold answer's probability, each against an explicit computation."""

import pytest
import torch
from tiny_models import token_ids

import routelens as rl
from routelens.models import adapter_of
from routelens.prompts import gold_ids

N = 20
CONTEXT = "Paris is the capital of France (Paris). The fox jumps over 42 dogs."
ITEM = rl.Item(context=CONTEXT, question="Where is it?", answer="in France", id="a")


@pytest.fixture
def raw(tiny, kind):
    return rl.prefill(tiny("llama", kind), token_ids=token_ids(N))


@pytest.fixture
def passage(tiny, kind):
    return rl.prefill(tiny("qwen2", kind), ITEM)


def half(cache, seed=0):
    return rl.evict(cache, policy="random", compression_ratio=0.5, seed=seed)


def test_row_r_predicts_what_follows_token_r(raw):
    ids = token_ids(26)
    logits = rl.forced_logits(raw, None, ids[N:])
    expected = adapter_of(raw.model).plain_logits(ids[None])[0, N:]
    assert logits.shape == (6, expected.shape[-1])
    assert (logits - expected).abs().max() < 1e-4


def test_forcing_an_answers_own_tokens_gives_its_greedy_choices_and_margins(raw):
    question = token_ids(4, seed=1)
    answer = rl.answer(raw, half(raw), question_ids=question, max_new_tokens=6)
    forced = torch.cat([question, torch.tensor(answer.token_ids[:-1])])
    logits = rl.forced_logits(raw, half(raw), forced)[len(question) - 1 :]
    assert logits.argmax(-1).tolist() == list(answer.token_ids)
    top = logits.topk(2).values
    assert torch.allclose(torch.tensor(answer.margins), top[:, 0] - top[:, 1], atol=1e-4)
    assert min(answer.margins) > 0


def test_longer_questions_extend_shorter_ones_row_by_row(raw):
    ids = token_ids(8, seed=1)
    whole = rl.forced_logits(raw, half(raw), ids)
    for length in (1, 3, 7):
        part = rl.forced_logits(raw, half(raw), ids[:length])
        assert torch.allclose(part, whole[:length], atol=1e-4)


def test_a_list_is_token_ids_too(raw):
    ids = token_ids(3, seed=1)
    expected = rl.forced_logits(raw, None, ids)
    assert torch.equal(rl.forced_logits(raw, None, ids.tolist()), expected)


@pytest.mark.parametrize("wrong", [[], [[1, 2], [3, 4]], [0.5, 0.5], [True]])
def test_what_is_no_row_of_ids_is_refused(raw, wrong):
    """By routelens, and by the type checker of the tests where the annotation says so."""
    with pytest.raises((ValueError, TypeError)):
        rl.forced_logits(raw, None, torch.tensor(wrong))
    from routelens.decoding import _id_row

    with pytest.raises(ValueError, match="who: token ids are one row"):
        _id_row("who", wrong)


def explicit_log_p(cache, keep, item):
    """The gold answer's tokens, forced one after another behind the question."""
    prompt = cache.prompt_of(item)
    gold = gold_ids(rl.model_info(cache.model).tokenizer, prompt, item.answer or "I don't know.")
    rows = rl.forced_logits(cache, keep, [*prompt.suffix_ids, *gold[:-1]])
    log_p = rows[len(prompt.suffix_ids) - 1 :].log_softmax(-1)
    return float(sum(log_p[i, token] for i, token in enumerate(gold)))


def test_log_p_gold_is_the_forced_probability_of_the_gold_answer(passage):
    golds = ("in France", "F", "Paris is the capital of France (Paris)", None)
    asked = [
        rl.Item(context=CONTEXT, question=f"Where{'?' * i}", answer=gold, id=str(i))
        for i, gold in enumerate(golds, start=1)
    ]
    masks = [None, half(passage)]
    answers = rl.answer_many(passage, masks, asked, max_new_tokens=5, log_p_gold=True)
    expected = [explicit_log_p(passage, mask, item) for mask in masks for item in asked]
    assert [a.log_p_gold for a in answers] == pytest.approx(expected, abs=1e-3)
    assert all(value < 0 for value in expected)


def test_scoring_the_gold_answer_does_not_change_what_is_said(passage):
    """The gold's slots are overwritten by the answer."""
    scored = rl.answer(passage, half(passage), max_new_tokens=8, log_p_gold=True, trace=True)
    plain = rl.answer(passage, half(passage), max_new_tokens=8, trace=True)
    assert scored.token_ids == plain.token_ids
    assert torch.allclose(scored.trace.pattern, plain.trace.pattern, atol=1e-6)
    assert scored.trace.pattern.shape == plain.trace.pattern.shape
    assert plain.log_p_gold is None


def test_one_gold_token_needs_no_further_forward(passage):
    item = rl.Item(context=CONTEXT, question="Where is it?", answer="F", id="a")
    assert len(gold_ids(rl.model_info(passage.model).tokenizer, passage.prompt, "F")) == 1
    answer = rl.answer(passage, item=item, max_new_tokens=2, log_p_gold=True)
    assert answer.log_p_gold == pytest.approx(explicit_log_p(passage, None, item), abs=1e-3)


def test_aliases_do_not_take_the_golds_place(passage):
    plain, with_alias = (
        rl.answer(
            passage,
            item=rl.Item(
                context=CONTEXT, question="Where is it?", answer="in France", aliases=aliases
            ),
            max_new_tokens=1,
            log_p_gold=True,
        )
        for aliases in ((), ("Paris",))
    )
    assert plain.log_p_gold == with_alias.log_p_gold
