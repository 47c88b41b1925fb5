"""The knowledge task: slot-filled biographies of 32 words on average, thirteen questions each (D21).

A biography says when and where somebody was born and then, in any order, what they studied, where they work, what they keep
and collect, and either their job or an event they won. Questions ask for values as they stand, for parts of them (first
name, year, …), and for several together. Counts and stressor [S]; fields, templates and wordings [C].
"""

from dataclasses import dataclass
from typing import ClassVar

from routelens.tasks.base import Draft, Task
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon
from routelens.tasks.templates import (
    Ask,
    Passage,
    draw_values,
    fill,
    manipulated,
    put,
    reverse,
    several,
    standard,
)

SLOTS = {
    "name": "person",
    "date": "date",
    "town": "town",
    "field": "field",
    "college": "college",
    "company": "company",
    "job": "job",
    "pet": "creature",
    "count": "number",
    "thing": "thing",
    "event": "event",
}
OPENINGS = (
    "{name}, born on {date} in {town}, <first> and <second>.",
    "{name}, born in {town} on {date}, <first> and <second>.",
    "Born on {date} in {town}, {name} <first> and <second>.",
    "{name} was born on {date} in {town}. <They> <first> and <second>.",
    "{name} was born in {town} on {date}. <They> <first> and <second>.",
)
STUDIES = ("studied {field} at {college}", "read {field} at {college}")
POSTS = ("works for {company}", "works at {company}", "is employed by {company}")
POSTS_WITH_JOB = (
    "works as {a job} for {company}",
    "works as {a job} at {company}",
    "is {a job} at {company}",
)
PETS = ("keeps {a pet}", "has {a pet}", "looks after {a pet}")
COLLECTIONS = ("owns {count} {thing}", "has {count} {thing}", "collected {count} {thing}")
SUCCESSES = ("won the {event}", "came first at the {event}")

STANDARD = (
    standard(
        "date",
        "When was {name} born?",
        "What is {name}'s date of birth?",
        "On what date was {name} born?",
    ),
    standard(
        "town",
        "Where was {name} born?",
        "In which town was {name} born?",
        "What is {name}'s birthplace?",
    ),
    standard(
        "field",
        "What did {name} study?",
        "Which subject did {name} study?",
        "In which subject did {name} take a degree?",
    ),
    standard(
        "college",
        "Where did {name} study?",
        "At which institution did {name} study?",
        "Which school did {name} attend?",
    ),
    standard(
        "company",
        "Who employs {name}?",
        "Which company does {name} work for?",
        "What is the name of {name}'s employer?",
    ),
    standard(
        "job",
        "What is {name}'s job?",
        "What does {name} work as?",
        "Which job does {name} have?",
    ),
    standard(
        "pet",
        "Which animal does {name} keep?",
        "What kind of pet does {name} have?",
        "Which animal does {name} look after?",
    ),
    standard(
        "count",
        "How many {thing} does {name} own?",
        "How many {thing} does {name} have?",
        "What is the number of {thing} in {name}'s possession?",
    ),
    standard(
        "thing",
        "What does {name} collect?",
        "Which objects does {name} collect?",
        "What does {name} own {count} of?",
    ),
    standard(
        "event",
        "Which event did {name} win?",
        "At which event did {name} come first?",
        "At which event was {name} the winner?",
    ),
    reverse(
        "name",
        "Who was born in {town}?",
        "Who studied {field} at {college}?",
        "Which person works for {company}?",
        "Which person owns {count} {thing}?",
    ),
)
MANIPULATED = (
    manipulated(
        "name",
        "first",
        "What is the first name of the person born in {town}?",
        "What is the first name of the person who works for {company}?",
        "What is the given name of the person who studied {field}?",
        reverse=True,
    ),
    manipulated(
        "name",
        "last",
        "What is the last name of the person born in {town}?",
        "What is the last name of the person who works for {company}?",
        "What is the surname of the person who studied {field}?",
        reverse=True,
    ),
    manipulated(
        "date",
        "year",
        "In which year was {name} born?",
        "What is {name}'s year of birth?",
        "What year was {name} born in?",
    ),
    manipulated(
        "date",
        "month",
        "In which month was {name} born?",
        "What is the month of {name}'s birth?",
        "What month was {name} born in?",
    ),
    manipulated(
        "date",
        "day",
        "On which day of the month was {name} born?",
        "What day of the month is {name}'s birthday?",
        "Which number is the day of the month on which {name} was born?",
    ),
)
PARTS = (
    several(
        "{date} in {town}",
        "When and where was {name} born?",
        "What are {name}'s date and place of birth?",
        "On which date and in which town was {name} born?",
    ),
    several(
        "{field} at {college}",
        "What did {name} study, and where?",
        "Which subject did {name} study, and at which institution?",
        "What did {name} study, and which school was it at?",
    ),
    several(
        "{job} and {company}",
        "What is {name}'s job, and who is the employer?",
        "What does {name} work as, and for which company?",
        "Which job does {name} have, and which company is it with?",
    ),
    several(
        "{pet} and {thing}",
        "Which animal does {name} keep, and what does {name} collect?",
        "What pet does {name} have, and which objects does {name} collect?",
        "Which animal does {name} look after, and which things does {name} own?",
    ),
)
N_STANDARD, N_MANIPULATED, N_PARTS = 8, 3, 2


@dataclass(frozen=True)
class Knowledge(Task):
    """Short slot-filled biographies (D21)."""

    name: ClassVar[str] = "knowledge"
    description: ClassVar[str] = "slot-filled biographies of 32 words, 13 questions each"
    stressor: ClassVar[str] = "manipulated answers (first name, year, ...)"
    default_n_passages: ClassVar[int] = 4000

    questions_per_passage: int = 13

    def compose(self, draw: Draw) -> Draft | None:
        template = _biography(draw)
        values = draw_values(template, SLOTS, Lexicon(draw))
        pronoun = values["name"].parts["pronoun"]
        passage = fill(template.replace("<They>", pronoun.capitalize()), values)
        if not passage.is_sound:
            return None
        asks = [
            *draw.sample(_fitting(STANDARD, passage), N_STANDARD),
            *draw.sample(MANIPULATED, N_MANIPULATED),
            *draw.sample(_fitting(PARTS, passage), N_PARTS),
        ]
        questions = tuple(put(ask, passage, draw) for ask in draw.shuffled(asks))
        return Draft(passage.text, questions)


def _biography(draw: Draw) -> str:
    """A template: the birth, then the other clauses in random order, two of them beside the birth."""
    with_job = draw.chance(0.5)
    clauses = [
        draw.choice(STUDIES),
        draw.choice(POSTS_WITH_JOB if with_job else POSTS),
        draw.choice(PETS),
        draw.choice(COLLECTIONS),
    ]
    if not with_job:
        clauses.append(draw.choice(SUCCESSES))
    first, second, *others, last = draw.shuffled(clauses)
    opening = draw.choice(OPENINGS).replace("<first>", first).replace("<second>", second)
    return f"{opening} <They> {', '.join(others)} and {last}."


def _fitting(asks: tuple[Ask, ...], passage: Passage) -> list[Ask]:
    return [ask for ask in asks if ask.fits(passage)]
