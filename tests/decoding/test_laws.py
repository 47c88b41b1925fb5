"""Laws of decoding: what must not change an answer does not, and what is refused is refused in words."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, token_ids, tokenizer

import routelens as rl
from routelens.models import adapter_of

N_PREFIX = 24
PASSAGE = "Paris is the capital of France (Paris). The quick brown fox jumps over 42 dogs."
QUESTIONS = (
    ("Where is it?", "France"),
    ("Who jumps over the lazy dog, answer with a short phrase?", "fox"),
    ("How many dogs?", "42"),
    ("Why?", None),
)
VARIANTS = ["llama", "qwen2", "gemma2", "mistral"]


def items():
    return [
        rl.Item(context=PASSAGE, question=question, answer=gold, passage_id="p", id=str(index))
        for index, (question, gold) in enumerate(QUESTIONS)
    ]


def random_masks(n, cache, *, seed=0):
    info = rl.model_info(cache.model)
    generator = torch.Generator().manual_seed(seed)
    shape = (info.n_layers, info.n_kv_heads, cache.n_prefix)
    return [
        rl.KeepMask(torch.rand(shape, generator=generator) < share)
        for share in torch.linspace(0.1, 0.9, n).tolist()
    ]


@pytest.fixture
def raw(tiny, kind):
    return rl.prefill(tiny("llama", kind), token_ids=token_ids(N_PREFIX))


@pytest.fixture
def passage(tiny, kind):
    return rl.prefill(tiny("qwen2", kind), items()[0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_eviction_is_the_same_to_the_bit_however_it_is_said(tiny, kind, variant):
    cache = rl.prefill(tiny(variant, kind), token_ids=token_ids(N_PREFIX))
    question = token_ids(5, seed=1)
    untouched = rl.forced_logits(cache, None, question)
    ways = [
        rl.KeepMask.full(4, 2, N_PREFIX),
        rl.evict(cache, policy="full", compression_ratio=0.9),
        rl.AttentionEdit(),
        rl.AttentionEdit(keep=rl.KeepMask.full(4, 2, N_PREFIX)),
        *(
            rl.evict(cache, policy=name, compression_ratio=0.0)
            for name in (
                "expected_attention",
                "adakv",
                "chunk",
                "key_norm",
                "snapkv",
                "sink_recent",
            )
        ),
    ]
    for way in ways:
        assert torch.equal(rl.forced_logits(cache, way, question), untouched)


@pytest.mark.parametrize("variant", VARIANTS)
def test_hooks_with_a_full_mask_are_the_models_own_forward_to_the_bit(tiny, kind, variant):
    model = tiny(variant, kind)
    ids = token_ids(N_PREFIX)[None]
    own = adapter_of(model).plain_logits(ids)
    full = rl.KeepMask.full(4, 2, N_PREFIX - 4)
    with model.hooks(fwd_hooks=rl.attention_hooks(model, full)):
        assert torch.equal(adapter_of(model).plain_logits(ids), own)
    assert torch.equal(model(ids), own)


@pytest.mark.parametrize("variant", [*VARIANTS, "qwen3", "llama3_rope"])
def test_greedy_tokens_are_those_of_generate_by_every_path(tiny, tiny_hf, kind, variant):
    ids = token_ids(20, seed=4)
    generated = (
        tiny_hf(variant)
        .generate(ids[None], max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=2)[
            0, 20:
        ]
        .tolist()
    )
    cache = rl.prefill(tiny(variant, kind), token_ids=ids[:15])
    for backend in ("shared", "hooks"):
        answer = rl.answer(cache, question_ids=ids[15:], max_new_tokens=8, backend=backend)
        assert list(answer.token_ids) == generated[: len(answer.token_ids)]
        assert answer.stopped == (len(answer.token_ids) < 8)


@pytest.mark.parametrize("backend", ["shared", "hooks"])
def test_decoding_stops_before_the_stop_token(tiny, kind, backend):
    """The third greedy token is made the model's end of turn."""
    cache = rl.prefill(tiny("llama", kind), token_ids=token_ids(N_PREFIX))
    tokens = rl.answer(cache, question_ids=[20, 30], max_new_tokens=8).token_ids
    assert len(set(tokens[:4])) == 4
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)
    rl.model_info(model).generation_config.eos_token_id = [tokens[2], 1]
    cache = rl.prefill(model, token_ids=token_ids(N_PREFIX))
    answer = rl.answer(cache, question_ids=[20, 30], max_new_tokens=8, backend=backend)
    assert answer.token_ids == tokens[:2]
    assert answer.stopped
    assert not rl.answer(cache, question_ids=[20, 30], max_new_tokens=2, backend=backend).stopped


