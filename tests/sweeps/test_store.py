import errno
import io
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.sweeps import store as store_module
from routelens.sweeps.store import (
    COLUMNS,
    SCHEMA,
    RunStore,
    config_hash,
    empty_row,
    read_manifest,
    read_run,
)

CONFIG = {"model": "tiny", "dtype": "float32", "ratios": (0, 0.5, 0.9), "seed": 0}


def row(item_id="i", ratio=0.5, **values):
    return {
        "item_id": item_id,
        "passage_id": "p",
        "regime": "agnostic",
        "policy": "full",
        "compression_ratio": ratio,
        **values,
    }


def filled(path, units=("a", "b", "c"), rows=2):
    """A run at ``path`` with the given units, each of some rows."""
    with RunStore.open(path, CONFIG) as store:
        for unit in units:
            store.write(unit, [row(f"{unit}{index}") for index in range(rows)])
    return path


def files(path):
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def part_of(path, unit):
    return store_module._part_path(path, unit)


# --- the record ---------------------------------------------------------------------------------


def test_every_column_has_a_meaning_and_none_is_named_twice():
    assert len(set(SCHEMA.names)) == len(COLUMNS) == len(SCHEMA)
    assert all(meaning for _, _, meaning in COLUMNS)
    assert empty_row().keys() == set(SCHEMA.names)
    assert set(empty_row().values()) == {None}


def test_the_columns_have_the_types_the_analyses_rely_on():
    assert SCHEMA.field("budget").type == pa.int32()
    assert SCHEMA.field("seed").type == SCHEMA.field("kv_bytes").type == pa.int64()
    assert SCHEMA.field("drift_by_layer").type == pa.list_(pa.float32())
    for name in ("ger_layer", "f1", "compression_ratio", "topk_jaccard_with_sinks"):
        assert SCHEMA.field(name).type == pa.float64()
    for name in ("erased_bridge", "accessible", "stopped", "exact_match"):
        assert SCHEMA.field(name).type == pa.bool_()


def test_rows_come_back_as_they_went_in(tmp_path):
    hostile = "</script><b>\x00 Zürich 東京 🏔 \u2028\r\n\"'\\"
    values = {
        "prediction": hostile,
        "gold": None,
        "ger_layer": math.nan,
        "ger_model": None,
        "f1": 1 / 3,
        "kv_bytes": 2**40,
        "budget": None,
        "erased_layer": None,
        "stopped": True,
        "head_agreement_by_layer": [0.5, math.nan, 1.0],
        "drift_by_layer": [],
    }
    with RunStore.open(tmp_path / "x", CONFIG) as store:
        store.write("unit", [row(**values)])
    table = pq.read_table(part_of(tmp_path / "x", "unit"))
    assert table.column_names == SCHEMA.names
    stored = table.to_pylist()[0]
    assert stored["prediction"] == hostile
    assert math.isnan(stored["ger_layer"]) and stored["ger_model"] is None
    assert stored["f1"] == 1 / 3 and stored["kv_bytes"] == 2**40
    assert stored["head_agreement_by_layer"][::2] == [0.5, 1.0]
    assert stored["drift_by_layer"] == [] and stored["argmax_diversity_by_layer"] is None

    frame = read_run(tmp_path / "x")
    assert frame.prediction[0] == hostile
    assert pd.isna(frame.gold[0]) and math.isnan(frame.ger_layer[0])
    assert frame.budget.dtype == pd.Int32Dtype() and frame.budget[0] is pd.NA
    assert frame.erased_layer.dtype == pd.BooleanDtype() and frame.erased_layer[0] is pd.NA
    assert frame.ger_layer.dtype == float and bool(frame.stopped[0])


def test_a_lone_surrogate_costs_a_character_and_not_the_unit(tmp_path):
    with RunStore.open(tmp_path, CONFIG) as store:
        store.write("\ud800", [row(question="a\ud800b", prediction="\ud83c\udfd4")])
        assert store.done("\ud800")
    frame = read_run(tmp_path)
    assert (frame.question[0], frame.prediction[0]) == ("a\ufffdb", "🏔")
    with RunStore.open(tmp_path, CONFIG) as store:
        assert store.done("\ud800") and store.n_done == 1


