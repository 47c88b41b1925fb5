"""An old piece that passes from hand to hand: sales, repairs, shows, thefts, loans."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import (
    IN_WHICH_MONTH,
    IN_WHICH_YEAR,
    ON_WHICH_DATE,
    WHERE,
    WHICH_PIECE,
    WHO,
    asks,
)
from routelens.tasks.templates import manipulated, several, standard

SALE = FactKind(
    "sale",
    tellings=(
        "On {date} <who> was sold to {buyer} for {price} crowns, a sum that [was thought foolish at the time|was paid in two parts|made the evening papers].",
        "{buyer} bought <whom> on {date} and paid {price} crowns [in small coins|without a word|with borrowed money].",
        "<Who> came into the hands of {buyer} on {date}, after [an auction that had ended|a long haggle that had ended] at {price} crowns.",
        "For {price} crowns, [a third of what had been hoped for|twice the usual price|a fair price for once], <who> went to {buyer} on {date}.",
    ),
    asks=(
        asks("buyer", WHO, "bought the {who} on {date}", "paid {price} crowns for the {who}"),
        standard(
            "price",
            "How many crowns did {buyer} pay for the {who}?",
            "For how many crowns did the {who} go to {buyer}?",
            "How much did the {who} cost {buyer}?",
        ),
        asks(
            "date", ON_WHICH_DATE, "did {buyer} buy the {who}", "did the {who} fetch {price} crowns"
        ),
        asks("date", IN_WHICH_YEAR, "did {buyer} buy the {who}", part="year"),
        manipulated(
            "date",
            "month",
            "In which month did {buyer} buy the {who}?",
            "During which month did {buyer} buy the {who}?",
            "In which month did the {who} fetch {price} crowns?",
        ),
        manipulated(
            "buyer",
            "last",
            "What is the last name of the person who paid {price} crowns for the {who}?",
            "What is the surname of the person who bought the {who} on {date}?",
            "What is the family name of the person to whom the {who} went for {price} crowns?",
        ),
        several(
            "{buyer} on {date}",
            "Who bought the {who} for {price} crowns, and when?",
            "To whom and on which date was the {who} sold for {price} crowns?",
            "Who got the {who} for {price} crowns, and on what date?",
        ),
        asks("who", WHICH_PIECE, "was sold to {buyer}", "was sold on {date}", reverse=True),
        asks("who", WHICH_PIECE, "was bought by {buyer}", "fetched {price} crowns", reverse=True),
    ),
)
REPAIR = FactKind(
    "repair",
    tellings=(
        "A missing piece of <whom> was replaced with {material} by {hand}, who lived in {town} and [worked from memory|took two years over it|had never seen the original].",
        "{hand} of {town} gave <whom> a new base of {material}, which [does not quite match|hides the old name|is too heavy for it].",
        "<Who> was dropped in {town} and had to be mended by {hand}, who used {material} [because there was nothing else|with great care|against all advice].",
        "In {town} {hand} cleaned <whom> and covered the worst [scratches|holes|stains] with a thin layer of {material}.",
    ),
    asks=(
        asks("hand", WHO, "worked on the {who} in {town}", "used {material} to repair the {who}"),
        standard(
            "material",
            "Which material did {hand} use on the {who}?",
            "What was the {who} repaired with in {town}?",
            "Of which material is the part that {hand} added to the {who}?",
        ),
        asks("town", WHERE, "did {hand} repair the {who}", "was {material} used on the {who}"),
        manipulated(
            "hand",
            "first",
            "What is the first name of the person who repaired the {who} with {material}?",
            "What is the given name of the person who worked on the {who} in {town}?",
            "What is the first name of the person from {town} who mended the {who}?",
        ),
        several(
            "{hand} with {material}",
            "Who worked on the {who} in {town}, and with which material?",
            "By whom and with which material was the {who} repaired in {town}?",
            "Who mended the {who} in {town}, and what was used for it?",
        ),
        asks(
            "who", WHICH_PIECE, "was repaired by {hand}", "was mended with {material}", reverse=True
        ),
        asks(
            "who",
            WHICH_PIECE,
            "was repaired in {town}",
            "had {material} added by {hand}",
            reverse=True,
        ),
    ),
)
SHOW = FactKind(
    "show",
    tellings=(
        "At {college} <who> was shown for a month by {curator}, and {count} people came to see it [in spite of the queue|on the last day alone|although it rained].",
        "{curator} borrowed <whom> for a show at {college}, which drew {count} visitors and [two lawsuits|little praise|a thief].",
        "<Who> stood in the entrance of {college} for a season, put there by {curator}, and {count} people signed the book.",
        "Of the {count} people who paid to see <whom> at {college}, hardly any thanked {curator}, who had put it on show.",
    ),
    asks=(
        standard(
            "college",
            "At which institution did {curator} show the {who}?",
            "At which school was the {who} seen by {count} people?",
            "Where did {count} people come to see the {who}?",
        ),
        standard(
            "curator",
            "Who put the {who} on show at {college}?",
            "Who had the {who} shown at {college}?",
            "Thanks to whom did {count} people see the {who}?",
        ),
        standard(
            "count",
            "How many people saw the {who} at {college}?",
            "How many visitors did the {who} draw at {college}?",
            "How many people saw the {who} when {curator} put it on show?",
        ),
        manipulated(
            "curator",
            "first",
            "What is the first name of the person who put the {who} on show at {college}?",
            "What is the given name of the person who showed the {who} at {college}?",
            "What is the first name of the person who showed the {who} to {count} people?",
        ),
        several(
            "{count} at {college}",
            "How many people saw the {who} when {curator} put it on show, and where?",
            "How many visitors did {curator} draw with the {who}, and at which school?",
            "How many people came to {curator}'s show of the {who}, and at which institution was it?",
        ),
        asks(
            "who", WHICH_PIECE, "was shown at {college}", "was seen by {count} people", reverse=True
        ),
        asks(
            "who",
            WHICH_PIECE,
            "was shown by {curator}",
            "was on display at {college}",
            reverse=True,
        ),
    ),
)
THEFT = FactKind(
    "theft",
    tellings=(
        "<Who> was stolen on {date} by {thief}, who hid it in a crate of {goods} and was caught [over a pair of muddy boots|at the next bridge|within a day].",
        "On {date} {thief} carried <whom> out through the [kitchen|garden|back door], wrapped in a [coat|blanket] and hidden under {goods}.",
        "The theft of <whom> on {date} was soon solved, since {thief} had put it on a cart of {goods} that [lost a wheel|would not move|was too slow].",
        "When {thief} took <whom> on {date}, it was back within a week, for it had been hidden among {goods} that were sold by mistake.",
    ),
    asks=(
        asks("thief", WHO, "stole the {who} on {date}", "hid the {who} among {goods}"),
        standard(
            "goods",
            "Among which goods did {thief} hide the {who}?",
            "Which goods did {thief} use to hide the {who}?",
            "Under or among which goods did {thief} put the {who}?",
        ),
        asks(
            "date", ON_WHICH_DATE, "did {thief} steal the {who}", "was the {who} stolen by {thief}"
        ),
        asks("date", IN_WHICH_YEAR, "did {thief} steal the {who}", part="year"),
        asks("date", IN_WHICH_MONTH, "did {thief} steal the {who}", part="month"),
        manipulated(
            "thief",
            "first",
            "What is the first name of the person who stole the {who} on {date}?",
            "What is the given name of the person who hid the {who} among {goods}?",
            "What is the first name of the thief who took the {who} on {date}?",
        ),
        several(
            "{thief} on {date}",
            "Who hid the {who} among {goods}, and when was it stolen?",
            "By whom and on which date was the {who} stolen and hidden among {goods}?",
            "Who took the {who} and put it among {goods}, and on what date?",
        ),
        asks("who", WHICH_PIECE, "was stolen by {thief}", "was stolen on {date}", reverse=True),
        asks("who", WHICH_PIECE, "was taken by {thief}", "was hidden among {goods}", reverse=True),
    ),
)
LOAN = FactKind(
    "loan",
    tellings=(
        "The {society} once borrowed <whom> for the {event} and made {guest} its guard for the day.",
        "<Who> stood on a cart at the {event}, lent to the {society} for the day, with {guest} as its only guard.",
        "For the {event} <who> was lent to the {society}, and it was {guest} who guarded it [with a stick|from dusk to dawn|without a break].",
        "During the {event} {guest} stood guard over <whom>, which had been lent to the {society} for one night only.",
    ),
    asks=(
        standard(
            "society",
            "To whom was the {who} lent for the {event}?",
            "Which body borrowed the {who} for the {event}?",
            "Which group had the {who} when {guest} guarded it?",
        ),
        standard(
            "event",
            "For which event was the {who} lent to the {society}?",
            "At which event did {guest} guard the {who}?",
            "Which event did the {society} borrow the {who} for?",
        ),
        standard(
            "guest",
            "Who guarded the {who} at the {event}?",
            "Who stood guard over the {who} at the {event}?",
            "Who guarded the {who} while the {society} had it?",
        ),
        manipulated(
            "guest",
            "last",
            "What is the last name of the person who guarded the {who} at the {event}?",
            "What is the surname of the person who guarded the {who} for the {society}?",
            "What is the family name of the guard of the {who} at the {event}?",
        ),
        several(
            "{event}, {society}",
            "At which event did {guest} guard the {who}, and who had borrowed it?",
            "For which event and by which body was the {who} borrowed when {guest} guarded it?",
            "Which event saw {guest} guard the {who}, and which body had it on loan?",
        ),
        asks(
            "who", WHICH_PIECE, "was lent to the {society}", "was seen at the {event}", reverse=True
        ),
        asks(
            "who",
            WHICH_PIECE,
            "was guarded by {guest}",
            "was borrowed for the {event}",
            reverse=True,
        ),
    ),
)
HEIRLOOM = Setting(
    name="heirloom",
    kind="artefact",
    slots={
        "date": "date",
        "buyer": "person",
        "price": "large",
        "hand": "person",
        "material": "material",
        "town": "town",
        "college": "college",
        "count": "large",
        "curator": "person",
        "thief": "person",
        "goods": "goods",
        "society": "society",
        "event": "event",
        "guest": "person",
    },
    named="the {who}",
    short="the <noun>",
    others=(
        "another heirloom, the {who},",
        "an equally famous piece, the {who},",
        "the {who}, a piece of the same age,",
        "the {who}, which is less well known,",
    ),
    openings=(
        "Nobody knows who made the {who}, but a good deal is known about what happened to it afterwards, and little of that was "
        "planned.",
        "The {who} has been sold, lost, dropped and admired so often that a whole folder of papers goes with it.",
        "If old things could talk, the {who} would not be asked to stop for a week.",
    ),
    facts=(SALE, REPAIR, SHOW, THEFT, LOAN),
    topics=("libraries", "bread", "gardening", "sheep", "repairing roads"),
)
