"""An organization: founding, seat, members, leader, seal, event, sponsor, treasure, scholarships."""

from routelens.tasks.subjects.subject import Subject
from routelens.tasks.templates import manipulated, reverse, several, standard

ORGANIZATION = Subject(
    slots={
        "name": "society",
        "date": "date",
        "founder": "person",
        "town": "town",
        "count": "large",
        "head": "person",
        "emblem": "creature",
        "event": "event",
        "company": "company",
        "treasure": "object",
        "field": "field",
        "d_society": "society",
        "d_person": "person",
        "d_person2": "person",
        "d_person3": "person",
        "d_town": "town",
        "d_company": "company",
        "d_event": "event",
        "d_creature": "creature",
        "d_date": "date",
        "d_count": "large",
        "d_treasure": "object",
        "d_college": "college",
        "d_field": "field",
    },
    refs=("the <noun>",),
    openings=(
        "The {name} was founded on {date} by {founder}, who wanted to save the old crafts of the valley.",
        "On {date}, {founder} founded the {name}, hoping to save the old crafts of the valley.",
    ),
    facts=(
        (
            "<Ref> has its seat in {town}, on the upper floor of a former customs house.",
            "<Ref's> offices are in {town}, on the upper floor of a former customs house.",
        ),
        (
            "<Ref> has {count} members, most of whom pay their fees late but in full.",
            "With {count} members, <ref> is larger than most bodies of its sort.",
        ),
        (
            "<Ref> is led by {head}, who was elected after a long and rather heated debate.",
            "After a long and rather heated debate, {head} was elected to lead <Name>.",
        ),
        (
            "<Ref's> seal shows {a emblem}, drawn by an apprentice.",
            "On <ref's> seal there is {a emblem}, drawn by an apprentice.",
        ),
        (
            "Every year <ref> organises the {event}, which fills each inn for miles around.",
            "<Ref> is best known for organising the {event}, which fills each inn for miles around.",
        ),
        (
            "Most of <ref's> money comes from {company}, which has also paid for the library.",
            "<Ref> is paid for largely by {company}, which has also given it a library.",
        ),
        (
            "The most precious thing <ref> owns is {a treasure}, kept behind glass in the hall.",
            "<Ref> owns {a treasure} of great value, kept behind glass in the hall.",
        ),
        (
            "<Ref> pays gifted young people to study {field}, provided that they return.",
            "Thanks to <Name>, gifted young people can study {field}, provided that they return.",
        ),
    ),
    distractors=(
        "The {d_society}, an older body, was founded by {d_person} and meets in {d_town}.",
        "The firm {d_company} once offered to pay for a gathering called the {d_event}, but nothing came of it.",
        "The caretaker, {d_person2}, looks after {a d_creature} that is said to bite strangers.",
        "On {d_date}, a fire destroyed {d_count} books in the building next door, though nobody was hurt.",
        "Across the street there is {a d_treasure} on loan from {d_college}.",
        "Some visitors come for talks on {d_field}, which {d_person3} gives in the public reading room.",
    ),
    asks=(
        standard(
            "founder",
            "Who founded the {name}?",
            "Who was the founder of the {name}?",
            "By whom was the {name} founded?",
        ),
        standard(
            "date",
            "When was the {name} founded?",
            "On what date was the {name} founded?",
            "What is the founding date of the {name}?",
        ),
        standard(
            "town",
            "Where does the {name} have its seat?",
            "In which town are the offices of the {name}?",
            "In which town is the {name} based?",
        ),
        standard(
            "count",
            "How many members does the {name} have?",
            "How many people belong to the {name}?",
            "What is the number of members of the {name}?",
        ),
        standard(
            "head",
            "Who leads the {name}?",
            "Who was elected to lead the {name}?",
            "Who is the leader of the {name}?",
        ),
        standard(
            "emblem",
            "Which animal is on the seal of the {name}?",
            "What does the seal of the {name} show?",
            "What animal can be seen on the seal of the {name}?",
        ),
        standard(
            "event",
            "Which event does the {name} organise?",
            "What does the {name} organise every year?",
            "For organising which event is the {name} known?",
        ),
        standard(
            "company",
            "Which company pays for the {name}?",
            "Where does most of the money of the {name} come from?",
            "Who paid for the library of the {name}?",
        ),
        standard(
            "treasure",
            "What precious thing does the {name} own?",
            "What does the {name} keep behind glass?",
            "Which precious object belongs to the {name}?",
        ),
        standard(
            "field",
            "What does the {name} pay young people to study?",
            "Which subject can young people study thanks to the {name}?",
            "Which subject do young people study with money from the {name}?",
        ),
        reverse(
            "name",
            "Which organization did {founder} found?",
            "Which organization does {head} lead?",
            "Which organization organises the {event}?",
        ),
        manipulated(
            "date",
            "year",
            "In which year was the {name} founded?",
            "What is the founding year of the {name}?",
            "What year was the {name} founded in?",
        ),
        manipulated(
            "founder",
            "last",
            "What is the last name of the founder of the {name}?",
            "What is the surname of the person who founded the {name}?",
            "What is the family name of the founder of the {name}?",
        ),
        manipulated(
            "head",
            "first",
            "What is the first name of the person who leads the {name}?",
            "What is the first name of the leader of the {name}?",
            "What is the given name of the person elected to lead the {name}?",
        ),
        several(
            "{founder} on {date}",
            "Who founded the {name}, and when?",
            "Who was the founder of the {name}, and what is its founding date?",
            "By whom and on what date was the {name} founded?",
        ),
        several(
            "{town} and {count}",
            "In which town is the {name} based, and how many members does it have?",
            "Where does the {name} have its seat, and how many members does it have?",
            "In which town are the offices of the {name}, and how many people belong to it?",
        ),
    ),
)
