"""Reads one record field by field and collects everything wrong with it, so that one look tells all.

Every reading method gives back something of the right type whatever came, and notes what is wrong in ``problems``; an item is
only made where nothing was noted. Fields that no method asked for become the item's metadata.
"""

from collections.abc import Mapping
from typing import Any

from routelens.tasks.formats.base import Found, show
from routelens.types import EvidenceGroup, Item, Span

TAGS = ("task", "answer_type", "question_type", "direction")


class Fields:
    """One record's fields, with what is wrong with them. ``path`` is put before their names in messages."""

    def __init__(self, record: Mapping[str, Any], path: str = "") -> None:
        self.record = record
        self.path = path
        self.problems: list[str] = []
        self._used: set[str] = set()

    def found(self, place: str = "", **values: Any) -> Found:
        """The item with these values, or what was noted."""
        if self.problems:
            return Found(None, tuple(self.problems), place)
        return Found(Item(**values), (), place)

    def note(self, message: str) -> None:
        self.problems.append(message)

    def require(self, required: Mapping[str, tuple[str, ...]], *, without: str = "") -> None:
        """Notes which of these are missing, each under any of its names, except the one called ``without``."""
        missing = [
            name
            for name, names in required.items()
            if name != without and not any(n in self.record for n in names)
        ]
        if missing:
            wanted = ", ".join(" or ".join(names) for names in required.values())
            present = ", ".join(self.record) or "none"
            self.note(f"{' and '.join(missing)} missing (required: {wanted}; present: {present}).")

    def take(self, *names: str) -> Any:
        """The first of these fields that the record has."""
        for name in names:
            if name in self.record:
                self._used.add(name)
                return self.record[name]
        return None

    def text(self, *names: str) -> str | None:
        """The first of these fields as a text with something in it; None where there is none, or where it is wrong."""
        name = next((name for name in names if name in self.record), None)
        if name is None:
            return None
        value, called = self.take(name), f"{self.path}{name}"
        if not isinstance(value, str):
            self.note(f"{called} is a text; got {show(value)}.")
        elif not value.strip():
            self.note(f"{called} must hold some text; got {show(value)}.")
        elif self.encodes(called, value):
            return value
        return None

    def label(self, name: str) -> str:
        """An optional text, which may be empty."""
        value = self.take(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.note(f"{self.path}{name} is a text; got {show(value)}.")
            return ""
        return value if self.encodes(name, value) else ""

    def texts(self, name: str) -> list[str]:
        """An optional list of texts."""
        value = self.take(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            self.note(f"{self.path}{name} is a list of texts; got {show(value)}.")
            return []
        return [text for text in value if self.encodes(name, text)]

    def truth(self, name: str) -> bool | None:
        """An optional truth value."""
        value = self.take(name)
        if isinstance(value, bool | None):
            return value
        self.note(f"{self.path}{name} is true or false; got {show(value)}.")
        return None

    def identifier(self, *names: str) -> str:
        """An optional text or integer, as a text."""
        value = self.take(*names)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.note(f"{self.path}{names[0]} is a text or an integer; got {show(value)}.")
            return ""
        return str(value) if self.encodes(names[0], str(value)) else ""

    def spans(self, where: str, value: Any, context: str | None) -> tuple[Span, ...]:
        """A list of [start, end] in the context."""
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note(f"{where} is a list of [start, end]; got {show(value)}.")
            return ()
        bad = [span for span in value if not _is_span(span, context)]
        length = "" if context is None else f" of {len(context)}"
        for span in bad:
            self.note(
                f"{where}: a span is [start, end] with 0 <= start < end <= the context's length"
                f"{length} characters; got {show(span)}."
            )
        return () if bad else tuple((start, end) for start, end in value)

    def groups(self, context: str | None) -> tuple[EvidenceGroup, ...]:
        """The optional ``required_groups``: lists of spans, or objects with occurrences, role and name."""
        value = self.take("required_groups")
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note(f"required_groups is a list; got {show(value)}.")
            return ()
        groups = [self._group(f"required_groups[{i}]", g, context) for i, g in enumerate(value)]
        return tuple(group for group in groups if group is not None)

    def _group(self, where: str, value: Any, context: str | None) -> EvidenceGroup | None:
        fields = value if isinstance(value, dict) else {"occurrences": value}
        role, name = fields.get("role", "payload"), fields.get("name", "")
        if set(fields) - {"occurrences", "role", "name"} or not isinstance(name, str):
            self.note(
                f"{where} is a list of spans or an object with occurrences, role and name (a text); "
                f"got {show(value)}."
            )
        elif role not in ("payload", "bridge"):
            self.note(f"{where}: role is 'payload' or 'bridge'; got {show(role)}.")
        elif not fields.get("occurrences"):
            self.note(f"{where} holds no span.")
        else:
            return EvidenceGroup(self.spans(where, fields["occurrences"], context), role, name)
        return None

    def tags(self) -> dict[str, str]:
        """Those of the optional tags that the record has."""
        return {name: self.label(name) for name in TAGS if self.record.get(name) is not None}

    def metadata(self) -> dict[str, Any]:
        """All that was not asked for, and the record's own ``metadata``; to be asked for last."""
        value = self.take("metadata")
        if not isinstance(value, dict | None):
            self.note(f"metadata is an object; got {show(value)}.")
            return {}
        others = {k: v for k, v in self.record.items() if k not in self._used and k not in TAGS}
        return {**others, **(value or {})}

    def encodes(self, name: str, text: str) -> bool:
        """Whether the text is Unicode that a tokenizer can read."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            self.note(
                f"{name} holds half of a surrogate pair at character {error.start}; "
                "no tokenizer can read it."
            )
            return False
        return True


def _is_span(span: Any, context: str | None) -> bool:
    if not (isinstance(span, list) and len(span) == 2 and all(type(edge) is int for edge in span)):
        return False
    return 0 <= span[0] < span[1] and (context is None or span[1] <= len(context))
