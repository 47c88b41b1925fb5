"""Figures show the numbers they say, keep one look a policy, and draw without a display, whatever the data."""

import math
import subprocess
import sys
import warnings

import matplotlib
import numpy as np
import pytest
from made_rows import CLIFF, make_table
from matplotlib.figure import Figure

from routelens.metrics import susceptibility
from routelens.viz.estimates import curve, decomposition
from routelens.viz.figures import (
    FIGURES,
    figure_accuracy,
    figure_association,
    figure_caused_failures,
    figure_decomposition,
    figure_eviction,
    figure_outcomes,
    figure_susceptibility,
)
from routelens.viz.layout import XAxis
from routelens.viz.outcome_figures import peak_text
from routelens.viz.rows import as_sweep
from routelens.viz.style import LOOKS, WIDTH, label, render

SOME = ("full", "expected_attention", "key_norm", "random")


@pytest.fixture(scope="module")
def sweep():
    return as_sweep(make_table(policies=SOME, n_passages=6), n_resamples=200)


@pytest.fixture(scope="module")
def regimes():
    table = make_table(
        policies=SOME, regimes=("agnostic", "aware_list"), tasks=("knowledge", "base")
    )
    return as_sweep(table, n_resamples=100)


def line(ax, series):
    return next(found for found in ax.lines if found.get_label() == series)


def texts(fig: Figure) -> str:
    from matplotlib.text import Text

    return " ".join(found.get_text() for found in fig.findobj(Text))


@pytest.mark.parametrize("spec", FIGURES, ids=[spec.name for spec in FIGURES])
def test_every_figure_says_what_it_shows(spec, regimes):
    fig = spec.draw(regimes)
    shown = texts(fig)
    assert spec.missing(regimes) == "" and spec.enough(regimes)
    assert "made/model-135M" in shown and "24 items on 6 passages" in shown
    assert "agnostic" in shown and "aware_list" in shown and "random" in shown
    assert fig.get_size_inches()[0] == WIDTH and "no data" not in shown
    assert any(ax.get_ylabel() for ax in fig.axes)
    assert any(character.isdigit() for character in spec.alt(regimes))


def test_accuracy_is_plotted_as_it_is(sweep):
    ax = figure_accuracy(sweep).axes[0]
    for series in sweep.series:
        found = line(ax, series.label)
        expected = curve(sweep, "correct", "agnostic", series.label)
        np.testing.assert_array_equal(found.get_xdata(), list(expected))
        np.testing.assert_array_equal(found.get_ydata(), [i.mean for i in expected.values()])


def test_full_is_flat_and_dashed_and_random_is_dotted(sweep):
    ax = figure_accuracy(sweep).axes[0]
    full, random = line(ax, "full"), line(ax, "random")
    assert len(set(full.get_ydata())) == 1 and len(full.get_ydata()) == 14
    assert full.get_color() == LOOKS["full"].color and full.get_linestyle() == "--"
    assert random.get_linestyle() == "--" and random._dash_pattern[1][0] == pytest.approx(1.5)
    assert random.get_ydata()[-1] < full.get_ydata()[-1]


def test_without_a_full_policy_the_full_cache_is_drawn_dashed():
    sweep = as_sweep(make_table(policies=("key_norm",), n_passages=4), n_resamples=50)
    ax = figure_accuracy(sweep).axes[0]
    share = (sweep.items()["full_outcome"] == "correct").mean()
    dashed = [found for found in ax.lines if found.get_color() == LOOKS["full"].color]
    assert [found.get_ydata()[0] for found in dashed] == [pytest.approx(share)]
    assert "full cache" in texts(figure_accuracy(sweep))


def test_a_policy_has_one_look_in_every_figure(sweep):
    for draw in (figure_accuracy, figure_caused_failures, figure_eviction, figure_decomposition):
        for ax in draw(sweep).axes:
            for found in ax.lines:
                if found.get_label() in LOOKS:
                    look = LOOKS[found.get_label()]
                    assert found.get_color() == look.color
                    assert found.get_marker() == (look.marker or "None")


def test_outcome_bars_fill_the_whole(sweep):
    fig = figure_outcomes(sweep)
    for ax in fig.axes[: len(sweep.series)]:
        tops = np.zeros(14)
        for bars in ax.collections:
            for path in bars.get_paths():
                box = path.get_extents()
                tops[round((box.x0 + box.x1) / 2)] += box.height
        np.testing.assert_allclose(tops, 1.0)


def test_delta_ger_has_a_zero_line(sweep):
    ax = figure_eviction(sweep).axes[2]
    assert any(
        set(found.get_ydata()) == {0} and found.get_label().startswith("_") for found in ax.lines
    )


def test_the_terms_of_the_decomposition_add_up(sweep):
    for terms in decomposition(sweep, "layer", "agnostic", "key_norm").values():
        e = terms.p_erased.mean
        parts = [
            0.0 if weight == 0 else share.mean * weight
            for share, weight in (
                (terms.p_failure_given_erased, e),
                (terms.p_failure_given_intact, 1 - e),
            )
        ]
        assert sum(parts) == pytest.approx(terms.p_failure.mean)


