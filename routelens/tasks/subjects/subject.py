"""What the base task knows about one sort of subject: its slots, its sentences, its questions.

``<Ref>`` and ``<ref>`` stand for the subject, as a pronoun or a short name, whichever is clear at that place; ``<Ref's>``
and ``<ref's>`` are its possessives, ``<Name>`` is always the short name and ``<they>`` always the pronoun. Slots that begin
with ``d_`` belong to distractors: other people, towns, dates of the same classes, never asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from routelens.tasks.templates import Ask


@dataclass(frozen=True)
class Subject:
    """One sort of subject: its slots with their classes, its sentences, its questions.

    ``refs`` are short names (with slots, or ``<noun>`` for the noun of its proper name); ``facts`` holds one tuple of wordings
    for each attribute, all of them told; ``distractors`` are told until the passage is long enough.
    """

    slots: Mapping[str, str]
    refs: tuple[str, ...]
    openings: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    asks: tuple[Ask, ...]
