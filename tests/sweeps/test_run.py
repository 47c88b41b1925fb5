"""A sweep from items to rows on a tiny model: complete, equal to single calls, resumable, and never mixed with another."""

import json
import math

import pandas as pd
import pytest

import routelens as rl
from routelens.sweeps import run as run_module

CONTEXTS = (
    "Ada Vern was born in Oslo. She plays the oboe and keeps a goat.",
    "Bo Tarn was born in Rome. He plays the lute and keeps a cat, said Bo.",
)
FORMAT = rl.PromptFormat(instruction="Be brief.")
RATIOS = (0.0, 0.5, 0.9)
POLICIES = ("full", "random", "key_norm")


def make_items() -> list[rl.Item]:
    asked = (("Where?", ("Oslo", "Rome")), ("Which instrument?", ("oboe", "lute")))
    items = [
        rl.Item(context=context, question=question, answer=answers[i], id=f"p{i}-q{q}")
        for i, context in enumerate(CONTEXTS)
        for q, (question, answers) in enumerate(asked)
    ]
    unlocatable = rl.Item(context=CONTEXTS[0], question="Old?", answer="yes", id="p0-q8")
    silent = rl.Item(context=CONTEXTS[0], question="Which car?", answer=None, id="p0-q9")
    return [*items, unlocatable, silent]


@pytest.fixture(scope="module")
def model(tiny):
    return tiny("llama_long", "bridge")


def sweep(model, out, **changes):
    settings = {
        "policies": POLICIES,
        "ratios": RATIOS,
        "format": FORMAT,
        "max_new_tokens": 4,
        "progress": False,
    }
    return rl.sweep(model, make_items(), out=out, **(settings | changes))


@pytest.fixture(scope="module")
def rows(model, tmp_path_factory) -> pd.DataFrame:
    return sweep(model, tmp_path_factory.mktemp("run")).table()


def test_every_cell_of_every_item_is_one_row(rows):
    key = ["item_id", "policy", "compression_ratio"]
    assert len(rows) == 6 * len(POLICIES) * len(RATIOS) == len(rows[key].drop_duplicates())
    assert set(rows.outcome) <= {"correct", "unknown", "hallucination", "degenerate"}
    assert (rows.model_revision != "").all() and (rows.dtype == "float32").all()


def test_full_is_flat_and_ratio_0_is_the_full_cache_for_every_policy(rows):
    untouched = rows[(rows.policy == "full") | (rows.compression_ratio == 0)]
    for _, same in untouched.groupby("item_id"):
        for column in ("prediction", "log_p_gold", "min_margin", "keep_hash", "head_agreement"):
            assert same[column].nunique() == 1, column
    assert (untouched.compression_ratio_eff == 0).all()
    located = untouched[untouched.evidence_status == "located"]
    assert (located.ger_soft == 0).all() and (located.answer_mass == 1).all()
    assert (untouched.transition.isin(["C->C", "W->W"])).all()


def test_a_row_is_what_single_calls_give(model, rows):
    item = make_items()[0]
    cache = rl.prefill(model, item, format=FORMAT)
    keep = rl.evict(cache, "key_norm", compression_ratio=0.5)
    answer = rl.answer(cache, keep, max_new_tokens=4, trace=True, log_p_gold=True)
    row = rows[
        (rows.item_id == item.id) & (rows.policy == "key_norm") & (rows.compression_ratio == 0.5)
    ].iloc[0]
    assert (row.prediction, row.outcome, row.f1) == (answer.text, answer.outcome, answer.f1)
    assert row.log_p_gold == pytest.approx(answer.log_p_gold, abs=1e-4)
    assert row.keep_hash == keep.hash
    assert row.ger_layer == rl.global_eviction_ratio(keep, cache.answer_positions)
    assert row.eviction_rate_soft == rl.eviction_rate(keep, cache.content_positions, scope="soft")
    expected = rl.head_agreement(answer.trace)
    assert row.head_agreement == pytest.approx(float(expected.nanmean()), abs=1e-6)
    assert row.kv_bytes == 2 * int(keep.keep.sum()) * rl.model_info(model).d_head * 4
    assert len(row.drift_by_layer) == rl.model_info(model).n_layers + 1


