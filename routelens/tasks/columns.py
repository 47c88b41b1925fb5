"""From a row's columns to an item: our own field names, and those of kvpress, LongBench and RULER.

====================  ====================================================================================================
ours                  also read
====================  ====================================================================================================
``context``           RULER's ``input``, where there is no ``context``: all but its last line that holds text
``question``          ``input`` (LongBench); RULER: the last line of ``input``
``answer``            a text, a list of texts (the first is the answer, the others aliases), or null: the passage does not
                      say; ``answers`` (LongBench), ``outputs`` (RULER)
``id``                ``_id`` (LongBench), ``index`` (RULER)
====================  ====================================================================================================

RULER scores most tasks by *all* outputs. Several ``outputs`` are therefore pieces asked for together (the answer joins them
with commas, one required group a piece), unless the row's ``task``, the file or its folder is called ``qa…``, where they are
alternatives. A list in ``answer`` or ``answers`` holds pieces only where ``task`` names one of RULER's other tasks.
Columns that are not known (``answer_prefix``, ``max_new_tokens``, ``all_classes``, …) go to the item's metadata.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from routelens.matching import find_whole_words
from routelens.types import EvidenceGroup, Item

REQUIRED = {
    "context": ("context",),
    "question": ("question", "input"),
    "answer": ("answer", "answers", "outputs"),
}
_IDS = ("id", "_id", "index")
_TAGS = ("task", "answer_type", "question_type", "direction")
_ALL_PIECES_TASKS = ("niah", "vt", "variable_tracking", "cwe", "common_words", "fwe", "freq_words")


class RowError(ValueError):
    """All that is wrong with one row."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("; ".join(messages))
        self.messages = messages


def item_from_row(row: Any, source: Path) -> Item:
    """The item that a row says; ``source`` is the file it stands in.

    Raises:
        RowError: with everything that is wrong with the row.
    """
    if not isinstance(row, dict):
        raise RowError([f"a row is a JSON object {{...}}; got {_show(row)}."])
    columns = _Columns(row, source)
    item = columns.item()
    if columns.problems or item is None:
        raise RowError(columns.problems)
    return item


