"""The base task: prose of 175 ± 25 words on one subject with tightly bound attributes, six questions each (D21).

The subject is a person, an organization, a creature, a town, an artefact or an event. An opening names it; its attributes
follow in random order, with pronouns and short names, and between them distractors: other people, towns, dates of the same
classes. Counts and stressor [S]; subjects, attributes and wordings [C].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from routelens.tasks.base import Draft, Task
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon, Value
from routelens.tasks.subjects import SUBJECTS, Subject
from routelens.tasks.templates import Ask, Passage, draw_values, fill, put

WORDS = (150, 200)
TARGETS = (150, 172)  # the last distractor goes past the target
CONNECTIVES = ("In addition, ", "As it happens, ", "By all accounts, ", "Moreover, ", "In fact, ")
PRONOUNS = {"she": ("she", "her"), "he": ("he", "his"), "it": ("it", "its")}


@dataclass(frozen=True)
class Base(Task):
    """One subject, many attributes, distractors of the same classes (D21)."""

    name: ClassVar[str] = "base"
    description: ClassVar[str] = "prose of 175 words on one subject, 6 questions each"
    stressor: ClassVar[str] = "one subject, tightly bound attributes"
    default_n_passages: ClassVar[int] = 200

    questions_per_passage: int = 6

    def compose(self, draw: Draw) -> Draft | None:
        topic = draw.choice(tuple(SUBJECTS))
        subject = SUBJECTS[topic]
        passage = _write(subject, draw)
        n_words = len(passage.text.split())
        if not (passage.is_sound and WORDS[0] <= n_words <= WORDS[1]):
            return None
        asks = _choose_asks(subject, passage, draw)
        return Draft(passage.text, tuple(put(ask, passage, draw) for ask in asks))


def _write(subject: Subject, draw: Draw) -> Passage:
    """The opening, all facts in random order, and two or more distractors, until the drawn length is reached."""
    lexicon = Lexicon(draw)
    opening = draw.choice(subject.openings)
    facts = [draw.choice(wordings) for wordings in draw.shuffled(subject.facts)]
    values = draw_values(" ".join([opening, *facts]), subject.slots, lexicon)
    sentences = [(fact, True) for fact in facts]
    target = draw.between(*TARGETS)
    for n_told, distractor in enumerate(draw.shuffled(subject.distractors)):
        n_words = _n_words([opening, *(sentence for sentence, _ in sentences)], values)
        if n_told >= 2 and n_words >= target:
            break
        values |= draw_values(distractor, subject.slots, lexicon)
        sentences.insert(draw.between(1, len(sentences)), (distractor, False))
    return fill(" ".join([opening, *_refer(sentences, subject, values["name"], draw)]), values)


def _refer(
    sentences: list[tuple[str, bool]], subject: Subject, name: Value, draw: Draw
) -> list[str]:
    """The sentences with the subject named in them: a pronoun only where the sentence before was about the subject."""
    pronoun, possessive = PRONOUNS[name.parts.get("pronoun", "it")]
    connectives = draw.shuffled(CONNECTIVES)
    told = []
    previous_is_fact = True
    for sentence, is_fact in sentences:
        short_name = draw.choice(subject.refs).replace("<noun>", name.parts.get("noun", ""))
        with_pronoun = previous_is_fact and draw.chance(0.7)
        ref, refs = (pronoun, possessive) if with_pronoun else (short_name, f"{short_name}'s")
        if connectives and sentence.startswith("<Ref") and draw.chance(0.3):
            sentence = connectives.pop() + sentence.replace("<Ref", "<ref", 1)
        glue = {
            "<Ref>": _capital(ref),
            "<ref>": ref,
            "<Ref's>": _capital(refs),
            "<ref's>": refs,
            "<Name>": short_name,
            "<they>": pronoun,
        }
        for mark, text in glue.items():
            sentence = sentence.replace(mark, text)
        told.append(sentence)
        previous_is_fact = is_fact
    return told


def _choose_asks(subject: Subject, passage: Passage, draw: Draw) -> list[Ask]:
    """Six questions: mostly Standard ones, every second passage one Manipulated, every second one Part."""
    asks: dict[str, list[Ask]] = {"Standard": [], "Manipulated": [], "Part": []}
    for ask in draw.shuffled(subject.asks):
        asks[ask.question_type].append(ask)
    chosen = [asks[kind][0] for kind in ("Manipulated", "Part") if draw.chance(0.5)]
    n_standard = Base.questions_per_passage - len(chosen)
    return draw.shuffled([*chosen, *asks["Standard"][:n_standard]])


def _n_words(sentences: list[str], values: Mapping[str, Value]) -> int:
    return len(fill(" ".join(sentences), values).text.split())


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
