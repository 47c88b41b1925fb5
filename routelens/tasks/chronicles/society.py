"""A society: leaders, moves, purchases, grants, gatherings."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import WHEN, WHERE, WHICH_BODY, WHO, asks
from routelens.tasks.templates import manipulated, several, standard

LEAD = FactKind(
    "lead",
    tellings=(
        "In {year} <who> elected {leader} to the chair, {a job} with {count} votes and [hardly any enemies|no experience|a loud voice].",
        "<Who> was led from {year} on by {leader}, {a job} who had won with {count} votes after [a night of argument|two recounts|a long walkout].",
        "With {count} votes, {leader} took over <whom> in {year} and led it in the way in which {a job} [leads a shop|treats a customer|keeps accounts].",
        "When {leader}, {a job}, stood for the chair of <whom> in {year}, {count} members voted in favour and [the rest went home|nobody dared to object|a few left in protest].",
    ),
    asks=(
        asks(
            "leader",
            WHO,
            "was elected to lead the {who} in {year}",
            "led the {who} after getting {count} votes",
        ),
        asks("leader", WHO, "led the {who} and was {a job}"),
        standard(
            "job",
            "What was the trade of {leader}, who led the {who}?",
            "Which job did {leader} of the {who} have?",
            "What did {leader}, who led the {who}, do for a living?",
        ),
        standard(
            "count",
            "How many votes did {leader} get in the {who}?",
            "With how many votes was {leader} elected by the {who}?",
            "How many votes were cast for {leader} in the {who}?",
        ),
        asks("year", WHEN, "did {leader} begin to lead the {who}", "did the {who} elect {a job}"),
        manipulated(
            "leader",
            "last",
            "What is the last name of the {job} who led the {who}?",
            "What is the surname of the person whom the {who} elected in {year}?",
            "What is the family name of the person elected by the {who} with {count} votes?",
        ),
        several(
            "{leader} in {year}",
            "Which {job} was elected by the {who}, and when?",
            "Who got {count} votes in the {who}, and in which year?",
            "Who is the {job} who led the {who}, and from which year on?",
        ),
        asks("who", WHICH_BODY, "was led by {leader}", "elected {leader} in {year}", reverse=True),
        asks(
            "who", WHICH_BODY, "gave {count} votes to {leader}", "was led by {a job}", reverse=True
        ),
    ),
)
MOVE = FactKind(
    "move",
    tellings=(
        "In {year} <who> moved its offices to {town}, into a building that it shared with {company}.",
        "<Who> had its seat in {town} from {year} on, one floor above {company}, and [the stairs were steep|the noise was great|the rent was low].",
        "A [quarrel about the rent|burst pipe|change in the rules] drove <whom> to {town} in {year}, where {company} took it in under its own roof.",
        "The year {year} found <whom> in {town}, where it shared a house and a telephone with {company}.",
    ),
    asks=(
        asks(
            "town",
            WHERE,
            "did the {who} have its seat from {year} on",
            "did the {who} share a roof with {company}",
        ),
        standard(
            "company",
            "With which firm did the {who} share a roof in {town}?",
            "Which firm was under the same roof as the {who} from {year} on?",
            "Which company was in the same building as the {who} in {town}?",
        ),
        asks(
            "year",
            WHEN,
            "did the {who} come to {town}",
            "did the {who} come under one roof with {company}",
        ),
        several(
            "{town} in {year}",
            "Where did the {who} share a roof with {company}, and from which year on?",
            "In which town was the {who} under one roof with {company}, and since when?",
            "To which town did the {who} move to share a roof with {company}, and in which year?",
        ),
        asks(
            "who",
            WHICH_BODY,
            "had its seat in {town}",
            "shared a roof with {company}",
            reverse=True,
        ),
        asks(
            "who",
            WHICH_BODY,
            "came to {town} in {year}",
            "was under one roof with {company}",
            reverse=True,
        ),
    ),
)
ACQUIRE = FactKind(
    "acquire",
    tellings=(
        "<Who> paid {price} crowns for {a object} in {year}, and {seller}, who had asked for more, [still calls it a theft|has not set foot there since|took the money all the same].",
        "For {price} crowns {seller} sold {a object} to <whom> in {year}, and it has [been behind glass|stood by the door|been the pride of the house] ever since.",
        "In {year} <who> bought {a object} from {seller}, although {price} crowns was [more than there was in the till|a third of its whole fortune|a sum that the members never forgave].",
        "It cost <whom> {price} crowns to get {a object} from {seller} in {year}, and [a second sum to have it cleaned|many evenings of talk|the good will of some members].",
    ),
    asks=(
        standard(
            "object",
            "What did the {who} buy from {seller}?",
            "What did the {who} buy in {year}?",
            "Which object did the {who} get for {price} crowns?",
        ),
        standard(
            "seller",
            "From whom did the {who} buy the {object}?",
            "Who sold the {object} to the {who}?",
            "Who got {price} crowns from the {who}?",
        ),
        standard(
            "price",
            "How many crowns did the {who} pay for the {object}?",
            "How much did the {who} pay to {seller}?",
            "How many crowns did {seller} get from the {who}?",
        ),
        asks(
            "year",
            WHEN,
            "did the {who} buy the {object}",
            "did {seller} sell the {object} to the {who}",
        ),
        manipulated(
            "seller",
            "first",
            "What is the first name of the person who sold the {object} to the {who}?",
            "What is the given name of the person from whom the {who} bought the {object}?",
            "What is the first name of the person to whom the {who} paid {price} crowns?",
        ),
        several(
            "{object} from {seller}",
            "What did the {who} buy in {year}, and from whom?",
            "Which object did the {who} get for {price} crowns, and from which person?",
            "What did the {who} get in {year}, and who sold it?",
        ),
        asks(
            "who",
            WHICH_BODY,
            "bought the {object}",
            "paid {price} crowns to {seller}",
            reverse=True,
        ),
        asks(
            "who",
            ("To which body", "To which group", "To what body"),
            "did {seller} sell the {object}",
            "did {seller} sell an object in {year}",
            reverse=True,
        ),
    ),
)
GRANT = FactKind(
    "grant",
    tellings=(
        "<Who> sent {student} to {college} in {year} to study {field}, on the condition that [a report be written each month|the money be paid back one day|no time be wasted].",
        "In {year} {student} went to {college} at the expense of <whom> and came back with a degree in {field}.",
        "Thanks to <whom>, {student} could take up {field} at {college} in {year}, after [two other plans had failed|years of saving|a long illness].",
        "The grant of <whom> went to {student} in {year} and paid for a course in {field} at {college}.",
    ),
    asks=(
        asks(
            "student",
            WHO,
            "studied {field} thanks to the {who}",
            "got money from the {who} in {year}",
        ),
        asks("student", WHO, "went to {college} at the expense of the {who}"),
        standard(
            "field",
            "What did {student} study thanks to the {who}?",
            "Which subject did the {who} pay {student} to study?",
            "Which subject was studied in {year} at the expense of the {who}?",
        ),
        asks(
            "college",
            ("At which school", "At which institution", "At what school"),
            "did {student} study thanks to the {who}",
            "did the {who} pay for a course in {field}",
        ),
        asks(
            "year",
            WHEN,
            "did the {who} pay for {student}",
            "did the {who} pay for a course in {field}",
        ),
        manipulated(
            "student",
            "last",
            "What is the last name of the person who studied {field} thanks to the {who}?",
            "What is the surname of the person who got money from the {who} in {year}?",
            "What is the family name of the person whom the {who} sent to {college}?",
        ),
        several(
            "{field} at {college}",
            "What did {student} study at the expense of the {who}, and where?",
            "Which subject did {student} study thanks to the {who}, and at which school?",
            "What did the {who} pay {student} to study in {year}, and at which institution?",
        ),
        asks("who", WHICH_BODY, "paid for {student}", "paid for a course in {field}", reverse=True),
        asks(
            "who",
            WHICH_BODY,
            "sent {student} to {college}",
            "gave money to {student} in {year}",
            reverse=True,
        ),
    ),
)
GATHER = FactKind(
    "gather",
    tellings=(
        "The {event} of {year} was the work of <whom>, and {guest}, the guest of honour, [released {a creature} into the crowd|brought along {a creature}].",
        "In {year} <who> invited {guest} to open the {event}, where {a creature} [got loose and ate most of the buffet|slept through the speeches|was the centre of interest].",
        "<Who> organised the {event} in {year} with {a creature} on its posters and {guest} as the guest of honour.",
        "At the {event}, which <who> held in {year}, the guest of honour, {guest}, lost a hat to {a creature} [and took it with good humour|and left in anger|and got a new one the next day].",
    ),
    asks=(
        standard(
            "event",
            "Which event did the {who} organise in {year}?",
            "To which event did the {who} invite {guest}?",
            "At which event of the {who} was {guest} a guest?",
        ),
        asks(
            "guest",
            WHO,
            "was the guest of the {who} at the {event}",
            "was the guest of the {who} in {year}",
        ),
        standard(
            "creature",
            "Which animal played a part at the {event} of the {who}?",
            "Which animal was there when the {who} invited {guest}?",
            "Which animal is part of the story of the {event} held by the {who}?",
        ),
        asks("year", WHEN, "did the {who} organise the {event}", "did the {who} invite {guest}"),
        manipulated(
            "guest",
            "first",
            "What is the first name of the guest of the {who} at the {event}?",
            "What is the given name of the person whom the {who} invited in {year}?",
            "What is the first name of the person whom the {who} invited to the {event}?",
        ),
        several(
            "{guest} in {year}",
            "Who was the guest of the {who} at the {event}, and in which year?",
            "Whom did the {who} invite to the {event}, and when?",
            "Which person came to the {event} of the {who}, and in what year?",
        ),
        asks("who", WHICH_BODY, "organised the {event}", "invited {guest} in {year}", reverse=True),
        asks(
            "who",
            ("By which body", "By which group", "By what body"),
            "was the {event} organised",
            "was {guest} invited to the {event}",
            reverse=True,
        ),
    ),
)
SOCIETY = Setting(
    name="society",
    kind="society",
    slots={
        "year": "year",
        "leader": "person",
        "job": "job",
        "count": "number",
        "town": "town",
        "company": "company",
        "object": "object",
        "seller": "person",
        "price": "large",
        "student": "person",
        "field": "field",
        "college": "college",
        "event": "event",
        "guest": "person",
        "creature": "creature",
    },
    named="the {who}",
    short="the <noun>",
    others=(
        "another body, the {who},",
        "an old rival, the {who},",
        "a smaller group, the {who},",
        "the {who}, founded by former members,",
    ),
    openings=(
        "Nobody remembers why the {who} was founded, and its members disagree about that as they do about everything else, "
        "but its minutes have been kept with care.",
        "The minutes of the {who} fill a whole shelf, and whoever has the patience to read them learns more about people than about "
        "business.",
        "For most of its life the {who} has had more plans than money, and what became of the plans is told here in brief.",
    ),
    facts=(LEAD, MOVE, ACQUIRE, GRANT, GATHER),
    topics=("libraries", "gardening", "sheep", "bread", "sailing"),
)
