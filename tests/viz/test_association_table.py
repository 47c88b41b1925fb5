"""The report sets the three answers to D13 side by side, and compares shapes where the command line asks for it."""

import math
import re

import pytest
from made_rows import make_rows, make_table

from routelens.cli import main
from routelens.metrics import Interval
from routelens.sweeps.store import RunStore
from routelens.viz import report
from routelens.viz.association import association, correlation, effect
from routelens.viz.rows import as_sweep
from routelens.viz.tables import association_table
from routelens.viz.wording import estimate


def cells_of(markup: str, policy: str) -> list[str]:
    (row,) = re.findall(rf'<th scope="row">{policy}</th>(.*?)</tr>', markup)
    return [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]


def test_each_policy_has_its_correlation_area_and_effect_in_one_row():
    sweep = as_sweep(make_table(n_passages=8, n_questions=5), n_resamples=100)
    found = cells_of(association_table(sweep), "key_norm")
    r = correlation(sweep, "agnostic", "key_norm")
    area = association(sweep, "agnostic", "key_norm")[0.9]
    slope = effect(sweep, "agnostic", "key_norm")
    assert found[0] == "agnostic"
    assert found[1:3] == [f"{r.mean:.2f} [{r.low:.2f}, {r.high:.2f}]", str(r.n)]
    assert found[3].startswith(f"{area.mean:.2f} [")
    assert re.fullmatch(r"0\.\d\d to [01]\.\d\d, \d+ points", found[4])
    coefficient = slope.coefficient
    assert found[5].startswith(f"{coefficient.mean:.2f} [{coefficient.low:.2f}, ")
    assert found[6] == f"{coefficient.n:,} at {slope.n_levels} points"
    assert 'scope="row">full<' not in association_table(sweep)


def test_ger_without_a_link_to_hallucination_correlates_and_has_no_effect():
    """Both rates rise with the ratio, while within a ratio which item lost its evidence is a matter of shuffling."""
    table = make_table(policies=("full", "key_norm"), n_passages=30, n_questions=4)
    table["ger_layer"] = table.groupby(["policy", "compression_ratio"])["ger_layer"].transform(
        lambda column: column.sample(frac=1, random_state=0).to_numpy()
    )
    sweep = as_sweep(table, n_resamples=200)
    assert correlation(sweep, "agnostic", "key_norm").low > 0.5
    slope = effect(sweep, "agnostic", "key_norm").coefficient
    assert slope.low < 0 < slope.high


def test_a_linked_ger_has_an_effect_at_fixed_ratios():
    table = make_table(policies=("full", "key_norm"), n_passages=30, n_questions=4)
    linked = (table["outcome"] == "hallucination") & (table["compression_ratio"] > 0)
    table["ger_layer"] = 0.8 * table["ger_layer"] + 0.1 * linked
    table.loc[table["compression_ratio"] == 0, "ger_layer"] = 0.0
    assert effect(as_sweep(table, n_resamples=200), "agnostic", "key_norm").coefficient.low > 0


def test_what_has_no_bound_is_written_as_infinite():
    separated = Interval(math.inf, 2.0, math.inf, 10, 3, 0)
    assert estimate(separated) == "∞ <small>[2.00, ∞]</small>"
    assert estimate(Interval(-math.inf, -math.inf, 1.0, 10, 3, 0)).startswith("-∞ ")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FIGURES", report.FIGURES[8:12])
    with RunStore.open(tmp_path / "run", {"model": "made/model-135M"}) as store:
        store.write("unit", make_rows(n_passages=3, n_questions=2, ratios=(0.0, 0.3, 0.6, 0.9)))
    return tmp_path / "run"


def test_the_command_compares_shapes_when_asked(run):
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "(a) r" in page and "(b) AUROC" in page and "(c) log-odds per unit of GER" in page
    assert "best shape" not in page
    assert main(["report", str(run), "--shapes"]) == 0
    assert "best shape" in (run / "report.html").read_text(encoding="utf-8")


def test_formats_of_figures_may_be_spaced_or_none(run, capsys):
    assert main(["report", str(run), "--figures", "pdf, svg"]) == 0
    assert {file.suffix for file in (run / "figures").iterdir()} == {".pdf", ".svg"}
    assert main(["report", str(run), "--figures", ""]) == 0
    assert "0 figures" not in capsys.readouterr().out
    assert main(["report", str(run), "--figures", "gif"]) == 2
    assert "png, pdf, svg; got 'gif'" in capsys.readouterr().err
