"""How people are tied to each other: rooms, lessons, debts, boats, cousins, letters."""

from routelens.tasks.phrasing import WHO, link

LINKS = (
    link(
        "tenant",
        (
            "<Who> rents a room from {other}, who asks for very little and listens to everything.",
            "The room in which <who> keeps old papers is rented from {other}, who lives beneath it.",
        ),
        (
            "From whom does {who} rent a room?",
            "Who is {who}'s landlord?",
            "Who rents out a room to {who}?",
        ),
        WHO,
        "rents a room from {other}",
        "is a tenant of {other}",
    ),
    link(
        "pupil",
        (
            "<Who> learned to play chess from {other}, and the lessons are still free.",
            "It was {other} who taught <whom> to play chess, one long evening after another.",
        ),
        (
            "From whom did {who} learn to play chess?",
            "Who taught {who} to play chess?",
            "Who was {who}'s chess teacher?",
        ),
        WHO,
        "learned chess from {other}",
        "was taught chess by {other}",
    ),
    link(
        "debt",
        (
            "<Who> owes a large sum to {other} and therefore takes another street when the two might meet.",
            "Ever since a bad summer, <who> has owed money to {other}, who is too polite to mention it.",
        ),
        (
            "To whom does {who} owe money?",
            "Who lent money to {who}?",
            "Who is still waiting for {who} to pay a debt?",
        ),
        WHO,
        "owes money to {other}",
        "is in debt to {other}",
    ),
    link(
        "boat",
        (
            "<Who> bought a boat from {other}, and the two have talked about little else since then.",
            "The boat of <whom> once belonged to {other}, who sold it after the third leak.",
        ),
        (
            "From whom did {who} buy a boat?",
            "Who sold a boat to {who}?",
            "To whom did {who}'s boat once belong?",
        ),
        WHO,
        "bought a boat from {other}",
        "has a boat that {other} once owned",
    ),
    link(
        "cousin",
        (
            "Through a grandmother, <who> is a cousin of {other}, though the two found out rather late.",
            "Few people know that <who> is a cousin of {other}, for they look nothing alike.",
        ),
        (
            "Whose cousin is {who}?",
            "To whom is {who} related?",
            "Of whom is {who} a cousin?",
        ),
        WHO,
        "is a cousin of {other}",
        "is related to {other}",
    ),
    link(
        "letters",
        (
            "Every Sunday <who> writes a letter to {other}, and every second one is answered.",
            "<Who> writes long letters to {other}, who reads them twice and keeps them in a box.",
        ),
        (
            "To whom does {who} write letters?",
            "Who gets letters from {who}?",
            "For whom are the letters that {who} writes?",
        ),
        WHO,
        "writes letters to {other}",
        "sends letters to {other}",
    ),
)
