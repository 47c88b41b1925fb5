"""Firms that do business with each other: founders, seats, goods, hands, emblems, heads, sponsored events."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import (
    IN_WHICH_YEAR,
    WHICH_FIRM,
    WHO,
    asks,
    link,
)
from routelens.tasks.templates import manipulated, several, standard

FOUNDING = FactKind(
    "founding",
    tellings=(
        "<Who> was founded on {date} by {founder}, who had [borrowed the first sum from an aunt|sold a house for it|no training at all].",
        "On {date} {founder} signed the papers that brought <whom> into being and then [slept for two days|danced in the yard|went straight to work].",
        "The portrait in the hall of <whom> shows {founder}, the founder, and under it stands the date {date}.",
        "It was {founder} who founded <whom>, and on {date} the first order was [filled by hand|sent out|paid in advance].",
    ),
    asks=(
        asks("founder", WHO, "founded {who}"),
        standard(
            "date",
            "When was {who} founded?",
            "On what date did {who} begin?",
            "What is the founding date of {who}?",
        ),
        manipulated(
            "founder",
            "last",
            "What is the last name of the founder of {who}?",
            "What is the surname of the person who founded {who}?",
            "What is the family name of {who}'s founder?",
        ),
        manipulated(
            "founder",
            "first",
            "What is the first name of the founder of {who}?",
            "What is the given name of the person who founded {who}?",
            "What is the first name of {who}'s founder?",
        ),
        asks("date", IN_WHICH_YEAR, "was {who} founded", part="year"),
        several(
            "{founder} on {date}",
            "Who founded {who}, and when?",
            "By whom and on what date was {who} founded?",
            "Who is the founder of {who}, and on which date did it begin?",
        ),
        asks("who", WHICH_FIRM, "was founded by {founder}", "began on {date}", reverse=True),
        asks(
            "who",
            ("Which firm did", "Which company did", "What firm did"),
            "{founder} found",
            reverse=True,
        ),
    ),
)
SEAT = FactKind(
    "seat",
    tellings=(
        "<Who> has its seat in {town}, in a [long building with a clock tower|brick block beside the canal|former school] and too few windows.",
        "Letters to <whom> go to {town}, where the main office [takes up a whole side of the square|stands beside the station|is lit all night].",
        "In {town} everyone can point out the gates of <whom>, which are [painted dark red|never shut|as tall as a house].",
        "Low rents once led <whom> to {town}, and [it has never had a reason to leave|the town has grown with it|there it has stayed].",
    ),
    asks=(
        standard(
            "town",
            "Where does {who} have its seat?",
            "In which town is {who} based?",
            "In which town is the main office of {who}?",
        ),
        asks("who", WHICH_FIRM, "is based in {town}", "has its seat in {town}", reverse=True),
    ),
)
GOODS = FactKind(
    "goods",
    tellings=(
        "<Who> has turned to {goods}, which it sells [in plain brown boxes|all over the country|at a low price].",
        "What keeps <whom> alive is {goods}, made [after an old recipe that hardly anyone has seen|in two shifts|and packed on the spot].",
        "Most people have some {goods} in the house that came from <whom>, whether they know it or not.",
        "The name of <whom> promises something else, yet it makes little besides {goods} these days.",
    ),
    asks=(
        standard(
            "goods",
            "What does {who} make?",
            "Which goods does {who} produce?",
            "What does {who} live on?",
        ),
        asks("who", WHICH_FIRM, "makes {goods}", "lives on {goods}", reverse=True),
    ),
)
STAFF = FactKind(
    "staff",
    tellings=(
        "<Who> employs {count} people, [and in good years a few more in the weeks before the holidays|hardly any of whom ever leave|and pays them well].",
        "With {count} hands on its books, <who> is [neither large nor small for the trade|as large as it wants to be|larger than it looks].",
        "At the last count there were {count} people at <whom>, most of them [from the same few streets|in the packing hall|under thirty].",
        "Some {count} families live on the wages that <who> pays, and all of them know it.",
    ),
    asks=(
        standard(
            "count",
            "How many people does {who} employ?",
            "How many people work for {who}?",
            "How large is the staff of {who}?",
        ),
        asks("who", WHICH_FIRM, "employs {count} people", "has a staff of {count}", reverse=True),
    ),
)
EMBLEM = FactKind(
    "emblem",
    tellings=(
        "<Who> puts {a emblem} on everything it sends out, a drawing that [was once made in a hurry|has never been changed|a child could have made].",
        "On the roof of <whom> stands {a emblem} of painted sheet metal that turns with the wind.",
        "The letters of <whom> are closed with a seal that shows {a emblem}.",
        "Children know <whom> by {a emblem}, the emblem on its delivery vans.",
    ),
    asks=(
        standard(
            "emblem",
            "Which animal is the emblem of {who}?",
            "Which animal does {who} use as its sign?",
            "What animal does one think of in connection with {who}?",
        ),
        asks(
            "who",
            WHICH_FIRM,
            "has {a emblem} as its emblem",
            "uses {a emblem} as its sign",
            reverse=True,
        ),
    ),
)
HEAD = FactKind(
    "head",
    tellings=(
        "<Who> is run by {head}, formerly {a job}, who [signs each letter in green|knows all the hands by name|has never taken a holiday].",
        "The head of <whom> is {head}, who began as {a job} and [has kept the old tools|still gets up at five|fears nobody].",
        "At the top of <whom> sits {head}, {a job} by training and a worrier by nature.",
        "When the chair of <whom> fell empty, it went to {head}, until then {a job} without any such plans.",
    ),
    asks=(
        standard(
            "head",
            "Who is the head of {who}?",
            "Who runs {who}?",
            "By whom is {who} run?",
        ),
        standard(
            "job",
            "What was the job of the head of {who} before that?",
            "As what did the head of {who} begin?",
            "Which trade did the head of {who} learn?",
        ),
        manipulated(
            "head",
            "last",
            "What is the last name of the head of {who}?",
            "What is the surname of the person who runs {who}?",
            "What is the family name of {who}'s head?",
        ),
        manipulated(
            "head",
            "first",
            "What is the first name of the head of {who}?",
            "What is the given name of the person who runs {who}?",
            "What is the first name of {who}'s head?",
        ),
        several(
            "{head}, {job}",
            "Who runs {who}, and in which trade did that person begin?",
            "Who is the head of {who}, and what was the job before that?",
            "By whom is {who} run, and which trade was it before that?",
        ),
        asks("who", WHICH_FIRM, "is run by {head}", "has {head} at the top", reverse=True),
        asks("who", WHICH_FIRM, "has a head who was once {a job}", reverse=True),
    ),
)
SPONSOR = FactKind(
    "sponsor",
    tellings=(
        "<Who> pays for the {event} each year and [gets little more than a line of thanks in return|sends its hands there for free|is proud of it].",
        "Without the money of <whom>, there would be no {event}, and [the organisers know it|everybody is aware of that|it shows].",
        "The {event} is held in the name of <whom>, which [covers the losses and never asks for a ticket|has done so for decades|pays for the band].",
        "At the {event} the best seats are kept for <whom>, since it foots the bill.",
    ),
    asks=(
        standard(
            "event",
            "Which event does {who} pay for?",
            "Which gathering does {who} support?",
            "What event is held with the money of {who}?",
        ),
        asks("who", WHICH_FIRM, "pays for the {event}", "supports the {event}", reverse=True),
    ),
)


LINKS = (
    link(
        "shares",
        (
            "<Who> holds a third of the shares of {other}, which does not please everybody there.",
            "Some years ago <who> bought up a third of {other} and now has a say in what it does.",
        ),
        (
            "Of which firm does {who} hold shares?",
            "Which firm belongs in part to {who}?",
            "Whose shares are held by {who}?",
        ),
        WHICH_FIRM,
        "holds shares of {other}",
        "owns a third of {other}",
    ),
    link(
        "supply",
        (
            "<Who> gets its raw material from {other}, on credit and by the cartload.",
            "Each Monday <who> is supplied by {other}, and a late cart means an idle morning.",
        ),
        (
            "Which firm supplies {who}?",
            "By which firm is {who} supplied?",
            "On whose carts does {who} depend?",
        ),
        WHICH_FIRM,
        "is supplied by {other}",
        "depends on the carts of {other}",
    ),
    link(
        "lawsuit",
        (
            "<Who> has taken {other} to court over a fence, and the case is now in its ninth year.",
            "For years <who> has been suing {other}, though nobody can say what it would win.",
        ),
        (
            "Which firm did {who} take to court?",
            "Whom is {who} suing?",
            "Against which firm has {who} gone to court?",
        ),
        WHICH_FIRM,
        "took {other} to court",
        "is suing {other}",
    ),
    link(
        "warehouse",
        (
            "<Who> stores its stock in a warehouse that belongs to {other}.",
            "For want of room <who> has rented half a warehouse from {other}.",
        ),
        (
            "In whose warehouse does {who} store its stock?",
            "From which firm does {who} rent room for its stock?",
            "Which firm's warehouse does {who} use?",
        ),
        WHICH_FIRM,
        "uses the warehouse of {other}",
        "rents room from {other}",
    ),
    link(
        "origin",
        (
            "<Who> started out as a small branch of {other} and still uses the same forms.",
            "Once <who> was no more than a branch of {other}, run from a single desk.",
        ),
        (
            "Of which firm was {who} once a branch?",
            "To which firm did {who} once belong as a branch?",
            "Which firm once had {who} as a branch?",
        ),
        WHICH_FIRM,
        "was once a branch of {other}",
        "started out as a part of {other}",
    ),
    link(
        "patent",
        (
            "<Who> copied a machine of {other} bolt by bolt, and everyone in the trade has heard about it.",
            "The best machine of <whom> was copied from {other}, bolt by bolt and by night.",
        ),
        (
            "From which firm did {who} copy a machine?",
            "Whose machine did {who} copy?",
            "Which firm built the machine that {who} copied?",
        ),
        WHICH_FIRM,
        "copied a machine from {other}",
        "copied a machine that {other} had built",
    ),
)
FIRMS = Setting(
    name="firms",
    kind="company",
    slots={
        "founder": "person",
        "date": "date",
        "town": "town",
        "goods": "goods",
        "count": "large",
        "emblem": "creature",
        "head": "person",
        "job": "job",
        "event": "event",
    },
    openings=(
        "In this part of the country a few firms have always depended on one another, and {who} is the one with which most stories "
        "begin.",
        "Whoever buys from {who} has to do with several other firms as well, for in this region none of them stands alone.",
        "Among the chimneys along the river those of {who} are the oldest, but a look at the neighbours is worth the time.",
    ),
    facts=(FOUNDING, SEAT, GOODS, STAFF, EMBLEM, HEAD, SPONSOR),
    topics=("repairing roads", "weather on a coast", "bread", "a stream through the seasons"),
    links=LINKS,
)