def test_an_answer_may_be_empty(kind):
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)
    cache = rl.prefill(model, token_ids=token_ids(N_PREFIX))
    first = rl.answer(cache, question_ids=[20], max_new_tokens=1).token_ids[0]
    rl.model_info(model).generation_config.eos_token_id = first
    answer = rl.answer(cache, question_ids=[20], max_new_tokens=4, trace=True)
    assert answer.token_ids == answer.margins == ()
    assert answer.text == ""
    assert answer.stopped
    assert answer.trace.token_ids == (20,)
    assert answer.trace.pattern.shape == (4, 4, 1, N_PREFIX + 1)


def test_tokens_do_not_depend_on_the_size_of_the_batch(passage):
    masks, asked = random_masks(4, passage), items()
    expected = [
        rl.answer(passage, mask, item=item, max_new_tokens=6) for mask in masks for item in asked
    ]
    for batch_size in (1, 2, 5, 64):
        many = rl.answer_many(passage, masks, asked, max_new_tokens=6, batch_size=batch_size)
        assert [a.token_ids for a in many] == [a.token_ids for a in expected]
        assert [a.item_id for a in many] == [item.id for _ in masks for item in asked]
        gaps = [
            abs(x - y)
            for a, b in zip(many, expected, strict=True)
            for x, y in zip(a.margins, b.margins, strict=True)
        ]
        assert max(gaps) < 1e-4


@settings(deadline=None, max_examples=8)
@given(order=st.permutations(range(6)), batch_size=st.integers(1, 6))
def test_answers_do_not_depend_on_the_order_of_the_rows(tiny, order, batch_size):
    cache = rl.prefill(tiny("qwen2", "bridge"), items()[0])
    masks = random_masks(6, cache)
    straight = rl.answer_many(cache, masks, max_new_tokens=4)
    shuffled = rl.answer_many(
        cache, [masks[i] for i in order], max_new_tokens=4, batch_size=batch_size
    )
    assert [a.token_ids for a in shuffled] == [straight[i].token_ids for i in order]


def test_questions_of_different_lengths_share_a_batch(passage):
    asked = items()
    lengths = {len(passage.prompt_of(item).suffix_ids) for item in asked}
    assert len(lengths) > 2
    together = rl.answer_many(passage, [None], asked, max_new_tokens=8, batch_size=4, trace=True)
    for item, answer in zip(asked, together, strict=True):
        alone = rl.answer(passage, item=item, max_new_tokens=8, trace=True)
        assert answer.token_ids == alone.token_ids
        assert torch.allclose(answer.trace.pattern, alone.trace.pattern, atol=1e-5)
        assert torch.allclose(answer.trace.residual, alone.trace.residual, atol=1e-4)