class _Columns:
    """Reads one row, column by column, and collects what is wrong with it."""

    def __init__(self, row: Mapping[str, Any], source: Path) -> None:
        self.row = row
        self.source = source
        self.used: set[str] = set()
        self.problems: list[str] = []

    def item(self) -> Item | None:
        self._report_missing()
        context, question = self._texts()
        answer, rest, pieces = self._answer()
        groups = self._groups(context) or _groups_of_pieces(context, pieces)
        spans = self._spans("answer_spans", self._take("answer_spans"), context)
        aliases = [*rest, *self._strings("aliases")]
        ids = {"passage_id": self._id(("passage_id",)), "id": self._id(_IDS)}
        tags = {name: self._string(name) for name in _TAGS if self.row.get(name) is not None}
        if pieces:
            tags.setdefault("question_type", "Part")
        metadata = self._metadata()
        if self.problems or context is None or question is None:
            return None
        return Item(
            context=context,
            question=question,
            answer=answer,
            aliases=tuple(aliases),
            answer_spans=spans,
            required_groups=groups,
            metadata=metadata,
            **ids,
            **tags,
        )

    def _take(self, *names: str) -> Any:
        """The first of these columns that the row has."""
        for name in names:
            if name in self.row:
                self.used.add(name)
                return self.row[name]
        return None

    def _report_missing(self) -> None:
        missing = [
            name
            for name, accepted in REQUIRED.items()
            if not any(column in self.row for column in accepted)
        ]
        if self._is_ruler():
            missing = [name for name in missing if name != "context"]
        if self.row.get("answerable") is False:
            missing = [name for name in missing if name != "answer"]
        if missing:
            required = ", ".join(" or ".join(accepted) for accepted in REQUIRED.values())
            present = ", ".join(self.row) or "none"
            self.problems.append(
                f"{' and '.join(missing)} missing (required: {required}; present: {present})."
            )

    def _is_ruler(self) -> bool:
        return "input" in self.row and not {"context", "question"} & set(self.row)

    def _texts(self) -> tuple[str | None, str | None]:
        if not self._is_ruler():
            return self._text("context", "context"), self._text("question", "question", "input")
        text = self._text("input", "input")
        context, _, question = (text or "").rstrip().rpartition("\n")
        if text is not None and not context.strip():
            self.problems.append(
                "input without a context column holds the passage and, as its last line, the question; "
                "got one line."
            )
        return context, question

    def _text(self, name: str, *columns: str) -> str | None:
        if not any(column in self.row for column in columns):
            return None
        value = self._take(*columns)
        if not isinstance(value, str):
            self.problems.append(f"{name} is a text; got {_show(value)}.")
        elif not value.strip():
            self.problems.append(f"{name} must hold some text; got {_show(value)}.")
        elif self._encodes(name, value):
            return value
        return None

    def _answer(self) -> tuple[str | None, list[str], list[str]]:
        """The answer, its alternatives, and the pieces where several are asked for together."""
        answerable = self._take("answerable")
        if not isinstance(answerable, bool | None):
            self.problems.append(f"answerable is true or false; got {_show(answerable)}.")
        column = next((name for name in REQUIRED["answer"] if name in self.row), "")
        value = self._take(column) if column else None
        if column and value is None and answerable is True:
            self.problems.append(f"{column} is null, but answerable is true.")
        if value is None:
            return None, [], []
        texts = [value] if isinstance(value, str) else value
        if not (isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts)):
            self.problems.append(
                f"{column} is a text, a list of texts, or null where the passage does not say; "
                f"got {_show(value)}."
            )
            return None, [], []
        if not all(self._encodes(column, text) for text in texts) or answerable is False:
            return None, [], []
        if len(texts) > 1 and self._asks_for_all(column):
            return ", ".join(texts), [], texts
        if column == "answer" and "answers" in self.row:
            texts = [*texts, *self._strings("answers")]
        answer, *rest = dict.fromkeys(texts)
        return answer, rest, []

    def _asks_for_all(self, column: str) -> bool:
        task = str(self.row.get("task") or "")
        if column == "outputs":
            names = (task, self.source.stem, self.source.resolve().parent.name)
            return not any(name.lower().startswith("qa") for name in names)
        return task.lower().startswith(_ALL_PIECES_TASKS)

    def _groups(self, context: str | None) -> tuple[EvidenceGroup, ...]:
        value = self._take("required_groups")
        if value is None:
            return ()
        if not isinstance(value, list):
            self.problems.append(f"required_groups is a list; got {_show(value)}.")
            return ()
        groups = [self._group(f"required_groups[{i}]", g, context) for i, g in enumerate(value)]
        return tuple(group for group in groups if group is not None)

    def _group(self, where: str, value: Any, context: str | None) -> EvidenceGroup | None:
        fields = value if isinstance(value, dict) else {"occurrences": value}
        role, name = fields.get("role", "payload"), fields.get("name", "")
        if set(fields) - {"occurrences", "role", "name"} or not isinstance(name, str):
            self.problems.append(
                f"{where} is a list of spans or an object with occurrences, role and name (a text); "
                f"got {_show(value)}."
            )
        elif role not in ("payload", "bridge"):
            self.problems.append(f"{where}: role is 'payload' or 'bridge'; got {_show(role)}.")
        elif not fields.get("occurrences"):
            self.problems.append(f"{where} holds no span.")
        else:
            return EvidenceGroup(self._spans(where, fields["occurrences"], context), role, name)
        return None

    def _spans(self, where: str, value: Any, context: str | None) -> tuple[tuple[int, int], ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            self.problems.append(f"{where} is a list of [start, end]; got {_show(value)}.")
            return ()
        bad = [span for span in value if not _is_span(span, context)]
        self.problems += [
            f"{where}: a span is [start, end] with 0 <= start < end <= the context's length"
            f"{'' if context is None else f' of {len(context)}'} characters; got {_show(span)}."
            for span in bad
        ]
        return () if bad else tuple((start, end) for start, end in value)

    def _strings(self, name: str) -> list[str]:
        value = self._take(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            self.problems.append(f"{name} is a list of texts; got {_show(value)}.")
            return []
        return [text for text in value if self._encodes(name, text)]

    def _string(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            self.problems.append(f"{name} is a text; got {_show(value)}.")
            return ""
        return value if self._encodes(name, value) else ""

    def _id(self, names: tuple[str, ...]) -> str:
        value = self._take(*names)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.problems.append(f"{names[0]} is a text or an integer; got {_show(value)}.")
            return ""
        return str(value) if self._encodes(names[0], str(value)) else ""

    def _metadata(self) -> dict[str, Any]:
        value = self._take("metadata")
        if not isinstance(value, dict | None):
            self.problems.append(f"metadata is an object; got {_show(value)}.")
            return {}
        others = {key: self.row[key] for key in self.row if key not in (*self.used, *_TAGS)}
        return {**others, **(value or {})}

    def _encodes(self, name: str, text: str) -> bool:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            self.problems.append(
                f"{name} holds half of a surrogate pair at character {error.start}; "
                "no tokenizer can read it."
            )
            return False
        return True


def _groups_of_pieces(context: str | None, pieces: list[str]) -> tuple[EvidenceGroup, ...]:
    found = [find_whole_words(context or "", piece) for piece in dict.fromkeys(pieces)]
    # One piece that cannot be found makes the whole answer not locatable, rather than half located.
    return tuple(EvidenceGroup(spans) for spans in found) if all(found) else ()


def _is_span(span: Any, context: str | None) -> bool:
    if not (isinstance(span, list) and len(span) == 2 and all(type(edge) is int for edge in span)):
        return False
    return 0 <= span[0] < span[1] and (context is None or span[1] <= len(context))


def _show(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    kind = "null" if value is None else kinds.get(type(value), "a number")
    text = repr(value)
    return kind if value is None else f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"
