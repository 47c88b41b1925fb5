"""A town: works, newcomers, contests, storms, gifts."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import WHEN, WHERE, WHICH_FIRM, WHICH_TOWN, WHO, asks
from routelens.tasks.templates import manipulated, several, standard

TO_TOWN = ("To which town", "To what town", "Where")
WORKS = FactKind(
    "works",
    tellings=(
        "In {year} {company} opened a works in <who> that made {goods} and gave [bread|work] to {count} families.",
        "<Who> got its share of industry in {year}, when {company} began to make {goods} there with {count} hands.",
        "The smell of {goods} has [hung over|filled] <whom> since {year}, the year in which {company} came and hired {count} people.",
        "When {company} [left its old site|had to find a new home|wanted to grow] in {year}, it chose <whom>, where {count} people now make {goods} for it.",
    ),
    asks=(
        asks("company", WHICH_FIRM, "came to {who} in {year}", "makes {goods} in {who}"),
        standard(
            "goods",
            "What does {company} make in {who}?",
            "Which goods are made in {who} by {company}?",
            "What has been made in {who} since {year}?",
        ),
        standard(
            "count",
            "How many hands did {company} hire in {who}?",
            "How large is the work force of {company} in {who}?",
            "How many found work in {who} through the making of {goods}?",
        ),
        asks("year", WHEN, "did {company} come to {who}", "did {who} begin to make {goods}"),
        several(
            "{company} in {year}",
            "Which firm came to {who} to make {goods}, and in which year?",
            "Which company makes {goods} in {who}, and when did it come?",
            "Which firm brought the making of {goods} to {who}, and in what year?",
        ),
        asks("who", WHICH_TOWN, "is the home of {company}", "makes {goods}", reverse=True),
        asks(
            "who",
            TO_TOWN,
            "did {company} come in {year}",
            "did {company} bring its works",
            reverse=True,
        ),
    ),
)
SETTLE = FactKind(
    "settle",
    tellings=(
        "{settler}, {a job} by trade, moved to <whom> in {year} with no more than [two trunks|one bag|a cart of books] and {a creature}.",
        "<Who> gained {a job} in {year} when {settler} got off the bus with {a creature} [under one arm|on a lead|in a box] and stayed for good.",
        "[Nobody|Not one person] in <whom> had asked for {a job}, but {settler} came in {year}, settled there and brought along {a creature}.",
        "In {year} <who> became the home of {settler}, {a job} of some fame who is [seldom|never] seen without {a creature}.",
    ),
    asks=(
        asks("settler", WHO, "moved to {who} in {year}", "came to {who} with the {creature}"),
        asks("settler", WHO, "works as {a job} in {who}"),
        standard(
            "job",
            "What is the trade of {settler}, who moved to {who}?",
            "What does {settler} do for a living in {who}?",
            "In which trade does {settler} work in {who}?",
        ),
        asks(
            "creature",
            ("Which animal", "What animal"),
            "did {settler} bring to {who}",
            "came to {who} in {year}",
        ),
        asks("year", WHEN, "did {settler} move to {who}", "did {who} get {a job}"),
        manipulated(
            "settler",
            "first",
            "What is the first name of the {job} who moved to {who}?",
            "What is the given name of the person who came to {who} in {year}?",
            "What is the first name of the person who came to {who} with the {creature}?",
        ),
        manipulated(
            "settler",
            "last",
            "What is the last name of the {job} who moved to {who}?",
            "What is the surname of the person who came to {who} in {year}?",
            "What is the family name of the person who came to {who} with the {creature}?",
        ),
        several(
            "{settler} in {year}",
            "Which person came to {who} as {a job}, and when?",
            "Who brought the {creature} to {who}, and in which year?",
            "Who is the {job} who moved to {who}, and in which year was that?",
        ),
        asks("who", WHICH_TOWN, "is the home of {settler}", "has {a job}", reverse=True),
        asks(
            "who",
            TO_TOWN,
            "did {settler} move in {year}",
            "did {settler} bring the {creature}",
            reverse=True,
        ),
    ),
)
CONTEST = FactKind(
    "contest",
    tellings=(
        "The {event} of {year} took place in <whom>, where {winner} won {a prize} before a [large|noisy|patient] crowd.",
        "<Who> was full to the last bed in {year}, when {winner} came first at the {event} there and received {a prize}.",
        "In {year} the {event} had to be moved to <whom> [at short notice|because of a fire|after long debates], and the {prize} went to {winner}.",
        "People in <whom> still talk about the {event} of {year}, at which {winner} was handed {a prize} [in pouring rain|by the mayor|to loud applause].",
    ),
    asks=(
        standard(
            "event",
            "Which event took place in {who} in {year}?",
            "Which event did {winner} win in {who}?",
            "At which event in {who} was the {prize} won?",
            "What took place in {who} in {year}?",
        ),
        asks("winner", WHO, "won the {event} in {who}", "won the {prize} in {who}"),
        standard(
            "prize",
            "What did {winner} win in {who}?",
            "What was the prize at the {event} in {who}?",
            "Which prize could be won in {who} in {year}?",
        ),
        asks("year", WHEN, "did the {event} take place in {who}", "did {winner} win in {who}"),
        manipulated(
            "winner",
            "last",
            "What is the last name of the person who won the {event} in {who}?",
            "What is the surname of the person who won the {prize} in {who}?",
            "What is the family name of the person who won in {who} in {year}?",
        ),
        several(
            "{winner} and {prize}",
            "Who won the {event} in {who}, and what was the prize?",
            "Who came first in {who} in {year}, and what was won there?",
            "Which person came first at the {event} in {who}, and which prize was it for?",
        ),
        asks("who", WHICH_TOWN, "saw the {event}", "gave a stage to the {event}", reverse=True),
        asks(
            "who",
            WHERE,
            "did {winner} win the {prize}",
            "did {winner} come first",
            reverse=True,
        ),
        asks("who", WHERE, "did the {event} take place", reverse=True),
    ),
)
STORM = FactKind(
    "storm",
    tellings=(
        "A storm in {year} [tore the roof off|broke the windows of] a hall in <whom> and buried {count} {thing} that belonged to {owner}.",
        "In {year} <who> was under water for a week, and {owner} lost {count} {thing} that had stood in a [cellar|shed|shop].",
        "<Who> lost a whole street to fire in {year}, and with it the {count} {thing} that {owner} had inherited.",
        "Thieves came to <whom> in {year} and took {count} {thing} from {owner}, who [had not even locked the door|was asleep upstairs|heard nothing at all].",
    ),
    asks=(
        asks("owner", WHO, "lost things in {who} in {year}", "lost {count} {thing} in {who}"),
        standard(
            "thing",
            "What did {owner} lose in {who}?",
            "Which things were lost in {who} in {year}?",
            "Which things did {owner} lose in {who}?",
        ),
        standard(
            "count",
            "How many {thing} were lost in {who}?",
            "How many {thing} did {owner} lose in {who}?",
            "What is the number of {thing} that were lost in {who}?",
        ),
        asks(
            "year", WHEN, "did {owner} lose the {thing} in {who}", "were the {thing} lost in {who}"
        ),
        several(
            "{count} {thing}",
            "How many of which things did {owner} lose in {who}?",
            "What was lost in {who} in {year}, and how many of them?",
            "Which things did {owner} lose in {who}, and how many?",
        ),
        asks(
            "who",
            WHERE,
            "did {owner} lose the {thing}",
            "were the {thing} lost",
            reverse=True,
        ),
        asks("who", WHERE, "did {owner} lose things in {year}", reverse=True),
        asks("who", WHICH_TOWN, "is where {owner} lost the {thing}", reverse=True),
    ),
)
GIFT = FactKind(
    "gift",
    tellings=(
        "The {society} gave {a object} made of {material} to <whom> in {year}, and {speaker} made a speech that [few understood|lasted an hour|is still quoted].",
        "<Who> was given {a object} of {material} by the {society} in {year}, and it was {speaker} who unveiled it.",
        "In {year} {speaker} unveiled {a object} in the main square of <whom>, all of {material} and paid for by the {society}.",
        "The {society} thanked <whom> in {year} with {a object} of solid {material}, which {speaker} handed over with some words.",
    ),
    asks=(
        standard(
            "object",
            "What did the {society} give to {who}?",
            "Which object did {speaker} unveil in {who}?",
            "What was {who} given in {year}?",
        ),
        standard(
            "material",
            "Of which material is the {object} that {who} was given?",
            "What is the {object} in {who} made of?",
            "What is the gift of the {society} to {who} made of?",
        ),
        standard(
            "society",
            "Who gave the {object} to {who}?",
            "Who paid for the {object} in {who}?",
            "From which body did {who} get the {object}?",
            "From whom did {who} receive a gift in {year}?",
        ),
        asks(
            "speaker",
            WHO,
            "spoke when {who} was given the {object}",
            "spoke for the {society} in {who}",
        ),
        asks(
            "year",
            WHEN,
            "was {who} given the {object}",
            "did {who} receive a gift from the {society}",
        ),
        manipulated(
            "speaker",
            "first",
            "What is the first name of the person who spoke when {who} was given the {object}?",
            "What is the given name of the person who spoke for the {society} in {who}?",
            "What is the first name of the person who unveiled or handed over the {object} in {who}?",
        ),
        several(
            "{society} in {year}",
            "From which body and in which year did {who} get the {object}?",
            "Who gave the {object} to {who}, and when?",
            "Which body gave {who} the {object}, and in what year?",
        ),
        asks(
            "who",
            WHICH_TOWN,
            "was given the {object}",
            "got a gift from the {society}",
            reverse=True,
        ),
        asks(
            "who",
            WHERE,
            "did {speaker} make a speech in {year}",
            "does the {object} of {material} stand",
            reverse=True,
        ),
    ),
)
TOWN = Setting(
    name="town",
    kind="town",
    slots={
        "year": "year",
        "company": "company",
        "goods": "goods",
        "count": "large",
        "settler": "person",
        "job": "job",
        "creature": "creature",
        "event": "event",
        "winner": "person",
        "prize": "prize",
        "thing": "thing",
        "owner": "person",
        "society": "society",
        "object": "object",
        "material": "material",
        "speaker": "person",
    },
    short="the town",
    others=(
        "the neighbouring town of {who}",
        "the rival town of {who}",
        "little {who}, half a day away,",
        "{who}, on the other side of the hills,",
    ),
    openings=(
        "In most atlases {who} is a small dot between two bends of a river, but the people who live there have kept a long chronicle, "
        "and each page of it was argued over.",
        "Whoever comes to {who} by train sees a row of chimneys first, then a tower, and then the backs of houses that have seen a "
        "good deal.",
        "A teacher once wrote that nothing ever happens in {who}, and the town has spent the years since then proving the opposite.",
    ),
    facts=(WORKS, SETTLE, CONTEST, STORM, GIFT),
    topics=(
        "weather on a coast",
        "bread",
        "repairing roads",
        "a stream through the seasons",
        "libraries",
    ),
)
