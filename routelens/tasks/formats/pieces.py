"""Answers of several pieces, as in RULER (https://arxiv.org/abs/2404.06654): which tasks have them, and their evidence.

RULER asks for *all* outputs of most of its tasks: several needles, the variables of a chain, the most common words. Each piece
is then a required group of its own (D5). In a chain every variable's assignment is also a bridge, since the name alone does
not say that it belongs to the chain. The tasks that count words have no evidence in one place, hence no group.
"""

import re

from routelens.matching import find_whole_words
from routelens.types import EvidenceGroup

ALTERNATIVES, COUNTS, CHAIN, NEEDLES = "qa", "counts", "chain", "needles"
_KINDS = {
    "niah": NEEDLES,
    "vt": CHAIN,
    "variable_tracking": CHAIN,
    "cwe": COUNTS,
    "common_words": COUNTS,
    "fwe": COUNTS,
    "freq_words": COUNTS,
    "qa": ALTERNATIVES,
}
_NAME = re.compile(rf"({'|'.join(_KINDS)})(?![a-z])")
_ASSIGNMENT = re.compile(r"\bVAR (\w+) = (?:VAR )?\w+")


def kind_of_task(*names: str) -> str:
    """The kind of RULER task that one of these names begins with (``niah_multivalue``, ``qa_1``); empty for none."""
    found = [match for match in map(_NAME.match, map(str.lower, names)) if match]
    return _KINDS[found[0][1]] if found else ""


def piece_groups(context: str, pieces: tuple[str, ...], kind: str) -> tuple[EvidenceGroup, ...]:
    """One payload group a piece with all its whole-word occurrences, and a chain's assignments as bridges.

    A piece that cannot be found makes the whole answer not locatable, rather than half located: no groups.
    """
    if kind == COUNTS:
        return ()
    spans = {piece: find_whole_words(context, piece) for piece in pieces}
    if not all(spans.values()):
        return ()
    payload = tuple(EvidenceGroup(found, name=piece) for piece, found in spans.items())
    return payload + (_assignments(context, pieces) if kind == CHAIN else ())


def _assignments(context: str, pieces: tuple[str, ...]) -> tuple[EvidenceGroup, ...]:
    stated: dict[str, list[tuple[int, int]]] = {piece: [] for piece in pieces}
    for match in _ASSIGNMENT.finditer(context):
        if match[1] in stated:
            stated[match[1]].append(match.span())
    return tuple(
        EvidenceGroup(tuple(spans), "bridge", f"{name} assigned")
        for name, spans in stated.items()
        if spans
    )
