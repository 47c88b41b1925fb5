"""A context shorter than every window, sink and chunk is swept like any other, and its row says what could not be met."""

import pytest

import routelens as rl
from routelens.policies import POLICIES

RATIOS = (0.1, 0.5, 0.9)
FORMAT = rl.PromptFormat(instruction="", question_template="{question}", use_chat_template=False)
SHORT = rl.Item(context="Oslo.", question="Where?", answer="Oslo", id="short")
LONG = rl.Item(
    context="Ada Vern was born in Oslo. " + "She plays the oboe and keeps a goat. " * 9,
    question="Where?",
    answer="Oslo",
    id="long",
)


@pytest.fixture(scope="module")
def rows(tiny, tmp_path_factory):
    return rl.sweep(
        tiny("llama_long", "bridge"),
        [SHORT, LONG],
        policies=[*POLICIES, rl.Chunk(rl.SnapKV(kernel_size=7), chunk_length=512)],
        ratios=RATIOS,
        format=FORMAT,
        max_new_tokens=2,
        out=tmp_path_factory.mktemp("run"),
        progress=False,
    ).table()


def test_every_policy_has_its_rows_and_keeps_something(rows):
    assert rows[rows.item_id == "short"].n_prefix.iloc[0] < 10
    assert len(rows) == 2 * (len(POLICIES) + 1) * len(RATIOS)
    assert (rows.n_kept_min >= 1).all() and rows.outcome.notna().all()


def test_a_budget_below_what_is_protected_is_marked(rows):
    snapkv = rows[(rows.policy == "snapkv") & (rows.compression_ratio == 0.5)].set_index("item_id")
    assert not snapkv.attainable["short"] and snapkv.attainable["long"]
    sinks = rows[(rows.policy == "sink_recent") & (rows.compression_ratio == 0.9)]
    assert not sinks.set_index("item_id").attainable["short"]
    free = rows[rows.policy.isin(["full", "random", "key_norm"])]
    assert free.attainable.all()


def test_a_context_of_one_token_has_an_answer_and_keeps_its_one_entry(tiny, kind):
    cache = rl.prefill(tiny("llama", kind), token_ids=[50])
    for name in POLICIES:
        keep = rl.evict(cache, name, compression_ratio=0.9)
        assert keep == rl.KeepMask.full(4, 2, 1) or not keep.attainable
        assert keep.n_kept == 8
        assert rl.answer(cache, keep, question_ids=[60, 70], max_new_tokens=2).token_ids
