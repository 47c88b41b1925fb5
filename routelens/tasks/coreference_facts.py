"""What the coreference task says and asks: openings that show a gender, facts, and the questions on each fact.

``<They>``, ``<their>``, ``<woman>`` … stand for the words of one gender, ``<they>`` in a question also for the name. A fact
mentions nobody else and no living animal, so that a pronoun can refer to the person of the passage only.
"""

from dataclasses import dataclass

from routelens.tasks.templates import Ask, manipulated, reverse, several, standard

GENDERED = {
    "they": ("she", "he"),
    "their": ("her", "his"),
    "them": ("her", "him"),
    "woman": ("woman", "man"),
    "lady": ("lady", "gentleman"),
    "daughter": ("daughter", "son"),
}
SLOTS = {
    "town": "town",
    "date": "date",
    "field": "field",
    "college": "college",
    "job": "job",
    "company": "company",
    "count": "number",
    "thing": "thing",
    "event": "event",
    "year": "year",
    "animal": "creature",
}
OPENINGS = (
    "{name} is a <woman> who <first>.",
    "{name} is a quiet <woman> who <first>.",
    "{name}, a tall <lady> with a loud laugh, <first>.",
    "{name}, the only <daughter> of a large family, <first>.",
    "{name} spent most of <their> youth by the sea. <They> <first>.",
    "{name} never talks about <their> past. <They> <first>.",
    "{name} <first> and is proud of <their> quiet life.",
    "As <their> neighbours know, {name} <first>.",
    "Most people on the street know {name}, a <woman> who <first>.",
)
CONNECTIVES = ("By all accounts, ", "As it happens, ", "Everybody knows that ", "In fact, ")


@dataclass(frozen=True)
class Fact:
    """Something a passage says of its person: predicates, whole sentences, and what can be asked."""

    name: str
    predicates: tuple[str, ...]
    sentences: tuple[str, ...]
    asks: tuple[Ask, ...]


