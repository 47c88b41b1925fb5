"""What needles say and how one asks for them: keys, invented names, sentences and questions of the needle task.

``<noun>`` stands for "number" or "word", ``<keys>`` for a list of keys; slots are filled as in ``templates.py``.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


KEY_ADJECTIVES = _words(
    """
    crooked striped hollow purple gentle rusty distant forgotten curious humming lopsided
    brittle polished tangled glittering wobbly
    """
)
KEY_NOUNS = _words(
    """
    lighthouse balloon staircase windmill fountain chimney tunnel pyramid carousel submarine
    locomotive greenhouse observatory treehouse elevator rocket
    """
)
NAME_STEMS = _words(
    """
    brom crin drel flon glim hurn krom lirn morv nelk plin quav rond sterv tolk vrin wolm zelm
    trask yorb
    """
)
NAME_ENDINGS = _words(
    """
    ado eka ilo oru uma ent ast olp irn ube
    """
)

TELLINGS = (
    "The special <noun> for the {key} is {value}.",
    "For the {key}, the special <noun> is {value}.",
    "Remember that {value} is the special <noun> for the {key}.",
    "It is noted here that the special <noun> for the {key} is {value}.",
    "Whoever asks about the {key} is given {value} as the special <noun>.",
)
SHARED_TELLINGS = (
    "One of the special <noun>s for the {key} is {value}.",
    "A special <noun> for the {key} is {value}.",
    "Among the special <noun>s for the {key} is {value}.",
    "Remember {value} as a special <noun> for the {key}.",
)
QUESTIONS = (
    "What is the special <noun> for the {key}?",
    "Which special <noun> is given for the {key}?",
    "What special <noun> does the {key} have?",
    "Name the special <noun> for the {key}.",
)
QUESTIONS_FOR_ALL = (
    "What are all the special <noun>s for the {key}?",
    "Which special <noun>s are given for the {key}?",
    "List every special <noun> for the {key}.",
)
QUESTIONS_FOR_SEVERAL = (
    "What are the special <noun>s for <keys>?",
    "Which special <noun>s are given for <keys>?",
    "Name the special <noun>s for <keys>.",
)
ASSIGNMENTS = (
    "The value of {name} is {value}.",
    "From now on {name} stands for {value}.",
    "The name {name} was given the value {value}.",
)
COPIES = (
    "{name} has the same value as {source}.",
    "The value of {name} is that of {source}.",
    "Whatever {source} stands for, {name} stands for as well.",
)
QUESTIONS_FOR_VALUE = (
    "What is the value of {name}?",
    "Which number does {name} stand for?",
    "What number was {name} given in the end?",
)
QUESTIONS_FOR_NAMES = (
    "Which names have the value {value}?",
    "Which names stand for {value}?",
    "List all names with the value {value}.",
)
