"""How a walk along links is asked for, in the four phrasings of the hops task.

``nested``: "Who leads the company that employs Adira Arbane?"; ``noun``: "Name the director of the employer of Adira
Arbane."; ``steps``: "Take the employer of Adira Arbane. Who leads that company?"; ``roles``: "From Adira Arbane, move on to the
employer, then to the director. Which person is that?" Only the first entity is named.
"""

from collections.abc import Mapping, Sequence

from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Value
from routelens.tasks.relations.relation import Asked

PHRASINGS = ("nested", "noun", "steps", "roles")
NOUN_FRAMES = ("Name {n}.", "Identify {n}.", "Look up {n}.")
STEP_FRAMES = ("Consider {n}. {q}", "Think of {n}. {q}", "Take {n}. {q}")
ROLE_FRAMES = (
    "Starting from {x}, go to {r}. {q}",
    "Begin with {x} and go to {r}. {q}",
    "From {x}, move on to {r}. {q}",
)
# What an entity of a class is called where it is pointed at.
CLASS_NOUNS: Mapping[str, str] = {
    "person": "person",
    "company": "company",
    "town": "town",
    "region": "region",
    "event": "event",
    "creature": "animal",
    "species": "animal",
    "goods": "product",
    "number": "number",
    "year": "year",
}
# Classes whose name takes an article in a question.
WITH_ARTICLE = frozenset(("region", "event", "creature", "species"))
RIGHT_BRANCHING_FROM = 3


def word(walk: Sequence[Asked], start: Value, phrasing: str, draw: Draw) -> tuple[str, int]:
    """The question that walks from ``start``, and the number of the wording used (0 to 2)."""
    name = f"the {start.text}" if start.kind in WITH_ARTICLE else start.text
    makers = {"nested": _by_nesting, "noun": _by_noun, "steps": _by_steps, "roles": _by_roles}
    text, wording = makers[phrasing](walk, name, draw)
    return capital(text), wording


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[0].upper() + text[1:]


def _by_nesting(walk: Sequence[Asked], name: str, draw: Draw) -> tuple[str, int]:
    *before, last = walk
    wording = draw.choice(_readable(last.asks, len(walk)))
    return last.asks[wording].replace("{x}", _nested(before, name, len(walk), draw)), wording


def _by_noun(walk: Sequence[Asked], name: str, draw: Draw) -> tuple[str, int]:
    wording = draw.below(len(NOUN_FRAMES))
    return NOUN_FRAMES[wording].replace("{n}", _nested(walk, name, len(walk), draw)), wording


def _by_steps(walk: Sequence[Asked], name: str, draw: Draw) -> tuple[str, int]:
    *before, last = walk
    nouns = []
    for step in before:
        x = _pointer(step.known) if nouns else name
        noun = draw.choice(step.nouns).replace("{x}", x)
        nouns.append(noun.replace("that that", "which that"))
    wording = draw.below(len(last.asks))
    asked = last.asks[wording].replace("{x}", _pointer(last.known))
    frame = draw.choice(STEP_FRAMES).replace("{n}", ", then ".join(nouns) or name)
    return frame.replace("{q}", capital(asked)), wording


def _by_roles(walk: Sequence[Asked], name: str, draw: Draw) -> tuple[str, int]:
    wording = draw.below(len(ROLE_FRAMES))
    roles = ", then to ".join(f"the {step.role}" for step in walk)
    asked = f"Which {CLASS_NOUNS[walk[-1].found]} is that?"
    frame = ROLE_FRAMES[wording].replace("{x}", name)
    return frame.replace("{r}", roles).replace("{q}", asked), wording


def _nested(walk: Sequence[Asked], name: str, depth: int, draw: Draw) -> str:
    x = name
    for step in walk:
        x = step.nouns[draw.choice(_readable(step.nouns, depth))].replace("{x}", x)
    return x


def _readable(templates: Sequence[str], depth: int) -> list[int]:
    """The templates that may be nested: in deep questions those that end with what they hold.

    Nobody reads "the town where the person who runs the company that … works for was born".
    """
    ending = [n for n, one in enumerate(templates) if one.rstrip("?").endswith("{x}")]
    return ending if ending and depth >= RIGHT_BRANCHING_FROM else list(range(len(templates)))


def _pointer(kind: str) -> str:
    return "that many" if kind == "number" else f"that {CLASS_NOUNS[kind]}"
