"""The report is one file that needs nothing, says what the rows say, and tells a reader what it leaves out."""

import re
import socket
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from made_rows import make_rows, make_table, manifest

from routelens.metrics import ABSTENTION_PATTERNS, bootstrap_mean
from routelens.sweeps.store import COLUMNS, RunStore
from routelens.viz import FIGURES, report, write_report
from routelens.viz.examples import choose_examples
from routelens.viz.page import text
from routelens.viz.rows import as_sweep
from routelens.viz.summary import findings, half_lost

OPTIONS = {
    "policies": ("full", "adakv", "key_norm", "random"),
    "n_passages": 10,
    "n_questions": 3,
    "tasks": ("knowledge", "base"),
    "unanswerable": 2,
}


class Page(HTMLParser):
    """The page's tags with their attributes, and its text."""

    def __init__(self, markup: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.words = ""
        self.feed(re.sub(r"<style>.*?</style>", "", markup, flags=re.S))

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data):
        self.words += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def rows():
    table = make_table(**OPTIONS)
    table.loc[table["policy"] == "adakv", "attainable"] = table["compression_ratio"] < 0.95
    return table


@pytest.fixture(scope="module")
def made(rows, tmp_path_factory):
    return write_report(rows, tmp_path_factory.mktemp("report"), n_resamples=300)


@pytest.fixture(scope="module")
def markup(made):
    return made.html.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def opened(markup):
    return Page(markup)


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr(report, "FIGURES", ())


def test_it_needs_no_network_and_runs_no_script(markup, opened):
    links = [
        a[name] for _, a in opened.found for name in ("src", "href", "srcset", "data") if name in a
    ]
    assert links and all(link.startswith(("data:", "#")) for link in links)
    assert not re.search(r"@import|url\(|https?://", markup) and not opened.all("script")
    assert not [name for _, a in opened.found for name in a if name.startswith("on")]
    assert len(markup) < 6_000_000


def test_every_figure_is_in_it_and_beside_it(made, opened):
    assert [path.stem for path in made.figures] == [spec.name for spec in FIGURES]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in made.figures)
    assert len(opened.all("img")) == len(opened.all("figure")) == len(FIGURES)


def test_every_picture_is_told_in_words_with_numbers(opened):
    for picture in opened.all("img"):
        assert len(picture["alt"]) > 60 and re.search(r"\d", picture["alt"])
        assert int(picture["width"]) > 500 and int(picture["height"]) > 100


