"""What a task is: text and questions from a seed, one passage after the other (D21).

A task writes one file and one line in the registry: a frozen dataclass that inherits :class:`Task`, says its name,
description, stressor and number of passages, and composes one passage with its questions from a stream of draws. The base
class makes :class:`~routelens.types.Item` objects of that, gives them stable ids, and refuses a passage whose questions
give their answers away. Passage i depends on the task, the seed and i alone: never on how many are asked for.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from routelens.tasks.draws import Draw
from routelens.types import EvidenceGroup, Item, stable_hash

QUESTION_TYPES = ("Standard", "Manipulated", "Part")
DIRECTIONS = ("forward", "reverse")
_MAX_ATTEMPTS = 200
_FUNCTION_WORDS = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "in", "of", "on", "the", "to")
)


@dataclass(frozen=True)
class Question:
    """One question on a passage, with the evidence its answer needs (D5) and its tags (D21)."""

    text: str
    answer: str | None
    groups: tuple[EvidenceGroup, ...]
    answer_type: str
    question_type: str = "Standard"
    direction: str = "forward"
    aliases: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """A passage and its questions, before they are items."""

    context: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Task(ABC):
    """A generator of passages with questions.

    ``questions_per_passage`` (at most the default) takes the first questions of each passage and changes nothing else.
    Every other field of a subclass may change the text, and therefore becomes part of the ids.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    stressor: ClassVar[str]
    default_n_passages: ClassVar[int]

    questions_per_passage: int = 1

    def __post_init__(self) -> None:
        limit = type(self).questions_per_passage
        if not 1 <= self.questions_per_passage <= limit:
            raise ValueError(
                f"{self.name}: questions_per_passage is between 1 and {limit}; "
                f"got {self.questions_per_passage}."
            )

    @abstractmethod
    def compose(self, draw: Draw) -> Draft | None:
        """One passage and its questions; None where these draws clash, and new ones are to be tried."""

    def passage(self, index: int, *, seed: int = 0) -> list[Item]:
        """The items of passage ``index``: the same whichever other passages are made."""
        for attempt in range(_MAX_ATTEMPTS):
            draft = self.compose(Draw(self._key, seed, index, attempt))
            if draft is not None and not any(_gives_away(question) for question in draft.questions):
                return self._items(draft, f"{self._key}-s{seed}-p{index:05d}")
        raise RuntimeError(f"{self.name}: passage {index} of seed {seed} found no clean draw.")

    def generate(self, n_passages: int | None = None, seed: int = 0) -> Iterator[Item]:
        """The items of passages 0 to n_passages − 1 (default: the task's own number), one by one.

        Raises:
            ValueError: where ``n_passages`` is below 1 or ``seed`` below 0; at the call, not at the first item.
        """
        count = self.default_n_passages if n_passages is None else n_passages
        if count < 1:
            raise ValueError(f"{self.name}: n_passages is at least 1; got {count}.")
        if seed < 0:
            raise ValueError(f"{self.name}: seed is an integer from 0 on; got {seed}.")
        return (item for index in range(count) for item in self.passage(index, seed=seed))

    @property
    def _key(self) -> str:
        """The task's name, with a hash of the options that change its text where they are not the defaults."""
        changed = {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if option.name != "questions_per_passage"
            and getattr(self, option.name) != option.default
        }
        return f"{self.name}-{stable_hash(changed)[:6]}" if changed else self.name

    def _items(self, draft: Draft, passage_id: str) -> list[Item]:
        return [
            Item(
                context=draft.context,
                question=question.text,
                answer=question.answer,
                aliases=question.aliases,
                required_groups=question.groups,
                passage_id=passage_id,
                id=f"{passage_id}-q{number:02d}",
                task=self.name,
                answer_type=question.answer_type,
                question_type=question.question_type,
                direction=question.direction,
                metadata=question.metadata,
            )
            for number, question in enumerate(draft.questions[: self.questions_per_passage])
        ]


def content_words(text: str) -> frozenset[str]:
    """The words of a text in lower case, without articles, prepositions and "and"."""
    return frozenset(re.findall(r"\w+", text.lower())) - _FUNCTION_WORDS


def _gives_away(question: Question) -> bool:
    """Whether the question names any word of its answer."""
    answer = question.answer
    return answer is not None and bool(content_words(answer) & content_words(question.text))
