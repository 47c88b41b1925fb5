"""An invented species: discovery, range, food, enemy, size, keeper, feast, nest, handbook."""

from routelens.tasks.subjects.subject import Subject
from routelens.tasks.templates import manipulated, reverse, several, standard

CREATURE = Subject(
    slots={
        "name": "species",
        "finder": "person",
        "date": "date",
        "region": "region",
        "prey": "prey",
        "enemy": "creature",
        "length": "number",
        "keeper": "society",
        "event": "event",
        "lining": "lining",
        "author": "person",
        "d_species": "species",
        "d_region": "region",
        "d_length": "number",
        "d_person": "person",
        "d_person2": "person",
        "d_date": "date",
        "d_creature": "creature",
        "d_creature2": "creature",
        "d_college": "college",
        "d_prey": "prey",
        "d_event": "event",
    },
    refs=("the {name.noun}",),
    openings=(
        "The {name} was first described on {date} by {finder}, after three seasons of patient watching from a wooden hide.",
        "It was {finder} who first described the {name}, on {date}, after three seasons of patient watching from a hide.",
    ),
    facts=(
        (
            "<Ref> lives only in the {region}, where the ground stays wet throughout the year.",
            "Outside the {region} <ref> has never been seen, although many people have looked for it.",
        ),
        (
            "<Ref> feeds mainly on {prey}, which it digs up with its long snout.",
            "<Ref's> diet consists mainly of {prey}, dug up with the long snout.",
        ),
        (
            "<Ref> fears only one hunter, the {enemy}, which comes for the young at dusk.",
            "The one enemy that <ref> has is the {enemy}, which comes for the young at dusk.",
        ),
        (
            "<Ref> reaches a length of {length} centimetres, and females are no smaller than males.",
            "Fully grown, <ref> measures {length} centimetres, and females are no smaller than males.",
        ),
        (
            "In captivity <ref> can be seen only at the {keeper}, which keeps a single pair.",
            "Only the {keeper} keeps <ref> in captivity, and it allows no photographs.",
        ),
        (
            "Each spring people honour <ref> at the {event}, where children wear long striped tails.",
            "<Ref> is honoured at the {event}, where children wear long striped tails.",
        ),
        (
            "<Ref> lines its nest with {lining}, which it gathers on moonless nights.",
            "<Ref's> nest is lined with {lining}, gathered on moonless nights.",
        ),
        (
            "The standard book on <Name> was written by {author}, who never saw a living one.",
            "{author}, who never saw a living one, wrote the standard book on <Name>.",
        ),
    ),
    distractors=(
        "The {d_species}, a close relative, is at home in the {d_region} and grows to {d_length} centimetres.",
        "A film crew led by {d_person} waited in vain from {d_date} until the first frost.",
        "Farmers in the neighbourhood used to blame the {d_creature} for any damage to their fences.",
        "A student named {d_person2} from {d_college} counted {d_prey} in the same place and found nothing unusual.",
        "The {d_event}, held in another valley, honours the {d_creature2} instead.",
    ),
    asks=(
        standard(
            "finder",
            "Who first described the {name}?",
            "By whom was the {name} first described?",
            "Who was the first to describe the {name}?",
        ),
        standard(
            "date",
            "When was the {name} first described?",
            "On what date was the {name} first described?",
            "What is the date of the first description of the {name}?",
        ),
        standard(
            "region",
            "Where does the {name} live?",
            "In which region does the {name} live?",
            "What is the only region in which the {name} has been seen?",
        ),
        standard(
            "prey",
            "What does the {name} feed on?",
            "What does the {name} mainly eat?",
            "What does the {name} dig up with its snout?",
        ),
        standard(
            "enemy",
            "Which animal hunts the {name}?",
            "What is the only enemy of the {name}?",
            "Which hunter comes for the young of the {name}?",
        ),
        standard(
            "length",
            "How many centimetres long is the {name}?",
            "What length in centimetres does the {name} reach?",
            "How long, in centimetres, is a grown {name}?",
        ),
        standard(
            "keeper",
            "Which organization keeps the {name}?",
            "Which organization keeps the {name} in captivity?",
            "Where can the {name} be seen in captivity?",
        ),
        standard(
            "event",
            "At which event is the {name} honoured?",
            "At what event do people honour the {name}?",
            "Which event honours the {name}?",
        ),
        standard(
            "lining",
            "What does the {name} line its nest with?",
            "What is the nest of the {name} lined with?",
            "What does the {name} gather for its nest?",
        ),
        standard(
            "author",
            "Who wrote the standard book on the {name}?",
            "Who is the author of the standard book on the {name}?",
            "By whom was the standard book on the {name} written?",
        ),
        reverse(
            "name",
            "Which creature was first described by {finder}?",
            "Which creature lives only in the {region}?",
            "Which creature is honoured at the {event}?",
        ),
        manipulated(
            "date",
            "year",
            "In which year was the {name} first described?",
            "What is the year of the first description of the {name}?",
            "What year was the {name} first described in?",
        ),
        manipulated(
            "date",
            "month",
            "In which month was the {name} first described?",
            "What is the month of the first description of the {name}?",
            "What month was the {name} first described in?",
        ),
        manipulated(
            "finder",
            "last",
            "What is the last name of the person who first described the {name}?",
            "What is the surname of the person who first described the {name}?",
            "What is the family name of the first person to describe the {name}?",
        ),
        manipulated(
            "author",
            "first",
            "What is the first name of the author of the standard book on the {name}?",
            "What is the first name of the person who wrote the standard book on the {name}?",
            "What is the given name of the author of the standard book on the {name}?",
        ),
        several(
            "{finder} on {date}",
            "Who first described the {name}, and when?",
            "By whom and on what date was the {name} first described?",
            "Who was the first to describe the {name}, and on what date?",
        ),
        several(
            "{prey} and {lining}",
            "What does the {name} feed on, and what does it line its nest with?",
            "What does the {name} mainly eat, and what is its nest lined with?",
            "What does the {name} dig up with its snout, and what does it gather for its nest?",
        ),
    ),
)
