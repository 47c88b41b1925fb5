"""Values for passages: people, places, organisations, creatures, things, events, numbers and dates, all fictional.

Every class of value is one function of a stream of draws. A value knows its class, the answer tag of that class (D21), its
parts (a surname, a year), and other spellings a reader may give. Values are drawn independently of each other, but for one
rule: within a passage no word is used by two values, so that finding a value's words is finding that value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from routelens.tasks import words
from routelens.tasks.draws import Draw

ANSWER_TYPES = (
    "Person",
    "Thing",
    "Organization",
    "Creature",
    "Location",
    "Numerals",
    "Date/Time",
    "Event",
)


@dataclass(frozen=True)
class Value:
    """Something a passage can say: its text, its class, its named parts, and other spellings of it."""

    text: str
    kind: str
    parts: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    @property
    def answer_type(self) -> str:
        """The answer tag (D21)."""
        return KINDS[self.kind].answer_type


@dataclass(frozen=True)
class Kind:
    """A class of values: its answer tag and how one is drawn."""

    answer_type: str
    make: Callable[[Draw], Value]


class Lexicon:
    """Draws the values of one passage; no word is given out twice."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._used: set[str] = set()

    def value(self, kind: str) -> Value:
        """A value of the class ``kind`` (a key of KINDS) that shares no word with earlier ones."""
        for _ in range(1_000):
            value = KINDS[kind].make(self._draw)
            value_words = set(value.text.lower().replace(",", "").split())
            if not value_words & self._used:
                self._used |= value_words
                return value
        raise ValueError(f"Lexicon: no {kind!r} is left that shares no word with the passage.")


def _plain(kind: str, choices: tuple[str, ...]) -> Callable[[Draw], Value]:
    return lambda draw: Value(draw.choice(choices), kind)


def _joined(kind: str, stems: tuple[str, ...], endings: tuple[str, ...]) -> Callable[[Draw], Value]:
    return lambda draw: Value(draw.choice(stems) + draw.choice(endings), kind)


def _named(
    kind: str, stems: tuple[str, ...], nouns: tuple[str, ...], *, article: bool = True
) -> Callable[[Draw], Value]:
    """A proper name of two words; its part ``noun`` is what one calls it for short ("the guild")."""

    def make(draw: Draw) -> Value:
        stem, noun = draw.choice(stems), draw.choice(nouns)
        text = f"{stem} {noun}"
        return Value(text, kind, {"noun": noun.lower()}, (f"the {text}",) if article else ())

    return make


def _whole(kind: str, low: int, high: int) -> Callable[[Draw], Value]:
    return lambda draw: Value(str(draw.between(low, high)), kind)


def _person(kind: str, pronouns: tuple[str, ...]) -> Callable[[Draw], Value]:
    def make(draw: Draw) -> Value:
        pronoun = draw.choice(pronouns)
        first = draw.choice(words.FIRST_NAMES[pronoun])
        last = draw.choice(words.SURNAME_STEMS) + draw.choice(words.SURNAME_ENDINGS)
        return Value(f"{first} {last}", kind, {"first": first, "last": last, "pronoun": pronoun})

    return make


def _date(draw: Draw) -> Value:
    day, month = str(draw.between(1, 28)), draw.choice(words.MONTHS)
    year = str(draw.between(1890, 1949))
    spellings = (f"{day} {month} {year}", f"{month} {day}, {year}")
    text, other = draw.shuffled(spellings)
    return Value(text, "date", {"day": day, "month": month, "year": year}, (other,))


def _species(draw: Draw) -> Value:
    place = draw.choice(words.SPECIES_PLACES)
    noun = draw.choice(words.SPECIES_STEMS) + draw.choice(words.SPECIES_ENDINGS)
    text = f"{place} {noun}"
    return Value(text, "species", {"noun": noun}, (f"the {text}",))


def _region(draw: Draw) -> Value:
    stem = draw.choice(words.TOWN_STEMS) + draw.choice(words.TOWN_ENDINGS)
    text = f"{stem} {draw.choice(words.REGIONS)}"
    return Value(text, "region", {}, (f"the {text}",))


def _artefact(draw: Draw) -> Value:
    stem = draw.choice(words.ORGANISATION_STEMS)
    noun = draw.choice(words.OBJECTS)
    text = f"{stem} {noun.capitalize()}"
    return Value(text, "artefact", {"noun": noun}, (f"the {text}",))


KINDS: Mapping[str, Kind] = {
    "person": Kind("Person", _person("person", ("she", "he"))),
    "woman": Kind("Person", _person("woman", ("she",))),
    "town": Kind("Location", _joined("town", words.TOWN_STEMS, words.TOWN_ENDINGS)),
    "region": Kind("Location", _region),
    "college": Kind(
        "Organization", _named("college", words.ORGANISATION_STEMS, words.COLLEGES, article=False)
    ),
    "company": Kind(
        "Organization", _named("company", words.ORGANISATION_STEMS, words.COMPANIES, article=False)
    ),
    "society": Kind("Organization", _named("society", words.ORGANISATION_STEMS, words.SOCIETIES)),
    "creature": Kind("Creature", _plain("creature", words.CREATURES)),
    "species": Kind("Creature", _species),
    "prey": Kind("Creature", _plain("prey", words.PREY)),
    "thing": Kind("Thing", _plain("thing", words.THINGS)),
    "object": Kind("Thing", _plain("object", words.OBJECTS)),
    "artefact": Kind("Thing", _artefact),
    "material": Kind("Thing", _plain("material", words.MATERIALS)),
    "lining": Kind("Thing", _plain("lining", words.LININGS)),
    "goods": Kind("Thing", _plain("goods", words.GOODS)),
    "prize": Kind("Thing", _plain("prize", words.PRIZES)),
    "field": Kind("Thing", _plain("field", words.FIELDS)),
    "job": Kind("Thing", _plain("job", words.JOBS)),
    "event": Kind("Event", _named("event", words.EVENT_STEMS, words.EVENT_KINDS)),
    "number": Kind("Numerals", _whole("number", 31, 99)),
    "large": Kind("Numerals", _whole("large", 110, 990)),
    "date": Kind("Date/Time", _date),
    # Later than any date, so that nothing happens before its subject is there.
    "year": Kind("Date/Time", lambda draw: Value(str(draw.between(1970, 2009)), "year")),
}
