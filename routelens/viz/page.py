"""The report as one HTML file: no script, nothing loaded from anywhere, light and dark, readable by keyboard and aloud.

Every text that comes from data goes through :func:`text` (or :func:`inline`), which escapes it and makes invisible characters visible.
"""

import base64
import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SHOWN = {"\n": "↵ ", "\t": "⇥", "\r": "␍", "\x7f": "␡"}


@dataclass(frozen=True)
class Section:
    """A part of the report; ``body`` is HTML."""

    id: str
    title: str
    body: str


def text(value: Any, *, limit: int | None = None, missing: str = "–") -> str:
    """A value from data, safe in HTML: escaped, invisible characters visible, cut after ``limit`` characters."""
    if value is None or value != value:
        return missing
    shown = str(value)
    cut = (
        f" … (+{len(shown) - limit:,} characters)"
        if limit is not None and len(shown) > limit
        else ""
    )
    return html.escape("".join(map(_visible, shown[:limit])) + cut, quote=True)


def inline(value: Any, *, limit: int | None = None) -> str:
    """A text of unknown direction, kept apart from the text around it."""
    if value is not None and value == value and not str(value).strip():
        return (
            '<span class="empty">(empty)</span>'
            if not str(value)
            else f'<bdi class="empty">{_blank(str(value))}</bdi>'
        )
    return f'<bdi dir="auto">{text(value, limit=limit)}</bdi>'


def _blank(value: str) -> str:
    return "".join(_visible(c) if c != " " else "␣" for c in value[:40])


def _visible(character: str) -> str:
    if character in _SHOWN:
        return _SHOWN[character]
    if character < " ":
        return chr(0x2400 + ord(character))
    if character in _BIDI or unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co"):
        return f"⟨U+{ord(character):04X}⟩"
    return character


def slug(value: str) -> str:
    """A text as an id: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-") or "part"


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    numeric: bool = True,
    tall: bool = False,
    words: Sequence[str] = (),
) -> str:
    """A table of HTML cells, the first column its rows' names, in a box that scrolls and takes the keyboard's focus.

    Columns of numbers are set to the right, those whose heading is among ``words`` to the left.
    """
    left = [' class="words"' if header in words else "" for header in headers]
    head = "".join(
        f'<th scope="col"{side}>{header}</th>' for header, side in zip(headers, left, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{side}>{cell}</td>" for cell, side in zip(row[1:], left[1:], strict=True))
        + "</tr>"
        for row in rows
    )
    if not body:
        body = f'<tr><td colspan="{len(headers)}">nothing to list</td></tr>'
    kind = " ".join(["scroll", *(["tall"] if tall else []), *(["numeric"] if numeric else [])])
    name = re.sub(r"<[^>]+>", "", caption)
    return (
        f'<div class="{kind}" role="region" tabindex="0" aria-label="{name}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figure(
    png: bytes, *, id: str, number: int, title: str, caption: str, alt: str, size: tuple[int, int]
) -> str:
    """A picture on a white card, in either colour scheme, with its caption and an alternative text."""
    data = base64.b64encode(png).decode()
    return (
        f'<figure id="{id}"><h3 class="hidden">{text(title)}</h3>'
        f'<img src="data:image/png;base64,{data}" alt="{text(alt)}" width="{size[0]}" height="{size[1]}">'
        f"<figcaption><b>Figure {number}.</b> {caption}</figcaption></figure>"
    )


def details(summary: str, body: str) -> str:
    """A part that is closed at first."""
    return f"<details><summary>{summary}</summary>{body}</details>"


def bullets(entries: Iterable[str]) -> str:
    """A list of HTML entries."""
    return f"<ul>{''.join(f'<li>{entry}</li>' for entry in entries)}</ul>"


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The whole document."""
    contents = "".join(f'<li><a href="#{part.id}">{part.title}</a></li>' for part in sections)
    body = "".join(
        f'<section id="{part.id}" aria-labelledby="{part.id}-title"><h2 id="{part.id}-title">{part.title}</h2>'
        f"{part.body}</section>"
        for part in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{CSS}</style></head><body>"
        '<a class="skip" href="#main">Skip to the report</a>'
        f'<header><p class="eyebrow">routelens report</p><h1>{text(title)}</h1>{lead}</header>'
        f'<div class="columns"><nav aria-label="Contents"><h2>Contents</h2><ol>{contents}</ol></nav>'
        f'<main id="main" tabindex="-1">{body}</main></div></body></html>\n'
    )


