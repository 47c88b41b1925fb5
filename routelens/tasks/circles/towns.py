"""Neighbouring towns: foundings, mayors, firms, gatherings, emblems, goods, statues."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import IN_WHICH_YEAR, WHICH_TOWN, WHO, asks, link
from routelens.tasks.templates import manipulated, several, standard

CHARTER = FactKind(
    "charter",
    tellings=(
        "<Who> received its charter on {date}, and the document hangs [in the town hall|in the church|in the school] behind thick curtains.",
        "On {date} <who> was at last allowed to call itself a town, after [two villages had been joined|a long wait|a petition to the king].",
        "The charter of <whom> bears the date {date} and [the marks of several coffee cups|a broken seal|twelve names].",
        "A stone beside the bridge recalls {date}, the day on which <who> got its charter.",
    ),
    asks=(
        standard(
            "date",
            "When did {who} receive its charter?",
            "On what date did {who} become a town?",
            "What is the date of the charter of {who}?",
        ),
        asks("date", IN_WHICH_YEAR, "did {who} receive its charter", part="year"),
        manipulated(
            "date",
            "month",
            "In which month did {who} receive its charter?",
            "During which month did {who} become a town?",
            "What is the month of the charter of {who}?",
        ),
        asks(
            "who",
            WHICH_TOWN,
            "received its charter on {date}",
            "has a charter from {date}",
            reverse=True,
        ),
    ),
)
MAYOR = FactKind(
    "mayor",
    tellings=(
        "<Who> has {mayor} for a mayor, {a job} who [still opens the shop on Saturdays|walks to work|has few enemies].",
        "The mayor of <whom> is {mayor}, who was {a job} for half a lifetime.",
        "At the last election {mayor}, {a job}, became mayor of <whom> [by the width of a hand|without a rival|to general surprise].",
        "In the town hall of <whom>, {mayor} governs, once {a job} and now the mayor for the third time.",
    ),
    asks=(
        standard(
            "mayor",
            "Who is the mayor of {who}?",
            "Who governs {who}?",
            "What is the name of the mayor of {who}?",
        ),
        standard(
            "job",
            "What is the trade of the mayor of {who}?",
            "Which job did the mayor of {who} learn?",
            "Besides leading the town, what is the mayor of {who}?",
        ),
        manipulated(
            "mayor",
            "first",
            "What is the first name of the mayor of {who}?",
            "What is the given name of the person who governs {who}?",
            "What is the first name of {who}'s mayor?",
        ),
        manipulated(
            "mayor",
            "last",
            "What is the last name of the mayor of {who}?",
            "What is the surname of the person who governs {who}?",
            "What is the family name of {who}'s mayor?",
        ),
        several(
            "{mayor}, {job}",
            "Who is the mayor of {who}, and in which trade?",
            "Who governs {who}, and which job did that person learn?",
            "What is the name of the mayor of {who}, and what is the trade?",
        ),
        asks("who", WHICH_TOWN, "is governed by {mayor}", "has {mayor} for a mayor", reverse=True),
        asks("who", WHICH_TOWN, "has a mayor who is or was {a job}", reverse=True),
    ),
)
WORKS = FactKind(
    "works",
    tellings=(
        "<Who> lives mainly on {company}, whose [sirens mark the hours of the day|smoke can be seen for miles|name is on every wall].",
        "In <whom> nearly every family has somebody at {company}, the largest employer by far.",
        "The largest employer in <whom> is {company}, which also [lights the streets|runs the school|owns most of the houses].",
        "Without {company} there would be little work in <whom>, and [every election turns on that|nobody likes to say so|the mayor knows it].",
    ),
    asks=(
        standard(
            "company",
            "Which firm is the largest employer in {who}?",
            "Which company does {who} live on?",
            "What is the name of the firm on which {who} depends for work?",
        ),
        asks(
            "who", WHICH_TOWN, "lives on {company}", "depends on {company} for work", reverse=True
        ),
    ),
)
FEAST = FactKind(
    "feast",
    tellings=(
        "<Who> is crowded only once a year, during the {event}, when [strangers sleep in barns|no bed is free|all the lamps are lit].",
        "Once a year the {event} fills <whom> with [music, smoke and lost children|noise from morning to night|people from all over the country].",
        "The {event} takes place in <whom> and ends, by tradition, with [a quarrel about the fireworks|a dance on the bridge|a long silence].",
        "If outsiders know <whom> at all, they know it for the {event}, which has been held there for ages.",
    ),
    asks=(
        standard(
            "event",
            "Which event takes place in {who}?",
            "Which event is held in {who} each year?",
            "For which event is {who} known?",
        ),
        asks(
            "who",
            WHICH_TOWN,
            "is known for the {event}",
            "has the {event} within its walls",
            reverse=True,
        ),
    ),
)
EMBLEM = FactKind(
    "emblem",
    tellings=(
        "<Who> has {a emblem} in its coat of arms, for reasons that [were lost in a fire|nobody can explain|are told to every child].",
        "The coat of arms of <whom> shows {a emblem} between two towers.",
        "On the flag of <whom> one sees {a emblem}, which [strangers tend to take for something else|looks rather sad|was drawn by a monk].",
        "Above the gate of <whom> {a emblem} has been carved, the beast of its coat of arms.",
    ),
    asks=(
        standard(
            "emblem",
            "Which animal is in the coat of arms of {who}?",
            "Which animal is the emblem of {who}?",
            "What animal stands for {who}?",
        ),
        asks(
            "who",
            WHICH_TOWN,
            "has {a emblem} as its emblem",
            "has {a emblem} in its coat of arms",
            reverse=True,
        ),
    ),
)
SPECIALTY = FactKind(
    "specialty",
    tellings=(
        "<Who> is where people go for {goods}, and [some come from two days away|they seldom go home with empty hands|the prices are fair].",
        "For {goods} there is no better place than <whom>, or so its traders say.",
        "Ships once carried {goods} from <whom> to every port, and a little is still sold on the quay.",
        "Traders from <whom> can be told by their {goods}, which they praise without being asked.",
    ),
    asks=(
        standard(
            "goods",
            "For which goods is {who} known?",
            "What do people go to {who} for?",
            "What do traders from {who} sell?",
        ),
        asks("who", WHICH_TOWN, "is known for its {goods}", "sells {goods}", reverse=True),
    ),
)
STATUE = FactKind(
    "statue",
    tellings=(
        "<Who> honours {hero} with a statue of {material}[, on which gulls like to rest|, paid for by the schools| that is cleaned every spring].",
        "In the square of <whom> stands {hero}, in {material} and [larger than life|with one arm raised|facing the river].",
        "A statue made of {material} reminds <whom> of {hero}, who once saved the town from ruin.",
        "The schools of <whom> are named after {hero}, and so is a bench beside the statue, which is of {material}.",
    ),
    asks=(
        asks("hero", WHO, "has a statue in {who}", "is honoured in {who}"),
        standard(
            "material",
            "What is the statue in {who} made of?",
            "Of which material is the statue in {who}?",
            "Which material was used for the statue in {who}?",
        ),
        manipulated(
            "hero",
            "last",
            "What is the last name of the person honoured in {who}?",
            "What is the surname of the person whose statue stands in {who}?",
            "What is the family name of the person with a statue in {who}?",
        ),
        several(
            "{hero} in {material}",
            "Whose statue stands in {who}, and what is it made of?",
            "Which person is honoured with a statue in {who}, and in which material?",
            "Who has a statue in {who}, and of which material is it?",
        ),
        asks("who", WHICH_TOWN, "has a statue of {hero}", "honours {hero}", reverse=True),
        asks("who", WHICH_TOWN, "has a statue of {material}", reverse=True),
    ),
)


LINKS = (
    link(
        "road",
        (
            "<Who> is joined to {other} by a road so bad that most people walk beside it.",
            "A single road leads out of <whom>, and it ends in {other}.",
        ),
        (
            "Where does the road from {who} lead?",
            "To which town is {who} joined by a road?",
            "Which town does one reach on the road from {who}?",
        ),
        WHICH_TOWN,
        "is joined by a road to {other}",
        "has a road that leads to {other}",
    ),
    link(
        "water",
        (
            "<Who> has no well worth the name and buys its water from {other}.",
            "The water in <whom> comes from {other} in a pipe, and so does the bill.",
        ),
        (
            "From which town does {who} get its water?",
            "Where does the water of {who} come from?",
            "Which town sells water to {who}?",
        ),
        WHICH_TOWN,
        "gets its water from {other}",
        "buys water from {other}",
    ),
    link(
        "ferry",
        (
            "A ferry crosses from <whom> to {other} twice a day, unless there is fog.",
            "<Who> is linked to {other} by a ferry that carries more sheep than people.",
        ),
        (
            "Where does the ferry from {who} go?",
            "To which town does the ferry from {who} cross?",
            "Which town can be reached from {who} by ferry?",
        ),
        WHICH_TOWN,
        "has a ferry to {other}",
        "is linked by ferry to {other}",
    ),
    link(
        "quarrel",
        (
            "<Who> has quarrelled with {other} over a meadow for longer than anyone can remember.",
            "For generations <who> has laid claim to a meadow that {other} regards as its own.",
        ),
        (
            "With which town does {who} quarrel over a meadow?",
            "Which town holds the meadow that {who} claims?",
            "Over a meadow, which town does {who} have a quarrel with?",
        ),
        WHICH_TOWN,
        "quarrels with {other} over a meadow",
        "claims a meadow from {other}",
    ),
    link(
        "school",
        (
            "<Who> sends its older children to school in {other}, a walk of an hour each way.",
            "There is no upper school in <whom>, so the older children go to {other}.",
        ),
        (
            "Where do the older children of {who} go to school?",
            "In which town do children from {who} attend the upper school?",
            "To which town does {who} send its older children?",
        ),
        WHICH_TOWN,
        "sends its older children to {other}",
        "has children who attend school in {other}",
    ),
    link(
        "river",
        (
            "<Who> lies on the same river as {other}, an hour further up.",
            "Whatever falls into the river in <whom> floats past {other} an hour later.",
        ),
        (
            "Which town lies further along the river than {who}?",
            "Past which town does the river flow after {who}?",
            "Which town does the river reach an hour after {who}?",
        ),
        WHICH_TOWN,
        "lies up the river from {other}",
        "comes before {other} on the river",
    ),
)
TOWNS = Setting(
    name="towns",
    kind="town",
    slots={
        "date": "date",
        "mayor": "person",
        "job": "job",
        "company": "company",
        "event": "event",
        "emblem": "creature",
        "goods": "goods",
        "hero": "person",
        "material": "material",
    },
    openings=(
        "Whoever travels through this valley should begin in {who}, since that is where the only map is sold.",
        "A handful of towns lie around the bay, and people from {who} will tell you that theirs is the one that counts.",
        "The old guide to the region opens with {who} and then goes from town to town, as will be done here.",
    ),
    facts=(CHARTER, MAYOR, WORKS, FEAST, EMBLEM, SPECIALTY, STATUE),
    topics=(
        "weather on a coast",
        "sheep",
        "repairing roads",
        "a stream through the seasons",
        "sailing",
    ),
    links=LINKS,
)