def test_bad_rows_are_refused_and_leave_nothing(tmp_path):
    with RunStore.open(tmp_path, CONFIG) as store:
        before = files(tmp_path)
        for rows, message in (
            ([row(ger=1.0)], r"unit 'u': unknown columns \['ger'\]"),
            ([row(item_id=None)], "every row needs a value for item_id"),
            ([row(f1="high")], "column f1 holds double"),
            ([row(budget=1.5)], "column budget holds int32"),
            ([row(budget=math.nan)], "column budget holds int32"),
            ([row(stopped=1)], "column stopped holds bool"),
            ([row(budget=2**40)], "column budget holds int32"),
            ([row(prediction=3)], "column prediction holds string"),
            ([row(), row()], "twice came .*'item_id': 'i'"),
        ):
            with pytest.raises(ValueError, match=message):
                store.write("u", rows)
        assert files(tmp_path) == before and not store.done("u")
        store.write("u", [row(), row(ratio=0.9), row(ratio=None, budget=8)])
        with pytest.raises(ValueError, match="'u' is on disk already"):
            store.write("u", [row()])
    assert len(read_run(tmp_path)) == 3


def test_a_unit_without_rows_is_done(tmp_path):
    with RunStore.open(tmp_path, CONFIG) as store:
        store.write("none", [])
    with RunStore.open(tmp_path, CONFIG) as store:
        assert store.done("none")
    frame = read_run(tmp_path)
    assert len(frame) == 0 and list(frame.columns) == SCHEMA.names


@settings(max_examples=20, deadline=None)
@given(st.sets(st.text(max_size=300), min_size=1, max_size=3))
def test_any_string_is_a_unit_id_with_a_safe_file_of_its_own(tmp_path_factory, ids):
    path = tmp_path_factory.mktemp("run")
    with RunStore.open(path, CONFIG) as store:
        for unit in ids:
            store.write(unit, [row(item_id=unit)])
    names = [file.name for file in (path / "rows").iterdir()]
    assert len(names) == len(ids)
    assert all(name.isascii() and len(name) < 50 and "/" not in name for name in names)
    with RunStore.open(path, CONFIG) as store:
        assert store.n_done == len(ids) and all(store.done(unit) for unit in ids)
    assert list(read_run(path).item_id) == sorted(ids)


# --- resuming, and settings that never mix --------------------------------------------------------


def test_a_run_goes_on_under_equal_settings(tmp_path):
    filled(tmp_path / "x")
    again = {"seed": 0, "ratios": [0.0, 0.5, 0.9], "dtype": "float32", "model": "tiny"}
    with RunStore.open(str(tmp_path / "x"), again) as store:
        assert [store.done(unit) for unit in "abcd"] == [True, True, True, False]
        store.write("d", [row("d0")])
    frame = read_run(tmp_path / "x")
    assert list(frame.item_id) == ["a0", "a1", "b0", "b1", "c0", "c1", "d0"]


def test_rows_come_in_one_order_whatever_the_order_of_writing(tmp_path):
    frames = [read_run(filled(tmp_path / order, units=order)) for order in ("abc", "cab")]
    assert list(frames[0].item_id) == list(frames[1].item_id)


def test_other_settings_are_refused_and_named(tmp_path):
    filled(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    other = {**CONFIG, "dtype": "bfloat16", "ratios": (0, 0.5), "extra": {"margin": 1}}
    del other["seed"]
    with pytest.raises(ValueError) as error:
        RunStore.open(tmp_path, other)
    message = str(error.value)
    for line in (
        'dtype: stored "float32", asked "bfloat16"',
        "ratios: stored [0, 0.5, 0.9], asked [0, 0.5]",
        'extra: stored (absent), asked {"margin": 1}',
        "seed: stored 0, asked (absent)",
        "--out",
        "--overwrite",
    ):
        assert line in message
    assert "model" not in message
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_long_lists_show_only_what_differs(tmp_path):
    RunStore.open(tmp_path, {"items": list(range(100))}).close()
    with pytest.raises(ValueError, match=r"items: only stored \[99\], only asked \[100\]"):
        RunStore.open(tmp_path, {"items": [*range(99), 100]})


def test_nested_settings_are_named_by_their_path(tmp_path):
    RunStore.open(tmp_path, {"grid": {"policy": {"window": 64, "k": 5}}}).close()
    with pytest.raises(ValueError, match=r"  grid\.policy\.window: stored 64, asked 32\n") as error:
        RunStore.open(tmp_path, {"grid": {"policy": {"window": 32, "k": 5}}})
    assert "grid.policy.k" not in str(error.value)


def test_the_configuration_hash_knows_values_and_not_their_spelling():
    assert config_hash({"a": 1, "b": [0.0, 2]}) == config_hash({"b": (0, 2.0), "a": 1.0})
    assert config_hash({"path": Path("x")}) == config_hash({"path": "x"})
    hashes = {config_hash({"a": value}) for value in (1, True, "1", None, [1], {"a": 1}, 1.5, [])}
    assert len(hashes) == 8
    assert config_hash(CONFIG) == "99d3f3385e605c77"


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, object(), {1: 2}, b"x"])
def test_a_configuration_that_json_cannot_hold_is_refused(tmp_path, value):
    with pytest.raises(ValueError, match=r"config\.policy"):
        RunStore.open(tmp_path / "x", {"policy": value})
    assert not (tmp_path / "x").exists()


