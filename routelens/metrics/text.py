"""Word F1 between a prediction and its gold answers, in per cent (D11).

F1 = 2PR / (P + R) over the multisets of words, the maximum over the golds. The default
normalisation is NFKC, lower case (case folding), no articles, and no punctuation except inside
numbers, which are compared as written values: 1,000 = 1000 and $29.00 = 29, but 3.14 differs from
314 and -5 from 5. Scripts without blanks are compared by characters. The ``squad`` mode is SQuAD's
classic normalisation (https://arxiv.org/abs/1606.05250), which deletes every ASCII punctuation
mark.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

Mode = Literal["default", "squad"]

ARTICLES: dict[str, frozenset[str]] = {
    "en": frozenset({"a", "an", "the"}),
    "de": frozenset({"der", "die", "das", "den", "dem", "des"})
    | {"ein", "eine", "einen", "einem", "einer", "eines"},
    "fr": frozenset({"le", "la", "les", "l", "un", "une", "des"}),
    "es": frozenset({"el", "la", "los", "las", "un", "una", "unos", "unas"}),
}
"""Words dropped per language; ``language=None`` drops none."""

NO_BLANKS = (
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han, kana
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]"  # Thai, Lao, Myanmar, Khmer
)
"""Characters of scripts written without blanks: each counts as a word."""

_APOSTROPHES = "'`\u00b4\u2018\u2019\u201b\u02bc"
_LOOKALIKES = str.maketrans(
    {**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"), "\u00b4": "'"}
)
_CURRENCY = "[$\u00a2-\u00a5\u20a0-\u20c0]"
# Punctuation that belongs to a number hides behind private-use characters while the rest is stripped.
_INSIDE = dict(zip(".,:/-", "\ue000\ue001\ue002\ue003\ue004", strict=True))
_RESTORE = str.maketrans({hidden: mark for mark, hidden in _INSIDE.items()})


class _Strip(dict[int, "int | str | None"]):
    """A translation table that keeps letters, marks, digits and pictographs, and is filled as characters come."""

    def __missing__(self, code: int) -> int | str | None:
        self[code] = self._image(code)
        return self[code]

    @staticmethod
    def _image(code: int) -> int | str | None:
        character = chr(code)
        category = unicodedata.category(character)
        if 0xFE00 <= code <= 0xFE0F or category == "Cf" or character in _APOSTROPHES + ".":
            return None
        pictograph = category == "So" and code > 0x218F
        hidden = character in _INSIDE.values()
        return code if category[0] in "LNM" or pictograph or hidden else " "


_STRIP = _Strip()


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """The text in NFKC, case-folded, without punctuation except inside numbers; words are separated by one blank.

    Apostrophes and full stops vanish ("U.S." is "us", "don't" is "dont"); other marks become
    blanks. Numbers are read in English notation: "1.000" is one.
    """
    text = unicodedata.normalize("NFKC", text.translate(_LOOKALIKES)).casefold()
    text = text.translate(_LOOKALIKES).replace("\u2044", "/")
    text = re.sub(NO_BLANKS, r" \g<0> ", text)
    text = re.sub(rf"(?<=[-+]){_CURRENCY}", "", text)
    text = re.sub(_CURRENCY, " ", text)
    text = re.sub(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!\w|,\d)", _without_commas, text)
    text = re.sub(r"(?<![\w.,:/])(\d*)\.(\d+)(?!\w|[.,:/-]\d)", _shortest_decimal, text)
    text = re.sub(r"(?<=\d)[.,:/-](?=\d)|(?<!\w)-(?=\d)", lambda mark: _INSIDE[mark[0]], text)
    return " ".join(text.translate(_STRIP).translate(_RESTORE).split())


def _without_commas(number: re.Match[str]) -> str:
    return number[0].replace(",", "")


def _shortest_decimal(number: re.Match[str]) -> str:
    decimals = number[2].rstrip("0")
    return (number[1] or "0") + (f".{decimals}" if decimals else "")


def words(text: str, *, mode: Mode = "default", language: str | None = "en") -> tuple[str, ...]:
    """The normalised words of a text (D11).

    Articles of ``language`` are dropped, unless nothing else is left (an answer "A" stays).
    ``squad`` knows English only.
    """
    if mode not in get_args(Mode):
        raise ValueError(f"words: mode is one of {get_args(Mode)}; got {mode!r}.")
    if language is not None and language not in ARTICLES:
        raise ValueError(
            f"words: language is one of {sorted(ARTICLES)} or None (no articles are dropped); got {language!r}."
        )
    return _words(text, mode, language)


@lru_cache(maxsize=512)
def _words(text: str, mode: Mode, language: str | None) -> tuple[str, ...]:
    if mode == "squad":
        text = "".join(mark for mark in text.lower() if mark not in string.punctuation)
        return tuple(re.sub(r"\b(?:a|an|the)\b", " ", text).split())
    if language == "fr":  # an elided article is a word of its own: l'Europe
        text = re.sub(rf"[{_APOSTROPHES}]", " ", text)
    every = tuple(plain(text).split())
    articles = ARTICLES.get(language or "", frozenset())
    return tuple(word for word in every if word not in articles) or every


def normalize(text: str, *, mode: Mode = "default", language: str | None = "en") -> str:
    """The text as it is compared (D11): its normalised words, separated by one blank."""
    return " ".join(words(text, mode=mode, language=language))


def word_f1(
    prediction: str,
    golds: str | Sequence[str],
    *,
    mode: Mode = "default",
    language: str | None = "en",
) -> float:
    """Word F1 in 0..100, the maximum over the golds; NaN without a gold (D11).

    Where either side has no words, 100 if both have none, else 0 (as in SQuAD). Articles are those
    of ``language`` only: "der Rhein" against "Rhein" is 67 in English and 100 with
    ``language="de"``.
    """
    golds = (golds,) if isinstance(golds, str) else tuple(golds)
    predicted = words(prediction, mode=mode, language=language)
    scores = [f1_of_words(predicted, words(g, mode=mode, language=language)) for g in golds]
    return max(scores, default=float("nan"))


def f1_of_words(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """F1 in 0..100 of two word sequences as multisets."""
    if not predicted or not gold:
        return 100.0 * (not predicted and not gold)
    shared = (Counter(predicted) & Counter(gold)).total()
    return 100.0 * 2 * shared / (len(predicted) + len(gold))


def exact_match(
    prediction: str,
    golds: str | Sequence[str],
    *,
    mode: Mode = "default",
    language: str | None = "en",
) -> float:
    """100 where the prediction equals a gold after normalisation, else 0; NaN without a gold (D11)."""
    golds = (golds,) if isinstance(golds, str) else tuple(golds)
    predicted = words(prediction, mode=mode, language=language)
    hits = [100.0 * (predicted == words(g, mode=mode, language=language)) for g in golds]
    return max(hits, default=float("nan"))


_OPENING = re.compile(r"^(?:final )?answer\s*:\s*", re.IGNORECASE)
_NEXT_TURN = re.compile(
    r"^\s*#*\s*\**(?:(?:passage|context|question|answer|document)\s*\d*\**\s*(?::|$)"
    r"|(?:text|instructions?|explanation|note|reasoning|user|assistant|human|system|q|a)\s*\d*\**\s*:)",
    re.IGNORECASE,
)


def extract_answer(text: str) -> str:
    """The part of a generation that is its answer: what stands before a blank line or a new "Question:" or "Passage:".

    A leading "Answer:" is dropped; a first paragraph that ends in a colon keeps the next one;
    single line breaks stay, so a list of several pieces is kept whole.
    """
    kept: list[str] = []
    for line in _OPENING.sub("", text.strip()).splitlines():
        if kept and _NEXT_TURN.match(line):
            break
        if not line.strip() and not kept[-1].rstrip().endswith(":"):
            break
        if line.strip():
            kept.append(line)
    return "\n".join(kept).strip()
