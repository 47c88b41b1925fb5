"""HotpotQA (https://arxiv.org/abs/1809.09600), and what is written like it (2WikiMultihopQA): facts from several paragraphs.

The passage is all paragraphs in the file's order, each its title, a line break and its sentences. Every supporting sentence is a
bridge; the payload is the answer where it stands in the supporting sentences, or else in their paragraphs (D5 [C]: the same
words in a paragraph that supports nothing are no evidence). Yes and no, and answers that stand in no supporting paragraph, have
bridges only: the answer is not locatable. Two layouts: the published file's lists, and Hugging Face's objects of lists.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routelens.matching import find_whole_words
from routelens.tasks.formats.base import Format, Found, Record, show
from routelens.tasks.formats.fields import Fields
from routelens.types import EvidenceGroup, Span

_REQUIRED = {
    "question": ("question",),
    "answer": ("answer",),
    "context": ("context",),
    "supporting_facts": ("supporting_facts",),
}
_NOT_IN_TEXT = ("yes", "no")


@dataclass(frozen=True)
class _Paragraph:
    """Where a paragraph and each of its sentences stand in the passage; blanks around a sentence left out."""

    title: str
    span: Span
    sentences: tuple[Span, ...]


@dataclass(frozen=True)
class _Fact:
    """One supporting sentence, with the paragraph it stands in."""

    title: str
    sentence: Span
    paragraph: Span


def _claims(record: Record) -> bool:
    context = record.get("context")
    return isinstance(context, list | dict) and (
        "supporting_facts" in record or _pairs(context, "sentences") is not None
    )


def _read(record: Record, source: Path) -> Iterator[Found]:
    fields = Fields(record)
    fields.require(_REQUIRED)
    question, item_id = fields.text("question"), fields.identifier("_id", "id")
    answer = fields.text("answer")
    context, paragraphs = _passage(fields)
    facts = _facts(fields, paragraphs) if paragraphs else ()
    groups = _groups(context, answer, facts) if answer else ()
    yield fields.found(
        context=context,
        question=question,
        answer=answer,
        required_groups=groups,
        id=item_id,
        metadata=fields.metadata(),
        **{"task": "hotpotqa", **fields.tags()},
    )


def _passage(fields: Fields) -> tuple[str, tuple[_Paragraph, ...]]:
    """The passage and where its parts stand; no paragraph where something is wrong with them."""
    value = fields.take("context")
    pairs = _pairs(value, "sentences")
    if pairs is None:
        if "context" in fields.record:
            fields.note(f"context is a list of [title, [sentence, …]]; got {show(value)}.")
        return "", ()
    wrong = [
        f"context[{i}] is [title, [sentence, …]]; got {show([title, sentences])}."
        for i, (title, sentences) in enumerate(pairs)
        if not _is_paragraph(title, sentences)
    ]
    for message in wrong:
        fields.note(message)
    if wrong or not all(fields.encodes("context", t + "".join(s)) for t, s in pairs):
        return "", ()
    text, paragraphs = "", []
    for title, sentences in pairs:
        text += "\n\n" if text else ""
        start = len(text)
        text += f"{title}\n"
        spans = []
        for sentence in sentences:
            text += _blank_between(text, sentence)
            spans.append(_trimmed(len(text), sentence))
            text += sentence
        paragraphs.append(_Paragraph(title, (start, len(text)), tuple(spans)))
    if not text.strip():
        fields.note("context must hold some text; got none.")
        return "", ()
    return text, tuple(paragraphs)


def _facts(fields: Fields, paragraphs: tuple[_Paragraph, ...]) -> tuple[_Fact, ...]:
    value = fields.take("supporting_facts")
    pairs = _pairs(value, "sent_id")
    if not pairs:
        if "supporting_facts" in fields.record:
            fields.note(f"supporting_facts is a list of [title, number]; got {show(value)}.")
        return ()
    facts = []
    for number, (title, sentence) in enumerate(pairs):
        where = f"supporting_facts[{number}]"
        named = [paragraph for paragraph in paragraphs if paragraph.title == title]
        if len(named) != 1:
            count = "no paragraph" if not named else f"{len(named)} paragraphs"
            hint = " (fullwiki files lack some; take the distractor one)" if not named else ""
            fields.note(f"{where}: the context holds {count} called {title!r}{hint}.")
        elif type(sentence) is not int or not 0 <= sentence < len(named[0].sentences):
            fields.note(
                f"{where}: {title!r} has {len(named[0].sentences)} sentences, numbered from 0; "
                f"got {show(sentence)}."
            )
        elif named[0].sentences[sentence][0] == named[0].sentences[sentence][1]:
            fields.note(f"{where}: sentence {sentence} of {title!r} is empty.")
        else:
            facts.append(_Fact(title, named[0].sentences[sentence], named[0].span))
    return tuple(dict.fromkeys(facts))


def _groups(context: str, answer: str, facts: tuple[_Fact, ...]) -> tuple[EvidenceGroup, ...]:
    bridges = tuple(EvidenceGroup((fact.sentence,), "bridge", fact.title) for fact in facts)
    if answer.strip().lower() in _NOT_IN_TEXT:
        return bridges
    for places in ({fact.sentence for fact in facts}, {fact.paragraph for fact in facts}):
        found = tuple(span for place in sorted(places) for span in _inside(context, place, answer))
        if found:
            return (EvidenceGroup(found, name="answer"), *bridges)
    return bridges


def _inside(context: str, place: Span, answer: str) -> list[Span]:
    """Where the answer stands in that part of the passage; blanks around it, so its words are whole there too."""
    first, last = place
    return [(first + a, first + b) for a, b in find_whole_words(context[first:last], answer)]


def _pairs(value: Any, second: str) -> list[tuple[Any, Any]] | None:
    """Pairs of a title and something, from a list of pairs, a list of objects, or an object of lists."""
    if isinstance(value, dict):
        titles, others = value.get("title"), value.get(second)
        if isinstance(titles, list) and isinstance(others, list) and len(titles) == len(others):
            return list(zip(titles, others, strict=True))
        return None
    if not isinstance(value, list):
        return None
    if value and all(isinstance(entry, dict) for entry in value):
        return [(entry.get("title"), entry.get(second)) for entry in value]
    pairs = [tuple(entry) for entry in value if isinstance(entry, list) and len(entry) == 2]
    return pairs if len(pairs) == len(value) else None


def _is_paragraph(title: Any, sentences: Any) -> bool:
    return (
        isinstance(title, str)
        and isinstance(sentences, list)
        and all(isinstance(sentence, str) for sentence in sentences)
    )


def _blank_between(text: str, sentence: str) -> str:
    """A blank where two sentences would touch; none after full-width punctuation, where scripts have no blanks."""
    touching = bool(sentence) and not sentence[0].isspace() and not text[-1:].isspace()
    return " " if touching and unicodedata.east_asian_width(text[-1]) not in "WF" else ""


def _trimmed(start: int, sentence: str) -> Span:
    left = len(sentence) - len(sentence.lstrip())
    return (start + left, start + max(left, len(sentence.rstrip())))


FORMAT = Format("HotpotQA", _claims, _read)
