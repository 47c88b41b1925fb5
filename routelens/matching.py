"""Where a phrase stands in a text as whole words, and with it where an item's evidence lies (D5).

Text and phrase are folded before they are compared: letter case, Unicode form (composed or not, full width, ligatures),
curly quotes, dashes, runs of white space and thousands separators do not matter. Each folded character remembers the
source characters it came from, so spans always index the original text. A word border is asked for on both sides,
except beside a script written without blanks (東京 is found in 東京都). A number is one word: 14 is not found in 3.14,
nor 5 in -5.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from routelens.types import EvidenceGroup, Item, Span

_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"'}
    | dict.fromkeys("‐‑‒–—―−", "-")
)
_SPECIAL = re.compile(r"[^\x00-\x7f]|\s\s|\d,\d")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d])")
_KEPT_COMPATIBILITY = ("<super>", "<sub>", "<fraction>")  # 10² is not 102
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Hangul: particles follow without a blank
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3040, 0x31FF),  # kana, bopomofo
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True)
class _Folded:
    """A folded text; character i stands for the source characters ``starts[i]`` to ``ends[i]``."""

    text: str
    starts: range | array
    ends: range | array

    def splits_source(self, index: int) -> bool:
        """Whether ``index`` lies inside what one source character (with its accents) became."""
        return 0 < index < len(self.text) and self.starts[index] == self.starts[index - 1]


def find_whole_words(text: str, phrase: str) -> tuple[Span, ...]:
    """All spans of ``text`` in which ``phrase`` stands as whole words, ascending (D5 [S]).

    Overlapping occurrences are all returned. A blank phrase stands nowhere.
    """
    folded, target = _fold_context(text), _fold(phrase).text.strip()
    if not target:
        return ()
    return tuple(
        (folded.starts[index], folded.ends[index + len(target) - 1])
        for index in _occurrences(folded.text, target)
        if _stands_alone(folded, index, index + len(target))
    )


JUDGEMENTS = ("yes", "no")


def evidence_groups(item: Item) -> tuple[EvidenceGroup, ...]:
    """What the answer needs, in spans of the context (D5).

    The item's own ``required_groups``; without them one payload group with every whole-word occurrence of the answer or,
    where the answer itself is not found, of its aliases. Empty when nothing is found, for unanswerable items, and for a bare yes
    or no, which judges the passage and is not a word of it: such an item counts neither as erased nor as kept.
    """
    if not item.answerable or item.required_groups:
        return tuple(item.required_groups) if item.answerable else ()
    answer, *aliases = item.golds
    if answer.strip().lower().rstrip(".!") in JUDGEMENTS:
        return ()
    spans = find_whole_words(item.context, answer) or tuple(
        sorted({span for alias in aliases for span in find_whole_words(item.context, alias)})
    )
    return (EvidenceGroup(spans, name="answer"),) if spans else ()


def _occurrences(text: str, target: str) -> Iterator[int]:
    index = text.find(target)
    while index >= 0:
        yield index
        index = text.find(target, index + 1)


def _stands_alone(folded: _Folded, start: int, end: int) -> bool:
    text = folded.text
    if folded.splits_source(start) or folded.splits_source(end):
        return False
    signed = text[start] == "-" and text[start + 1 : start + 2].isdigit()
    if signed and start and _is_word(text[start - 1]):  # the "-5" of "3-5" is half a range
        return False
    return _is_border(text, start) and _is_border(text, end)


def _is_border(text: str, index: int) -> bool:
    """Whether a word may begin or end between ``text[index - 1]`` and ``text[index]``."""
    if index in (0, len(text)):
        return True
    left, right = text[index - 1], text[index]
    if _is_word(left) and _is_word(right):
        return _is_unspaced(left) or _is_unspaced(right)
    before, after = text[index - 2 : index - 1] if index > 1 else "", text[index + 1 : index + 2]
    if right.isdigit() and left in ".,":
        return not before.isdigit()
    if left.isdigit() and right in ".,":
        return not after.isdigit()
    if right.isdigit() and left == "-":
        return bool(before) and _is_word(before)
    return True


def _is_word(character: str) -> bool:
    return (
        character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
    )


def _is_unspaced(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _UNSPACED)


@lru_cache(maxsize=16)
def _fold_context(text: str) -> _Folded:
    """The same passage is searched for many answers in a row."""
    return _fold(text)


def _fold(text: str) -> _Folded:
    if not _SPECIAL.search(text):  # every character folds to itself in lower case
        plain = re.sub(r"\s", " ", text.lower())
        return _Folded(plain, range(len(text)), range(1, len(text) + 1))
    separators = {
        match.start() + offset
        for match in _THOUSANDS.finditer(text)
        for offset, character in enumerate(match[0])
        if character == ","
    }
    characters: list[str] = []
    starts, ends = array("l"), array("l")
    for start, end in _clusters(text):
        folded = "" if start in separators else _fold_cluster(text[start:end])
        characters += folded
        starts.extend([start] * len(folded))
        ends.extend([end] * len(folded))
    return _Folded("".join(characters), starts, ends)


def _clusters(text: str) -> Iterator[Span]:
    """Spans that fold as one: a character with its accents, or a run of white space."""
    start = 0
    for index in range(1, len(text) + 1):
        if index < len(text) and _continues(text[index - 1], text[index]):
            continue
        yield (start, index)
        start = index


def _continues(left: str, right: str) -> bool:
    if right.isascii():
        return left.isspace() and right.isspace()
    if left.isspace():
        return right.isspace()
    return (
        unicodedata.category(right).startswith("M")
        or 0x1160 <= ord(right) <= 0x11FF  # a Hangul vowel or final consonant
        or right in "\uff9e\uff9f"
    )


def _fold_cluster(cluster: str) -> str:
    if cluster.isascii():
        return " " if cluster.isspace() else cluster.lower()
    if cluster.isspace():
        return " "
    kept = "".join(c for c in cluster if unicodedata.category(c) != "Cf")
    form = (
        "NFC"
        if any(unicodedata.decomposition(c).startswith(_KEPT_COMPATIBILITY) for c in kept)
        else "NFKC"
    )
    plain = unicodedata.normalize(form, kept.translate(_PLAIN)).casefold()
    return unicodedata.normalize("NFC", plain)
