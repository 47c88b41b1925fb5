"""Filler prose: sentences on one topic that say nothing about anybody, to stand between the facts of long passages.

A sentence is a clause of the topic, alone or with a lead, a condition, a frame, a tail, or a second clause. The pieces of each
sort are dealt like cards, so that one comes back only after many others, and no sentence is given twice.
"""

import re

from routelens.tasks import filler_topics as texts
from routelens.tasks.draws import Draw

TOPICS: tuple[str, ...] = tuple(texts.TOPICS)
LENGTHS = (8, 25)
PLANS = ("plain", "lead", "condition", "frame", "tail", "joined", "lead and tail")
_MAX_ATTEMPTS = 500
_CHOICE = re.compile(r"\[([^]]+)\]")


class Filler:
    """Prose on one topic, sentence by sentence; without a topic one is drawn.

    A topic has more than two thousand sentences, made of few words (under 500 in all topics together), so that a small model
    can know them all.
    """

    def __init__(self, draw: Draw, topic: str | None = None) -> None:
        self.topic = draw.choice(TOPICS) if topic is None else topic
        if self.topic not in TOPICS:
            raise ValueError(f"Filler: topic is one of {', '.join(TOPICS)}; got {topic!r}.")
        chosen = texts.TOPICS[self.topic]
        self._draw = draw
        self._given: set[str] = set()
        self._clauses = _Deck(chosen.clauses, draw)
        self._conditions = _Deck(chosen.conditions, draw)
        self._leads = _Deck(texts.LEADS, draw)
        self._frames = _Deck(texts.FRAMES, draw)
        self._tails = _Deck(texts.TAILS, draw)
        self._joints = _Deck(texts.JOINTS, draw)
        self._plans = _Deck(PLANS, draw)

    def sentence(self) -> str:
        """A sentence of 8 to 25 words that this filler has not given before."""
        for _ in range(_MAX_ATTEMPTS):
            text = self._compose(self._plans.deal())
            if LENGTHS[0] <= len(text.split()) <= LENGTHS[1] and text not in self._given:
                self._given.add(text)
                return text
        raise ValueError(
            f"Filler: {len(self._given)} sentences on {self.topic!r} are given, and no new one is "
            "found; take another topic."
        )

    def paragraph(self, n_words: int) -> str:
        """Sentences, joined by blanks, until there are ``n_words`` words or a few more."""
        told: list[str] = []
        length = 0
        while length < n_words:
            told.append(self.sentence())
            length += len(told[-1].split())
        return " ".join(told)

    def _compose(self, plan: str) -> str:
        clause = self._clauses.deal()
        match plan:
            case "lead":
                text = f"{self._leads.deal()}, {clause}"
            case "condition":
                text = f"{self._conditions.deal()}, {clause}"
            case "frame":
                text = f"{self._frames.deal()} {clause}"
            case "tail":
                text = f"{clause}, {self._tails.deal()}"
            case "joined":
                text = f"{clause}{self._joints.deal()}{self._clauses.deal()}"
            case "lead and tail":
                text = f"{self._leads.deal()}, {clause}, {self._tails.deal()}"
            case _:
                text = clause
        text = _CHOICE.sub(lambda match: self._draw.choice(match[1].split("|")), text)
        return f"{text[0].upper()}{text[1:]}."


class _Deck:
    """Deals its cards in random order; a card comes back only after two thirds of the others."""

    def __init__(self, cards: tuple[str, ...], draw: Draw) -> None:
        self._draw = draw
        self._queue = draw.shuffled(cards)

    def deal(self) -> str:
        card = self._queue.pop(self._draw.below((len(self._queue) + 2) // 3))
        self._queue.append(card)
        return card
