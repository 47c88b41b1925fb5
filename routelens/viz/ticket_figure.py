"""A picture of one ticket: its tokens along x, layers upward, a mark for every layer and head that reads a token.

Within a layer's band heads stand one above the other, head 0 lowest. Tokens that the ticket does not stand on are left out; a
dashed line shows where some are missing.
"""

import math
from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from routelens.routes.results import Ticket
from routelens.viz.style import DPI, GRID, INK, LOOKS, MUTED, WIDTH, label, styled

MARK = LOOKS["expected_attention"].color
EVIDENCE = LOOKS["adakv"].color
_GLYPHS = {"\n": "↵", "\r": "↵", "\t": "⇥"}
_COLUMN, _WIDEST = (0.24, 0.9), 36.0
_BAND, _TALLEST = (0.13, 0.36), 9.0
_NAMED = 60
_TEXT = 16
_LTR = "\N{LEFT-TO-RIGHT MARK}"


@styled
def figure_ticket(ticket: Ticket) -> Figure:
    """The ticket as a matplotlib figure: which heads of which layers read which tokens; inches grow with tokens and layers.

    An edge's mark grows with the number of question and answer rows that read the token; a ``token`` unit fills all layers. A ticket
    without units gives a page that says why.
    """
    space, positions = ticket.space, ticket.positions
    n_layers = 1 if space.kind == "token" else space.n_layers
    width = min(max(WIDTH, 1.0 + _COLUMN[0] * len(positions)), _WIDEST)
    band = min(max(_BAND[0], 0.055 * _heads(ticket)), _BAND[1])
    body = min(max(0.9, band * n_layers), _TALLEST) if positions else 0.3
    texts = [_tick(ticket, position) for position in positions]
    head, foot = 0.92, 0.45 + 0.06 * max(map(len, texts), default=0)
    height = head + body + foot
    fig = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(fig)
    _titles(fig, ticket)
    if not positions:
        reason = ticket.reason or "the answer needs nothing of the passage"
        fig.text(0.12 / width, foot / height, label(reason, 100))
        return fig
    column = min((width - 0.87) / len(positions), _COLUMN[1])
    across = max(column * len(positions), 1.8)
    ax = fig.add_axes((0.72 / width, foot / height, across / width, body / height))
    _frame(ax, ticket, n_layers, tick_inches=body / n_layers)
    _tokens(ax, ticket, texts, inches=column)
    if space.kind == "token":
        _columns(ax, len(positions))
    else:
        _marks(ax, ticket)
    _legend(fig, ticket)
    return fig


def token_text(text: str) -> str:
    """A token as it can stand on an axis: blanks and line ends visible, nothing that matplotlib would obey, and not long."""
    shown = text.strip(" ") or "␣" * min(len(text), 3) or "∅"
    shown = "".join(_GLYPHS.get(c, c) for c in shown)
    return label(shown, _TEXT)


def _tick(ticket: Ticket, position: int) -> str:
    """A token's text and position, starred on the evidence. Marks of direction keep the parts in place beside a right-to-left text."""
    star = "* " if position in ticket.evidence_positions else ""
    return f"{_LTR}{star}{token_text(ticket.tokens[position])}{_LTR}  {position}"


def _heads(ticket: Ticket) -> int:
    return {"edge": ticket.space.n_heads, "kv": ticket.space.n_kv_heads, "token": 1}[
        ticket.space.kind
    ]


def _titles(fig: Figure, ticket: Ticket) -> None:
    width, height = fig.get_size_inches()
    search = ticket.search
    said = label(" ".join(ticket.answer.split()) or ticket.answer, 60)
    size = (
        f"{ticket.size} of {ticket.n_candidates:,} {search.unit} units ({ticket.share:.2%})"
        if ticket.n_candidates
        else f"no {search.unit} units"
    )
    status = ticket.status.replace("_", " ")
    line = f"{status} · {size} · {search.ablation}, margin {search.margin:g} · {label(ticket.model, 30)} · item {label(ticket.item_id, 30)}"
    title = f"Ticket for “{said}”"
    fig.text(0.12 / width, 1 - 0.12 / height, title, fontsize=11, fontweight="bold", va="top")
    fig.text(0.12 / width, 1 - 0.36 / height, line, fontsize=8, color=MUTED, va="top")