def test_rows_that_finish_early_leave_the_others_alone(kind):
    model = rl.load_model(build("qwen2"), tokenizer=tokenizer(), kind=kind)
    cache = rl.prefill(model, items()[0])
    masks = [None, *random_masks(6, cache)]
    free = rl.answer_many(cache, masks, max_new_tokens=8)
    # A token that comes early in some answers, late or not at all in others.
    config = rl.model_info(model).generation_config
    stop = max(
        {token for a in free for token in a.token_ids},
        key=lambda token: len(
            {a.token_ids.index(token) if token in a.token_ids else 8 for a in free}
        ),
    )
    config.eos_token_id = stop
    stopped = rl.answer_many(cache, masks, max_new_tokens=8, batch_size=7)
    expected = [
        a.token_ids[: a.token_ids.index(stop)] if stop in a.token_ids else a.token_ids for a in free
    ]
    assert [a.token_ids for a in stopped] == expected
    assert len({len(a.token_ids) for a in stopped}) > 2


def test_finished_rows_are_computed_no_further(kind, monkeypatch):
    model = rl.load_model(build("qwen2"), tokenizer=tokenizer(), kind=kind)
    cache = rl.prefill(model, items()[0])
    masks = random_masks(6, cache)
    free = rl.answer_many(cache, masks, max_new_tokens=4)
    rl.model_info(model).generation_config.eos_token_id = [a.token_ids[0] for a in free[:3]]
    rows = []
    run = type(adapter_of(model)).run

    def counting(self, token_ids, *args, **options):
        rows.append(token_ids.shape[0])
        return run(self, token_ids, *args, **options)

    monkeypatch.setattr(type(adapter_of(model)), "run", counting)
    rl.answer_many(cache, masks, max_new_tokens=4, batch_size=6)
    assert rows[0] == 6
    assert max(rows[1:]) <= 3


def test_equal_rows_are_computed_once_and_answered_each(passage, monkeypatch):
    masks = random_masks(2, passage)
    again = [rl.KeepMask(mask.keep.clone()) for mask in masks]
    rows = []
    run = type(adapter_of(passage.model)).run

    def counting(self, token_ids, *args, **options):
        rows.append(token_ids.shape[0])
        return run(self, token_ids, *args, **options)

    monkeypatch.setattr(type(adapter_of(passage.model)), "run", counting)
    answers = rl.answer_many(passage, [*masks, *again, None, None], max_new_tokens=3)
    assert max(rows) == 3
    assert answers[:2] == answers[2:4]
    assert answers[4] == answers[5]


def test_the_passage_is_tokenised_once_a_question_and_not_once_a_mask(passage, monkeypatch):
    calls = []
    build_prompt = rl.cache.build_prompt
    monkeypatch.setattr(
        rl.cache, "build_prompt", lambda *a, **o: calls.append(1) or build_prompt(*a, **o)
    )
    rl.answer_many(passage, random_masks(5, passage), items(), max_new_tokens=1)
    assert len(calls) <= len(items())


def test_iter_answers_gives_every_index_once(passage):
    masks = [*random_masks(3, passage), None, None]
    found = list(rl.iter_answers(passage, masks, items(), max_new_tokens=2, batch_size=3))
    assert sorted(index for index, _ in found) == list(range(len(masks) * len(items())))
    ordered = [answer for _, answer in sorted(found, key=lambda pair: pair[0])]
    many = rl.answer_many(passage, masks, items(), max_new_tokens=2)
    assert [(a.item_id, a.token_ids) for a in ordered] == [(a.item_id, a.token_ids) for a in many]


def test_a_fully_evicted_context_still_gives_numbers(raw):
    nothing = rl.KeepMask(torch.zeros(4, 2, N_PREFIX, dtype=torch.bool))
    assert rl.forced_logits(raw, nothing, token_ids(4)).isfinite().all()
    answer = rl.answer(raw, nothing, question_ids=token_ids(4), max_new_tokens=3, trace=True)
    assert answer.trace.pattern[..., :N_PREFIX].abs().max() == 0
    assert torch.allclose(answer.trace.pattern.sum(-1), torch.ones(()), atol=1e-6)


