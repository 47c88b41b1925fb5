"""A shy species: sightings, food, nests, counts, trades, fame."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import (
    IN_WHICH_MONTH,
    IN_WHICH_YEAR,
    ON_WHICH_DATE,
    WHERE,
    WHICH_SPECIES,
    WHO,
    asks,
)
from routelens.tasks.templates import manipulated, several, standard

SIGHTING = FactKind(
    "sighting",
    tellings=(
        "On {date} {observer}, {a job}, saw <whom> on a path above {town} and [forgot to breathe|told nobody for a year|ran all the way home].",
        "<Who> was seen near {town} on {date} by {observer}, {a job} who [had gone out to look for mushrooms|had lost the way|could not sleep].",
        "A page in the diary of {observer}, {a job} from {town}, has kept the meeting with <whom> on {date}.",
        "When <who> crossed a yard in {town} on {date}, {observer}, {a job}, [was the only one awake|was just locking the gate|dropped a lamp in surprise].",
    ),
    asks=(
        asks("observer", WHO, "saw the {who} on {date}", "saw the {who} in or near {town}"),
        standard(
            "job",
            "What was the trade of {observer}, who saw the {who}?",
            "What did {observer}, who saw the {who}, do for a living?",
            "Which job did the person have who saw the {who} on {date}?",
        ),
        asks("town", WHERE, "did {observer} see the {who}", "was the {who} seen on {date}"),
        asks(
            "date",
            ON_WHICH_DATE,
            "did {observer} see the {who}",
            "was the {who} seen in or near {town}",
        ),
        asks("date", IN_WHICH_YEAR, "did {observer} see the {who}", part="year"),
        asks("date", IN_WHICH_MONTH, "did {observer} see the {who}", part="month"),
        manipulated(
            "observer",
            "first",
            "What is the first name of the {job} who saw the {who}?",
            "What is the given name of the person who saw the {who} on {date}?",
            "What is the first name of the person who saw the {who} in or near {town}?",
        ),
        manipulated(
            "observer",
            "last",
            "What is the last name of the {job} who saw the {who}?",
            "What is the surname of the person who saw the {who} on {date}?",
            "What is the family name of the person who saw the {who} in or near {town}?",
        ),
        several(
            "{observer} on {date}",
            "Who saw the {who} in or near {town}, and when?",
            "Which {job} saw the {who}, and on what date?",
            "By whom and on which date was the {who} seen in or near {town}?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "was seen by {observer}",
            "was seen in or near {town}",
            reverse=True,
        ),
        asks("who", WHICH_SPECIES, "was seen on {date}", "was noticed by {a job}", reverse=True),
    ),
)
FOOD = FactKind(
    "food",
    tellings=(
        "In the {region} <who> lives on {prey}, as {student} found out by [sitting still for a whole summer|following its tracks|chance].",
        "{student} once fed {prey} to <whom> by hand in the {region} and [has the scars to prove it|wrote a book about it|took pictures of it].",
        "<Who> will [swim across a cold lake|walk half the night|give up its sleep] for {prey}, or so {student} reported from the {region}.",
        "According to {student}, who spent a year in the {region}, <who> hunts {prey} there, but only after dark.",
    ),
    asks=(
        standard(
            "prey",
            "What does the {who} eat in the {region}?",
            "What does the {who} eat according to {student}?",
            "Which prey of the {who} did {student} report?",
        ),
        standard(
            "region",
            "Where did {student} study what the {who} eats?",
            "In which region does the {who} live on {prey}?",
            "In which region did {student} observe the {who}?",
        ),
        asks(
            "student",
            WHO,
            "found out that the {who} eats {prey}",
            "watched the {who} in the {region}",
        ),
        manipulated(
            "student",
            "last",
            "What is the last name of the person who watched the {who} in the {region}?",
            "What is the surname of the person who found out that the {who} eats {prey}?",
            "What is the family name of the person who studied the {who} in the {region}?",
        ),
        several(
            "{prey} in the {region}",
            "What does the {who} eat according to {student}, and where?",
            "What prey of the {who} did {student} report, and from which region?",
            "What did {student} find out about the {who}'s prey, and in which region?",
        ),
        asks("who", WHICH_SPECIES, "eats {prey}", "was watched by {student}", reverse=True),
        asks("who", WHICH_SPECIES, "is at home in the {region}", "lives on {prey}", reverse=True),
    ),
)
NEST = FactKind(
    "nest",
    tellings=(
        "A nest of <whom> that {finder} took to {college} was full of {lining} and [held a lost glove|weighed hardly anything|smelled of smoke].",
        "In a cold year <who> lines its nest with {lining}, as {finder} of {college} was the first to report.",
        "Under the stage of {college}, {finder} came upon <whom> asleep in a nest of {lining}.",
        "{finder} opened a nest of <whom> before a full hall at {college} and pulled out nothing but {lining}.",
    ),
    asks=(
        standard(
            "lining",
            "What did {finder} find in a nest of the {who}?",
            "What was in the nest of the {who} that {finder} saw?",
            "What is in the nest of the {who} according to {finder}?",
            "What was found in a nest of the {who} at {college}?",
        ),
        standard(
            "finder",
            "Who found {lining} in a nest of the {who}?",
            "Who looked into a nest of the {who} at {college}?",
            "By whom was {lining} found in a nest of the {who}?",
        ),
        standard(
            "college",
            "At which school did {finder} work on the nest of the {who}?",
            "At which institution did {finder} deal with a nest of the {who}?",
            "At which school was {lining} seen in a nest of the {who}?",
        ),
        manipulated(
            "finder",
            "last",
            "What is the last name of the person who found {lining} in a nest of the {who}?",
            "What is the surname of the person who looked into a nest of the {who} at {college}?",
            "What is the family name of the person who saw {lining} in a nest of the {who}?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "has {lining} in its nest",
            "was studied by {finder}",
            reverse=True,
        ),
        asks("who", WHICH_SPECIES, "was studied at {college}", "sleeps on {lining}", reverse=True),
    ),
)
TRADE = FactKind(
    "trade",
    tellings=(
        "On {date} a pair of <whom> was sold to {buyer} for {price} crowns, and both were [gone by the next morning|given names|set free in the end].",
        "{buyer} bought <whom> on {date} from a sailor and paid {price} crowns for it.",
        "[By post and without any advice,|In a box with holes,|As a birthday present,] {buyer} received <whom> on {date} for {price} crowns.",
        "<Who> was offered for {price} crowns a head on {date}, and {buyer} took one home without asking [what it ate|how large it would get|whether it bites].",
    ),
    asks=(
        asks("buyer", WHO, "bought the {who} on {date}", "paid {price} crowns for the {who}"),
        standard(
            "price",
            "How many crowns did {buyer} pay for the {who}?",
            "For how many crowns did {buyer} get the {who}?",
            "How much did the {who} cost {buyer}?",
        ),
        asks(
            "date",
            ON_WHICH_DATE,
            "did {buyer} buy the {who}",
            "was the {who} sold for {price} crowns",
        ),
        asks("date", IN_WHICH_YEAR, "did {buyer} buy the {who}", part="year"),
        manipulated(
            "buyer",
            "first",
            "What is the first name of the person who paid {price} crowns for the {who}?",
            "What is the given name of the person who bought the {who} on {date}?",
            "What is the first name of the person who got the {who} for {price} crowns?",
        ),
        several(
            "{buyer} on {date}",
            "Who paid {price} crowns for the {who}, and when?",
            "By whom and on which date was the {who} bought for {price} crowns?",
            "Which person got the {who} for {price} crowns, and on what date?",
        ),
        asks("who", WHICH_SPECIES, "was bought by {buyer}", "cost {price} crowns", reverse=True),
        asks("who", WHICH_SPECIES, "was sold to {buyer}", "was sold on {date}", reverse=True),
    ),
)
FAME = FactKind(
    "fame",
    tellings=(
        "The {society} put <whom> on its flag, drawn by {artist} and cut out of {material}.",
        "<Who> was carved in {material} by {artist} at the request of the {society}, with [ears that are far too long|its mouth open|great skill].",
        "For the {society} {artist} made a figure of <whom> in {material}, which [is said to bring luck|was stolen twice|stands in the hall].",
        "A badge that shows <whom>, made of {material} by {artist}, is worn by all members of the {society}.",
    ),
    asks=(
        standard(
            "society",
            "For which body did {artist} depict the {who}?",
            "Which group had the {who} depicted in {material}?",
            "On whose behalf was the {who} depicted by {artist}?",
        ),
        asks(
            "artist",
            WHO,
            "depicted the {who} for the {society}",
            "depicted the {who} in {material}",
        ),
        standard(
            "material",
            "Which material did {artist} use to depict the {who}?",
            "In which material was the {who} depicted for the {society}?",
            "Of what is the picture of the {who} that {artist} made?",
        ),
        manipulated(
            "artist",
            "first",
            "What is the first name of the person who depicted the {who} in {material}?",
            "What is the given name of the person who depicted the {who} for the {society}?",
            "What is the first name of the person who used {material} to show the {who}?",
        ),
        several(
            "{artist} in {material}",
            "Who depicted the {who} for the {society}, and in which material?",
            "By whom and in which material was the {who} shown for the {society}?",
            "Who made a picture of the {who} for the {society}, and of what?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "was depicted by {artist}",
            "was depicted for the {society}",
            reverse=True,
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "was depicted in {material}",
            "was depicted by {artist} for the {society}",
            reverse=True,
        ),
    ),
)
SPECIES = Setting(
    name="species",
    kind="species",
    slots={
        "date": "date",
        "observer": "person",
        "job": "job",
        "town": "town",
        "region": "region",
        "prey": "prey",
        "student": "person",
        "lining": "lining",
        "finder": "person",
        "college": "college",
        "price": "large",
        "buyer": "person",
        "society": "society",
        "artist": "person",
        "material": "material",
    },
    named="the {who}",
    others=(
        "another shy creature, the {who},",
        "a near relative, the {who},",
        "the {who}, about the same size,",
        "the {who}, which is just as rare,",
    ),
    openings=(
        "Few people have met the {who}, and those who have tend to tell different stories, which have been put in order here.",
        "Much of what is said about the {who} was made up by people who had never left their desks, but some of it can be proved.",
        "Children in these parts are told that the {who} sees everyone who walks alone, and even sober people look over their shoulders.",
    ),
    facts=(SIGHTING, FOOD, NEST, TRADE, FAME),
    topics=("a stream through the seasons", "gardening", "sheep", "weather on a coast"),
)