def test_evidence_that_cannot_be_located_is_counted_and_left_out_of_ger(rows):
    status = rows.drop_duplicates("item_id").set_index("item_id").evidence_status
    assert status["p0-q8"] == "not_locatable" and status["p0-q9"] == "unanswerable"
    outside = rows[rows.evidence_status != "located"]
    assert outside.ger_layer.isna().all() and outside.erased_layer.isna().all()
    assert outside.answer_mass.isna().all() and outside.outcome.notna().all()
    assert rows[rows.evidence_status == "located"].ger_layer.notna().all()


def test_an_interrupted_sweep_goes_on_with_nothing_twice_and_nothing_lost(
    model, rows, tmp_path, monkeypatch
):
    real, done = run_module.UnitRunner.rows, []

    def failing(self):
        if done:
            raise KeyboardInterrupt
        done.append(self.unit.id)
        return real(self)

    monkeypatch.setattr(run_module.UnitRunner, "rows", failing)
    with pytest.raises(KeyboardInterrupt):
        sweep(model, tmp_path)
    assert 0 < len(rl.read_run(tmp_path)) < len(rows)
    monkeypatch.setattr(run_module.UnitRunner, "rows", real)
    again = sweep(model, tmp_path).table()
    columns = [name for name in rows.columns if name != "wall_s"]
    pd.testing.assert_frame_equal(again[columns], rows[columns], rtol=1e-4, atol=1e-5)


def test_another_setting_is_refused_in_the_same_folder(model, tmp_path):
    sweep(model, tmp_path, policies=("full",), ratios=(0.0,))
    with pytest.raises(ValueError, match="max_new_tokens"):
        sweep(model, tmp_path, policies=("full",), ratios=(0.0,), max_new_tokens=5)


@pytest.mark.parametrize("regime", ["aware_one", "aware_list", "score_only"])
def test_every_regime_has_its_own_full_cache_row(model, tmp_path, regime):
    table = sweep(
        model, tmp_path, regimes=(regime,), policies=("snapkv",), ratios=(0.0, 0.5)
    ).table()
    assert len(table) == 12 and set(table.regime) == {regime}
    base = table[table.compression_ratio == 0]
    assert (base.prediction.notna()).all() and (base.full_outcome == base.outcome).all()
    agnostic = len(rl.prefill(model, make_items()[0], format=FORMAT).token_ids)
    longer = table[table.item_id == "p0-q0"].n_prefix.iloc[0] > agnostic
    assert longer == (regime != "score_only")


def test_budgets_are_an_axis_of_their_own(model, tmp_path):
    table = sweep(model, tmp_path, policies=("random",), ratios=(), budgets=(4, 16)).table()
    assert table.compression_ratio.isna().all()
    assert (table.n_kept_mean == table.budget).all() and set(table.budget) == {4, 16}


def test_prompts_that_do_not_fit_are_named_before_anything_runs(tiny, tmp_path):
    short = tiny("llama", "bridge")
    with pytest.raises(ValueError, match=r"p0-q0(.|\n)*context"):
        sweep(short, tmp_path / "run", max_new_tokens=150)
    assert not (tmp_path / "run").exists()


def test_without_traces_the_answers_are_the_same(model, rows, tmp_path):
    table = sweep(model, tmp_path, trace=False).table()
    assert table.prediction.tolist() == rows.prediction.tolist()
    assert table.head_agreement.isna().all() and table.ger_layer.notna().any()


def test_the_manifest_says_how_the_run_was_made(model, tmp_path):
    manifest = sweep(model, tmp_path, policies=("full",), ratios=(0.0,)).manifest
    text = json.dumps(manifest)
    for part in ("torch", "transformers", "float32", rl.model_info(model).revision, "Be brief."):
        assert part in text


def test_margins_and_probabilities_are_numbers(rows):
    assert (rows.log_p_gold < 0).all() and math.isfinite(rows.log_p_gold.min())
    assert (rows.min_margin.dropna() >= 0).all() and (rows.wall_s > 0).all()