def test_evicting_never_touches_the_context_itself(tiny, kind):
    """Keys, values and the residual stream of context rows are those of the full cache, to the bit."""
    model = tiny("llama", kind)
    ids = token_ids(N_PREFIX + 4)
    cache = rl.prefill(model, token_ids=ids[:N_PREFIX])
    before = [x.clone() for x in (*cache.keys, *cache.values, *cache.queries)]
    keep = rl.evict(cache, policy="random", compression_ratio=0.8)
    rl.answer(cache, keep, question_ids=ids[N_PREFIX:], max_new_tokens=3)
    assert all(
        torch.equal(x, y)
        for x, y in zip(before, (*cache.keys, *cache.values, *cache.queries), strict=True)
    )
    streams = []
    names = [f"blocks.{layer}.hook_resid_post" for layer in range(4)]
    watch = [(name, lambda x, hook: streams.append(x[:, :N_PREFIX].clone())) for name in names]
    for hooks in ([], rl.attention_hooks(model, keep)):
        with model.hooks(fwd_hooks=[*watch, *hooks]):
            adapter_of(model).plain_logits(ids[None])
    assert all(torch.equal(x, y) for x, y in zip(streams[:4], streams[4:], strict=True))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((4, 2, N_PREFIX + 1), "for this cache"),
        ((4, 4, N_PREFIX), "for this cache"),
        ((3, 2, N_PREFIX), "got"),
    ],
)
def test_a_mask_of_another_shape_is_refused(raw, shape, words):
    mask = rl.KeepMask(torch.ones(shape, dtype=torch.bool))
    with pytest.raises(ValueError, match=words):
        rl.answer(raw, mask, question_ids=[5])
    with pytest.raises(ValueError, match=words):
        rl.forced_logits(raw, mask, [5])


def test_an_item_of_another_passage_is_refused(passage):
    other = rl.Item(context="Another passage.", question="Where is it?", answer="passage", id="x")
    with pytest.raises(ValueError, match="item x does not share"):
        rl.answer(passage, item=other)
    with pytest.raises(ValueError, match="item x does not share"):
        rl.answer_many(passage, [None], [*items(), other])


def test_a_prompt_that_leaves_the_models_context_is_refused(tiny, kind):
    cache = rl.prefill(tiny("llama", kind), token_ids=token_ids(150))
    with pytest.raises(ValueError, match="context of 192"):
        rl.answer(cache, question_ids=token_ids(20), max_new_tokens=32)
    assert rl.answer(cache, question_ids=token_ids(20), max_new_tokens=22).token_ids
    with pytest.raises(ValueError, match="context of 192"):
        rl.forced_logits(cache, None, token_ids(43))
    assert rl.forced_logits(cache, None, token_ids(42)).shape[0] == 42


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "question_ids"),
        ({"question_ids": []}, "at least one"),
        ({"question_ids": [5], "max_new_tokens": 0}, "max_new_tokens"),
        ({"question_ids": [5], "log_p_gold": True}, "log_p_gold"),
        ({"question_ids": [5], "backend": "hooks", "trace": True}, "no trace"),
    ],
)
def test_a_question_that_is_none_is_refused(raw, options, words):
    with pytest.raises(ValueError, match=words):
        rl.answer(raw, **options)


def test_a_batch_of_no_rows_is_refused_and_no_masks_give_no_answers(passage):
    for batch_size in (0, -1):
        with pytest.raises(ValueError, match="batch_size"):
            rl.answer_many(passage, [None], batch_size=batch_size)
    assert rl.answer_many(passage, []) == []
    assert rl.answer_many(passage, [None], []) == []


def test_answers_are_judged_against_their_own_item(passage):
    asked = items()
    answers = rl.answer_many(passage, [None], asked, max_new_tokens=4)
    assert [a.item_id for a in answers] == [item.id for item in asked]
    assert all(a.outcome is not None and 0 <= a.f1 <= 100 for a in answers)
    raw = rl.answer(passage, question_ids=[5, 6], max_new_tokens=2)
    assert raw.outcome is None
    assert raw.f1 is None
