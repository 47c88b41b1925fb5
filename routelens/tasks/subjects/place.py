"""A town: founding, region, inhabitants, mayor, employer, goods, coat of arms, event, museum."""

from routelens.tasks.subjects.subject import Subject
from routelens.tasks.templates import manipulated, reverse, several, standard

PLACE = Subject(
    slots={
        "name": "town",
        "date": "date",
        "founder": "person",
        "region": "region",
        "count": "large",
        "mayor": "person",
        "company": "company",
        "goods": "goods",
        "emblem": "creature",
        "event": "event",
        "treasure": "object",
        "d_town": "town",
        "d_town2": "town",
        "d_person": "person",
        "d_person2": "person",
        "d_count": "large",
        "d_goods": "goods",
        "d_company": "company",
        "d_date": "date",
        "d_event": "event",
        "d_creature": "creature",
        "d_region": "region",
    },
    refs=("the town", "{name}"),
    openings=(
        "{name} is a small town that was founded on {date} by {founder}, who owned most of the land around the ford.",
        "On {date}, {founder}, who owned most of the land around the ford, founded the small town of {name}.",
    ),
    facts=(
        (
            "<Ref> was built at the edge of the {region}, an hour from the nearest station.",
            "<Ref> lies at the edge of the {region}, an hour from the nearest station.",
        ),
        (
            "<Ref> has {count} inhabitants, and in winter a good deal fewer.",
            "<Ref> is home to {count} inhabitants, though fewer stay through the winter.",
        ),
        (
            "<Ref> is governed by {mayor}, the mayor, who holds office hours in the bakery.",
            "{mayor}, the mayor of <Name>, holds office hours in the bakery.",
        ),
        (
            "Most people in <Name> work for {company}, whose chimneys can be seen from afar.",
            "<Ref> depends on {company}, the largest employer, whose chimneys can be seen from afar.",
        ),
        (
            "<Ref> is known far and wide for its {goods}, sold in plain brown boxes.",
            "Merchants come to <Name> for its {goods}, which they sell on in plain brown boxes.",
        ),
        (
            "<Ref> bears {a emblem} on its coat of arms, although nobody remembers why.",
            "On <ref's> coat of arms there is {a emblem}, although nobody remembers why.",
        ),
        (
            "Every year <ref> hosts the {event}, for which even distant cousins return.",
            "<Ref> comes alive for the {event}, for which even distant cousins return.",
        ),
        (
            "The small museum in <Name> shows {a treasure} that was found in a well.",
            "In <ref's> small museum there is {a treasure} that was found in a well.",
        ),
    ),
    distractors=(
        "The town of {d_town}, on the other bank, was founded by {d_person} and has {d_count} inhabitants.",
        "Another town, {d_town2}, sells {d_goods} and lives mainly from {d_company}.",
        "On {d_date}, a flood carried off the old bridge, which {d_person2} later rebuilt in stone.",
        "The {d_event}, once held in the next valley, has not taken place for years.",
        "A traveller once claimed to have met {a d_creature} on the road to the {d_region}.",
    ),
    asks=(
        standard(
            "founder",
            "Who founded {name}?",
            "Who was the founder of {name}?",
            "By whom was {name} founded?",
        ),
        standard(
            "date",
            "When was {name} founded?",
            "On what date was {name} founded?",
            "What is the founding date of {name}?",
        ),
        standard(
            "region",
            "At the edge of which region does {name} lie?",
            "What region does {name} lie at the edge of?",
            "At the edge of which region was {name} built?",
        ),
        standard(
            "count",
            "How many inhabitants does {name} have?",
            "How many people live in {name}?",
            "What is the number of inhabitants of {name}?",
        ),
        standard(
            "mayor",
            "Who is the mayor of {name}?",
            "Who governs {name}?",
            "What is the name of the mayor of {name}?",
        ),
        standard(
            "company",
            "Which company employs most people in {name}?",
            "Which company do most people in {name} work for?",
            "What is the largest employer in {name}?",
        ),
        standard(
            "goods",
            "What is {name} known for?",
            "What do merchants buy in {name}?",
            "Which goods come from {name}?",
        ),
        standard(
            "emblem",
            "Which animal is on the coat of arms of {name}?",
            "What does the coat of arms of {name} show?",
            "What animal does {name} have on its coat of arms?",
        ),
        standard(
            "event",
            "Which event does {name} host?",
            "Which event takes place in {name}?",
            "For which event do people return to {name}?",
        ),
        standard(
            "treasure",
            "What does the museum in {name} show?",
            "What was found in a well in {name}?",
            "Which object is in the museum of {name}?",
        ),
        reverse(
            "name",
            "Which town did {founder} found?",
            "Which place has {mayor} as its mayor?",
            "Where does the {event} take place?",
        ),
        manipulated(
            "date",
            "year",
            "In which year was {name} founded?",
            "What is the founding year of {name}?",
            "What year was {name} founded in?",
        ),
        manipulated(
            "date",
            "month",
            "In which month was {name} founded?",
            "What is the month of the founding of {name}?",
            "What month was {name} founded in?",
        ),
        manipulated(
            "founder",
            "last",
            "What is the last name of the founder of {name}?",
            "What is the surname of the person who founded {name}?",
            "What is the family name of the founder of {name}?",
        ),
        manipulated(
            "mayor",
            "first",
            "What is the first name of the mayor of {name}?",
            "What is the given name of the mayor of {name}?",
            "What first name does the mayor of {name} have?",
        ),
        several(
            "{founder} on {date}",
            "Who founded {name}, and when?",
            "By whom and on what date was {name} founded?",
            "Who was the founder of {name}, and what is its founding date?",
        ),
        several(
            "{count} and {mayor}",
            "How many inhabitants does {name} have, and who is its mayor?",
            "How many people live in {name}, and who governs it?",
            "What is the number of inhabitants of {name}, and who is the mayor?",
        ),
    ),
)
