"""What will not fit is said with an estimate before it is tried, and batches shrink with the memory that is free."""

import warnings

import pytest
from tiny_models import token_ids

import routelens as rl
from routelens import batches
from routelens.models import adapter_of, memory

ITEM = rl.Item(context="Paris is the capital of France.", question="Where is it?", answer="Paris")


def test_a_passage_that_is_too_long_for_the_memory_is_told_with_its_estimate(
    tiny, kind, monkeypatch
):
    monkeypatch.setattr(memory, "free_bytes", lambda device: 10_000)
    with pytest.warns(UserWarning, match=r"passage of 500 tokens is estimated to need .* GiB free"):
        cache = rl.prefill(tiny("llama_long", kind), token_ids=token_ids(500))
    with pytest.warns(UserWarning, match=r"one row of 3 tokens on a passage of 500"):
        rl.answer(cache, question_ids=[5, 6, 7], max_new_tokens=1)


def test_what_fits_is_not_warned_of(tiny, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = rl.prefill(tiny("llama_long", kind), token_ids=token_ids(500))
        rl.answer(cache, question_ids=[5, 6, 7], max_new_tokens=1)


def test_the_estimate_of_a_prefill_holds_what_is_kept(tiny, kind):
    cache = rl.prefill(tiny("llama_long", kind), token_ids=token_ids(500))
    kept = sum(x.nbytes for part in (cache.keys, cache.values, cache.queries) for x in part)
    assert kept < rl.cache._bytes_of_prefill(adapter_of(cache.model), 500) < 10 * kept


def test_batches_shrink_with_the_free_memory(tiny, kind, monkeypatch):
    cache = rl.prefill(tiny("llama_long", kind), ITEM)
    keeps = [rl.evict(cache, "random", compression_ratio=0.5, seed=s) for s in range(8)]
    run, rows = type(adapter_of(cache.model)).run, []

    def counting(self, ids, *args, **options):
        rows.append(len(ids))
        return run(self, ids, *args, **options)

    monkeypatch.setattr(type(adapter_of(cache.model)), "run", counting)
    whole = rl.answer_many(cache, keeps, max_new_tokens=2)
    assert max(rows) == 8
    rows.clear()
    monkeypatch.setattr(batches, "free_bytes", lambda device: 0)
    assert [a.token_ids for a in rl.answer_many(cache, keeps, max_new_tokens=2)] == [
        a.token_ids for a in whole
    ]
    assert max(rows) == 1
