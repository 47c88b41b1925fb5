"""Species that live side by side: regions, prey, nests, discoverers, lifespans, schools, emblems."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import IN_WHICH_YEAR, ON_WHICH_DATE, WHICH_SPECIES, asks, link
from routelens.tasks.templates import manipulated, several, standard

RANGE = FactKind(
    "range",
    tellings=(
        "<Who> is found only in the {region}, and [even there one can wait for weeks|only in the north of it|nowhere else in the world].",
        "Nowhere but in the {region} does <whom> still breed in any number.",
        "To see <whom>, one has to travel to the {region} and [get up before the sun|keep very still|have luck].",
        "Old tales place <whom> in the {region}, and [for once they are right|it is still there|recent tracks confirm it].",
    ),
    asks=(
        standard(
            "region",
            "Where does the {who} live?",
            "In which region is the {who} found?",
            "To which region must one travel to see the {who}?",
        ),
        asks(
            "who", WHICH_SPECIES, "lives in the {region}", "is found in the {region}", reverse=True
        ),
    ),
)
PREY = FactKind(
    "prey",
    tellings=(
        "<Who> feeds on {prey} and [hardly ever touches anything else|needs a great number of them|digs for them].",
        "Where there are {prey}, <who> is seldom far away.",
        "The favourite food of <whom> is {prey}, which it [swallows whole|catches in flight|eats at night].",
        "As soon as it gets dark, <who> goes out to look for {prey}.",
    ),
    asks=(
        standard(
            "prey",
            "What does the {who} eat?",
            "What does the {who} feed on?",
            "What is the food of the {who}?",
        ),
        asks("who", WHICH_SPECIES, "eats {prey}", "feeds on {prey}", reverse=True),
    ),
)
NEST = FactKind(
    "nest",
    tellings=(
        "<Who> lines its nest with {lining} and [uses it for many years|guards it well|builds it high up].",
        "The nest of <whom> is a hollow filled with {lining}, [as large as a soup bowl|hidden among roots|hard to find].",
        "For its bed <who> gathers {lining}, one mouthful after another.",
        "One can tell the nest of <whom> by a border of {lining} all around it.",
    ),
    asks=(
        standard(
            "lining",
            "What does the {who} line its nest with?",
            "What is in the nest of the {who}?",
            "What does the {who} gather for its bed?",
        ),
        asks(
            "who", WHICH_SPECIES, "lines its nest with {lining}", "sleeps on {lining}", reverse=True
        ),
    ),
)
DISCOVERY = FactKind(
    "discovery",
    tellings=(
        "<Who> was first described by {finder}, {a job} by trade, on {date}.",
        "The first drawing of <whom> is dated {date} and signed by {finder}, {a job} with time to spare.",
        "It was {finder}, {a job}, who reported <whom> to the academies on {date} and [was laughed at|got no answer|received a prize].",
        "On {date} {finder}, {a job} on holiday, held <whom> in both hands as the first person ever.",
    ),
    asks=(
        standard(
            "finder",
            "Who discovered the {who}?",
            "By whom was the {who} first described?",
            "Who was the first to report on the {who}?",
        ),
        standard(
            "job",
            "What was the trade of the person who discovered the {who}?",
            "What did the discoverer of the {who} do for a living?",
            "Which job did the person have who first described the {who}?",
        ),
        asks("date", ON_WHICH_DATE, "was the {who} discovered", "was the {who} first described"),
        asks("date", IN_WHICH_YEAR, "was the {who} discovered", part="year"),
        manipulated(
            "finder",
            "first",
            "What is the first name of the person who discovered the {who}?",
            "What is the given name of the person who first described the {who}?",
            "What is the first name of the {who}'s discoverer?",
        ),
        manipulated(
            "finder",
            "last",
            "What is the last name of the person who discovered the {who}?",
            "What is the surname of the person who first described the {who}?",
            "What is the family name of the {who}'s discoverer?",
        ),
        several(
            "{finder} on {date}",
            "Who discovered the {who}, and when?",
            "By whom and on which date was the {who} first described?",
            "Who was the first to report on the {who}, and on what date?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "was discovered by {finder}",
            "was described by {a job}",
            reverse=True,
        ),
        asks("who", WHICH_SPECIES, "was discovered on {date}", reverse=True),
    ),
)
COUNT = FactKind(
    "count",
    tellings=(
        "At the last count there were {count} of <whom> left, [a few more than had been feared|half as many as before|most of them old].",
        "Only {count} of <whom> have been counted, [all of them by the same patient volunteers|from a small plane|in one long night].",
        "<Who> has come back from the edge, and {count} of them are alive today.",
        "The official figure for <whom> is {count}, though [it may leave out the young ones|some think it too high|nobody is sure].",
    ),
    asks=(
        standard(
            "count",
            "How many of the {who} are left?",
            "How many of the {who} were counted?",
            "What is the official figure for the {who}?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "numbers {count}",
            "was counted and found to number {count}",
            reverse=True,
        ),
    ),
)
STUDY = FactKind(
    "study",
    tellings=(
        "At {college} a small room is given over to <whom>, and [the smell does not bother anyone any more|visitors are welcome|the door is kept locked].",
        "<Who> is studied at {college}, mostly by [students who like to work at night|one old professor|way of its tracks].",
        "All that is known about the voice of <whom> comes from {college}, where it was [recorded|first heard|played on the radio].",
        "Since the start {college} has spent more money on <whom> than on its own roof.",
    ),
    asks=(
        standard(
            "college",
            "At which school is the {who} studied?",
            "Which institution spends its money on the {who}?",
            "Where is research on the {who} done?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "is studied at {college}",
            "is the subject of work at {college}",
            reverse=True,
        ),
    ),
)
EMBLEM = FactKind(
    "emblem",
    tellings=(
        "The {society} has put <whom> on its flag, with [rather too many teeth|its eyes closed|its back turned].",
        "<Who> gave its likeness to the seal of the {society}, which has used it ever since.",
        "On every letter of the {society} there is a small drawing of <whom>.",
        "Members of the {society} wear a badge with <whom> and [know its call by heart|meet once a year|pay for its care].",
    ),
    asks=(
        standard(
            "society",
            "Which body uses the {who} as its sign?",
            "Who has the {who} for an emblem?",
            "Which group is the {who} the emblem of?",
        ),
        asks(
            "who",
            WHICH_SPECIES,
            "is the emblem of the {society}",
            "stands for the {society}",
            reverse=True,
        ),
    ),
)
LINKS = (
    link(
        "theft",
        (
            "<Who> steals food from the {other}, which is slower and never learns.",
            "Whenever it can, <who> robs the {other} of what it has caught.",
        ),
        (
            "From which species does the {who} steal food?",
            "Which animal is robbed by the {who}?",
            "Whose food does the {who} steal?",
        ),
        WHICH_SPECIES,
        "steals food from the {other}",
        "robs the {other}",
    ),
    link(
        "burrow",
        (
            "<Who> moves into burrows that the {other} has dug and left behind.",
            "Too lazy to dig, <who> lives in old burrows of the {other}.",
        ),
        (
            "Whose burrows does the {who} use?",
            "Which animal digs the burrows in which the {who} lives?",
            "Which species digs burrows that the {who} moves into?",
        ),
        WHICH_SPECIES,
        "lives in the burrows of the {other}",
        "moves into burrows dug by the {other}",
    ),
    link(
        "alarm",
        (
            "<Who> listens to the alarm calls of the {other} and runs whenever it hears one.",
            "When the {other} cries out, <whom> is the first to hide.",
        ),
        (
            "Which animal warns the {who}?",
            "To whose alarm calls does the {who} listen?",
            "Which species does the {who} listen to?",
        ),
        WHICH_SPECIES,
        "listens to the {other}",
        "is warned by the {other}",
    ),
    link(
        "look",
        (
            "<Who> looks so much like a young {other} that even experts have been wrong.",
            "From afar <who> is easily taken for the {other}, though it is much smaller.",
        ),
        (
            "Which species is the {who} mistaken for?",
            "Which animal does the {who} look like?",
            "With which species is the {who} easily confused?",
        ),
        WHICH_SPECIES,
        "is mistaken for the {other}",
        "looks like the {other}",
    ),
    link(
        "fear",
        (
            "<Who> is afraid of nothing but the {other}, from which it runs at sight.",
            "The one enemy of <whom> is the {other}, whose smell alone drives it away.",
        ),
        (
            "Which species is the {who} afraid of?",
            "Which animal is the enemy of the {who}?",
            "From which animal does the {who} run?",
        ),
        WHICH_SPECIES,
        "is afraid of the {other}",
        "has the {other} as its enemy",
    ),
    link(
        "drink",
        (
            "<Who> drinks from the same pools as the {other}, but an hour later and in peace.",
            "At the water <who> waits until the {other} has drunk and gone.",
        ),
        (
            "After which animal does the {who} drink?",
            "For which species does the {who} wait at the water?",
            "Which animal drinks before the {who}?",
        ),
        WHICH_SPECIES,
        "drinks after the {other}",
        "waits for the {other} at the water",
    ),
)
SPECIES = Setting(
    name="species",
    kind="species",
    slots={
        "region": "region",
        "prey": "prey",
        "lining": "lining",
        "finder": "person",
        "job": "job",
        "date": "date",
        "count": "large",
        "college": "college",
        "society": "society",
    },
    named="the {who}",
    openings=(
        "Whoever wants to understand the {who} has to look at its neighbours as well, for in the wild no creature lives by itself.",
        "A shelf of old notebooks deals with animals that few people have seen, and the first page is about the {who}.",
        "The web of life in these parts is best explained by starting with the {who} and following its tracks.",
    ),
    facts=(RANGE, PREY, NEST, DISCOVERY, COUNT, STUDY, EMBLEM),
    topics=("a stream through the seasons", "gardening", "sheep", "weather on a coast"),
    links=LINKS,
)
