"""The multi_presence task: one subject mentioned many times, each mention bound to a different fact (D21).

A passage follows one subject (a person, a town, a guild, …) through some thirteen episodes of few sorts, so that its mentions
compete: "Where did {who} mend the lute?" when {who} mended three things in three towns. Three or four others of the same sort
do the same things now and then; two of the five reverse questions are answered by the main subject, three by others, so its
name alone is no safe answer. All places where a subject is named are occurrences of its one evidence group. Counts and
stressor [S]; settings, wordings and the share of others [C].
"""

from dataclasses import dataclass
from typing import ClassVar

from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.chronicles import CHRONICLES
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon
from routelens.tasks.narrative import (
    FactKind,
    Setting,
    Told,
    apart,
    choose_asks,
    draw_fact_values,
    in_order_of_time,
    put_fact,
    with_filler,
)
from routelens.tasks.narrator import Narrator
from routelens.tasks.templates import Passage, fill

WORDS = (400, 600)
TARGETS = (450, 530)
MAIN = 0
N_KINDS, N_KINDS_TWICE = (
    5,
    2,
)  # sorts of fact a passage tells, and those of them told twice of others
N_OTHERS = (3, 4)
N_FORWARD = 5
N_REVERSE_MAIN, N_REVERSE_OTHERS = 2, 3
MIN_MENTIONS = 10

Card = tuple[FactKind, str, int]


@dataclass(frozen=True)
class MultiPresence(Task):
    """One subject mentioned many times, with a different fact each time (D21)."""

    name: ClassVar[str] = "multi_presence"
    description: ClassVar[str] = (
        "prose of 500 words on one subject, 5 forward and 5 reverse questions"
    )
    stressor: ClassVar[str] = "one entity mentioned many times"
    default_n_passages: ClassVar[int] = 100

    questions_per_passage: int = 10

    def compose(self, draw: Draw) -> Draft | None:
        setting = draw.choice(CHRONICLES)
        facts = _plan(setting, draw)
        passage = _write(setting, facts, draw)
        n_words = len(passage.text.split())
        if not WORDS[0] <= n_words <= WORDS[1] or len(passage.spans["who_0"]) < MIN_MENTIONS:
            return None
        if not passage.is_sound:
            return None
        return Draft(passage.text, tuple(_questions(setting, facts, passage, draw)))


def _plan(setting: Setting, draw: Draw) -> list[Told]:
    """Which facts are told of whom, in order: each sort of fact in all its tellings, once or twice of others.

    The first fact is told of the main subject, whom the opening has named.
    """
    n_others = draw.between(*N_OTHERS)
    turns = [1 + turn % n_others for turn in range(2 * N_KINDS)]
    cards: list[Card] = []
    for place, kind in enumerate(draw.sample(setting.facts, N_KINDS)):
        n_of_others = 2 if place < N_KINDS_TWICE else 1
        for number, telling in enumerate(draw.shuffled(kind.tellings)):
            cards.append((kind, telling, turns.pop() if number < n_of_others else MAIN))
    order = apart(cards, draw, lambda card, following: card[0] == following[0])
    first = next(place for place, card in enumerate(order) if card[2] == MAIN)
    order = [*order[first:], *order[:first]]
    return [Told(*card, number) for number, card in enumerate(order)]


def _write(setting: Setting, facts: list[Told], draw: Draw) -> Passage:
    lexicon = Lexicon(draw)
    subjects = sorted({told.who for told in facts})
    values = {who: lexicon.value(setting.kind) for who in subjects}
    values |= in_order_of_time(draw_fact_values(facts, setting, lexicon))
    narrator = Narrator(setting, values, draw, pronoun_rate=0.15)
    sentences = [narrator.open(), *(narrator.tell(told) for told in facts)]
    topic, n_words = draw.choice(setting.topics), draw.between(*TARGETS)
    return fill(with_filler(sentences, values, draw, topic=topic, n_words=n_words), values)


def _questions(setting: Setting, facts: list[Told], passage: Passage, draw: Draw) -> list[Question]:
    """Five forward questions on the main subject, two reverse ones on it and three on others, each on a fact of its own."""
    deck = draw.shuffled(facts)
    of_main = [told for told in deck if told.subject == MAIN]
    of_others = [told for told in deck if told.subject != MAIN]
    forward = choose_asks(of_main, N_FORWARD, draw, reverse=False)
    asked = {told.number for told, _ in forward}
    left = [told for told in of_main if told.number not in asked]
    return [
        put_fact(told, ask, setting, passage, draw)
        for told, ask in draw.shuffled(
            [
                *forward,
                *choose_asks(left, N_REVERSE_MAIN, draw, reverse=True),
                *choose_asks(of_others, N_REVERSE_OTHERS, draw, reverse=True),
            ]
        )
    ]