def _frame(ax: Axes, ticket: Ticket, n_layers: int, *, tick_inches: float) -> None:
    ax.set_ylim(-0.5, n_layers - 0.5)
    ax.set_xlim(-0.6, len(ticket.positions) - 0.4)
    ax.grid(False)
    for border in range(1, n_layers):
        ax.axhline(border - 0.5, color=GRID, lw=0.7, zorder=0)
    if ticket.space.kind == "token":
        ax.set_yticks([0], ["all layers\nand heads"])
        return
    every = max(1, math.ceil(0.16 / tick_inches))
    ax.set_yticks(range(0, n_layers, every), [f"L{at}" for at in range(0, n_layers, every)])
    ax.set_ylabel("layer")


def _tokens(ax: Axes, ticket: Ticket, texts: Sequence[str], *, inches: float) -> None:
    """Position and text of each token; those of the evidence starred, bold, and on a tinted ground."""
    positions, evidence = ticket.positions, set(ticket.evidence_positions)
    every = max(1, math.ceil(0.13 / inches))
    shown = range(0, len(positions), every)
    ax.set_xticks(list(shown), [texts[at] for at in shown], rotation=90, fontsize=7.5)
    for at, tick in zip(shown, ax.get_xticklabels(), strict=True):
        if positions[at] in evidence:
            tick.set(color=EVIDENCE, fontweight="bold")
    for at, position in enumerate(positions):
        if position in evidence:
            ax.axvspan(at - 0.5, at + 0.5, color=EVIDENCE, alpha=0.12, lw=0, zorder=0)
        if at and positions[at - 1] != position - 1:
            ax.axvline(at - 0.5, color="#c4cad1", lw=0.7, ls=(0, (2, 2)), zorder=0)
    ax.set_xlabel("token of the prefix, and its position")


def _marks(ax: Axes, ticket: Ticket) -> None:
    """A mark a (layer, head) at each token, larger where several rows read it, with the head's name where there is room."""
    column = {position: at for at, position in enumerate(ticket.positions)}
    heads = _heads(ticket)
    rows = Counter((unit[0], unit[1], unit[-1]) for unit in ticket.units)
    xs = [column[position] for _, _, position in rows]
    ys = [layer + (head + 0.5) / heads - 0.5 for layer, head, _ in rows]
    areas = [_area(n) for n in rows.values()]
    ax.scatter(xs, ys, s=areas, color=MARK, edgecolor="white", lw=0.5, zorder=3)
    if len(rows) <= _NAMED and len(column) <= 24:
        letter = "H" if ticket.space.kind == "edge" else "K"
        for (_, head, _), x, y in zip(rows, xs, ys, strict=True):
            ax.annotate(
                f"{letter}{head}",
                (x, y),
                xytext=(-4.5 if head % 2 else 4.5, 0),  # neighbours on either side
                textcoords="offset points",
                ha="right" if head % 2 else "left",
                fontsize=6,
                va="center",
                color=INK,
            )


def _area(n_rows: int) -> float:
    return 22 + 12 * min(n_rows - 1, 6)


def _columns(ax: Axes, n: int) -> None:
    for at in range(n):
        ax.add_patch(Rectangle((at - 0.3, -0.42), 0.6, 0.84, color=MARK, lw=0, zorder=3))


def _legend(fig: Figure, ticket: Ticket) -> None:
    width, height = fig.get_size_inches()
    handles: list[Patch | Line2D] = []
    if ticket.space.kind == "token":
        handles.append(Patch(color=MARK, label="kept in all layers and heads"))
    else:
        handles += _mark_handles(ticket)
    if ticket.touches_evidence:
        handles.append(Patch(color=EVIDENCE, alpha=0.3, label="* token of the answer"))
    if ticket.positions[-1] - ticket.positions[0] >= len(ticket.positions):
        gap = Line2D([], [], color="#9aa3ad", ls=(0, (2, 2)), lw=0.8, label="tokens left out")
        handles.append(gap)
    fig.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.07 / width, 1 - 0.54 / height),
        ncols=len(handles),
        columnspacing=1.3,
        handletextpad=0.5,
        borderaxespad=0.1,
    )


def _mark_handles(ticket: Ticket) -> Sequence[Line2D]:
    last = _heads(ticket) - 1

    def mark(n_rows: int, text: str) -> Line2D:
        size = math.sqrt(_area(n_rows))
        return Line2D([], [], ls="", marker="o", color=MARK, mec="white", ms=size, label=text)

    if ticket.space.kind == "kv":
        return [mark(1, f"KV entry (within a layer KV head 0 to {last}, upward)")]
    most = max(Counter((unit[0], unit[1], unit[-1]) for unit in ticket.units).values())
    several = [mark(most, f"by {most} rows")] if most > 1 else []
    return [mark(1, f"read by one row (within a layer head 0 to {last}, upward)"), *several]
