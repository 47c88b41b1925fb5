"""A person who mends old things: repairs, contests, purchases, talks, strays, lodgings."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import (
    FIRST_OF_WHO,
    LAST_OF_WHO,
    WHEN,
    WHERE,
    WHO,
    asks,
)
from routelens.tasks.templates import manipulated, several, standard

MEND = FactKind(
    "mend",
    tellings=(
        "In {year} <who> mended {a object} for {client} in {town} and asked for [little more than the cost of the glue|nothing but a warm meal|half of the usual price].",
        "A broken {object} took <whom> to {town} in {year}, where {client} had kept it [under a bed|in the attic|behind a door] since the [war|flood].",
        "<Who> spent much of {year} in {town} with {a object} that belonged to {client}, [and in the end it was as good as new|which took more patience than skill|though nobody had believed that it could be saved].",
        "When {client} of {town} dropped {a object} in {year}, it was <who> who [put the pieces together again|gathered up the pieces and joined them|made it whole again].",
    ),
    asks=(
        asks("town", WHERE, "did {who} mend the {object}", "did {who} work for {client}"),
        standard(
            "object",
            "What did {who} mend in {town}?",
            "Which object did {who} mend for {client}?",
            "What did {who} put together again in {year}?",
            "What did {who} mend for {client} in {town}?",
        ),
        standard(
            "client",
            "For whom did {who} mend the {object}?",
            "Whose {object} did {who} mend?",
            "To whom did the {object} belong that {who} mended?",
            "For whom did {who} work in {town}?",
        ),
        asks("year", WHEN, "did {who} mend the {object}", "did {who} work for {client} in {town}"),
        manipulated(
            "client",
            "last",
            "What is the last name of the owner of the {object} that {who} mended?",
            "What is the surname of the person for whom {who} mended the {object}?",
            "What is the family name of the person in {town} for whom {who} worked?",
        ),
        several(
            "{town} in {year}",
            "Where and when did {who} mend the {object}?",
            "In which town and in which year did {who} work for {client}?",
            "In what town and in what year did {who} mend the {object} of {client}?",
        ),
        asks("who", WHO, "mended the {object}", "worked for {client} in {town}", reverse=True),
        asks("who", WHO, "mended an object in {town} in {year}", reverse=True),
        asks("who", FIRST_OF_WHO, "mended the {object}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "mended an object for {client}", part="last", reverse=True),
    ),
)
WIN = FactKind(
    "win",
    tellings=(
        "At the {event} in {year}, <who> beat {rival} [by half a point|in the last round|without much effort] and went home with {a prize}.",
        "<Who> also took part in the {event} of {year}, [finished ahead of|left behind] {rival} and was given {a prize}.",
        "The first prize at the {event} of {year} was {a prize}, and <who> won it against {rival}, [the favourite|a better-known name|who had led for most of the day].",
        "[Hardly anyone expected it, but|To the surprise of all,] in {year} <who> won the {event} ahead of {rival} and left with {a prize}.",
    ),
    asks=(
        standard(
            "event",
            "Which event did {who} win in {year}?",
            "At which event did {who} finish ahead of {rival}?",
            "At what event did {who} win the {prize}?",
            "At which event did {who} beat {rival}?",
        ),
        standard(
            "prize",
            "What did {who} win at the {event}?",
            "Which prize was {who} given in {year}?",
            "What did {who} win by beating {rival}?",
            "Which prize did {who} take home from the {event}?",
        ),
        standard(
            "rival",
            "Whom did {who} beat at the {event}?",
            "Who lost to {who} at the {event}?",
            "Whom did {who} beat to win the {prize}?",
            "Who finished behind {who} in {year}?",
        ),
        asks("year", WHEN, "did {who} win the {event}", "did {who} win the {prize}"),
        manipulated(
            "rival",
            "first",
            "What is the first name of the person whom {who} beat at the {event}?",
            "What is the given name of the person who lost to {who} at the {event}?",
            "What is the first name of the person whom {who} beat to win the {prize}?",
        ),
        several(
            "{event} and {prize}",
            "Which event did {who} win in {year}, and what was the prize?",
            "At which event did {who} beat {rival}, and what was won there?",
            "Which event and which prize did {who} win in {year}?",
        ),
        asks("who", WHO, "won the {event}", "finished ahead of {rival}", reverse=True),
        asks("who", WHO, "won the {prize}", "beat {rival} at the {event}", reverse=True),
        asks("who", FIRST_OF_WHO, "won the {event}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "won the {prize}", part="last", reverse=True),
    ),
)
BUY = FactKind(
    "buy",
    tellings=(
        "From {seller} in {town} <who> bought {count} {thing}, [most of them for parts, and stacked them behind the stairs|and needed three carts to bring them home|without having seen a single one of them].",
        "<Who> once came home from {town} with {count} {thing}, [a bargain which {seller} later came to regret|which {seller} had been glad to be rid of|all bought from {seller} within an hour].",
        "An empty house in {town} held {count} {thing}, and <who> bought all of them from {seller}, [the heir|who had the key|the last of the family].",
        "Because {seller} had to [clear a cellar|give up a shop|make room] in {town}, <who> got {count} {thing} for [next to nothing|the price of a dinner|a handshake].",
    ),
    asks=(
        standard(
            "thing",
            "What did {who} buy from {seller}?",
            "What did {who} buy in {town}?",
            "Which things did {who} get from {seller}?",
            "Which things did {who} buy in {town}?",
        ),
        standard(
            "count",
            "How many {thing} did {who} buy?",
            "How many {thing} did {who} get from {seller}?",
            "What is the number of {thing} that {who} bought in {town}?",
        ),
        standard(
            "seller",
            "From whom did {who} buy the {thing}?",
            "Who sold the {thing} to {who}?",
            "Whose {thing} did {who} buy?",
        ),
        asks("town", WHERE, "did {who} buy the {thing}", "did {who} buy things from {seller}"),
        several(
            "{count} {thing}",
            "How many of which things did {who} buy from {seller}?",
            "What did {who} buy in {town}, and how many of them?",
            "Which things did {who} get from {seller}, and how many?",
        ),
        asks("who", WHO, "bought the {thing}", "bought things from {seller}", reverse=True),
        asks("who", WHO, "bought things in {town}", "bought {count} {thing}", reverse=True),
        asks("who", FIRST_OF_WHO, "bought the {thing}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "bought things in {town}", part="last", reverse=True),
    ),
)
SPEAK = FactKind(
    "speak",
    tellings=(
        "<Who> gave a talk on {field} at {college} in {year}, and {host}, who had arranged it, [sat in the first row|fell asleep|asked the only question].",
        "At the request of {host}, <who> spoke about {field} at {college} in {year} and [ran well over the hour|forgot to look at the time|was asked to come back].",
        "In {year} {college} asked <whom> for a lecture on {field}; {host}, the host, [opened the evening and closed it early|had printed far too many tickets|thanked everyone twice].",
        "The hall of {college} was [half empty|full to the doors|cold and dark] in {year} when <who> spoke about {field} as a guest of {host}.",
    ),
    asks=(
        standard(
            "field",
            "What did {who} speak about at {college}?",
            "Which subject did {who} speak about in {year}?",
            "What did {who} speak about as a guest of {host}?",
            "What was the subject of the talk that {who} gave at {college}?",
        ),
        standard(
            "college",
            "Where did {who} speak about {field}?",
            "At which institution did {who} give a talk on {field}?",
            "At which school did {who} speak in {year}?",
            "At which institution did {who} speak at the request of {host}?",
        ),
        standard(
            "host",
            "Whose guest was {who} at {college}?",
            "Who arranged the talk on {field} by {who}?",
            "At whose request did {who} speak about {field}?",
        ),
        asks("year", WHEN, "did {who} speak about {field}", "did {who} speak at {college}"),
        several(
            "{field} at {college}",
            "What did {who} speak about in {year}, and where?",
            "On which subject and at which school did {who} give a talk in {year}?",
            "What did {who} speak about for {host}, and at which institution?",
        ),
        asks("who", WHO, "spoke about {field}", "gave a talk at {college}", reverse=True),
        asks("who", WHO, "spoke at {college} in {year}", "was a guest of {host}", reverse=True),
        asks("who", FIRST_OF_WHO, "spoke about {field}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "gave a talk at {college}", part="last", reverse=True),
    ),
)
STRAY = FactKind(
    "stray",
    tellings=(
        "In {town} <who> picked up {a creature} with a broken leg that had run away from {keeper}, and [nursed it for a month|carried it home in a coat|took it to a doctor].",
        "<Who> is still remembered in {town} for catching {a creature} in a crowded [street|market|station] and taking it back to {keeper}.",
        "A reward was waiting in {town} for whoever found {a creature} that {keeper} had lost, and <who> found it [under a cart|in a ditch|behind the church].",
        "While staying in {town}, <who> was bitten by {a creature}, and {keeper}, who owned it, [paid for the doctor|was very sorry|laughed about it].",
    ),
    asks=(
        standard(
            "creature",
            "Which animal did {who} come across in {town}?",
            "What kind of animal did {who} come across in {town}?",
            "Which animal that belonged to {keeper} did {who} come across?",
            "Which of {keeper}'s animals did {who} have to do with?",
        ),
        asks(
            "town",
            WHERE,
            "did {who} come across the {creature}",
            "did {who} come across an animal that belonged to {keeper}",
        ),
        standard(
            "keeper",
            "Whose {creature} did {who} come across?",
            "Who owned the {creature} that {who} came across?",
            "To whom did the {creature} belong that {who} came across?",
            "Whose animal did {who} come across in {town}?",
        ),
        manipulated(
            "keeper",
            "last",
            "What is the last name of the owner of the {creature} that {who} came across?",
            "What is the surname of the person whose {creature} {who} came across?",
            "What is the family name of the person whose animal {who} came across in {town}?",
        ),
        several(
            "{creature} of {keeper}",
            "Which animal did {who} come across in {town}, and whose was it?",
            "What kind of animal did {who} meet in {town}, and who owned it?",
            "Which animal did {who} have to do with in {town}, and to whom did it belong?",
        ),
        asks(
            "who",
            WHO,
            "came across the {creature}",
            "came across an animal in {town}",
            reverse=True,
        ),
        asks("who", WHO, "had to do with an animal that belonged to {keeper}", reverse=True),
        asks("who", FIRST_OF_WHO, "came across the {creature}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "came across an animal in {town}", part="last", reverse=True),
    ),
)
LODGE = FactKind(
    "lodge",
    tellings=(
        "From {year} on, <who> rented a room in {town} from {landlord}, right next to the offices of {company}.",
        "<Who> moved to {town} in {year} and lived there as a tenant of {landlord}, with only a [wall|fence|narrow passage] between the kitchen and {company}.",
        "In {year} {landlord} let two rooms in {town} to <whom>, although the windows [looked out on|let in the noise from] the yard of {company}, next door.",
        "The house in {town} in which <who> lived from {year} on belonged to {landlord} and stood next to {company}.",
    ),
    asks=(
        asks("town", WHERE, "did {who} live from {year} on", "did {who} rent from {landlord}"),
        asks("town", WHERE, "did {who} live next to {company}", "was {who} a tenant of {landlord}"),
        standard(
            "landlord",
            "Who was {who}'s landlord in {town}?",
            "From whom did {who} rent a place in {town}?",
            "From whom did {who} rent a place next to {company}?",
            "Whose tenant was {who} from {year} on?",
        ),
        standard(
            "company",
            "Which firm was next door to {who} in {town}?",
            "Next to which firm did {who} live in {town}?",
            "Next to which company did {who} rent from {landlord}?",
            "Which company did {who} live next to from {year} on?",
        ),
        asks("year", WHEN, "did {who} move to {town}", "did {who} become a tenant of {landlord}"),
        manipulated(
            "landlord",
            "last",
            "What is the last name of {who}'s landlord in {town}?",
            "What is the surname of the person from whom {who} rented in {town}?",
            "What is the family name of the person from whom {who} rented in {year}?",
        ),
        several(
            "{town} from {year}",
            "Where and since when was {who} a tenant of {landlord}?",
            "In which town, and from which year on, did {who} rent from {landlord}?",
            "In which town and from which year on did {who} live next to {company}?",
        ),
        asks("who", WHO, "lived in {town} from {year} on", "rented from {landlord}", reverse=True),
        asks("who", WHO, "lived next to {company}", "moved to {town}", reverse=True),
        asks("who", FIRST_OF_WHO, "rented from {landlord}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "moved to {town}", part="last", reverse=True),
    ),
)
MENDER = Setting(
    name="mender",
    kind="person",
    slots={
        "year": "year",
        "object": "object",
        "client": "person",
        "town": "town",
        "event": "event",
        "rival": "person",
        "prize": "prize",
        "seller": "person",
        "count": "number",
        "thing": "thing",
        "field": "field",
        "college": "college",
        "host": "person",
        "creature": "creature",
        "keeper": "person",
        "landlord": "person",
        "company": "company",
    },
    short="{who.last}",
    others=(
        "another mender, {who},",
        "a colleague, {who},",
        "a younger mender called {who}",
        "a former pupil, {who},",
        "{who}, a competitor,",
    ),
    openings=(
        "Anyone in the district who has ever broken something old has heard of {who}, who learned to mend things from an uncle "
        "and never learned to send a bill.",
        "There is no sign on the door and no bell beside it, yet people have found their way to {who} for most of a lifetime.",
        "What is known about {who}, who mends old things, has been put together here from letters and from the tales of "
        "neighbours.",
    ),
    facts=(MEND, WIN, BUY, SPEAK, STRAY, LODGE),
    topics=("libraries", "gardening", "repairing roads", "weather on a coast"),
)
