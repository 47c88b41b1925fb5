"""SQuAD (https://arxiv.org/abs/1606.05250, v2 https://arxiv.org/abs/1806.03822), and what is written like it (XQuAD, MLQA, DRCD, …).

Three layouts: the published file (``data`` → ``paragraphs`` → ``qas``), one article a row, and Hugging Face's flat rows (``context``,
``question``, ``answers`` with ``text`` and ``answer_start``). ``answer_start`` counts characters, and every answer must stand where
it says: these spans are the evidence, since an annotator chose them (D5); other places with the same words are not added.
The first answer is the answer, different wordings of the others are aliases. ``is_impossible`` (in flat rows: no answer) means
that the passage does not say; ``plausible_answers`` are kept as metadata.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routelens.tasks.formats.base import Format, Found, Record, show
from routelens.tasks.formats.fields import Fields
from routelens.types import Span

_IN_CONTEXT = {"context": ("context",), "qas": ("qas",)}
_IN_QUESTION = {"question": ("question",), "answers": ("answers",)}
_IN_ROW = {"context": ("context",), **_IN_QUESTION}


@dataclass(frozen=True)
class _Passage:
    """A paragraph's text and its article's title."""

    context: str | None
    title: str


@dataclass(frozen=True)
class _Answers:
    """The annotators' answers, in their order, and where they stand."""

    texts: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()


def _claims(record: Record) -> bool:
    articles = record.get("data")
    if isinstance(articles, list):
        return any(isinstance(article, dict) and "paragraphs" in article for article in articles)
    if isinstance(record.get("paragraphs"), list) and "context" not in record:
        return True
    return _is_flat(record)


def _is_flat(record: Record) -> bool:
    answers = record.get("answers")
    if isinstance(answers, list):
        return bool(answers) and all(isinstance(answer, dict) for answer in answers)
    return isinstance(answers, dict) and {"text", "answer_start"} <= set(answers)


def _read(record: Record, source: Path) -> Iterator[Found]:
    if "data" in record:
        for number, article in enumerate(record["data"]):
            yield from _article(article, f"data[{number}]")
    elif "paragraphs" in record:
        yield from _article(record, "")
    else:
        fields = Fields(record)
        fields.require(_IN_ROW)
        passage = _Passage(fields.text("context"), fields.label("title"))
        yield _question(fields, passage, "", flat=True)


def _article(article: Any, place: str) -> Iterator[Found]:
    paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
    if not isinstance(paragraphs, list):
        message = f"an article is an object with a list of paragraphs; got {show(article)}."
        yield Found(None, (message,), place)
        return
    title = article.get("title")
    for number, paragraph in enumerate(paragraphs):
        inner = ".".join(part for part in (place, f"paragraphs[{number}]") if part)
        yield from _paragraph(paragraph, title if isinstance(title, str) else "", inner)


def _paragraph(paragraph: Any, title: str, place: str) -> Iterator[Found]:
    if not isinstance(paragraph, dict):
        yield Found(None, (f"a paragraph is an object {{...}}; got {show(paragraph)}.",), place)
        return
    fields = Fields(paragraph)
    fields.require(_IN_CONTEXT)
    passage, questions = _Passage(fields.text("context"), title), fields.take("qas")
    if "qas" in paragraph and not isinstance(questions, list):
        fields.note(f"qas is a list; got {show(questions)}.")
    if fields.problems:
        yield Found(None, tuple(fields.problems), place)
    for number, question in enumerate(questions if isinstance(questions, list) else ()):
        inner = f"{place}.qas[{number}]"
        if not isinstance(question, dict):
            yield Found(None, (f"a question is an object {{...}}; got {show(question)}.",), inner)
            continue
        fields = Fields(question)
        fields.require(_IN_QUESTION)
        yield _question(fields, passage, inner)


def _question(fields: Fields, passage: _Passage, place: str, *, flat: bool = False) -> Found:
    question, item_id = fields.text("question"), fields.identifier("id")
    marked = "is_impossible" in fields.record
    impossible = fields.truth("is_impossible")
    answers = _answers(fields, passage.context)
    if impossible and answers.texts:
        fields.note(f"is_impossible is true, but answers holds {show(answers.texts[0])}.")
    elif not (impossible or answers.texts or fields.problems or (flat and not marked)):
        fields.note(
            "answers is empty; where the passage does not say, SQuAD v2 has is_impossible: true."
        )
    if passage.context is None and not fields.problems:
        return Found(None, (), place)  # what is wrong with the paragraph has been told
    title = {"title": passage.title} if passage.title else {}
    return fields.found(
        place,
        context=passage.context,
        question=question,
        answer=answers.texts[0] if answers.texts else None,
        aliases=answers.texts[1:],
        answer_spans=answers.spans,
        id=item_id,
        metadata={**title, **fields.metadata()},
        **{"task": "squad_v2" if marked else "squad", **fields.tags()},
    )


def _answers(fields: Fields, context: str | None) -> _Answers:
    value = fields.take("answers")
    texts, spans = [], []
    for number, (text, start) in enumerate(_pairs(fields, value)):
        where = f"answers[{number}]"
        if not isinstance(text, str) or not text.strip():
            fields.note(f"{where}: text must hold some text; got {show(text)}.")
        elif type(start) is not int or start < 0:
            fields.note(f"{where}: answer_start is a number from 0 on; got {show(start)}.")
        elif fields.encodes(where, text):
            texts.append(text)
            spans.append((start, start + len(text)))
            if context is not None and not context.startswith(text, start):
                fields.note(_misplaced(where, context, text, start))
    return _Answers(tuple(dict.fromkeys(texts)), tuple(dict.fromkeys(spans)))


def _pairs(fields: Fields, value: Any) -> list[tuple[Any, Any]]:
    """The answers as (text, answer_start), from a list of objects or an object of lists."""
    if isinstance(value, dict):
        texts, starts = value.get("text"), value.get("answer_start")
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return list(zip(texts, starts, strict=True))
    elif isinstance(value, list) and all(isinstance(answer, dict) for answer in value):
        return [(answer.get("text"), answer.get("answer_start")) for answer in value]
    if value is not None or "answers" in fields.record:
        fields.note(
            "answers is a list of objects with text and answer_start, or one object with a list of each, "
            f"equally long; got {show(value)}."
        )
    return []


def _misplaced(where: str, context: str, text: str, start: int) -> str:
    places = [i for i in range(len(context)) if context.startswith(text, i)]
    nearest = sorted(places, key=lambda place: abs(place - start))[:3]
    stands = f"it stands at {', '.join(map(str, nearest))}" if nearest else "it stands nowhere"
    return (
        f"{where}: the context holds {context[start : start + len(text)]!r} at answer_start {start}, "
        f"not {text!r}; {stands} (counted in characters from 0)."
    )


FORMAT = Format("SQuAD", _claims, _read)