def test_points_without_erasure_have_no_failure_given_erasure(sweep):
    found = line(figure_decomposition(sweep).axes[2], "key_norm")
    assert 0.0 not in found.get_xdata() and 0.9 in found.get_xdata()


def test_association_has_no_point_where_nothing_is_evicted(sweep):
    found = line(figure_association(sweep).axes[0], "key_norm")
    assert 0.0 not in found.get_xdata() and min(found.get_ydata()) >= 0


def slopes_of(rates, n=400):
    """The susceptibility of an outcome with these rates, the same in every passage of ten items."""
    ratios = np.repeat(np.linspace(0, 0.9, len(rates)), n)
    outcomes = np.concatenate([np.arange(n) % 10 < round(10 * rate) for rate in rates])
    return susceptibility(
        ratios, outcomes.astype(float), np.tile(np.arange(n) // 10, len(rates)), n_resamples=50
    )


def test_a_peak_is_claimed_only_inside_the_grid():
    assert peak_text(slopes_of([0, 0, 0.1, 0.9, 1.0, 1.0])) == "interior peak at 0.45"
    assert peak_text(slopes_of([0, 0, 0, 0.1, 0.3, 0.9])) == "peak at the grid's end: no claim"
    assert peak_text(slopes_of([0, 0.8, 0.9, 0.9])) == "peak at the grid's start: no claim"
    assert peak_text(slopes_of([0.5, 0.5, 0.5])) == "flat: χ = 0"
    assert "one grid point" in peak_text(slopes_of([0.5]))


def test_the_claim_stands_in_the_figure(sweep):
    shown = texts(figure_susceptibility(sweep))
    assert "no claim" in shown or "interior peak" in shown


def test_the_fine_end_of_the_grid_is_legible():
    axis = XAxis("ratio", (0.0, 0.1, 0.5, 0.9, 0.925, 0.95, 0.975, 0.99))
    fig = Figure(figsize=(3, 2))
    ax = fig.subplots()
    axis.apply(ax)
    place = ax.transAxes.inverted().transform(
        ax.transData.transform([(x, 0) for x in axis.points])
    )[:, 0]
    assert (np.diff(place) > 0.03).all() and place[-1] - place[3] > 0.2
    assert place[0] > 0 and place[-1] < 1
    assert "stretched" in axis.text and "stretched" not in XAxis("ratio", (0.0, 0.9)).text


def test_budgets_stand_on_a_log_axis_with_compression_to_the_right():
    sweep = as_sweep(make_table(n_passages=3, ratios=(), budgets=(4, 16, 64, 256)), n_resamples=50)
    ax = figure_accuracy(sweep).axes[0]
    assert ax.get_xscale() == "log" and ax.xaxis.get_transform().base == 2
    assert ax.get_xlim()[0] > ax.get_xlim()[1]
    assert "budget" in texts(figure_accuracy(sweep))


@pytest.mark.parametrize(
    "format, magic", [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_a_figure_is_the_same_file_every_time(sweep, format, magic):
    first, second = (render(figure_caused_failures(sweep), format) for _ in range(2))
    assert first.startswith(magic) and first == second


def test_names_in_any_script_or_markup_are_drawn_without_a_word():
    names = {"full": "$x_{", "key_norm": "_hidden", "random": "模型 עברית 🙂\x00\n</script>"}
    table = make_table(n_passages=3, n_questions=2, policies=tuple(names), ratios=(0.0, 0.5, 0.9))
    table["policy"] = table["policy"].map(names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for format in ("png", "svg", "pdf"):
            fig = figure_accuracy(as_sweep(table, n_resamples=20))
            assert len(render(fig, format)) > 1000
    assert len(fig.legends[0].get_texts()) == 4


def test_labels_hold_no_mathematics_and_no_control_characters():
    assert label("$a$\x00b") == "\\$a\\$\N{REPLACEMENT CHARACTER}b"
    assert not label("_a").startswith("_") and len(label("x" * 99)) == 44


def test_an_unknown_format_is_refused(sweep):
    with pytest.raises(ValueError, match=r"png, pdf, svg; got 'bmp'"):
        render(figure_outcomes(sweep), "bmp")


def test_the_callers_settings_neither_leak_in_nor_change(sweep):
    expected = render(figure_caused_failures(sweep))
    with matplotlib.rc_context(
        {"text.usetex": True, "lines.linewidth": 9, "axes.facecolor": "red"}
    ):
        before = dict(matplotlib.rcParams)
        assert render(figure_caused_failures(sweep)) == expected
        assert dict(matplotlib.rcParams) == before


def test_pyplot_is_never_loaded():
    code = "import sys, routelens.viz; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_many_policies_and_regimes_still_fit():
    table = make_table(
        policies=tuple(CLIFF),
        n_passages=2,
        n_questions=1,
        regimes=("agnostic", "aware_one", "aware_list", "score_only"),
    )
    fig = figure_accuracy(as_sweep(table, n_resamples=20))
    fig.canvas.draw()
    boxes = [ax.get_window_extent() for ax in fig.axes]
    legend = fig.legends[0].get_window_extent()
    assert all(box.width > 100 for box in boxes) and legend.y0 > max(box.y1 for box in boxes)
    assert legend.x1 <= fig.bbox.x1 and math.isclose(fig.get_size_inches()[0], WIDTH)