CSS = """
:root{--bg:#fff;--ink:#1f2328;--soft:#59636e;--line:#dde2e7;--card:#f6f8fa;--link:#0b5cad;--head:#eef1f4;--warn:#9a4a00}
@media(prefers-color-scheme:dark){:root{--bg:#14181d;--ink:#e4e8ec;--soft:#9aa5b1;--line:#303841;--card:#1c2229;
--link:#74b3f2;--head:#222a32;--warn:#f0a860}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif}
header,.columns{max-width:1240px;margin:0 auto;padding:0 24px}
header{padding-top:40px;padding-bottom:20px}
.eyebrow{margin:0;color:var(--soft);font-size:.85rem;letter-spacing:.04em}
h1{font-size:1.9rem;line-height:1.2;margin:.1em 0 .4em;font-weight:650;overflow-wrap:anywhere}
h2{font-size:1.3rem;font-weight:650;margin:0 0 .6em;line-height:1.3}
h3{font-size:1.02rem;font-weight:650;margin:1.6em 0 .5em}
p{margin:0 0 .9em;max-width:46em}
a{color:var(--link)}
.lead{max-width:46em;margin:0 0 .5em}
.notice{border-left:3px solid var(--line);padding:.1em 0 .1em 14px;color:var(--soft);max-width:46em;font-size:.94rem}
.columns{display:grid;grid-template-columns:190px minmax(0,1fr);gap:44px;padding-bottom:80px}
nav{font-size:.88rem;position:sticky;top:20px;align-self:start;max-height:calc(100vh - 40px);overflow:auto}
nav h2{font-size:.85rem;color:var(--soft);font-weight:600;margin:0 0 .5em}
nav ol{list-style:none;margin:0;padding:0}
nav li{padding:.15em 0;break-inside:avoid}
nav a{text-decoration:none;color:var(--ink)}
nav a:hover{text-decoration:underline}
main:focus{outline:none}
section{padding:6px 0 30px;margin-bottom:26px;border-bottom:1px solid var(--line)}
section:last-child{border-bottom:0}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:1px;
border:1px solid var(--line);border-radius:8px;overflow:hidden;margin:0 0 1.3em}
.facts div{box-shadow:0 0 0 1px var(--line);padding:10px 14px}
.facts dt{font-size:.8rem;color:var(--soft)}
.facts dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.facts small{display:block;font-weight:400;color:var(--soft)}
figure{margin:0 0 30px}
figure img{display:block;width:100%;height:auto;background:#fff;border:1px solid var(--line);border-radius:10px;padding:10px}
figcaption{font-size:.9rem;color:var(--soft);margin-top:8px;max-width:52em}
figcaption b{color:var(--ink);font-weight:600}
.scroll{overflow:auto;margin:0 0 1.3em;border:1px solid var(--line);border-radius:8px}
.tall{max-height:34rem}
table{border-collapse:separate;border-spacing:0;font-size:.84rem;width:100%}
caption{text-align:left;padding:10px 12px;color:var(--soft);font-size:.88rem;position:sticky;left:0}
th,td{padding:5px 12px;text-align:left;vertical-align:top;border-top:1px solid var(--line);font-weight:400}
thead th{position:sticky;top:0;background:var(--head);font-weight:600;vertical-align:bottom;z-index:1}
tbody tr:hover>*{background:var(--card)}
.numeric td,.numeric thead th:not(:first-child){text-align:right;font-variant-numeric:tabular-nums}
.numeric td{white-space:nowrap}
.numeric .words.words{text-align:left}
.tall tbody th{position:sticky;left:0;background:var(--bg)}
.tall thead th:first-child{left:0;z-index:2}
.tall tbody tr:hover th{background:var(--card)}
.numeric thead th{min-width:4.6em}
.numeric tbody th{white-space:nowrap}
td small{color:var(--soft);margin-left:.35em}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.84em}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:12px;max-height:30rem;overflow:auto}
details{margin:0 0 1em}
summary{cursor:pointer;padding:4px 0}
details[open]>summary{margin-bottom:8px}
ul{padding-left:1.25em;margin:0 0 1em;max-width:50em}
li{margin:.25em 0}
dl.terms{display:grid;grid-template-columns:minmax(9em,16em) 1fr;gap:6px 24px;font-size:.92rem;margin:0 0 1.2em}
dl.terms dt{font-weight:600}
dl.terms dd{margin:0}
.badge{display:table;margin:1px 0 3px;border-radius:4px;padding:0 .45em;font-size:.74rem;line-height:1.5;border:1px solid var(--line);
color:var(--soft);white-space:nowrap}
.badge.correct{border-color:#5a8fbf;color:var(--ink)}
.badge.hallucination{border-color:#c9583a;color:var(--ink)}
.badge.degenerate{border-style:dashed}
.empty{color:var(--soft);font-style:italic}
.warn{color:var(--warn);font-weight:600}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap;margin:0}
.skip{position:absolute;left:-999px}
.skip:focus{left:12px;top:12px;background:var(--bg);padding:8px 12px;border:2px solid var(--link);border-radius:6px;z-index:9}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media(max-width:980px){.columns{display:block}nav{position:static;max-height:none;margin-bottom:26px}
nav ol{columns:2}dl.terms{grid-template-columns:1fr;gap:2px}dl.terms dd{margin-bottom:8px}}
@media print{nav,.skip{display:none}.columns{display:block}figure{break-inside:avoid}.tall{max-height:none}}
"""
