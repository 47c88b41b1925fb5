"""RULER's JSON lines (https://github.com/NVIDIA/RULER): ``index``, ``input``, ``outputs``, later also ``answer_prefix``.

``input`` is the whole prompt. It is split where RULER's own wording of the question begins, for niah, vt, cwe, fwe and qa, whether or
not the beginning of the answer still follows; the passage keeps the instruction that opens the prompt. Anything else before or
after (a model's chat template, another wording) is refused: it would end up in the passage. The prompt also says what
several outputs are: pieces that are all asked for, or for qa alternatives. Rows with ``context`` and ``question`` of their own need
no splitting; then ``task``, or the file's or folder's name, says what the outputs are. ``index`` is kept as metadata only, since
newer versions of RULER write the needle's position there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from routelens.tasks.formats.base import Format, Found, Record
from routelens.tasks.formats.columns import REQUIRED, finish, read_gold
from routelens.tasks.formats.fields import Fields
from routelens.tasks.formats.pieces import ALTERNATIVES, kind_of_task

_REQUIRED = {"input": ("input",), "outputs": ("outputs",)}
_IDS = ("id", "_id")
_ADD = "add the columns context and question"


@dataclass(frozen=True)
class _Prompt:
    """A task's wording: how the prompt opens, how its question begins, and all from there to the prompt's end."""

    task: str
    opening: re.Pattern[str]
    start: re.Pattern[str]
    ending: re.Pattern[str]


@dataclass(frozen=True)
class _Split:
    """A prompt taken apart."""

    task: str
    context: str
    question: str
    answer_prefix: str


def _prompt(task: str, opening: str, start: str, question: str, prefix: str) -> _Prompt:
    ending = rf"(?P<question>{question})\s*(?P<prefix>{prefix})?\s*"
    return _Prompt(
        task,
        re.compile(opening),
        re.compile(start),
        re.compile(rf"(?:Question:\s*)?{ending}", re.DOTALL),
    )


_NO_OTHER_WORDS = (
    r"Answer the question based on the given documents\. "
    r"Only give me the answer and do not output any other words\.\s+"
)
_COMMON = r"What are the 10 most common words in the above list\?"
_CODED = (
    r"Do not provide any explanation\. Please ignore the dots '\.\.\.\.'\. "
    r"What are the three most frequently appeared words in the above coded text\?"
)
_PROMPTS = (
    _prompt(
        "niah",
        r"(?:Some|A) special magic \w+ (?:are|is) hidden within the following text\.",
        r"What (?:are all|is) the special magic ",
        r"What (?:are all|is) the special magic \w+ for .+? mentioned in the provided text\?",
        r"The special magic \w+ for .+ mentioned in the provided text (?:are|is):?",
    ),
    _prompt(
        "vt",
        r"Memorize and track the chain\(s\) of variable assignment hidden in the following text\.",
        r"Question: Find all variables that are assigned the value ",
        r"Find all variables that are assigned the value \S+ in the text above\.",
        r"Answer: According to the chain\(s\) of variable assignment in the text above, .+ they are:",
    ),
    _prompt(
        "cwe",
        r"Below is a numbered list of words\.",
        rf"Question: {_COMMON}",
        _COMMON,
        r"Answer: The top 10 words that appear most often in the list are:",
    ),
    _prompt(
        "fwe",
        r"Read the following coded text and track the frequency of each coded word\.",
        rf"Question: {_CODED}",
        _CODED,
        r"Answer: According to the coded text above, the three most frequently appeared words are:",
    ),
    _prompt(
        "qa",
        r"Answer the question based on the given documents\.",
        rf"{_NO_OTHER_WORDS}Question:",
        r"\S.*?",
        r"Answer:",
    ),
)


def _claims(record: Record) -> bool:
    if "outputs" in record:
        return True
    others = {"context", "question", "answer", "answers"}
    return "input" in record and not others & set(record)


def _read(record: Record, source: Path) -> Iterator[Found]:
    fields = Fields(record)
    if {"context", "question"} & set(record):
        yield _split_already(fields, source)
        return
    fields.require(_REQUIRED)
    text = fields.text("input")
    split = None if text is None else _split(text)
    if isinstance(split, str):
        fields.note(split)
        split = None
    task = split.task if split else ""
    gold = read_gold(fields, kind_of_task(task))
    yield finish(
        fields,
        split.context if split else None,
        split.question if split else None,
        gold,
        ids=_IDS,
        task=_named(source, task),
        more={"answer_prefix": split.answer_prefix} if split and split.answer_prefix else {},
    )


def _split_already(fields: Fields, source: Path) -> Found:
    """The item of a row that has its passage and its question apart."""
    fields.require(REQUIRED)
    context, question = fields.text("context"), fields.text("question", "input")
    task, outputs = str(fields.record.get("task") or ""), fields.record.get("outputs")
    kind = kind_of_task(task) if task else kind_of_task(*_names(source))
    if not kind and isinstance(outputs, list) and len(outputs) > 1:
        fields.note(
            "outputs holds several texts, and task says what they are (niah…, vt, cwe, fwe: all are asked "
            f"for; qa…: any will do); got {task!r}."
        )
    gold = read_gold(fields, kind or ALTERNATIVES)
    return finish(fields, context, question, gold, ids=_IDS)


def _split(text: str) -> _Split | str:
    """The prompt taken apart, or why it cannot be."""
    starts = [(prompt, [m.start() for m in prompt.start.finditer(text)]) for prompt in _PROMPTS]
    known = [(found[-1], prompt) for prompt, found in starts if found]
    if not known:
        return f"input ends with no question in RULER's words; {_ADD}. It ends {_end(text)}."
    start, prompt = max(known, key=lambda pair: pair[0])
    context = text[:start].strip()
    if not prompt.opening.match(context):
        return (
            f"input begins {_begin(text)}, not with RULER's own words for {prompt.task}; prepare it without "
            f"a model's chat template (template type base), or {_ADD}."
        )
    tail = re.sub(rf"\A{_NO_OTHER_WORDS}", "", text[start:])
    ending = prompt.ending.fullmatch(tail)
    if ending is None:
        return (
            f"input goes on after RULER's question for {prompt.task}: it ends {_end(text)}; {_ADD}."
        )
    return _Split(prompt.task, context, ending["question"].strip(), ending["prefix"] or "")


def _named(source: Path, task: str) -> str:
    """The task with its number where the file or its folder says it: ``niah_multikey_1/validation.jsonl``."""
    numbered = re.compile(rf"{task}(?![a-z])", re.IGNORECASE)
    return next((name for name in _names(source) if numbered.match(name)), task)


def _names(source: Path) -> tuple[str, str]:
    return source.stem, source.resolve().parent.name


def _begin(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _end(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else "..." + text[-57:])


FORMAT = Format("RULER", _claims, _read)