def test_it_is_ordered_and_reachable(opened):
    ids = Counter(a["id"] for _, a in opened.found if "id" in a)
    assert max(ids.values()) == 1
    targets = [a["href"][1:] for a in opened.all("a")]
    assert len(targets) > 10 and set(targets) <= set(ids)
    levels = [int(tag[1]) for tag, _ in opened.found if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1 and all(
        b - a <= 1 for a, b in zip(levels, levels[1:], strict=False)
    )
    assert opened.all("html")[0]["lang"] == "en" and opened.all("main") and opened.all("nav")
    assert len(opened.all("caption")) == len(opened.all("table"))
    assert {a["scope"] for a in opened.all("th")} == {"col", "row"}


def test_light_and_dark_are_both_there(markup):
    assert "prefers-color-scheme:dark" in markup and 'content="light dark"' in markup


def test_it_says_what_it_is_and_what_it_is_not(opened):
    assert (
        "simulated by masking" in opened.words and "no claim on memory or latency" in opened.words
    )
    assert "in the spirit of arXiv 2603.01426, not a reproduction" in opened.words
    for number in ("D1", "D3", "D6", "D10", "D13", "D14", "D24"):
        assert number in opened.words


def test_it_prints_the_abstentions_the_terms_and_the_manifest(opened):
    for patterns in ABSTENTION_PATTERNS.values():
        assert all(pattern in opened.words for pattern in patterns)
    assert all(name in opened.words for name, _, _ in COLUMNS)
    for value in (
        "made/model-135M",
        "abc123",
        "float32",
        "3.11.2",
        "0123456789abcdef",
        "max_new_tokens",
    ):
        assert value in opened.words


def test_its_numbers_are_those_of_the_rows(made, rows):
    numbers = made.numbers.set_index(["regime", "policy", "x", "measure"])
    for policy, ratio in (("key_norm", 0.5), ("adakv", 0.95), ("full", 0.9)):
        here = rows[(rows["policy"] == policy) & (rows["compression_ratio"] == ratio)]
        right = (here["outcome"] == "correct").groupby(here["task"]).mean().mean()
        found = numbers.loc[("agnostic", policy, ratio, "correct")]
        assert found["mean"] == pytest.approx(right) and found["n"] == 30
        ger = here.groupby("task")["ger_layer"].mean().mean()
        assert numbers.loc[("agnostic", policy, ratio, "ger_layer"), "mean"] == pytest.approx(ger)
        assert numbers.loc[("agnostic", policy, ratio, "ger_layer"), "n"] == 28


def test_the_table_shows_the_numbers(made, opened):
    numbers = made.numbers.set_index(["policy", "x", "measure"])
    found = numbers.loc[("key_norm", 0.5, "correct")]
    assert f"{found['mean']:.2f} [{found['low']:.2f}, {found['high']:.2f}]" in opened.words


def test_the_summary_says_where_half_of_the_accuracy_is_lost(rows, opened):
    sweep = as_sweep(rows, n_resamples=50)
    full = (sweep.items()["full_outcome"] == "correct").groupby(sweep.items()["task"]).mean().mean()
    accuracy = {
        ratio: (part["outcome"] == "correct").groupby(part["task"]).mean().mean()
        for ratio, part in rows[rows["policy"] == "key_norm"].groupby("compression_ratio")
    }
    expected = min(ratio for ratio, value in accuracy.items() if value <= full / 2)
    found = half_lost(sweep, "agnostic", "key_norm", full)
    assert found is not None and found.x == expected
    assert f"lost first by key_norm (between {found.before:.4g} and {expected:.4g})" in opened.words
    assert half_lost(sweep, "agnostic", "full", full) is None


def test_the_summary_splits_failures_by_erasure(rows):
    found = {f.series.label: f for f in findings(as_sweep(rows, n_resamples=100))}
    here = rows[
        (rows["policy"] == "key_norm")
        & (rows["compression_ratio"] == 0.9)
        & (rows["outcome"] != "correct")
    ]
    known = here[here["erased_layer"].notna()]
    expected = bootstrap_mean(
        known["erased_layer"].astype(float).to_numpy(), known["passage_id"], n_resamples=100
    )
    assert found["key_norm"].n_failures == len(here)
    assert found["key_norm"].n_erased == known["erased_layer"].sum()
    assert found["key_norm"].erased == expected


def test_a_control_that_is_not_flat_is_denounced(rows, no_figures, tmp_path, opened):
    assert "the same outcome at each grid point, as it has to" in opened.words
    broken = rows.copy()
    at = broken.index[(broken["policy"] == "full") & (broken["compression_ratio"] == 0.5)][0]
    broken.loc[at, "outcome"] = "unknown" if broken.loc[at, "outcome"] == "correct" else "correct"
    words = Page(write_report(broken, tmp_path, n_resamples=20).html.read_text()).words
    assert "The control full is not flat: 1 item" in words


def test_what_was_not_counted_is_counted(rows, opened):
    words = " ".join(opened.words.split())
    lost = int(rows["ger_layer"].isna().sum())
    assert lost and f"GER, ΔGER, retention{lost:,}{len(rows):,}" in words.replace(" GER", "GER")
    unattained = int((~rows["attainable"].astype(bool)).sum())
    assert unattained and f"adakvagnostic{unattained:,}" in words


def test_examples_follow_the_rule_and_not_the_answers(rows):
    chosen = choose_examples(as_sweep(rows, n_resamples=20))
    assert len(chosen) == 12 and len({item for _, _, item in chosen}) == 12
    assert [series.label for series, _, _ in chosen[:3]] == ["adakv", "key_norm", "random"]
    for series, regime, item in chosen:
        here = rows[
            (rows["policy"] == series.label)
            & (rows["regime"] == regime)
            & (rows["item_id"] == item)
        ]
        assert (here["transition"] == "C->W").any()
    changed = rows.copy()
    changed["prediction"] = "other words"
    assert [c[1:] for c in choose_examples(as_sweep(changed, n_resamples=20))] == [
        c[1:] for c in chosen
    ]


def test_a_run_has_its_report_in_its_folder(no_figures, tmp_path, capsys, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a report opens no socket")

    monkeypatch.setattr(socket, "socket", refuse)
    path = tmp_path / "run"
    config = {"model": "made/model-135M", "grid": {"regimes": ["agnostic", "aware_one"]}}
    with RunStore.open(path, config, info={"n_rows": 1000}) as store:
        store.write("p0/agnostic", make_rows(n_passages=1))
        partial = write_report(path, n_resamples=20)
    done = write_report(path, n_resamples=20)
    assert done.html == path / "report.html" and done.html.is_file()
    assert any("still being written" in gap for gap in partial.gaps)
    assert not any("still being written" in gap for gap in done.gaps)
    assert any("of 1,000 rows" in gap for gap in done.gaps) and any(
        "aware_one" in gap for gap in done.gaps
    )
    assert capsys.readouterr() == ("", "")
    np.testing.assert_array_equal(done.numbers["mean"], partial.numbers["mean"])


def test_a_file_of_rows_that_cannot_be_read_is_named(no_figures, tmp_path, capsys):
    path = tmp_path / "run"
    with RunStore.open(path, {"model": "m"}) as store:
        store.write("a", make_rows(n_passages=1))
    (path / "rows" / "part-000.parquet").write_bytes(b"cut")
    done = write_report(path, n_resamples=20)
    assert any("part-000.parquet" in gap for gap in done.gaps)
    assert capsys.readouterr() == ("", "")


def test_its_files_go_where_they_are_sent(monkeypatch, tmp_path):
    rows = make_table(n_passages=2, ratios=(0.0, 0.9))
    monkeypatch.setattr(report, "FIGURES", FIGURES[2:3])
    done = write_report(
        rows,
        tmp_path / "deep" / "page.html",
        figures=("pdf", "svg"),
        title="A <b>title",
        n_resamples=20,
    )
    assert (
        done.html == tmp_path / "deep" / "page.html"
        and "<title>A &lt;b&gt;title" in done.html.read_text()
    )
    folder = tmp_path / "deep" / "figures"
    assert done.figures == (folder / "caused_failures.pdf", folder / "caused_failures.svg")
    assert sorted(path.name for path in folder.iterdir()) == [
        "caused_failures.pdf",
        "caused_failures.svg",
    ]
    alone = write_report(rows, tmp_path / "alone", figures=(), n_resamples=20)
    assert alone.figures == () and [p.name for p in (tmp_path / "alone").iterdir()] == [
        "report.html"
    ]


def test_what_cannot_be_done_is_refused(rows, tmp_path):
    with pytest.raises(ValueError, match="pass out"):
        write_report(rows)
    with pytest.raises(ValueError, match="png, pdf, svg; got 'bmp'"):
        write_report(rows, tmp_path, figures=("bmp",))
    with pytest.raises(ValueError, match="at least 1; got 0"):
        write_report(rows, tmp_path, n_resamples=0)
    with pytest.raises(ValueError, match="is not a run"):
        write_report(tmp_path / "nothing")


def test_the_manifest_is_shown_as_text(no_figures, tmp_path):
    table = make_table(n_passages=2)
    evil = '<script>alert("x")</script>'
    table.attrs["manifest"] = manifest() | {"model": evil, "config": {evil: [evil]}}
    found = Page(write_report(table, tmp_path, n_resamples=20).html.read_text())
    assert not found.all("script") and text(evil) in (tmp_path / "report.html").read_text()
