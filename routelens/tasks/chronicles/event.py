"""A yearly event and its editions: winners, places, openings, sponsors, incidents."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import WHEN, WHERE, WHICH_EVENT, WHICH_FIRM, WHO, asks
from routelens.tasks.templates import manipulated, several, standard

VICTORY = FactKind(
    "victory",
    tellings=(
        "In {year} <who> was won by {winner}, who received {a prize} and [shared it with the street|gave it away at once|wept for joy].",
        "<Who> had a clear winner in {year}, for {winner} took {a prize} with such a lead that [people went home early|nobody else was even timed|the rest gave up].",
        "The jury of <whom> [quarrelled until midnight|could not agree|was divided] in {year} and then awarded {a prize} to {winner} all the same.",
        "Against all odds {winner} came first at <whom> in {year} and was handed {a prize} by [a nervous child|the mayor|an old lady].",
    ),
    asks=(
        asks("winner", WHO, "won the {who} in {year}", "won the {prize} at the {who}"),
        standard(
            "prize",
            "What did {winner} win at the {who}?",
            "What was the prize at the {who} in {year}?",
            "Which prize did {winner} receive at the {who}?",
        ),
        asks("year", WHEN, "did {winner} win the {who}", "was the {prize} won at the {who}"),
        manipulated(
            "winner",
            "first",
            "What is the first name of the person who won the {prize} at the {who}?",
            "What is the given name of the winner of the {who} in {year}?",
            "What is the first name of the person who came first at the {who} in {year}?",
        ),
        manipulated(
            "winner",
            "last",
            "What is the last name of the person who won the {prize} at the {who}?",
            "What is the surname of the winner of the {who} in {year}?",
            "What is the family name of the person who came first at the {who} in {year}?",
        ),
        several(
            "{winner} in {year}",
            "Who won the {prize} at the {who}, and when?",
            "Who was given the {prize} at the {who}, and in which year?",
            "Which person took the {prize} at the {who}, and in what year?",
        ),
        asks(
            "who", WHICH_EVENT, "was won by {winner}", "saw {winner} in first place", reverse=True
        ),
        asks(
            "who",
            ("At which event", "At what event", "At which gathering"),
            "was the {prize} won",
            "did {winner} win in {year}",
            reverse=True,
        ),
    ),
)
PLACE = FactKind(
    "place",
    tellings=(
        "For once <who> was held in {town} in {year}, where {count} people came and [the bread ran out by noon|not one bed was left|the trains ran all night].",
        "In {year} <who> moved to {town}, and the {count} visitors had to sleep in tents, sheds and boats.",
        "<Who> drew {count} people to {town} in {year}, so many that [the bridge had to be closed|the schools stayed shut|extra police had to be sent].",
        "Only {count} people found their way to {town} in {year}, when <who> took place there in [thick fog|heavy rain|great heat].",
    ),
    asks=(
        asks("town", WHERE, "was the {who} held in {year}", "did {count} people come to the {who}"),
        standard(
            "count",
            "How many people came to the {who} in {town}?",
            "How many visitors did the {who} have in {year}?",
            "How many people went to {town} for the {who}?",
        ),
        asks("year", WHEN, "was the {who} held in {town}", "did the {who} have {count} visitors"),
        several(
            "{town} in {year}",
            "Where and when did the {who} have {count} visitors?",
            "In which town and in which year did {count} people come to the {who}?",
            "In what town and in what year did the {who} draw {count} people?",
        ),
        asks(
            "who", WHICH_EVENT, "was held in {town}", "drew {count} people to {town}", reverse=True
        ),
        asks("who", WHICH_EVENT, "took place in {town}", "had {count} visitors", reverse=True),
    ),
)
OPENING = FactKind(
    "opening",
    tellings=(
        "{guest}, {a job} whom hardly anyone knew, opened <whom> in {year} with a speech about [honest work|the old days|good roads].",
        "In {year} <who> was opened by {guest}, {a job}, who [had lost the notes and talked about the weather|spoke for an hour|hardly said a word].",
        "<Who> began late in {year} because {guest}, {a job} by trade, had been asked to open it and [overslept|missed the train|forgot the day].",
        "The honour of opening <whom> fell to {guest} in {year}, the first time that {a job} had been chosen.",
    ),
    asks=(
        asks("guest", WHO, "opened the {who} in {year}"),
        standard(
            "guest",
            "Which {job} opened the {who}?",
            "Who opened the {who} and was {a job}?",
            "By which {job} was the {who} opened?",
        ),
        standard(
            "job",
            "What was the trade of {guest}, who opened the {who}?",
            "What did {guest}, who opened the {who}, do for a living?",
            "Which job did the person have who opened the {who} in {year}?",
        ),
        asks("year", WHEN, "did {guest} open the {who}", "was the {who} opened by {a job}"),
        manipulated(
            "guest",
            "last",
            "What is the last name of the {job} who opened the {who}?",
            "What is the surname of the person who opened the {who} in {year}?",
            "What is the family name of the {job} by whom the {who} was opened?",
        ),
        several(
            "{guest}, {job}",
            "Who opened the {who} in {year}, and what was that person's trade?",
            "By whom was the {who} opened in {year}, and which job did that person have?",
            "What is the name of the person who opened the {who} in {year}, and what was the job?",
        ),
        asks("who", WHICH_EVENT, "was opened by {guest}", "was opened by {a job}", reverse=True),
        asks("who", WHICH_EVENT, "had {guest} to open it", reverse=True),
    ),
)
FUNDING = FactKind(
    "funding",
    tellings=(
        "{company} paid for <whom> in {year}, on the condition that every guest be given {goods}.",
        "<Who> would not have taken place in {year} without {company}, which sent money and a cart full of {goods}.",
        "In {year} <who> was paid for by {company}, and everyone who came had to carry home some of its {goods}.",
        "Since {company} had covered the costs of <whom> in {year}, its {goods} stood on every table.",
    ),
    asks=(
        asks("company", WHICH_FIRM, "paid for the {who} in {year}", "brought {goods} to the {who}"),
        standard(
            "goods",
            "Which goods did {company} bring to the {who}?",
            "Which goods came to the {who} from {company}?",
            "Which goods could be had at the {who} in {year}?",
        ),
        asks("year", WHEN, "did {company} pay for the {who}", "could one get {goods} at the {who}"),
        several(
            "{company} in {year}",
            "Which firm brought {goods} to the {who}, and when?",
            "Which company paid for the {who} and sent {goods}, and in which year?",
            "With {goods} as its wares, which firm paid for the {who}, and in what year?",
        ),
        asks(
            "who",
            WHICH_EVENT,
            "was paid for by {company}",
            "offered {goods} to its guests",
            reverse=True,
        ),
        asks(
            "who",
            ("For which event", "For what event", "For which gathering"),
            "did {company} pay",
            "did {company} pay in {year}",
            reverse=True,
        ),
    ),
)
INCIDENT = FactKind(
    "incident",
    tellings=(
        "What people recall of <whom> in {year} is {a creature} that ran away from {owner} and knocked over {count} {thing}.",
        "In {year} <who> was held up for [an hour|half a day|a short time] by {a creature} that belonged to {owner} and had knocked over {count} {thing}.",
        "People remember <whom> of {year} for {a creature}, for {owner}, who had lost it, and for the {count} {thing} that it knocked over.",
        "There was laughter at <whom> in {year} when {a creature} escaped from {owner} and sent {count} {thing} rolling across the ground.",
    ),
    asks=(
        standard(
            "creature",
            "Which animal of {owner} caused trouble at the {who}?",
            "Which animal was loose at the {who} in {year}?",
            "Which animal knocked over the {thing} at the {who}?",
        ),
        standard(
            "owner",
            "Whose {creature} caused trouble at the {who}?",
            "Who owned the {creature} that was loose at the {who}?",
            "To whom did the {creature} at the {who} belong?",
        ),
        standard(
            "thing",
            "Which things did the {creature} knock over at the {who}?",
            "Which things were knocked over at the {who} in {year}?",
            "What did the animal of {owner} knock over at the {who}?",
        ),
        standard(
            "count",
            "How many {thing} were knocked over at the {who}?",
            "How many {thing} did the {creature} knock over at the {who}?",
            "What is the number of {thing} that were knocked over at the {who}?",
        ),
        asks(
            "year",
            WHEN,
            "was the {creature} loose at the {who}",
            "did the {creature} of {owner} disturb the {who}",
        ),
        several(
            "{count} {thing}",
            "How many of which things did the {creature} knock over at the {who}?",
            "Which things, and how many, were knocked over at the {who} in {year}?",
            "What did the animal of {owner} knock over at the {who}, and how many of them?",
        ),
        asks(
            "who",
            WHICH_EVENT,
            "was disturbed by the {creature}",
            "was disturbed by an animal of {owner}",
            reverse=True,
        ),
        asks(
            "who",
            ("At which event", "At what event", "At which gathering"),
            "was the {creature} loose",
            "were {count} {thing} knocked over",
            reverse=True,
        ),
    ),
)
EVENT = Setting(
    name="event",
    kind="event",
    slots={
        "year": "year",
        "winner": "person",
        "prize": "prize",
        "town": "town",
        "count": "large",
        "guest": "person",
        "job": "job",
        "company": "company",
        "goods": "goods",
        "creature": "creature",
        "owner": "person",
        "thing": "thing",
    },
    named="the {who}",
    short="the <noun>",
    others=(
        "another gathering, the {who},",
        "an older event, the {who},",
        "a smaller event, the {who},",
        "the {who}, which many prefer,",
    ),
    openings=(
        "Once a year the {who} turns a quiet corner of the country into a very loud one, and those who run it have noted all that was worth "
        "noting.",
        "Whoever wants to know the people of these hills should not read books but go to the {who} and stay until the end.",
        "The {who} began as a joke between two neighbours, and its history is told here as far as anyone can vouch for it.",
    ),
    facts=(VICTORY, PLACE, OPENING, FUNDING, INCIDENT),
    topics=("weather on a coast", "sheep", "bread", "a stream through the seasons", "sailing"),
)
