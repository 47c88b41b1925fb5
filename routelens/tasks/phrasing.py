"""How questions begin: interchangeable stems ("Where", "In which town"), and asks built of every stem with every clause."""

from collections.abc import Iterable

from routelens.tasks.narrative import FactKind
from routelens.tasks.templates import Ask, standard

WHO = ("Who", "Which person", "What is the name of the person who")
FIRST_OF_WHO = (
    "What is the first name of the person who",
    "What is the given name of the person who",
    "By which first name is the person known who",
)
LAST_OF_WHO = (
    "What is the last name of the person who",
    "What is the surname of the person who",
    "What is the family name of the person who",
)
WHERE = ("Where", "In which town", "In what town")
WHICH_TOWN = ("Which town", "What is the name of the town that", "Which of the towns")
WHEN = ("In which year", "In what year", "When")
ON_WHICH_DATE = ("On which date", "On what date", "When")
IN_WHICH_YEAR = ("In which year", "In what year", "During which year")
IN_WHICH_MONTH = ("In which month", "In what month", "During which month")
WHICH_FIRM = ("Which firm", "Which company", "What is the name of the firm that")
WHICH_BODY = ("Which body", "Which group", "What is the name of the organisation that")
WHICH_SCHOOL = ("Which school", "Which institution", "What is the name of the school that")
WHICH_EVENT = ("Which event", "Which gathering", "What is the name of the event that")
WHICH_SPECIES = ("Which species", "Which animal", "What is the name of the species that")
WHICH_PIECE = ("Which piece", "Which antique", "What is the name of the piece that")
WHAT_ANIMAL = ("Which animal", "What kind of animal", "What sort of animal")


def asks(
    slot: str, stems: Iterable[str], *clauses: str, part: str = "", reverse: bool = False
) -> Ask:
    """Asks for a slot (or its part) in every combination of a stem ("In which town") and a clause ("does {who} live")."""
    wordings = tuple(f"{stem} {clause}?" for clause in clauses for stem in stems)
    return Ask((slot,), wordings, part=part, reverse=reverse)


def link(
    name: str,
    tellings: tuple[str, ...],
    forward: tuple[str, ...],
    which: Iterable[str],
    *clauses: str,
) -> FactKind:
    """A relation to another subject: ``forward`` asks for the other, ``which`` with each clause for the subject."""
    return FactKind(
        name, tellings, (standard("other", *forward), asks("who", which, *clauses, reverse=True))
    )
