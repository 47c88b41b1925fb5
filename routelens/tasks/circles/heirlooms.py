"""Old pieces of one collection: makers, materials, owners, schools, prices, finds, boxes."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import (
    IN_WHICH_MONTH,
    IN_WHICH_YEAR,
    ON_WHICH_DATE,
    WHICH_PIECE,
    asks,
    link,
)
from routelens.tasks.templates import manipulated, several, standard

MAKER = FactKind(
    "maker",
    tellings=(
        "<Who> was made by {maker}, who lived in {town} and [signed nothing|died young|made only a few more].",
        "A scratched mark proves that {maker} of {town} made <whom>.",
        "It took {maker} [three years|half a lifetime|one winter] in a cellar in {town} to finish <whom>.",
        "Experts agree that <who> comes from {town} and that {maker} is the one who made it.",
    ),
    asks=(
        standard(
            "maker",
            "Who made the {who}?",
            "By whom was the {who} made?",
            "What is the name of the person who made the {who}?",
        ),
        standard(
            "town",
            "Where was the {who} made?",
            "In which town was the {who} made?",
            "From which town does the {who} come?",
        ),
        manipulated(
            "maker",
            "last",
            "What is the last name of the person who made the {who}?",
            "What is the surname of the {who}'s maker?",
            "What is the family name of the person who made the {who}?",
        ),
        several(
            "{maker} in {town}",
            "Who made the {who}, and where?",
            "By whom and in which town was the {who} made?",
            "What is the name of the {who}'s maker, and from which town does it come?",
        ),
        asks("who", WHICH_PIECE, "was made by {maker}", "was made in {town}", reverse=True),
        asks("who", WHICH_PIECE, "comes from {town}", reverse=True),
    ),
)
MATERIAL = FactKind(
    "material",
    tellings=(
        "<Who> is made of {material}, though [it was painted over more than once|it looks like something else|this was long denied].",
        "Under the dirt of <whom> there is {material}, as [a small cut has shown|the owner found out|every expert can see].",
        "The weight of <whom> comes from the {material} of which it consists.",
        "Whoever touches <whom> feels {material}, [cool at first and then strangely warm|smooth and heavy|worn by many hands].",
    ),
    asks=(
        standard(
            "material",
            "What is the {who} made of?",
            "Of which material is the {who}?",
            "Which material does the {who} consist of?",
        ),
        asks("who", WHICH_PIECE, "is made of {material}", "consists of {material}", reverse=True),
    ),
)
OWNER = FactKind(
    "owner",
    tellings=(
        "<Who> belongs to {owner}, {a job}, who paid {price} crowns for it.",
        "For {price} crowns {owner}, {a job}, became the owner of <whom>.",
        "The owner of <whom> is {owner}, {a job} who spent {price} crowns on it and [tells nobody|regrets it|would do so again].",
        "At an auction {owner}, {a job}, bought <whom> for {price} crowns and has owned it ever since.",
    ),
    asks=(
        standard(
            "owner",
            "Who owns the {who}?",
            "To whom does the {who} belong?",
            "Who is the owner of the {who}?",
        ),
        standard(
            "job",
            "What is the trade of the owner of the {who}?",
            "What does the owner of the {who} do for a living?",
            "Which job does the person have who owns the {who}?",
        ),
        standard(
            "price",
            "How many crowns did the {who} cost?",
            "How much did the owner pay for the {who}?",
            "For how many crowns was the {who} sold?",
        ),
        manipulated(
            "owner",
            "first",
            "What is the first name of the person who owns the {who}?",
            "What is the given name of the owner of the {who}?",
            "What is the first name of the person to whom the {who} belongs?",
        ),
        several(
            "{owner} for {price}",
            "Who owns the {who}, and how many crowns did it cost?",
            "To whom does the {who} belong, and how much was paid for it?",
            "Who bought the {who}, and for how many crowns?",
        ),
        asks("who", WHICH_PIECE, "belongs to {owner}", "cost {price} crowns", reverse=True),
        asks("who", WHICH_PIECE, "is owned by {owner}", "belongs to {a job}", reverse=True),
    ),
)
SHOW = FactKind(
    "show",
    tellings=(
        "<Who> can be seen at {college}, in a room that [is open two hours a week|smells of dust|has no lamp].",
        "At {college} visitors walk past <whom> on the way to [the canteen|the library|the exit].",
        "The show at {college} has <whom> in its very last room, [under a weak lamp|beside the stairs|where few people go].",
        "On loan for many years, <who> stands in the hall of {college}.",
    ),
    asks=(
        standard(
            "college",
            "Where can the {who} be seen?",
            "At which school is the {who} on show?",
            "Which institution has the {who} on show?",
        ),
        asks(
            "who", WHICH_PIECE, "can be seen at {college}", "is on show at {college}", reverse=True
        ),
    ),
)
FIND = FactKind(
    "find",
    tellings=(
        "On {date} <who> was found again under a heap of {goods}, after it had been [missing for years|thought burnt|stolen twice].",
        "<Who> was given up for lost until {date}, when it turned up in a crate of {goods}.",
        "The newspapers of {date} report that <who> had been found among {goods}.",
        "Hidden under a load of {goods}, <who> came to light on {date} at the back of a shed.",
    ),
    asks=(
        asks("date", ON_WHICH_DATE, "was the {who} found", "did the {who} turn up again"),
        asks("date", IN_WHICH_YEAR, "was the {who} found", part="year"),
        asks("date", IN_WHICH_MONTH, "was the {who} found", part="month"),
        standard(
            "goods",
            "Among which goods was the {who} found?",
            "Under or among which goods was the {who} found?",
            "Which goods had covered the {who} before it was found?",
        ),
        several(
            "{goods} on {date}",
            "Among which goods was the {who} found, and when?",
            "Among which goods and on which date was the {who} found?",
            "Which goods had covered the {who}, and on what date was it found?",
        ),
        asks("who", WHICH_PIECE, "was found on {date}", "turned up on {date}", reverse=True),
        asks(
            "who", WHICH_PIECE, "was found among {goods}", "was covered with {goods}", reverse=True
        ),
    ),
)
ANIMAL = FactKind(
    "animal",
    tellings=(
        "<Who> is decorated with {a creature}, [so small that one needs a lens|the work of a later hand|in thin lines].",
        "On the back of <whom> somebody has scratched {a creature}, [perhaps out of boredom|long ago|with a nail].",
        "Seen from the left, <who> shows {a creature} with its [mouth open|back turned|eyes closed].",
        "What sets <whom> apart is {a creature}, painted on it in [blue|gold|dark red].",
    ),
    asks=(
        standard(
            "creature",
            "Which animal is on the {who}?",
            "What animal does one see on the {who}?",
            "Which animal decorates the {who}?",
        ),
        asks(
            "who", WHICH_PIECE, "shows {a creature}", "is decorated with {a creature}", reverse=True
        ),
    ),
)
EVENT = FactKind(
    "event",
    tellings=(
        "Once a year <who> is carried through the streets at the {event}, [in gloved hands|on a cushion|to the sound of a band].",
        "The {event} cannot begin before <who> has been put on its table.",
        "<Who> plays a part at the {event}, where [the mayor has to kiss it|it is shown to the crowd|children may touch it].",
        "People know <whom> from the {event}, for which it is [polished every year|taken out of its case|decorated with flowers].",
    ),
    asks=(
        standard(
            "event",
            "At which event does the {who} play a part?",
            "For which event is the {who} used?",
            "From which event do people know the {who}?",
        ),
        asks(
            "who",
            WHICH_PIECE,
            "plays a part at the {event}",
            "is used for the {event}",
            reverse=True,
        ),
    ),
)
LINKS = (
    link(
        "match",
        (
            "<Who> was made to match the {other}, but the two have not stood side by side for ages.",
            "As a counterpart to the {other}, <who> was ordered by a vain widow.",
        ),
        (
            "Which piece was the {who} made to match?",
            "Which antique is the counterpart of the {who}?",
            "As a counterpart to which piece was the {who} ordered?",
        ),
        WHICH_PIECE,
        "was made to match the {other}",
        "was ordered as a counterpart to the {other}",
    ),
    link(
        "exchange",
        (
            "<Who> was once given away in exchange for the {other}, a deal that both sides regretted.",
            "To get the {other}, a former owner gave <whom> in exchange.",
        ),
        (
            "For which piece was the {who} given in exchange?",
            "Which antique did a former owner get for the {who}?",
            "In exchange for what was the {who} given away?",
        ),
        WHICH_PIECE,
        "was given away for the {other}",
        "was exchanged for the {other}",
    ),
    link(
        "case",
        (
            "<Who> lies in a case that was built for the {other} and is too large for it.",
            "The case in which <who> is kept was really built for the {other}.",
        ),
        (
            "For which piece was the case built in which the {who} lies?",
            "In whose case is the {who} kept?",
            "Which antique should lie in the case of the {who}?",
        ),
        WHICH_PIECE,
        "lies in the case of the {other}",
        "is kept in a case built for the {other}",
    ),
    link(
        "copy",
        (
            "<Who> is thought by some to be a copy of the {other}, made in great haste.",
            "Some experts call <whom> a poor copy of the {other}.",
        ),
        (
            "Which piece is the {who} said to be a copy of?",
            "Of which antique is the {who} thought to be a copy?",
            "What is the {who} a copy of, according to some?",
        ),
        WHICH_PIECE,
        "is said to be a copy of the {other}",
        "is thought to be a copy of the {other}",
    ),
    link(
        "ship",
        (
            "<Who> came to the country on the same ship as the {other}, one deck lower.",
            "On the crossing, <who> lay right beside the {other} in the hold of a ship.",
        ),
        (
            "With which piece did the {who} share a ship?",
            "Which antique was on the same ship as the {who}?",
            "Beside which piece did the {who} cross the sea?",
        ),
        WHICH_PIECE,
        "shared a ship with the {other}",
        "was on the ship together with the {other}",
    ),
    link(
        "theft",
        (
            "Thieves once took <whom> by mistake, for they had come for the {other}.",
            "<Who> was stolen by people who had really wanted the {other}.",
        ),
        (
            "Which piece did the thieves want when they took the {who}?",
            "Instead of which antique was the {who} stolen?",
            "For which piece had the thieves come who took the {who}?",
        ),
        WHICH_PIECE,
        "was stolen instead of the {other}",
        "was taken by thieves who wanted the {other}",
    ),
)
HEIRLOOMS = Setting(
    name="heirlooms",
    kind="artefact",
    slots={
        "maker": "person",
        "town": "town",
        "material": "material",
        "owner": "person",
        "job": "job",
        "price": "large",
        "college": "college",
        "date": "date",
        "goods": "goods",
        "creature": "creature",
        "event": "event",
    },
    named="the {who}",
    openings=(
        "A list from an old castle names the {who} first and a few other pieces after it, all of which have had an eventful life.",
        "Those who collect old things often begin with the {who}, and sooner or later they come to its companions.",
        "The {who} is the best known of a group of antiques that have crossed each other's paths more than once.",
    ),
    facts=(MAKER, MATERIAL, OWNER, SHOW, FIND, ANIMAL, EVENT),
    topics=("libraries", "bread", "gardening", "repairing roads"),
    links=LINKS,
)
