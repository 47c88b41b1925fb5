"""Events of one calendar: towns, founders, prizes, mascots, winners, sponsors, visitors."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import IN_WHICH_YEAR, ON_WHICH_DATE, WHICH_EVENT, asks, link
from routelens.tasks.templates import manipulated, several, standard

TOWN = FactKind(
    "town",
    tellings=(
        "<Who> is held in {town}, on a [meadow that is under water for the rest of the year|hill with a view of the sea|square in front of the church].",
        "In {town} all shops close for <whom>, and [the schools open late the next day|the police are on foot|no train stops].",
        "To take part in <whom> one has to get to {town}, which is [not easy by train|far from everything|worth the trip].",
        "The streets of {town} are too narrow for <whom>, but [nobody would move it elsewhere|there is no other place|that is part of the fun].",
    ),
    asks=(
        standard(
            "town",
            "Where is the {who} held?",
            "In which town does the {who} take place?",
            "To which town must one travel for the {who}?",
        ),
        asks("who", WHICH_EVENT, "is held in {town}", "takes place in {town}", reverse=True),
    ),
)
START = FactKind(
    "start",
    tellings=(
        "<Who> was first held on {date} at the suggestion of {founder}, who [had lost a bet|wanted to help the poor|was bored].",
        "It was {founder} who had the idea for <whom>, and on {date} it was [tried out in the rain|held in a barn|opened with a song].",
        "Since {date}, when {founder} brought it into being, <who> has never been called off.",
        "The idea for <whom> came from {founder}, and a poster for the first one bears the date {date}.",
    ),
    asks=(
        standard(
            "founder",
            "Who had the idea for the {who}?",
            "At whose suggestion was the {who} first held?",
            "Who brought the {who} into being?",
        ),
        asks("date", ON_WHICH_DATE, "was the {who} first held", "did the {who} begin"),
        asks("date", IN_WHICH_YEAR, "was the {who} first held", part="year"),
        manipulated(
            "date",
            "month",
            "In which month was the {who} first held?",
            "During which month was the {who} first held?",
            "In which month did the {who} begin?",
        ),
        manipulated(
            "founder",
            "last",
            "What is the last name of the person who had the idea for the {who}?",
            "What is the surname of the person who brought the {who} into being?",
            "What is the family name of the person behind the {who}?",
        ),
        several(
            "{founder} on {date}",
            "Who had the idea for the {who}, and when was it first held?",
            "At whose suggestion and on what date was the {who} first held?",
            "Who brought the {who} into being, and on which date?",
        ),
        asks(
            "who",
            WHICH_EVENT,
            "began on {date}",
            "was brought into being by {founder}",
            reverse=True,
        ),
        asks("who", WHICH_EVENT, "goes back to an idea of {founder}", reverse=True),
    ),
)
PRIZE = FactKind(
    "prize",
    tellings=(
        "Whoever wins <whom> is given {a prize}, [decorated with ribbons|and a kiss from the mayor|which has to be shared].",
        "<Who> offers {a prize} to the winner and a warm meal to everyone else.",
        "The first prize at <whom> is {a prize}, a tradition that [cannot be explained|goes back to a joke|is kept up with pride].",
        "Nobody enters <whom> for money, since all that can be won is {a prize}.",
    ),
    asks=(
        standard(
            "prize",
            "What is the prize at the {who}?",
            "What does the winner of the {who} receive?",
            "What can be won at the {who}?",
        ),
        asks(
            "who",
            WHICH_EVENT,
            "offers {a prize} as its prize",
            "gives {a prize} to the winner",
            reverse=True,
        ),
    ),
)
MASCOT = FactKind(
    "mascot",
    tellings=(
        "<Who> has {a mascot} for a mascot, [carried through the crowd in a basket|made of paper|drawn on every ticket].",
        "The mascot of <whom> is {a mascot}, and [a real one is borrowed for the day|nobody knows why|it was chosen by lot].",
        "On the posters of <whom> one sees {a mascot} with a hat on.",
        "Children come to <whom> dressed up as {a mascot}, after its mascot.",
    ),
    asks=(
        standard(
            "mascot",
            "Which animal is the mascot of the {who}?",
            "What animal does the {who} use as a mascot?",
            "Which animal is on the posters or in the costumes of the {who}?",
        ),
        asks(
            "who",
            WHICH_EVENT,
            "has {a mascot} as its mascot",
            "uses {a mascot} as a mascot",
            reverse=True,
        ),
    ),
)
WINNER = FactKind(
    "winner",
    tellings=(
        "<Who> was last won by {winner}, {a job} from out of town.",
        "The last winner of <whom> is {winner}, {a job} who [had trained in secret|had never won before|was cheered for an hour].",
        "At <whom>, {winner} came in first the last time, although {a job} had never won before.",
        "When <who> was last held, {winner}, {a job}, took first place and [slept through the ceremony|gave away the prize|went straight back to work].",
    ),
    asks=(
        standard(
            "winner",
            "Who last won the {who}?",
            "Who is the last winner of the {who}?",
            "Who came in first at the {who} the last time?",
        ),
        standard(
            "job",
            "What is the trade of the last winner of the {who}?",
            "What does the last winner of the {who} do for a living?",
            "Which job does the person have who last won the {who}?",
        ),
        manipulated(
            "winner",
            "first",
            "What is the first name of the last winner of the {who}?",
            "What is the given name of the person who last won the {who}?",
            "What is the first name of the person who came in first at the {who}?",
        ),
        several(
            "{winner}, {job}",
            "Who last won the {who}, and what is the winner's trade?",
            "Who is the last winner of the {who}, and which job does that person have?",
            "Who came in first at the {who} the last time, and what does that person do for a living?",
        ),
        asks(
            "who", WHICH_EVENT, "was last won by {winner}", "was last won by {a job}", reverse=True
        ),
        asks("who", WHICH_EVENT, "saw {winner} in first place", reverse=True),
    ),
)
SPONSOR = FactKind(
    "sponsor",
    tellings=(
        "<Who> is paid for by {company}, whose name [hangs above the stage|is read out twice|nobody may forget].",
        "Without {company}, which covers all costs, <who> would have ended long ago.",
        "Every year {company} sends a cheque to <whom> and [a man to see what became of it|a cart of flowers|a long letter].",
        "The tents at <whom> belong to {company}, and so do most of the debts.",
    ),
    asks=(
        standard(
            "company",
            "Which firm supports the {who}?",
            "Which company stands behind the {who}?",
            "On which firm does the {who} depend?",
        ),
        asks("who", WHICH_EVENT, "is supported by {company}", "depends on {company}", reverse=True),
    ),
)
CROWD = FactKind(
    "crowd",
    tellings=(
        "<Who> draws {count} people, if one counts [those who only come to eat|the children|the band].",
        "Around {count} visitors were counted at <whom>, and [half of them wanted their money back|nobody was hurt|the record was broken].",
        "There is room for {count} at <whom>, and [not one seat stays empty|many more have to stand|the rest sit on the wall].",
        "The last tally at <whom> was {count} guests, not including dogs.",
    ),
    asks=(
        standard(
            "count",
            "How many people come to the {who}?",
            "How many visitors does the {who} have?",
            "How large is the crowd at the {who}?",
        ),
        asks("who", WHICH_EVENT, "draws {count} people", "has {count} visitors", reverse=True),
    ),
)
LINKS = (
    link(
        "model",
        (
            "<Who> was modelled on the {other}, even in the order of the speeches.",
            "The rules of <whom> were copied from the {other}, mistakes included.",
        ),
        (
            "On which event was the {who} modelled?",
            "From which event were the rules of the {who} copied?",
            "Which event was the model for the {who}?",
        ),
        WHICH_EVENT,
        "was modelled on the {other}",
        "copied its rules from the {other}",
    ),
    link(
        "order",
        (
            "<Who> takes place exactly a week before the {other}, so that many people go to both.",
            "A week after <whom> comes the {other}, and the tents are moved overnight.",
        ),
        (
            "Which event comes a week after the {who}?",
            "Which gathering follows the {who}?",
            "What takes place a week after the {who}?",
        ),
        WHICH_EVENT,
        "takes place a week before the {other}",
        "is followed by the {other}",
    ),
    link(
        "jury",
        (
            "<Who> borrows its jury from the {other}, for a fee and a free lunch.",
            "The jury that sits at <whom> is that of the {other}, and just as strict.",
        ),
        (
            "From which event does the {who} borrow its jury?",
            "Whose jury sits at the {who}?",
            "Which event lends its jury to the {who}?",
        ),
        WHICH_EVENT,
        "borrows its jury from the {other}",
        "has the jury of the {other}",
    ),
    link(
        "band",
        (
            "<Who> once lured away the band of the {other}, and the matter is not forgotten.",
            "The band that plays at <whom> was taken from the {other} with a better offer.",
        ),
        (
            "From which event did the {who} take its band?",
            "Where did the band of the {who} play before?",
            "Which event lost its band to the {who}?",
        ),
        WHICH_EVENT,
        "took the band from the {other}",
        "lured a band away from the {other}",
    ),
    link(
        "ticket",
        (
            "A ticket for <whom> is also good for the {other}, a fact that few people know.",
            "With a ticket for <whom> one can go on to the {other} free of charge.",
        ),
        (
            "For which other event is a ticket for the {who} good?",
            "Which event can one visit with a ticket for the {who}?",
            "To which event does a ticket for the {who} also admit?",
        ),
        WHICH_EVENT,
        "sells tickets that are good for the {other}",
        "has tickets that admit people to the {other}",
    ),
    link(
        "split",
        (
            "<Who> was founded by people who had walked out of the {other} in anger.",
            "It was a quarrel at the {other} that led some to leave and to set up <whom>.",
        ),
        (
            "From which event had the people walked out who set up the {who}?",
            "A quarrel at which event led to the {who}?",
            "Which event did the people leave who set up the {who}?",
        ),
        WHICH_EVENT,
        "was set up by people who had left the {other}",
        "grew out of a quarrel at the {other}",
    ),
)
EVENTS = Setting(
    name="events",
    kind="event",
    slots={
        "town": "town",
        "founder": "person",
        "date": "date",
        "prize": "prize",
        "mascot": "creature",
        "winner": "person",
        "job": "job",
        "company": "company",
        "count": "large",
    },
    named="the {who}",
    openings=(
        "The calendar of the region is full, and it makes sense to begin with the {who}, since the others are often compared with it.",
        "People here count the year not in months but by the days on which they celebrate, and the {who} is one of them.",
        "An old travel guide warns its readers about the {who} and then recommends it, together with several others.",
    ),
    facts=(TOWN, START, PRIZE, MASCOT, WINNER, SPONSOR, CROWD),
    topics=("weather on a coast", "sheep", "bread", "sailing", "repairing roads"),
    links=LINKS,
)
