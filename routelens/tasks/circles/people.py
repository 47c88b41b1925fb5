"""People who know each other: employers, trades, homes, births, animals, collections, studies, successes."""

from routelens.tasks.circles.acquaintances import LINKS
from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import (
    FIRST_OF_WHO,
    IN_WHICH_YEAR,
    LAST_OF_WHO,
    WHO,
    asks,
)
from routelens.tasks.templates import manipulated, several, standard

EMPLOYER = FactKind(
    "employer",
    tellings=(
        "<Who> works for {company} as {a job} and [spends a good part of the week on the road|is never late|has a desk by the window].",
        "For years now {company} has employed <whom> as {a job}, and [neither side has ever complained|the pay is good|the work is hard].",
        "At {company} they know <whom> as {a job} who [comes early and says little|can be trusted|knows every customer].",
        "<Who> earns a living as {a job}, and the wages come from {company} [on the last day of the month|in a brown envelope|without delay].",
    ),
    asks=(
        standard(
            "company",
            "Where does {who} work?",
            "Which company does {who} work for?",
            "Who employs {who}?",
            "What is the name of {who}'s employer?",
        ),
        standard(
            "job",
            "What is {who}'s job?",
            "What does {who} work as?",
            "What does {who} do for a living?",
        ),
        several(
            "{job} at {company}",
            "What is {who}'s job, and who is the employer?",
            "What does {who} do for a living, and for which company?",
            "What does {who} work as, and where?",
        ),
        asks("who", WHO, "works for {company}", "works as {a job}", reverse=True),
        asks("who", WHO, "is employed by {company}", "is {a job}", reverse=True),
        asks("who", FIRST_OF_WHO, "works for {company}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "works as {a job}", part="last", reverse=True),
    ),
)
HOME = FactKind(
    "home",
    tellings=(
        "<Who> lives in {town}, in a [narrow house with a green door|tall house with a small garden|brick house beside the church] and under a roof that lets in the rain.",
        "These days <who> is at home in {town}, [two streets away from the market|right behind the station|next to a school] and close to the river.",
        "The house of <whom> stands in {town}, and [from its top floor one can see both bridges|its door is never locked|a large tree keeps out the light].",
        "After [some restless years|a long search|a year abroad] <who> bought a small place in {town} and has lived there ever since.",
    ),
    asks=(
        standard(
            "town",
            "Where does {who} live?",
            "In which town does {who} live?",
            "In which town is {who}'s house?",
            "What is the name of the town in which {who} is at home?",
        ),
        asks("who", WHO, "lives in {town}", "has a house in {town}", reverse=True),
        asks("who", FIRST_OF_WHO, "lives in {town}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "lives in {town}", part="last", reverse=True),
    ),
)
BIRTH = FactKind(
    "birth",
    tellings=(
        "<Who> was born on {date}, [during a night of such rain that the doctor came by boat|three weeks too early|in the back of a cab].",
        "The parents of <whom> kept the newspaper of {date}, the day on which their child was born.",
        "On {date} <who> was born as the [youngest|oldest] of a large family, a fact that still comes up at table.",
        "The birth of <whom> is dated {date}, though [one aunt insists that it was a week earlier|the papers were lost|there was no witness].",
    ),
    asks=(
        standard(
            "date",
            "When was {who} born?",
            "On what date was {who} born?",
            "What is {who}'s date of birth?",
        ),
        asks("date", IN_WHICH_YEAR, "was {who} born", part="year"),
        manipulated(
            "date",
            "month",
            "In which month was {who} born?",
            "What is the month of {who}'s birth?",
            "During which month was {who} born?",
        ),
        manipulated(
            "date",
            "day",
            "On which day of the month was {who} born?",
            "What day of the month is {who}'s birthday?",
            "Which number is the day of the month on which {who} was born?",
        ),
        asks(
            "who",
            WHO,
            "was born on {date}",
            "has a birthday that goes back to {date}",
            reverse=True,
        ),
        asks("who", FIRST_OF_WHO, "was born on {date}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "was born on {date}", part="last", reverse=True),
    ),
)
PET = FactKind(
    "pet",
    tellings=(
        "<Who> keeps {a pet}, which [sleeps in an old crate beside the stove|is afraid of thunder|has the best chair] and eats far too much.",
        "At home <who> looks after {a pet} that [nobody else is allowed to feed|bites strangers|came from a market].",
        "It is common to see <whom> out walking with {a pet} [on a long red lead|in any weather|early in the morning].",
        "The photograph in the hall shows <whom> with {a pet}, [found by the roadside and never given back|a present from a neighbour|the joy of the house].",
    ),
    asks=(
        standard(
            "pet",
            "Which animal does {who} keep?",
            "What kind of animal does {who} have?",
            "Which animal does {who} look after?",
        ),
        asks("who", WHO, "keeps {a pet}", "has {a pet}", reverse=True),
        asks("who", WHO, "looks after {a pet}", "owns {a pet}", reverse=True),
        asks("who", FIRST_OF_WHO, "keeps {a pet}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "has {a pet}", part="last", reverse=True),
    ),
)
COLLECTION = FactKind(
    "collection",
    tellings=(
        "<Who> collects {thing} and by now owns {count} of them, all [with a small label|kept in order|wrapped in paper].",
        "Two shelves in the hall are full of {thing}, for <who> has {count} of them and wants more.",
        "Over the years <who> has gathered {count} {thing}, and [hardly any two of them are alike|the attic is full|some are worth a lot].",
        "Friends have to step over the {count} {thing} that <who> has collected since school.",
    ),
    asks=(
        standard(
            "thing",
            "What does {who} collect?",
            "Which objects does {who} collect?",
            "What does {who} own {count} of?",
        ),
        standard(
            "count",
            "How many {thing} does {who} own?",
            "How many {thing} does {who} have?",
            "What is the number of {thing} in {who}'s collection?",
        ),
        several(
            "{count} {thing}",
            "What does {who} collect, and how many of them are there?",
            "How many of which objects does {who} own?",
            "Which objects does {who} collect, and how many are there?",
        ),
        asks("who", WHO, "collects {thing}", "owns {count} {thing}", reverse=True),
        asks("who", WHO, "has {count} {thing}", reverse=True),
        asks("who", FIRST_OF_WHO, "collects {thing}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "owns {count} {thing}", part="last", reverse=True),
    ),
)
STUDY = FactKind(
    "study",
    tellings=(
        "<Who> studied {field} at {college}, although [the family had hoped for something that paid better|there was little money|nobody had expected it].",
        "At {college} <who> took a degree in {field} and [was remembered for asking long questions|never missed a lecture|made friends for life].",
        "A degree in {field} from {college} hangs in the kitchen of <whom>, [next to the calendar|above the stove|in a cracked frame].",
        "Long ago {college} turned <whom> into an expert on {field}, which [has seldom been of any use|turned out to be a joy|pays for a holiday now and then].",
    ),
    asks=(
        standard(
            "field",
            "What did {who} study?",
            "Which subject did {who} study?",
            "In which subject did {who} take a degree?",
        ),
        standard(
            "college",
            "Where did {who} study?",
            "At which institution did {who} study?",
            "Which school did {who} attend?",
        ),
        several(
            "{field} at {college}",
            "What did {who} study, and where?",
            "Which subject did {who} study, and at which institution?",
            "What did {who} study, and which school was it at?",
        ),
        asks("who", WHO, "studied {field}", "went to {college}", reverse=True),
        asks("who", WHO, "has a degree in {field}", "studied at {college}", reverse=True),
        asks("who", FIRST_OF_WHO, "studied {field}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "studied at {college}", part="last", reverse=True),
    ),
)
SUCCESS = FactKind(
    "success",
    tellings=(
        "The greatest success of <whom> came at the {event}, where the jury awarded {a prize} [without much debate|after a long night|by one vote].",
        "<Who> once won {a prize} at the {event} and [has told the story at every table since|never speaks of it|keeps the ribbon].",
        "Nobody at the {event} had heard of <whom>, who nevertheless came first and received {a prize}.",
        "Since the {event}, where <who> took first place, {a prize} has been in the way at home.",
    ),
    asks=(
        standard(
            "event",
            "Which event did {who} win?",
            "At which event did {who} come first?",
            "At what event did {who} win a prize?",
        ),
        standard(
            "prize",
            "What did {who} win?",
            "Which prize did {who} win?",
            "What was {who} given for coming first?",
        ),
        several(
            "{prize} at the {event}",
            "What did {who} win, and at which event?",
            "Which prize did {who} receive, and at what event?",
            "What was {who} given for coming first, and which event was it at?",
        ),
        asks("who", WHO, "won the {event}", "won {a prize}", reverse=True),
        asks("who", WHO, "came first at the {event}", "was given {a prize}", reverse=True),
        asks("who", FIRST_OF_WHO, "won the {event}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "won {a prize}", part="last", reverse=True),
    ),
)
PEOPLE = Setting(
    name="people",
    kind="person",
    slots={
        "company": "company",
        "job": "job",
        "town": "town",
        "date": "date",
        "pet": "creature",
        "count": "number",
        "thing": "thing",
        "field": "field",
        "college": "college",
        "event": "event",
        "prize": "prize",
    },
    short="{who.last}",
    openings=(
        "It began with a card game that {who} started one winter, and by now the players know more about each other than their own "
        "families do.",
        "If one draws lines between people who have to do with each other, {who} is as good a place to begin as any.",
        "{who} and a handful of others meet once a month at a long table, and nobody has ever been asked to join or to leave.",
    ),
    facts=(EMPLOYER, HOME, BIRTH, PET, COLLECTION, STUDY, SUCCESS),
    topics=("libraries", "gardening", "bread", "weather on a coast", "sailing"),
    links=LINKS,
)
