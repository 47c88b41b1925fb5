"""A run in half precision is a run like any other, says so, and never mixes with one in float32."""

import pytest
import torch

import routelens as rl
from routelens.viz import write_report

ITEMS = [
    rl.Item(context=context, question="Where?", answer=city, id=city)
    for context, city in (("Ada was born in Oslo.", "Oslo"), ("Bo was born in Rome.", "Rome"))
]


def sweep(model, out):
    return rl.sweep(
        model,
        ITEMS,
        policies=("full", "random", "snapkv", "adakv"),
        ratios=(0.0, 0.5, 0.9),
        max_new_tokens=3,
        out=out,
        progress=False,
    )


@pytest.fixture(scope="module")
def model(tiny):
    return lambda dtype: tiny("llama_long", "bridge", dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_goes_from_sweep_to_report(model, tmp_path, dtype):
    run = sweep(model(dtype), tmp_path / "run")
    rows = run.table()
    assert len(rows) == 2 * 4 * 3 and set(rows.dtype) == {dtype}
    assert run.manifest["dtype"] == dtype
    for column in ("log_p_gold", "head_agreement", "answer_mass", "min_margin"):
        assert rows[column].notna().any(), column
    assert (rows.kv_bytes_full == rows.n_prefix * 2 * 4 * 2 * 8 * 2).all()  # two bytes a number
    report = write_report(run.path, figures=(), n_resamples=20)
    assert dtype in report.html.read_text(encoding="utf-8")


def test_a_mask_from_half_precision_is_saved_and_read_back(model, tmp_path):
    cache = rl.prefill(model("bfloat16"), ITEMS[0])
    keep = rl.evict(cache, "adakv", compression_ratio=0.5)
    keep.save(tmp_path / "keep")
    assert rl.KeepMask.load(tmp_path / "keep") == keep


def test_two_dtypes_are_two_runs(model, tmp_path):
    runs = {d: sweep(model(d), tmp_path / d) for d in ("float32", "bfloat16")}
    manifests = [run.manifest for run in runs.values()]
    assert [manifest["dtype"] for manifest in manifests] == ["float32", "bfloat16"]
    assert manifests[0]["config_hash"] != manifests[1]["config_hash"]
    with pytest.raises(ValueError, match='dtype: stored "float32", asked "bfloat16"'):
        sweep(model("bfloat16"), tmp_path / "float32")
    assert runs["float32"].table().dtype.eq("float32").all()


def test_rows_of_a_trace_are_summed_in_float32(model):
    """In bfloat16 they would come to anything from .998 to 1.002."""
    cache = rl.prefill(model("bfloat16"), ITEMS[0])
    trace = rl.answer(cache, max_new_tokens=3, trace=True).trace
    assert trace.pattern.dtype == torch.float32
    assert (trace.pattern.sum(-1) - 1).abs().max() < 1e-5
