"""The picture of a ticket: every unit has its mark in its layer and column, and no text of a token breaks it."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from routelens.routes.results import Ticket
from routelens.routes.statement import Search
from routelens.routes.units import Space
from routelens.viz import figure_ticket
from routelens.viz.style import render
from routelens.viz.ticket_figure import token_text

TEXTS = [
    " Tokyo",
    "\n",
    "ניסוי",
    " مرحبا",
    "$x^2$",
    "\t",
    "  ",
    "",
    "_a",
    "\u202eabc",
    "\\frac{",
    "x" * 90,
]


def ticket(kind, units, *, n_prefix=12, evidence=(3,), tokens=None, **changes):
    space = Space(kind, 3, 4, 2, 5, n_prefix)
    return Ticket(
        item_id="a/b",
        model="m",
        model_revision="r",
        search=Search(kind),
        space=space,
        status="certified",
        numbers=tuple(sorted(space.numbers(units))),
        answer="Tokyo\n$5$",
        answer_ids=(1,),
        outcome="correct",
        tokens=tuple(tokens or (TEXTS[i % len(TEXTS)] for i in range(n_prefix))),
        evidence_positions=evidence,
        n_candidates=space.n_units,
        **changes,
    )


def marks(fig):
    """(column, height) of every mark."""
    (ax,) = fig.axes
    return {
        tuple(point) for one in ax.collections for point in np.round(one.get_offsets(), 6).tolist()
    }


def texts(fig):
    return [found.get_text() for found in fig.findobj(Text) if found.get_text()]


def test_every_entry_stands_in_its_tokens_column_and_its_layers_band():
    fig = figure_ticket(ticket("kv", [(0, 0, 3), (2, 1, 3), (1, 1, 7)]))
    assert marks(fig) == {(0, -0.25), (0, 2.25), (1, 1.25)}
    labels = [tick.get_text() for tick in fig.axes[0].get_xticklabels()]
    assert [text.split()[-1] for text in labels] == ["3", "7"]
    assert {"K0", "K1"} <= set(texts(fig)) and "L0" in texts(fig) and "L2" in texts(fig)
    (low, high) = fig.axes[0].get_ylim()
    assert low < high  # layers upward


def test_edges_of_one_head_onto_one_token_share_a_mark_that_grows_with_the_rows():
    fig = figure_ticket(ticket("edge", [(1, 2, 0, 5), (1, 2, 4, 5), (0, 3, 1, 5)]))
    (ax,) = fig.axes
    sizes = ax.collections[0].get_sizes()
    assert marks(fig) == {(0, 1.125), (0, 0.375)} and sizes[0] != sizes[1]
    assert any("by 2 rows" in text for text in texts(fig))


def test_a_token_unit_fills_all_layers():
    fig = figure_ticket(ticket("token", [(3,), (4,)]))
    assert len([patch for patch in fig.axes[0].patches if patch.get_width() == 0.6]) == 2
    assert any("all layers" in text for text in texts(fig))


def test_the_evidence_is_starred_and_nothing_else_is():
    fig = figure_ticket(ticket("kv", [(0, 0, 3), (0, 0, 7)], evidence=(3, 9)))
    labels = [tick.get_text() for tick in fig.axes[0].get_xticklabels()]
    assert ["*" in text for text in labels] == [True, False]
    off = figure_ticket(ticket("kv", [(0, 0, 7)], evidence=(3,)))
    assert not any("*" in text for text in texts(off))


def test_it_says_what_it_shows():
    shown = " ".join(texts(figure_ticket(ticket("kv", [(0, 0, 3)]))))
    assert "Tokyo" in shown and "1 of 72 kv units" in shown and "renorm, margin 0.5" in shown
    assert "certified" in shown and "a/b" in shown


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_any_text_of_a_token_draws(format):
    everything = [(0, 0, position) for position in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Glyph")
        data = render(figure_ticket(ticket("kv", everything)), format)
    assert len(data) > 1_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" Tokyo", "Tokyo"),
        ("\n", "↵"),
        ("\n\n", "↵↵"),
        ("\t", "⇥"),
        ("  ", "␣␣"),
        ("", "∅"),
        ("ניסוי", "ניסוי"),
    ],
)
def test_blanks_and_line_ends_are_visible(text, shown):
    assert token_text(text) == shown


def test_a_token_cannot_turn_the_line_around_and_is_not_long():
    assert "\u202e" not in token_text("\u202eabc") and len(token_text("x" * 90)) == 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "no_route_needed"}, "needs nothing"),
        ({"status": "not_answered", "reason": "the full cache's answer is unknown"}, "is unknown"),
        ({"status": "not_answered", "n_candidates": 0, "reason": "r"}, "no kv units"),
    ],
)
def test_a_ticket_without_units_says_why(changes, message):
    fig = figure_ticket(replace(ticket("kv", [(0, 0, 3)]), numbers=(), **changes))
    assert any(message in text for text in texts(fig)) and not fig.axes
    assert render(fig)


def test_a_large_set_still_draws_within_bounds():
    space = Space("kv", 32, 8, 8, 1, 900)
    many = replace(
        ticket("kv", [(0, 0, 3)]),
        space=space,
        numbers=tuple(range(0, space.n_units, 7)),
        tokens=("x",) * 900,
    )
    fig = figure_ticket(many)
    width, height = fig.get_size_inches()
    assert width <= 36 and height <= 12 and len(marks(fig)) == len(many.numbers)
    assert len(fig.axes[0].get_xticks()) <= width / 0.13 and math.isfinite(width)
