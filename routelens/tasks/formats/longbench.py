"""LongBench's question-answering sets (https://github.com/THUDM/LongBench): ``input``, ``context``, ``answers``, ``dataset``, ``_id``.

All answers are right ones. The sets that ask no question on a passage (summaries, few-shot examples, code) and LongBench v2's
choices between letters are refused by name: their answers would be looked for in a text that does not hold them. Where qasper
says "unanswerable", the paper does not say.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from routelens.tasks.formats.base import Format, Found, Record
from routelens.tasks.formats.columns import REQUIRED, Gold, finish, read_gold
from routelens.tasks.formats.fields import Fields

_FEW_SHOT = "its context holds worked examples, not the passage"
_SUMMARY = "it asks for a summary"
_CODE = "it asks to go on with code"
_PARAGRAPHS = "what is asked stands in LongBench's prompt, not in the file"
_REFUSED = {
    "gov_report": _SUMMARY,
    "qmsum": _SUMMARY,
    "multi_news": _SUMMARY,
    "vcsum": _SUMMARY,
    "trec": _FEW_SHOT,
    "triviaqa": _FEW_SHOT,
    "samsum": _FEW_SHOT,
    "lsht": _FEW_SHOT,
    "passage_count": _PARAGRAPHS,
    "passage_retrieval_en": _PARAGRAPHS,
    "passage_retrieval_zh": _PARAGRAPHS,
    "lcc": _CODE,
    "repobench-p": _CODE,
}
_UNANSWERABLE = "unanswerable"


def _claims(record: Record) -> bool:
    if "choice_A" in record or {"context", "input"} <= set(record):
        return True
    return {"context", "answers", "dataset"} <= set(record)


def _read(record: Record, source: Path) -> Iterator[Found]:
    fields = Fields(record)
    dataset = str(record.get("dataset") or "")
    name = dataset.lower().removesuffix("_e")
    if "choice_A" in record:
        fields.note(
            "choice_A, … make this a choice between letters, which no passage holds; "
            "write the question with the answer's own text."
        )
    elif name in _REFUSED:
        fields.note(f"LongBench's {dataset} is not question answering: {_REFUSED[name]}.")
    if fields.problems:
        yield fields.found()
        return
    fields.require(REQUIRED)
    context, question = fields.text("context"), fields.text("input", "question")
    gold = read_gold(fields, "")
    if name == "qasper":
        gold = _answered(gold)
    yield finish(fields, context, question, gold, task=dataset or "custom")


def _answered(gold: Gold) -> Gold:
    """The answers without those that say that there is none."""
    answers = [gold.answer or "", *gold.aliases]
    said = [text for text in answers if text.strip().rstrip(".").lower() != _UNANSWERABLE]
    return replace(gold, answer=said[0] if said else None, aliases=tuple(said[1:]))


FORMAT = Format("LongBench", _claims, _read)
