"""Does a text assert a phrase? The phrase must stand in it as whole words, and not be negated (for D10's "correct").

A phrase counts as negated when one of the four words before it, in the same clause, denies it ("not
Paris", "never lived in Paris", "rather than Paris"), or when what follows does ("Paris is not
correct", "Paris is not mentioned"). Clauses end at punctuation and at words like "but": in "Paris,
not London" and "not London but Paris" Paris is asserted. A list of words, not a parser.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from routelens.metrics.text import ARTICLES, plain, words

WINDOW = 4
"""How many words before a phrase are searched for a negation."""

NEGATION_BEFORE = re.compile(
    r"(?<!\S)(?:"
    r"not(?! (?:only|just|until|merely|unlike)\b)|cannot|never|neither|nor|except|nicht|kein|keine|keinen|keiner|pas|jamais|nunca"
    r"|no(?! (?:doubt|question|(?:more|less|fewer|longer|later|earlier|other) than)\b)"
    r"|without(?! (?:doubt|question)\b)|instead of|rather than|(?<!none )(?<!no )other than"
    r"|(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should|ai)nt"
    r"|不 是|不 在|并 非|並 非|沒 有|没 有"
    r")(?!\S)"
)
NEGATION_AFTER = re.compile(
    r"^(?:"
    r"(?:(?:is|was|are|were) not|isnt|wasnt|arent|werent) (?:\S+ )?"
    r"(?:correct|right|true|answer|mentioned|stated|given|provided|specified|listed)\b"
    r"|(?:is|was) (?:incorrect|wrong|false)\b"
    r"|で は (?:な い|あ り ま せ ん)|で な い|じ ゃ な い|ist nicht richtig|ist falsch"
    r")"
)
_CLAUSE_WORDS = frozenset(
    ["but", "however", "although", "until", "till", "sondern", "aber", "mais", "sino", "pero"]
)
_CLAUSE_END = re.compile(
    r"[,;:!?]+(?=\s|$)"
    r"|(?<!\b\w)(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bst)(?<!\bmrs)(?<!\bprof)\.(?=[\s\"'”’)]|$)"
    r"|[。、，；：！？()\n]|\s[-–—]\s|—",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reading:
    """A text as words, each with the number of its clause and whether a negation governs it."""

    words: tuple[str, ...]
    clauses: tuple[int, ...]

    def denied(self, start: int) -> bool:
        """Whether a negation in the same clause, up to ``WINDOW`` words before, governs the word at ``start``."""
        near = range(max(0, start - WINDOW), start)
        before = [self.words[i] for i in near if self.clauses[i] == self.clauses[start]]
        return NEGATION_BEFORE.search(" ".join(before)) is not None

    @property
    def undenied(self) -> tuple[str, ...]:
        """The words that no negation governs."""
        return tuple(word for i, word in enumerate(self.words) if not self.denied(i))


def read(text: str, *, language: str | None = "en") -> Reading:
    """The words of a text with their clauses, without the articles of ``language``."""
    articles = ARTICLES.get(language or "", frozenset())
    found: list[str] = []
    clauses: list[int] = []
    clause = 0
    for piece in _CLAUSE_END.split(text):
        for word in words(piece, language=None):
            clause += word in _CLAUSE_WORDS
            if word not in articles:
                found.append(word)
                clauses.append(clause)
        clause += 1
    return Reading(tuple(found), tuple(clauses))


def find_words(text: Sequence[str], phrase: Sequence[str]) -> list[int]:
    """The indices at which the phrase starts in the text, both as words; none for an empty phrase."""
    size = len(phrase)
    last = len(text) - size + 1
    return [i for i in range(last) if size and tuple(text[i : i + size]) == tuple(phrase)]


def asserts(
    text: str, phrase: str, *, language: str | None = "en", heed_negation: bool = True
) -> bool:
    """Whether the phrase stands in the text as whole words, at least once without a negation."""
    wanted = words(phrase, language=language)
    if set(wanted) <= ARTICLES.get(language or "", frozenset()):
        language = None
    reading = read(text, language=language)
    starts = find_words(reading.words, wanted)
    if not heed_negation:
        return bool(starts)
    return any(
        not reading.denied(start)
        and not NEGATION_AFTER.match(" ".join(reading.words[start + len(wanted) :][:6]))
        for start in starts
    )


def is_negative(text: str) -> bool:
    """Whether the text holds a negation at all; asked of a question, whose answer may then repeat it."""
    return NEGATION_BEFORE.search(plain(text)) is not None
