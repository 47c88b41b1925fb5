"""An event: first time, town, organiser, sponsor, prize, entrants, mascot, winner, market, fog."""

from routelens.tasks.subjects.subject import Subject
from routelens.tasks.templates import manipulated, reverse, several, standard

EVENT = Subject(
    slots={
        "name": "event",
        "date": "date",
        "founder": "person",
        "town": "town",
        "organiser": "society",
        "company": "company",
        "prize": "prize",
        "count": "large",
        "mascot": "creature",
        "winner": "person",
        "goods": "goods",
        "year": "year",
        "d_event": "event",
        "d_town": "town",
        "d_society": "society",
        "d_prize": "prize",
        "d_company": "company",
        "d_person": "person",
        "d_person2": "person",
        "d_date": "date",
        "d_creature": "creature",
        "d_count": "large",
        "d_college": "college",
    },
    refs=("the <noun>",),
    openings=(
        "The {name} was first held on {date} at the suggestion of {founder}, a schoolteacher with too much free time.",
        "At the suggestion of {founder}, a schoolteacher with too much free time, the {name} was first held on {date}.",
    ),
    facts=(
        (
            "<Ref> takes place in {town}, on the field behind the old brickworks.",
            "Every year <ref> draws crowds to {town}, to the field behind the old brickworks.",
        ),
        (
            "<Ref> is organised by the {organiser}, whose members do all the work without pay.",
            "The {organiser} organises <ref>, and its members do all the work without pay.",
        ),
        (
            "<Ref> is paid for by {company}, which in return may hang its banners everywhere.",
            "The costs of <Name> are met by {company}, which in return may hang its banners everywhere.",
        ),
        (
            "Whoever wins <ref> receives {a prize} on the steps of the town hall.",
            "<Ref> ends when the winner is given {a prize} on the steps of the town hall.",
        ),
        (
            "Last time <ref> had {count} entrants, more than there were beds for.",
            "<Ref> attracted {count} entrants last time, more than there were beds for.",
        ),
        (
            "<Ref> has {a mascot} as its mascot, played by whoever loses a bet.",
            "<Ref's> mascot is {a mascot}, played by whoever loses a bet.",
        ),
        (
            "The latest winner of <Name> was {winner}, who had trained in secret.",
            "<Ref> was won most recently by {winner}, who had trained in secret.",
        ),
        (
            "<Ref> is also a market for {goods}, sold straight from the carts.",
            "Visitors value <ref> as a market for {goods}, sold straight from the carts.",
        ),
        (
            "<Ref> was cancelled only once, in {year}, because of heavy fog.",
            "Only once, in {year}, was <ref> cancelled, because of heavy fog.",
        ),
    ),
    distractors=(
        "The {d_event}, a younger rival, is held in {d_town} and is run by the {d_society}.",
        "Elsewhere the first prize is often {a d_prize}, given by firms such as {d_company}.",
        "A former champion, {d_person}, retired on {d_date} and now keeps {a d_creature}.",
        "A reporter named {d_person2} counted {d_count} broken chairs on the following morning.",
        "Between the rounds there is music by students from {d_college}.",
    ),
    asks=(
        standard(
            "founder",
            "Who suggested the {name}?",
            "At whose suggestion was the {name} first held?",
            "Who had the idea for the {name}?",
        ),
        standard(
            "date",
            "When was the {name} first held?",
            "On what date was the {name} first held?",
            "What is the date on which the {name} was first held?",
        ),
        standard(
            "town",
            "Where does the {name} take place?",
            "In which town is the {name} held?",
            "In which town does the {name} take place?",
        ),
        standard(
            "organiser",
            "Who organises the {name}?",
            "Which organization organises the {name}?",
            "By which organization is the {name} organised?",
        ),
        standard(
            "company",
            "Which company pays for the {name}?",
            "Who meets the costs of the {name}?",
            "Which company hangs its banners at the {name}?",
        ),
        standard(
            "prize",
            "What does the winner of the {name} receive?",
            "What is the prize at the {name}?",
            "What is the winner of the {name} given?",
        ),
        standard(
            "count",
            "How many entrants did the {name} have last time?",
            "How many entrants did the {name} attract?",
            "What was the number of entrants at the {name} last time?",
        ),
        standard(
            "mascot",
            "Which animal is the mascot of the {name}?",
            "What is the mascot of the {name}?",
            "What animal does the {name} have as its mascot?",
        ),
        standard(
            "winner",
            "Who won the {name} most recently?",
            "Who was the latest winner of the {name}?",
            "By whom was the {name} last won?",
        ),
        standard(
            "goods",
            "What is sold at the {name}?",
            "Which goods can be bought at the {name}?",
            "For what is the {name} a market?",
        ),
        standard(
            "year",
            "In which year was the {name} cancelled?",
            "When was the {name} cancelled?",
            "What was the year in which the {name} was cancelled?",
        ),
        reverse(
            "name",
            "Which event is organised by the {organiser}?",
            "Which event was won by {winner}?",
            "Which event is paid for by {company}?",
        ),
        manipulated(
            "date",
            "year",
            "In which year was the {name} first held?",
            "What year was the {name} first held in?",
            "What is the year in which the {name} was first held?",
        ),
        manipulated(
            "date",
            "month",
            "In which month was the {name} first held?",
            "What month was the {name} first held in?",
            "What is the month in which the {name} was first held?",
        ),
        manipulated(
            "winner",
            "first",
            "What is the first name of the latest winner of the {name}?",
            "What is the first name of the person who won the {name} most recently?",
            "What is the given name of the latest winner of the {name}?",
        ),
        manipulated(
            "founder",
            "last",
            "What is the last name of the person who suggested the {name}?",
            "What is the surname of the person who suggested the {name}?",
            "What is the family name of the person who had the idea for the {name}?",
        ),
        several(
            "{founder} on {date}",
            "Who suggested the {name}, and when was it first held?",
            "At whose suggestion and on what date was the {name} first held?",
            "Who had the idea for the {name}, and when was it first held?",
        ),
        several(
            "{prize} and {mascot}",
            "What does the winner of the {name} receive, and what is its mascot?",
            "What is the prize at the {name}, and which animal is the mascot?",
            "What is the winner of the {name} given, and which animal is its mascot?",
        ),
    ),
)
