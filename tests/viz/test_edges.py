"""A run that lacks something gives a report that says so."""

import pandas as pd
import pytest
from made_rows import as_table, make_rows, make_table, manifest
from test_report import Page

from routelens.viz import FIGURES, report, write_report

SMALL = {
    "policies": ("full", "key_norm", "random"),
    "ratios": (0.0, 0.5, 0.9),
    "n_passages": 2,
    "n_questions": 2,
}
EVIL = "</script><img src=x onerror=alert(1)>\"'&\n\x00\x1b[31m🙂 \u202eabc עברית \ud800 $a_{b$ _x"
TEXTS = (
    "policy",
    "regime",
    "task",
    "model",
    "item_id",
    "passage_id",
    "policy_config",
    "question",
    "prediction",
    "gold",
)


def without(table: pd.DataFrame, keep: tuple[str, ...]) -> pd.DataFrame:
    """The table with every other column missing."""
    bare = table.astype(object)
    for name in bare.columns.difference(keep):
        bare[name] = None
    return bare


def written(table: pd.DataFrame, tmp_path) -> tuple[report.Report, Page]:
    done = write_report(table, tmp_path, n_resamples=30)
    return done, Page(done.html.read_text(encoding="utf-8"))


def test_no_rows_yet(tmp_path):
    table = make_table(**SMALL).iloc[:0]
    table.attrs["manifest"] = manifest()
    done, page = written(table, tmp_path)
    assert "there are no rows yet" in done.gaps and "nothing to summarise" in page.words
    assert done.figures == () and "made/model-135M" in page.words


def test_a_table_without_a_single_column(tmp_path):
    done, _ = written(pd.DataFrame(), tmp_path)
    assert any("columns that the rows lack" in gap for gap in done.gaps)


def test_one_item_at_one_ratio(tmp_path):
    done, page = written(
        make_table(**SMALL | {"n_passages": 1, "n_questions": 1, "ratios": (0.9,)}), tmp_path
    )
    assert "agnostic: one passage, so no intervals" in done.gaps
    assert "susceptibility" not in {path.stem for path in done.figures}
    assert len(page.all("img")) == len(done.figures) > 5


def test_no_located_evidence(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[:2] + FIGURES[10:15])
    done, page = written(make_table(**SMALL, unanswerable=4), tmp_path)
    assert any(
        "Failure decomposed by erasure" in gap and "erased_layer" in gap for gap in done.gaps
    )
    assert "no failure has located evidence" in page.words
    assert {"outcomes", "accuracy"} <= {path.stem for path in done.figures}


def test_nothing_measured(tmp_path):
    keys = (
        "item_id",
        "passage_id",
        "regime",
        "policy",
        "policy_config",
        "compression_ratio",
        "task",
        "seed",
    )
    done, page = written(without(make_table(**SMALL), keys), tmp_path)
    named = {spec.title for spec in FIGURES if spec.name != "tasks"}
    assert done.figures == () and all(any(title in gap for gap in done.gaps) for title in named)
    assert "No row says how the full cache did" in page.words


@pytest.mark.parametrize(
    "column",
    [
        "ger_layer",
        "head_agreement",
        "drift_by_layer",
        "accessible",
        "full_outcome",
        "n_kept_mean",
        "kv_bytes",
    ],
)
def test_one_measure_missing_everywhere(column, tmp_path, monkeypatch):
    monkeypatch.setattr(
        report, "FIGURES", tuple(s for s in FIGURES if column in s.columns or s.name == "triad")
    )
    table = make_table(**SMALL).astype({column: object})
    table[column] = None
    written(table, tmp_path)


def test_only_the_control(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[:1] + FIGURES[8:12])
    done, page = written(make_table(**SMALL | {"policies": ("full",)}), tmp_path)
    assert "the control random did not run (it shows the floor)" in done.gaps
    assert "no example to show" in page.words


def test_a_run_in_progress_names_what_is_short(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[1:2])
    table = make_table(**SMALL, regimes=("agnostic", "aware_list"))
    last = (table["item_id"] == "p1-q1") & (table["regime"] == "aware_list")
    table = table[~last].drop(index=0)
    grid = {"regimes": ["agnostic", "aware_list", "aware_one"]}
    table.attrs["manifest"] = manifest() | {"config": {"grid": grid}}
    done, _ = written(table, tmp_path)
    said = "; ".join(done.gaps)
    assert "aware_list has 3 of 4 items so far" in said and "no rows yet: aware_one" in said
    assert "agnostic: 1 item lacks some policies or grid points" in said


def test_ratios_and_budgets_in_one_run(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[1:2])
    done, page = written(make_table(**SMALL, budgets=(4, 64)), tmp_path)
    assert [path.name for path in done.figures] == ["accuracy.png", "budget_accuracy.png"]
    assert "Summary by ratio" in page.words and "Summary by budget" in page.words
    assert set(done.numbers["axis"]) == {"ratio", "budget"}


def test_hostile_text_everywhere(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[::3])
    rows = [
        row | {"outcome": "hallucination" if row["compression_ratio"] else "correct"}
        for row in make_rows(**SMALL)
    ]
    table = as_table([row | {"full_outcome": "correct"} for row in rows]).astype(object)
    for name in TEXTS:
        table[name] = pd.Series([f"{value}{EVIL}" for value in table[name]], dtype=object)
    table.attrs["manifest"] = manifest() | {"model": EVIL, EVIL: EVIL, "versions": {EVIL: EVIL}}
    done, page = written(table, tmp_path)
    markup = done.html.read_text(encoding="utf-8")
    assert "\x00" not in markup and "\x1b" not in markup and "\u202e" not in markup
    assert not page.all("script") and all(a["src"].startswith("data:") for a in page.all("img"))
    assert not [
        name for _, attributes in page.found for name in attributes if name.startswith("on")
    ]
    assert len(page.all("figure")) == len(done.figures) > 4


def test_shapes_are_compared_on_request(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[8:9])
    table = make_table(**SMALL)
    asked = write_report(table, tmp_path / "a", n_resamples=30, shapes=True).html.read_text()
    assert "best shape" in asked and "undecided" in asked  # two passages are too few to say
    assert "best shape" not in write_report(table, tmp_path / "b", n_resamples=30).html.read_text()


def test_two_reports_of_the_same_rows_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", FIGURES[:2])
    table = make_table(**SMALL)
    first = write_report(table, tmp_path / "a", n_resamples=30).html.read_bytes()
    assert (
        write_report(
            table.sample(frac=1, random_state=0), tmp_path / "b", n_resamples=30
        ).html.read_bytes()
        == first
    )