def test_a_part_of_another_run_is_refused(tmp_path):
    filled(tmp_path / "x")
    RunStore.open(tmp_path / "y", {**CONFIG, "seed": 1}).close()
    stray = part_of(tmp_path / "y", "a")
    stray.write_bytes(part_of(tmp_path / "x", "a").read_bytes())
    for opened in (lambda: RunStore.open(tmp_path / "y", {**CONFIG, "seed": 1}),
                   lambda: read_run(tmp_path / "y")):  # fmt: skip
        with pytest.raises(ValueError, match=f"{stray.name} was written under other settings"):
            opened()
    stray.unlink()
    RunStore.open(tmp_path / "y", {**CONFIG, "seed": 1}).close()


def test_overwriting_removes_the_run_and_no_other_file(tmp_path):
    filled(tmp_path)
    (tmp_path / "rows" / "part-0.parquet.corrupt").write_text("old")
    for name in ("report.html", "notes.md", "rows/mine.txt"):
        (tmp_path / name).write_text("mine")
    with RunStore.open(tmp_path, {"model": "other"}, overwrite=True) as store:
        assert store.n_done == 0
    assert files(tmp_path) == [
        "manifest.json",
        "notes.md",
        "report.html",
        "rows/mine.txt",
        "run.lock",
    ]
    assert read_manifest(tmp_path)["config"] == {"model": "other"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["thesis.tex", "rows/part-0.parquet", "manifest.json"])
def test_a_folder_that_holds_something_else_is_refused_untouched(tmp_path, name, overwrite):
    (tmp_path / "rows").mkdir()
    (tmp_path / name).write_text('{"name": "a web application"}')
    with pytest.raises(ValueError, match="another"):
        RunStore.open(tmp_path, CONFIG, overwrite=overwrite)
    assert files(tmp_path) == [name]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(ValueError, match="x is a file"):
        RunStore.open(tmp_path / "x", CONFIG)
    with pytest.raises(OSError, match="part of the path is a file"):
        RunStore.open(tmp_path / "x" / "y", CONFIG)


# --- the manifest ---------------------------------------------------------------------------------