BIRTH = Fact(
    "birth",
    (
        "was born in {town} on {date}",
        "was born on {date} in {town}",
        "came into the world on {date} in {town}",
    ),
    (
        "<Their> birthplace is {town}, and <their> date of birth is {date}.",
        "On {date} <they> was born in {town}.",
    ),
    (
        standard(
            "town",
            "Where was <they> born?",
            "In which town was <they> born?",
            "What is <their> birthplace?",
        ),
        standard(
            "date",
            "When was <they> born?",
            "What is <their> date of birth?",
            "On what date was <they> born?",
        ),
        manipulated(
            "date",
            "year",
            "In which year was <they> born?",
            "What is <their> year of birth?",
            "What year was <they> born in?",
        ),
        manipulated(
            "date",
            "month",
            "In which month was <they> born?",
            "What is the month of <their> birth?",
            "What month was <they> born in?",
        ),
        several(
            "{date} in {town}",
            "When and where was <they> born?",
            "What are <their> date and place of birth?",
            "On which date and in which town was <they> born?",
        ),
        reverse(
            "name",
            "Who was born in {town}?",
            "Which person was born on {date}?",
            "Who came into the world in {town}?",
        ),
    ),
)
STUDY = Fact(
    "study",
    (
        "studied {field} at {college}",
        "read {field} at {college}",
        "took a degree in {field} at {college}",
    ),
    (
        "<Their> degree in {field} is from {college}.",
        "At {college} <they> studied {field}.",
    ),
    (
        standard(
            "field",
            "What did <they> study?",
            "Which subject did <they> study?",
            "In which subject did <they> take a degree?",
        ),
        standard(
            "college",
            "Where did <they> study?",
            "At which institution did <they> study?",
            "Which school did <they> attend?",
        ),
        several(
            "{field} at {college}",
            "What did <they> study, and where?",
            "Which subject did <they> study, and at which institution?",
            "What did <they> study, and which school was it at?",
        ),
        reverse(
            "name",
            "Who studied {field}?",
            "Which person studied at {college}?",
            "Who took a degree at {college}?",
        ),
    ),
)
WORK = Fact(
    "work",
    (
        "works as {a job} for {company}",
        "earns a living as {a job} at {company}",
        "is employed as {a job} by {company}",
    ),
    (
        "<Their> employer is {company}, where <they> works as {a job}.",
        "At {company} <they> works as {a job}.",
    ),
    (
        standard(
            "company",
            "Who employs <them>?",
            "Which company does <they> work for?",
            "What is the name of <their> employer?",
        ),
        standard(
            "job",
            "What is <their> job?",
            "What does <they> work as?",
            "Which job does <they> have?",
        ),
        several(
            "{job} and {company}",
            "What is <their> job, and who is the employer?",
            "What does <they> work as, and for which company?",
            "Which job does <they> have, and which company is it with?",
        ),
        reverse(
            "name",
            "Who works for {company}?",
            "Which person works as {a job}?",
            "Who is employed by {company}?",
        ),
        manipulated(
            "name",
            "first",
            "What is the first name of the person who works for {company}?",
            "What is the given name of the person employed by {company}?",
            "What is the first name of the person who works as {a job}?",
            reverse=True,
        ),
    ),
)
COLLECTION = Fact(
    "collection",
    (
        "owns {count} {thing}",
        "has collected {count} {thing} so far",
        "keeps a collection of {count} {thing}",
    ),
    (
        "<Their> collection holds {count} {thing}.",
        "There are {count} {thing} on <their> shelves.",
    ),
    (
        standard(
            "count",
            "How many {thing} does <they> own?",
            "How many {thing} does <they> have?",
            "What is the number of {thing} in <their> possession?",
        ),
        standard(
            "thing",
            "What does <they> collect?",
            "Which objects does <they> collect?",
            "What is in <their> collection?",
        ),
        several(
            "{count} {thing}",
            "How many objects does <they> own, and of which kind?",
            "What does <they> collect, and how many are there?",
            "Which objects does <they> have, and how many?",
        ),
        reverse(
            "name",
            "Who owns {count} {thing}?",
            "Which person collects {thing}?",
            "Who has {count} {thing}?",
        ),
    ),
)
SUCCESS = Fact(
    "success",
    (
        "won the {event} in {year}",
        "came first at the {event} in {year}",
        "was the winner of the {event} in {year}",
    ),
    (
        "<Their> greatest success was to win the {event} in {year}.",
        "In {year} <they> won the {event}.",
    ),
    (
        standard(
            "event",
            "Which event did <they> win?",
            "At which event did <they> come first?",
            "At which event was <they> the winner?",
        ),
        standard(
            "year",
            "In which year did <they> win an event?",
            "In which year did <they> come first?",
            "In which year was <they> the winner of an event?",
        ),
        several(
            "{event} in {year}",
            "Which event did <they> win, and in which year?",
            "At which event did <they> come first, and when?",
            "At which event was <they> the winner, and in which year?",
        ),
        reverse(
            "name",
            "Who came first in {year}?",
            "Which person won an event in {year}?",
            "Who was the winner of the {event}?",
        ),
    ),
)
TATTOO = Fact(
    "tattoo",
    (
        "has a tattoo of {a animal}",
        "has had a tattoo of {a animal} for years",
        "got a tattoo of {a animal}",
    ),
    (
        "There is a tattoo of {a animal} on <their> arm.",
        "<Their> left arm shows a tattoo of {a animal}.",
    ),
    (
        standard(
            "animal",
            "Which animal does <their> tattoo show?",
            "Which animal is <their> tattoo of?",
            "Of which animal does <they> have a tattoo?",
        ),
        reverse(
            "name",
            "Who has a tattoo of {a animal}?",
            "Whose tattoo shows {a animal}?",
            "Which person has a tattoo of {a animal}?",
        ),
    ),
)
FACTS = (BIRTH, STUDY, WORK, COLLECTION, SUCCESS, TATTOO)
