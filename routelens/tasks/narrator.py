"""The telling of facts: who is named how, and how the sentences join, so that templates read as prose."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Value
from routelens.tasks.narrative import Sentence, Setting, Told
from routelens.tasks.templates import slots_of

CONNECTIVES = (
    "In addition, ",
    "As it happens, ",
    "By all accounts, ",
    "Moreover, ",
    "In fact, ",
    "Besides, ",
    "As far as anyone knows, ",
    "According to the records, ",
)
SEASONS = ("early in", "late in", "in the spring of", "in the summer of", "in the autumn of")
CONNECTIVE_RATE = 0.25
SEASON_RATE = 0.35
SHORT_RATE = 0.3
SURNAME_RATE = 0.75
_CHOICE = re.compile(r"\[([^]]+)\]")
_IN_YEAR = re.compile(r"\b[Ii]n (?=\{year\})")
_STUMBLE = re.compile(r",(?=[,.;:])")  # an apposition that meets a stop


@dataclass
class Narrator:
    """Writes told facts as sentences, one after the other, and remembers who has been named and who was spoken of last.

    A pronoun stands only where it can mean nobody else: the sentence before named the same subject, and no one of that
    pronoun beside it.
    """

    setting: Setting
    values: Mapping[str, Value]
    draw: Draw
    pronoun_rate: float
    _introduced: set[int] = field(default_factory=set)
    _named_last: int = -1
    _spoken_of: int = -1
    _beside: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._connectives = self.draw.shuffled(CONNECTIVES)
        self._introductions = self.draw.shuffled(self.setting.others)

    def open(self) -> Sentence:
        """An opening, which names the first subject."""
        self._introduced.add(0)
        self._named_last = self._spoken_of = 0
        opening = self.draw.choice(self.setting.openings)
        return Sentence(self._vary(opening).replace("{who}", "{who_0}"))

    def tell(self, told: Told) -> Sentence:
        """The fact in its telling, as a template in the passage's slots."""
        text = self._vary(told.telling)
        shown, leans = self._refer(told, text)
        if text.startswith("<Who>") and self._connectives and self.draw.chance(CONNECTIVE_RATE):
            text = self._connectives.pop() + text.replace("<Who>", "<who>", 1)
        for mark, words in (("<Who>", _capital(shown)), ("<who>", shown), ("<whom>", shown)):
            text = text.replace(mark, words)
        self._introduced |= {told.subject, told.other}
        self._spoken_of = told.subject
        self._named_last = -1 if leans else told.subject
        self._beside = self._pronouns(told, slots_of(told.telling))
        return Sentence(told.local(_STUMBLE.sub("", text)), leans)

    def _refer(self, told: Told, text: str) -> tuple[str, bool]:
        """The words for the subject, and whether they lean on the sentence before."""
        setting, chance = self.setting, self.draw.chance
        if told.subject not in self._introduced and self._introductions:
            return self._introductions.pop(), False
        pronoun = self.values[told.who].parts.get("pronoun", "it")
        if (
            self._named_last == told.subject
            and pronoun not in self._beside
            and self._can_be_pronoun(told, text, pronoun)
            and chance(self.pronoun_rate)
        ):
            return pronoun, True
        if "{who.last}" in setting.short:
            return (setting.short if chance(SURNAME_RATE) else setting.named), False
        if setting.short and self._spoken_of == told.subject and chance(SHORT_RATE):
            noun = self.values[told.who].parts.get("noun", "")
            return setting.short.replace("<noun>", noun), True
        return setting.named, False

    def _can_be_pronoun(self, told: Told, text: str, pronoun: str) -> bool:
        """Whether the subject is in the nominative, and nothing that stands before it can be taken for it."""
        before, mark, _ = text.partition("<Who>" if "<Who>" in text else "<who>")
        slots = slots_of(before)
        if pronoun == "it":
            return bool(mark) and all(slot in ("date", "year", "count") for slot in slots)
        return bool(mark) and pronoun not in self._pronouns(told, slots)

    def _pronouns(self, told: Told, slots: tuple[str, ...]) -> set[str]:
        """The pronouns of the people, beside the subject, in those slots."""
        values = (self.values[told.slot(slot)] for slot in slots if slot != "who")
        return {value.parts["pronoun"] for value in values if "pronoun" in value.parts}

    def _vary(self, text: str) -> str:
        """The text with one of each choice, and with some years said more closely."""
        text = _CHOICE.sub(lambda match: self.draw.choice(match[1].split("|")), text)
        year = _IN_YEAR.search(text)
        if year and self.draw.chance(SEASON_RATE):
            season = self.draw.choice(SEASONS)
            season = _capital(season) if year[0][0] == "I" else season
            text = f"{text[: year.start()]}{season} {text[year.end() :]}"
        return text


def _capital(text: str) -> str:
    return text if text.startswith("{") else text[0].upper() + text[1:]
