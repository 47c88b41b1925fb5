"""Rows of our own columns, one question a row; most other formats end here once their columns have their names.

====================  ====================================================================================================
column                what it holds
====================  ====================================================================================================
``context``           the passage
``question``          the question (also as ``input``)
``answer``            a text, a list of texts (the first is the answer, the others aliases), or null: the passage does not
                      say, as with ``answerable: false`` (also as ``answers``)
``aliases``           other right answers
``answer_spans``      where the answer stands: alternative ``[start, end]`` in characters of the context
``required_groups``   all that the answer needs (D5): lists of alternative spans, or objects with ``occurrences``, ``role``
                      (payload or bridge) and ``name``
``passage_id, id``    texts or integers (``_id``, ``index``); made from the content where missing
tags                  ``task``, ``answer_type``, ``question_type``, ``direction``
====================  ====================================================================================================

Where ``task`` names a task of RULER's that asks for all outputs, a list in ``answer`` holds pieces (``pieces.py``). Columns that
are not known (``answer_prefix``, ``max_new_tokens``, …) go to the item's metadata.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routelens.tasks.formats.base import Format, Found, Record, show
from routelens.tasks.formats.fields import Fields
from routelens.tasks.formats.pieces import ALTERNATIVES, kind_of_task, piece_groups

REQUIRED = {
    "context": ("context",),
    "question": ("question", "input"),
    "answer": ("answer", "answers", "outputs"),
}
IDS = ("id", "_id", "index")


@dataclass(frozen=True)
class Gold:
    """What counts as right: one answer and its aliases, or the ``pieces`` of one that is asked for in full."""

    answer: str | None = None
    aliases: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    kind: str = ""


def read(record: Record, source: Path) -> Iterator[Found]:
    """The one item of the row."""
    fields = Fields(record)
    fields.require(REQUIRED, without="answer" if record.get("answerable") is False else "")
    context, question = fields.text("context"), fields.text("question", "input")
    gold = read_gold(fields, kind_of_task(str(record.get("task") or "")))
    yield finish(fields, context, question, gold)


def read_gold(fields: Fields, kind: str) -> Gold:
    """The answer of the row; several texts are pieces where ``kind`` says so, else alternatives."""
    answerable = fields.truth("answerable")
    column = next((name for name in REQUIRED["answer"] if name in fields.record), "")
    value = fields.take(column) if column else None
    if column and value is None and answerable is True:
        fields.note(f"{column} is null, but answerable is true.")
    if value is None:
        return Gold()
    texts = [value] if isinstance(value, str) else value
    if not (isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts)):
        fields.note(
            f"{column} is a text, a list of texts, or null where the passage does not say; "
            f"got {show(value)}."
        )
        return Gold()
    if not all(fields.encodes(column, text) for text in texts) or answerable is False:
        return Gold()
    if len(set(texts)) > 1 and kind not in ("", ALTERNATIVES):
        pieces = tuple(dict.fromkeys(texts))
        return Gold(", ".join(pieces), (), pieces, kind)
    if column == "answer" and "answers" in fields.record:
        texts = [*texts, *fields.texts("answers")]
    answer, *aliases = dict.fromkeys(texts)
    return Gold(answer, tuple(aliases))


def finish(
    fields: Fields,
    context: str | None,
    question: str | None,
    gold: Gold,
    *,
    ids: tuple[str, ...] = IDS,
    task: str = "custom",
    more: Mapping[str, Any] | None = None,
) -> Found:
    """The item of a row whose texts have been read: the optional columns, and the rest, with ``more``, as metadata."""
    groups = fields.groups(context) or piece_groups(context or "", gold.pieces, gold.kind)
    spans = fields.spans("answer_spans", fields.take("answer_spans"), context)
    aliases = (*gold.aliases, *fields.texts("aliases"))
    passage_id, item_id = fields.identifier("passage_id"), fields.identifier(*ids)
    tags = fields.tags()
    if gold.pieces:
        tags = {"question_type": "Part", **tags}
    metadata = {**fields.metadata(), **(more or {})}
    return fields.found(
        context=context,
        question=question,
        answer=gold.answer,
        aliases=aliases,
        answer_spans=spans,
        required_groups=groups,
        passage_id=passage_id,
        id=item_id,
        metadata=metadata,
        **{"task": task, **tags},
    )


FORMAT = Format("routelens", lambda record: True, read)
