r"""Does a text abstain from answering? A printed, extensible list of patterns decides (D10 [C]).

Each pattern is a regular expression searched in the normalised text: case-folded, without
apostrophes and punctuation, one blank between words ("I don't know." is ``i dont know``), none
between Chinese or Japanese characters. To extend the list, pass ``{**ABSTENTION_PATTERNS, "it":
(r"\bnon lo so\b",)}``. All languages listed are searched.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from routelens.metrics.text import NO_BLANKS, plain

_SOURCE = (
    r"(?:passage|text|context|article|document|story|paragraph|author|information|question|it)"
)
_SAYS = r"(?:say|mention|state|specify|provide|give|tell|contain|include|indicate|reveal|name|list|answer|disclose|discuss)"
_CANNOT = r"(?:can ?not|cant|could ?not|couldnt|unable to|impossible to|not possible to|no way to)"

ABSTENTION_PATTERNS: dict[str, tuple[str, ...]] = {
    "en": (
        r"\bi (?:\w+ )?(?:do not|dont|cannot|cant) (?:\w+ )?know\b",
        r"\b(?:do not|dont) have (?:\w+ )?(?:information|answer|context)\b",
        r"\b(?:i am|im|am) (?:not sure|unsure)\b|\b(?:i have )?no idea\b",
        r"\bnot (?:\w+ ){0,2}(?:mentioned|stated|provided|specified|disclosed|indicated|answerable)\b",
        r"\b(?:isnt|arent|wasnt|werent) (?:\w+ )?(?:mentioned|stated|provided|specified|given|known)\b",
        r"\bnot (?:\w+ )?(?:given|known|available|found|included|listed|named|discussed|clear)(?: (?:in|by|from|here)\b|$)",
        rf"\b{_SOURCE}\b(?: \w+){{0,3}} (?:does not|doesnt|do not|dont|did not|didnt) (?:\w+ )?{_SAYS}\b",
        rf"\b{_CANNOT}(?: be)?(?: \w+)? (?:determined?|answer(?:ed)?|found|infer(?:red)?|ascertain(?:ed)?|identif(?:y|ied)|deduced?)\b",
        r"\bi (?:can ?not|cant|could ?not|couldnt|am unable to|was unable to) (?:find|say|tell)\b",
        r"\b(?:no way to|impossible to|not possible to) (?:know|tell|say)\b",
        r"\bno (?:\w+ )?(?:information|mention|indication)\b|\bno answer\b",
        r"\b(?:insufficient|not enough) (?:\w+ )?(?:information|context|details?)\b",
        r"^(?:(?:it|this|that|(?:the )?answer) (?:is|was|remains) )?(?:unknown|unclear|undetermined|unspecified|unanswerable)$",
        r"\b(?:is|are|was|were|remains?) (?:unknown|unclear|unspecified|undisclosed)(?: (?:in|from|to|by|as)\b|$)",
        r"\bunanswerable\b",
        r"^(?:n ?a|idk|not applicable|no idea|not sure|none given)$",
        r"\b(?:is not|isnt|not) in (?:the )?(?:passage|text|context|article)\b",
    ),
    "de": (
        r"\bich weiß (?:es |das )?nicht\b|\bich weiss (?:es |das )?nicht\b|\bweiss (?:ich )?nicht\b",
        r"\b(?:nicht|nirgends) (?:\w+ )?(?:erwähnt|angegeben|genannt|bekannt|beschrieben|enthalten)\b",
        r"\b(?:kann|konnte|können|lässt|lasst) (?:\w+ ){0,3}nicht (?:\w+ )?(?:finden|beantworten|beantwortet|bestimmen|sagen|entnehmen)\b",
        r"\bkeine (?:\w+ )?(?:angaben?|informationen?|antwort|ahnung)\b|^unbekannt$",
    ),
    "fr": (
        r"\bje (?:ne )?(?:le )?sais pas\b|\baucune (?:information|mention|idée|réponse)\b",
        r"\bpas (?:\w+ )?(?:mentionnée?|indiquée?|précisée?|spécifiée?|donnée?|connue?)\b",
        r"\bimpossible (?:de|à) (?:\w+ )?(?:déterminer|répondre|dire|savoir)\b|^inconnue?$",
    ),
    "es": (
        r"\bno (?:lo )?sé\b|\bno se (?:\w+ )?(?:menciona|indica|especifica|dice|sabe)\b",
        r"\bno (?:\w+ )?(?:mencionad|indicad|especificad|conocid)[oa]\b|\bno hay (?:\w+ )?información\b",
        r"\b(?:imposible|no es posible|no se puede) (?:\w+ )?(?:determinar|responder|saber)\b|^desconocid[oa]$",
    ),
    "zh": (
        r"不知道|未提及|没有提到|沒有提到|没有说明|无法确定|無法確定|无法回答|無法回答|没有信息",
    ),
    "ja": (
        r"わかりません|分かりません|不明です|記載(?:が|は)?(?:ありません|ない)|言及されていません|^不明$",
    ),
}
"""Patterns per language. Extend by passing another mapping; the report prints the one in use."""


def is_abstention(
    text: str, *, patterns: Mapping[str, Sequence[str]] = ABSTENTION_PATTERNS
) -> bool:
    """Whether the text matches one of the patterns (D10 [C]). Whether it also holds a gold is :func:`classify`'s affair."""
    expression = _compiled(tuple(p for language in patterns.values() for p in language))
    return expression is not None and expression.search(_closed_up(text)) is not None


def _closed_up(text: str) -> str:
    return re.sub(rf"(?<={NO_BLANKS}) (?={NO_BLANKS})", "", plain(text))


def check_patterns(patterns: Sequence[str]) -> None:
    """Nothing, for regular expressions; ValueError for the first that is none."""
    _compiled(tuple(patterns))


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(
                f"is_abstention: a pattern is a regular expression; {pattern!r} is not ({error})."
            ) from error
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None