def test_the_manifest_says_what_made_the_run(tmp_path):
    info = {"device": "cpu", "model_revision": "abc"}
    RunStore.open(tmp_path, CONFIG, info=info).close()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest == read_manifest(tmp_path)
    assert manifest["config"] == json.loads(json.dumps(CONFIG))
    assert manifest["config_hash"] == config_hash(CONFIG)
    facts = {
        "model": "tiny",
        "model_revision": "abc",
        "dtype": "float32",
        "device": "cpu",
        "seed": 0,
    }
    assert {name: manifest[name] for name in facts} == facts
    assert {"routelens", "torch", "transformers", "transformer-lens", "python"} <= set(
        manifest["versions"]
    )
    assert manifest["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"platform", "threads", "git_commit", "created"} <= set(manifest)
    assert set(manifest["columns"]) == set(SCHEMA.names)
    assert read_run(tmp_path).attrs["manifest"] == manifest


def test_facts_that_do_not_decide_the_results_do_not_stop_a_resume(tmp_path):
    RunStore.open(tmp_path, CONFIG, info={"device": "cpu"}).close()
    RunStore.open(tmp_path, CONFIG, info={"device": "cuda"}).close()


def test_resuming_with_other_versions_warns_and_records_both(tmp_path, monkeypatch):
    RunStore.open(tmp_path, CONFIG).close()
    monkeypatch.setattr("importlib.metadata.version", lambda package: "99.0")
    with pytest.warns(UserWarning, match=r'other versions than before: .*torch: .* asked "99\.0"'):
        RunStore.open(tmp_path, CONFIG).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RunStore.open(tmp_path, CONFIG).close()
    manifest = read_manifest(tmp_path)
    assert [again["versions"]["torch"] for again in manifest["resumed"]] == ["99.0"]
    assert manifest["versions"]["torch"] != "99.0"


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    for read in (read_manifest, read_run):
        with pytest.raises(ValueError, match="is not a run: it has no manifest.json"):
            read(tmp_path)
        with pytest.raises(ValueError, match="is not a run"):
            read(tmp_path / "absent")
    (tmp_path / "manifest.json").write_text('{"format": "routel')
    for read in (read_manifest, read_run, lambda path: RunStore.open(path, CONFIG)):
        with pytest.raises(ValueError, match=r"manifest\.json cannot be read"):
            read(tmp_path)


def test_a_run_with_other_columns_is_refused_by_name(tmp_path):
    filled(tmp_path)
    manifest = read_manifest(tmp_path)
    manifest["columns"]["old_one"] = manifest["columns"].pop("f1")
    manifest["schema_hash"] = "0"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for opened in (lambda: read_run(tmp_path), lambda: RunStore.open(tmp_path, CONFIG)):
        with pytest.raises(ValueError, match=r"only there: \['old_one'\]; only here: \['f1'\]"):
            opened()


# --- damage ---------------------------------------------------------------------------------------


def cut(data):
    return data[: len(data) // 2]


def cut_at_the_end(data):
    return data[:-1]


def emptied(data):
    return b""


def flipped(data):
    return data[:200] + bytes(byte ^ 0xFF for byte in data[200:220]) + data[220:]


def zeroed(data):
    return bytes(len(data))


@pytest.mark.parametrize("damage", [cut, cut_at_the_end, emptied, flipped, zeroed])
def test_a_damaged_file_is_moved_aside_and_its_unit_done_again(tmp_path, damage):
    filled(tmp_path, rows=50)
    victim = part_of(tmp_path, "b")
    damaged = damage(victim.read_bytes())
    victim.write_bytes(damaged)
    with pytest.warns(UserWarning, match=f"left out .*{victim.name}"):
        assert set(read_run(tmp_path).item_id.str[0]) == {"a", "c"}
    assert victim.exists()
    with pytest.warns(UserWarning, match=f"moved .*{victim.name} aside .*done again"):
        store = RunStore.open(tmp_path, CONFIG)
    assert victim.with_name(victim.name + ".corrupt").read_bytes() == damaged
    with store:
        assert [store.done(unit) for unit in "abc"] == [True, False, True]
        store.write("b", [row(f"b{index}") for index in range(50)])
    assert read_run(tmp_path).item_id.nunique() == 150


def test_no_flipped_byte_changes_a_row_unnoticed(tmp_path):
    with RunStore.open(tmp_path, CONFIG) as store:
        store.write(
            "a", [row(str(index), f1=index * 0.37, prediction="x" * index) for index in range(99)]
        )
    file = part_of(tmp_path, "a")
    data = file.read_bytes()
    whole = store_module._read_part(file, True).table
    noticed = 0
    for position in random.Random(0).sample(range(len(data)), 200):
        file.write_bytes(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])
        part = store_module._read_part(file, True)
        assert part.fault or (part.unit_id == "a" and part.table.equals(whole))
        noticed += bool(part.fault)
    assert noticed > 20


def test_a_file_with_other_columns_or_rows_or_name_is_damage(tmp_path):
    filled(tmp_path)
    table = pq.read_table(part_of(tmp_path, "a"))
    pq.write_table(table.drop_columns(["f1"]), part_of(tmp_path, "a"))
    table = pq.read_table(part_of(tmp_path, "b"))
    pq.write_table(table.slice(0, 1), part_of(tmp_path, "b"))
    (tmp_path / "rows" / "part-copy.parquet").write_bytes(part_of(tmp_path, "c").read_bytes())
    with pytest.warns(UserWarning) as caught:
        RunStore.open(tmp_path, CONFIG).close()
    text = "\n".join(str(warning.message) for warning in caught)
    assert "its columns are not those of a row" in text
    assert "holds 1 rows and should hold 2" in text
    assert "a copy of unit 'c' under another name" in text
    assert list(read_run(tmp_path).item_id) == ["c0", "c1"]


def failing(error_number):
    """A function that fails as the system would."""

    def fail(*args, **kwargs):
        raise OSError(error_number, os.strerror(error_number))

    return fail


@pytest.mark.parametrize(
    ("error_number", "message"),
    [
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EDQUOT, "the quota is full"),
        (errno.EROFS, "read-only; pass another --out"),
        (errno.EACCES, "no permission to write"),
        (errno.EIO, "Input/output error"),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_says_what_to_do_and_spares_what_is_there(
    tmp_path, monkeypatch, step, error_number, message
):
    with RunStore.open(tmp_path, CONFIG) as store:
        store.write("a", [row("a0")])
        with monkeypatch.context() as patch:
            patch.setattr(os, step, failing(error_number))
            with pytest.raises(OSError, match=message) as error:
                store.write("b", [row("b0")])
        assert error.value.errno == error_number
        assert str(tmp_path) in str(error.value) and "are intact" in str(error.value)
        assert not list((tmp_path / "rows").glob(".*"))
        assert store.done("a") and not store.done("b")
        assert list(read_run(tmp_path).item_id) == ["a0"]
        store.write("b", [row("b0")])
    assert list(read_run(tmp_path).item_id) == ["a0", "b0"]


def test_a_run_that_could_not_begin_can_begin_later(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(OSError, match="the disk is full"):
            RunStore.open(tmp_path, CONFIG)
    assert files(tmp_path) == ["run.lock"]
    RunStore.open(tmp_path, CONFIG).close()


@pytest.mark.parametrize("step", ["mkdir", "open", "iterdir"])
def test_a_folder_without_permission_is_refused_clearly(tmp_path, monkeypatch, step):
    monkeypatch.setattr(Path, step, failing(errno.EACCES))
    with pytest.raises(PermissionError, match="no permission to write; change it, or pass another"):
        RunStore.open(tmp_path, CONFIG)


def test_a_part_that_may_not_be_read_is_no_damage(tmp_path, monkeypatch):
    filled(tmp_path)
    before = files(tmp_path)
    monkeypatch.setattr(Path, "read_bytes", failing(errno.EACCES))
    with pytest.raises(PermissionError):
        RunStore.open(tmp_path, CONFIG)
    assert files(tmp_path) == before


# --- one writer -------------------------------------------------------------------------------------


def test_a_second_store_of_this_process_is_refused(tmp_path):
    with (
        RunStore.open(tmp_path, CONFIG) as store,
        pytest.raises(ValueError, match=f"process {os.getpid()} .* is this one: close its store"),
    ):
        RunStore.open(tmp_path, CONFIG)
    RunStore.open(tmp_path, CONFIG).close()
    with pytest.raises(ValueError, match="is closed; open it again"):
        store.write("a", [row()])


def test_a_store_that_could_not_open_leaves_no_lock(tmp_path):
    filled(tmp_path)
    with pytest.raises(ValueError, match="has one configuration"):
        RunStore.open(tmp_path, {})
    RunStore.open(tmp_path, CONFIG).close()


def test_where_files_cannot_be_locked_there_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", failing(errno.ENOTSUP))
    with pytest.warns(UserWarning, match="cannot be locked"):
        RunStore.open(tmp_path, CONFIG).close()


# Without the packages' own imports, so that a child starts in a fraction of a second.
CHILD = """
import importlib, sys, types
for name, folder in (("routelens", sys.argv[1]), ("routelens.sweeps", sys.argv[1] + "/sweeps")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
module = importlib.import_module("routelens.sweeps.store")
store = module.RunStore.open(sys.argv[2], {"model": "tiny"})
print("open", flush=True)
for number in range(100_000):
    unit = f"unit {number:05}"
    if not store.done(unit):
        store.write(unit, [dict(item_id=f"{unit}/{index}", passage_id="p", regime="agnostic",
                                policy="full", prediction="x" * 200) for index in range(5)])
        print(unit, flush=True)
"""


def start(path):
    package = str(Path(store_module.__file__).parent.parent)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, package, str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "open\n"
    return child


def killed(child):
    """Kill the child and return what it had still reported."""
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().splitlines()
    child.wait()
    child.stdout.close()
    return [line for line in rest if len(line) == len("unit 00000")]


def test_a_run_killed_again_and_again_loses_nothing_and_does_nothing_twice(tmp_path):
    reported = []
    for n_units, delay in ((1, 0.0), (3, 0.004), (5, 0.011)):
        child = start(tmp_path)
        reported += [child.stdout.readline().strip() for _ in range(n_units)]
        time.sleep(delay)
        reported += killed(child)
    assert len(set(reported)) == len(reported) >= 9
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(aside|left out).*")
        warnings.filterwarnings("ignore", message=".*other versions.*")
        with RunStore.open(tmp_path, {"model": "tiny"}) as store:
            done = {f"unit {number:05}" for number in range(10_000)}
            done = {unit for unit in done if store.done(unit)}
        frame = read_run(tmp_path)
    # On disk and not reported is at most the unit that was being reported at each kill.
    assert set(reported) <= done and len(done - set(reported)) <= 3
    assert frame.item_id.is_unique and len(frame) == 5 * len(done)
    assert not list(tmp_path.rglob("*.tmp")) and not list(tmp_path.rglob("*.corrupt"))


def test_another_process_is_refused_and_named_until_it_is_gone(tmp_path):
    child = start(tmp_path)
    try:
        with pytest.raises(ValueError, match=f"being written by process {child.pid} on .* stop it"):
            RunStore.open(tmp_path, {"model": "tiny"})
        assert read_run(tmp_path).item_id.is_unique  # reading goes on
    finally:
        killed(child)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RunStore.open(tmp_path, {"model": "tiny"}).close()


class Killed(BaseException):
    """A kill: nothing but ``finally`` runs after it."""


class Torn(io.BufferedWriter):
    """A file whose process is killed in the middle of a write."""

    def write(self, data):
        super().write(data[: len(data) // 2])
        self.flush()
        raise Killed


def test_a_kill_in_the_middle_of_a_write_is_not_seen(tmp_path, monkeypatch):
    store = RunStore.open(tmp_path, CONFIG)
    store.write("a", [row("a0")])
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Path, "open", lambda path, mode: Torn(io.FileIO(path, mode)))
        store.write("b", [row("b0")])
    store.close()
    assert list((tmp_path / "rows").glob(".*.tmp"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_run(tmp_path).item_id) == ["a0"]
        with RunStore.open(tmp_path, CONFIG) as store:
            assert store.done("a") and not store.done("b")
    assert not list((tmp_path / "rows").glob(".*"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kill_at_any_step_leaves_whole_units_of_one_run(tmp_path, monkeypatch, overwrite):
    """Every call that reaches the disk is made the last one in turn."""
    new, begun = {"model": "new"}, filled(tmp_path / "begun")
    for last in range(60):
        path = shutil.copytree(begun, tmp_path / str(last))
        steps = iter(range(60))

        def step(call):
            def made(*args, **kwargs):
                if next(steps) == last:
                    raise Killed
                return call(*args, **kwargs)

            return made

        finished = False
        with monkeypatch.context() as patch:
            for owner, name in ((os, "fsync"), (os, "replace"), (Path, "unlink"), (Path, "open")):
                patch.setattr(owner, name, step(getattr(owner, name)))
            store = None
            try:
                store = RunStore.open(path, new if overwrite else CONFIG, overwrite=overwrite)
                store.write("d", [row("d0"), row("d1")])
                finished = True
            except Killed:
                pass
        if store is not None:
            store.close()  # as the system does when a process ends
        config = read_manifest(path)["config"]
        found = read_run(path).groupby("item_id").size()
        assert set(found) <= {1}
        held = {unit: {f"{unit}0", f"{unit}1"} & set(found.index) for unit in "abcd"}
        assert all(len(ids) in (0, 2) for ids in held.values())
        if not overwrite:
            assert all(held[unit] for unit in "abc")
        elif config == new:
            assert not any(held[unit] for unit in "abc")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = RunStore.open(path, config)
        with again:
            assert again.done("d") == bool(held["d"])
        assert not list(path.rglob("*.tmp"))
        if finished:
            assert held["d"] and last > 5
            return
    raise AssertionError("the write never finished")
