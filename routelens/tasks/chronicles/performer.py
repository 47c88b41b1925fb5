"""A travelling musician: concerts, records, pupils, honours, journeys, instruments."""

from routelens.tasks.narrative import FactKind, Setting
from routelens.tasks.phrasing import FIRST_OF_WHO, LAST_OF_WHO, WHEN, WHERE, WHICH_FIRM, WHO, asks
from routelens.tasks.templates import manipulated, several, standard

CONCERT = FactKind(
    "concert",
    tellings=(
        "In {year} <who> gave a concert in {town} with {partner} at the piano, and {count} people [paid to hear it|stood up at the end|came in spite of the rain].",
        "The concert in {town} in {year}, for which <who> was joined by {partner}, had to be moved to [a barn|the market hall|a field] because {count} people had come.",
        "<Who> and {partner} shared the stage in {town} in {year}, before an audience of {count} that [refused to go home|knew each song by heart|had come mainly for the food].",
        "[It rained through the roof|The lamps went out|The stage gave way] when <who> played in {town} in {year} with {partner}, but all of the {count} listeners stayed.",
    ),
    asks=(
        asks("town", WHERE, "did {who} play with {partner}", "did {who} give a concert in {year}"),
        standard(
            "partner",
            "With whom did {who} play in {town}?",
            "Who shared the stage with {who} in {town}?",
            "With whom did {who} give a concert in {year}?",
            "Who played together with {who} before {count} people?",
        ),
        standard(
            "count",
            "How many people heard {who} play in {town}?",
            "How large was the audience of {who} and {partner}?",
            "How many people came when {who} played with {partner}?",
        ),
        asks("year", WHEN, "did {who} play in {town}", "did {who} give a concert with {partner}"),
        manipulated(
            "partner",
            "first",
            "What is the first name of the person who played with {who} in {town}?",
            "What is the given name of the person who shared the stage with {who} in {town}?",
            "What is the first name of the person with whom {who} gave a concert in {year}?",
        ),
        several(
            "{town} in {year}",
            "Where and when did {who} play with {partner}?",
            "In which town and in which year did {who} share the stage with {partner}?",
            "In what town and in what year did {who} play before {count} people?",
        ),
        asks("who", WHO, "gave a concert in {town}", "played with {partner}", reverse=True),
        asks(
            "who", WHO, "played before {count} people", "played in {town} in {year}", reverse=True
        ),
        asks("who", FIRST_OF_WHO, "gave a concert in {town}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "shared the stage with {partner}", part="last", reverse=True),
    ),
)
RECORD = FactKind(
    "record",
    tellings=(
        "{company} brought out a record by <whom> in {year}, but {engineer}, who had made it, [never got rid of the hum|was not named on the cover|was not content with it].",
        "<Who> made a record for {company} in {year}, with {engineer} at the machines and [a cold that can still be heard|very little sleep|no second try].",
        "In {year} <who> signed with {company} for a single record, which {engineer} recorded in [a stairwell|an empty church|one afternoon].",
        "The record that {engineer} made of <whom> in {year} lay for [months in a cellar|a whole year in a box|some time in the wrong place] before {company} released it.",
    ),
    asks=(
        asks("company", WHICH_FIRM, "brought out a record by {who} in {year}"),
        standard(
            "company",
            "For which firm did {who} make a record with {engineer}?",
            "Which company released the record by {who} that {engineer} made?",
            "Which firm brought out the record that {who} made in {year}?",
        ),
        standard(
            "engineer",
            "Who recorded {who} for {company}?",
            "Who was at the machines when {who} made a record for {company}?",
            "With whom at the machines did {who} make a record in {year}?",
        ),
        asks(
            "year",
            WHEN,
            "did {who} make a record for {company}",
            "was {who} recorded by {engineer}",
        ),
        several(
            "{company} in {year}",
            "Which firm released the record that {engineer} made of {who}, and when?",
            "For which company and in which year did {who} make a record with {engineer}?",
            "With {engineer} at the machines, for which firm and when did {who} make a record?",
        ),
        asks("who", WHO, "made a record for {company}", "was recorded by {engineer}", reverse=True),
        asks("who", WHO, "made a record with {engineer} in {year}", reverse=True),
        asks("who", FIRST_OF_WHO, "made a record for {company}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "was recorded by {engineer}", part="last", reverse=True),
    ),
)
PUPIL = FactKind(
    "pupil",
    tellings=(
        "<Who> taught {pupil}, who then studied {field} at {college} and [hardly ever touched an instrument again|played only at weddings|still writes at times].",
        "Among those who took lessons from <whom> was {pupil}, later known at {college} for work on {field}.",
        "For two years <who> gave lessons to {pupil}, who [paid by the hour|was always late|never practised] and then went off to {college} to study {field}.",
        "It was on the advice of <whom> that {pupil} gave up music and took up {field} at {college}.",
    ),
    asks=(
        asks("pupil", WHO, "studied {field} after having been a pupil of {who}"),
        asks("pupil", WHO, "went from {who} to {college}"),
        standard(
            "field",
            "What did {pupil} study after {who}'s lessons?",
            "Which subject did {who}'s pupil {pupil} turn to?",
            "Which subject did {who}'s pupil take up at {college}?",
        ),
        standard(
            "college",
            "Where did {who}'s pupil {pupil} study?",
            "To which school did {pupil} go after {who}'s lessons?",
            "At which institution did {who}'s pupil study {field}?",
        ),
        manipulated(
            "pupil",
            "last",
            "What is the last name of {who}'s pupil who studied {field}?",
            "What is the surname of {who}'s pupil who went to {college}?",
            "What is the family name of the person who turned from {who}'s lessons to {field}?",
        ),
        several(
            "{field} at {college}",
            "What did {who}'s pupil {pupil} study, and where?",
            "Which subject did {pupil} take up after {who}'s lessons, and at which school?",
            "After lessons from {who}, what did {pupil} study, and at which institution?",
        ),
        asks("who", WHO, "gave lessons to {pupil}", "taught music to {pupil}", reverse=True),
        asks("who", WHO, "had a pupil who studied {field}", reverse=True),
        asks("who", FIRST_OF_WHO, "gave lessons to {pupil}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "had a pupil who went to {college}", part="last", reverse=True),
    ),
)
HONOUR = FactKind(
    "honour",
    tellings=(
        "In {year} the {society} thanked <whom> for [a free evening|twenty years of music|a song] with {a object}, handed over by {giver}.",
        "<Who> received {a object} from the {society} in {year}; {giver} handed it over and [nearly let it fall|made a long speech|left at once].",
        "The {society} made <whom> a member of honour in {year}, and {giver} presented {a object} on its behalf.",
        "[After a speech that went on too long,|Before the soup was served,|To general applause,] {giver} presented {a object} from the {society} to <whom> in {year}.",
    ),
    asks=(
        standard(
            "object",
            "What did {who} receive from the {society}?",
            "What was {who} given in {year}?",
            "Which object did {giver} hand to {who}?",
        ),
        standard(
            "society",
            "Who honoured {who} with the {object}?",
            "From which body did {who} receive the {object}?",
            "Which body gave a present to {who} in {year}?",
        ),
        standard(
            "giver",
            "Who handed the {object} to {who}?",
            "Who presented the {object} to {who}?",
            "Who brought {who} the present of the {society}?",
        ),
        asks("year", WHEN, "was {who} given the {object}", "was {who} honoured by the {society}"),
        manipulated(
            "giver",
            "last",
            "What is the last name of the person who handed the {object} to {who}?",
            "What is the surname of the person who presented the {object} to {who}?",
            "What is the family name of the person who brought {who} the present of the {society}?",
        ),
        several(
            "{object} from the {society}",
            "What was {who} given in {year}, and by which body?",
            "Which object did {giver} hand to {who}, and from which body did it come?",
            "What did {who} get as an honour in {year}, and from whom?",
        ),
        asks("who", WHO, "was given the {object}", "was honoured by the {society}", reverse=True),
        asks("who", WHO, "was honoured in {year}", "received the {object}", reverse=True),
        asks("who", FIRST_OF_WHO, "received the {object}", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "was honoured by the {society}", part="last", reverse=True),
    ),
)
CROSSING = FactKind(
    "crossing",
    tellings=(
        "On the way to {town} <who> shared a carriage with {stranger}, {a job} who travelled with {a creature} in a basket.",
        "<Who> missed the last train to {town} and was taken there by {stranger}, {a job} with {a creature} on the back seat.",
        "Once, on a boat to {town}, <who> calmed {a creature} with a song, and {stranger}, {a job}, who owned it, paid for the [supper|passage|next ticket] in return.",
        "Two days on a [slow boat|crowded ship|late train] to {town} made <whom> a friend of {stranger}, {a job} whose only luggage was {a creature}.",
    ),
    asks=(
        asks(
            "stranger",
            WHO,
            "met {who} on the way to {town}",
            "had the {creature} along when meeting {who}",
        ),
        standard(
            "job",
            "What was the trade of {stranger}, whom {who} met?",
            "What did {stranger}, whom {who} met on a journey, do for a living?",
            "Which job did the person have whom {who} met on the way to {town}?",
        ),
        standard(
            "creature",
            "Which animal did {stranger} have along when {who} came by?",
            "Which animal did {who} meet on the way to {town}?",
            "Which animal was there when {who} met {stranger}?",
        ),
        standard(
            "town",
            "On the way to which town did {who} meet {stranger}?",
            "To which town did {who} travel with {stranger}?",
            "On the way to which town did {who} meet the {creature}?",
        ),
        manipulated(
            "stranger",
            "first",
            "What is the first name of the {job} whom {who} met?",
            "What is the given name of the person with the {creature} whom {who} met?",
            "What is the first name of the person whom {who} met on the way to {town}?",
        ),
        several(
            "{stranger}, {job}",
            "Whom did {who} meet with the {creature}, and what was that person's trade?",
            "Which person did {who} meet on the way to {town}, and what was the job?",
            "With whom did {who} travel to {town}, and what was that person's trade?",
        ),
        asks("who", WHO, "met {stranger} on a journey", "met {a job} on a journey", reverse=True),
        asks(
            "who", WHO, "came across the {creature}", "went to {town} with {stranger}", reverse=True
        ),
        asks("who", FIRST_OF_WHO, "met {stranger} on a journey", part="first", reverse=True),
        asks("who", LAST_OF_WHO, "came across the {creature}", part="last", reverse=True),
    ),
)
PERFORMER = Setting(
    name="performer",
    kind="person",
    slots={
        "year": "year",
        "town": "town",
        "partner": "person",
        "count": "large",
        "company": "company",
        "engineer": "person",
        "pupil": "person",
        "field": "field",
        "college": "college",
        "society": "society",
        "object": "object",
        "giver": "person",
        "stranger": "person",
        "job": "job",
        "creature": "creature",
    },
    short="{who.last}",
    others=(
        "another musician, {who},",
        "an old rival, {who},",
        "a friend of early days, {who},",
        "the singer {who}",
        "{who}, also a musician,",
    ),
    openings=(
        "For half a lifetime {who} went from town to town with a small case and a large coat, and sang wherever there was a stage or at "
        "least a table to stand on.",
        "The diaries of {who}, a musician who could not stay in one place, are hard to read, but they leave out very little.",
        "Some say that nobody has played in more bad halls than {who}, and the story of those years is worth telling in order.",
    ),
    facts=(CONCERT, RECORD, PUPIL, HONOUR, CROSSING),
    topics=("weather on a coast", "libraries", "sailing", "a stream through the seasons"),
)
