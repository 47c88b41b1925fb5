"""The multi_entity task: four to six linked subjects with disjoint values of the same attribute classes (D21).

A passage is about several people, firms, towns, … of one sort. A chain of links (tenant, teacher, niece, …) joins them, and
each has some of the same attributes with values of its own, so the distractors of every question are the other subjects:
forward "Where does {who} work?", reverse "Who works for {company}?". Half of the passages go subject by subject, half
attribute by attribute. Counts and stressor [S]; settings, links and wordings [C].
"""

from dataclasses import dataclass
from typing import ClassVar

from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.circles import CIRCLES
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon
from routelens.tasks.narrative import (
    Setting,
    Told,
    apart,
    choose_asks,
    draw_fact_values,
    put_both,
    put_fact,
    with_filler,
)
from routelens.tasks.narrator import Narrator
from routelens.tasks.templates import Passage, fill

WORDS = (400, 600)
TARGETS = (440, 510)
N_FACTS = {4: 6, 5: 5, 6: 4}  # attributes of each subject, by the number of subjects
N_FORWARD, N_REVERSE = 5, 5
PAIR_RATE = 0.5  # of passages without surnames: two reverse questions asked as one


@dataclass(frozen=True)
class MultiEntity(Task):
    """Several linked subjects with the same attributes and different values (D21)."""

    name: ClassVar[str] = "multi_entity"
    description: ClassVar[str] = (
        "prose of 500 words on 4 to 6 linked subjects, 5 forward and 5 reverse questions"
    )
    stressor: ClassVar[str] = "several linked entities, disjoint values"
    default_n_passages: ClassVar[int] = 100

    questions_per_passage: int = 10

    def compose(self, draw: Draw) -> Draft | None:
        setting = draw.choice(CIRCLES)
        n_subjects = draw.between(min(N_FACTS), max(N_FACTS))
        facts = _plan(setting, n_subjects, draw)
        passage = _write(setting, facts, n_subjects, draw)
        if not WORDS[0] <= len(passage.text.split()) <= WORDS[1] or not passage.is_sound:
            return None
        return Draft(passage.text, tuple(_questions(setting, facts, passage, draw)))


def _plan(setting: Setting, n_subjects: int, draw: Draw) -> list[Told]:
    """The links and the attributes in the order in which they are told.

    Attributes are dealt in turn, so that each is told of three or four subjects, in a telling of its own each time.
    """
    links = draw.sample(setting.links, n_subjects - 1)
    kinds = draw.shuffled(setting.facts)
    tellings = {kind.name: draw.shuffled(kind.tellings) for kind in kinds}
    n_facts = N_FACTS[n_subjects]
    cards = [
        (kinds[(subject * n_facts + turn) % len(kinds)], subject)
        for subject in range(n_subjects)
        for turn in range(n_facts)
    ]
    linked = [
        Told(link, draw.choice(link.tellings), subject, len(cards) + subject, subject + 1)
        for subject, link in enumerate(links)
    ]
    told = [
        Told(kind, tellings[kind.name].pop(), subject, number)
        for number, (kind, subject) in enumerate(cards)
    ]
    if draw.chance(0.5):
        return _by_subject(linked, told, draw)
    told = apart(
        told, draw, lambda one, next_: one.subject == next_.subject or one.kind == next_.kind
    )
    return [*linked, *told]


def _by_subject(linked: list[Told], told: list[Told], draw: Draw) -> list[Told]:
    """Each subject's attributes in random order, then the link to the next subject."""
    order: list[Told] = []
    for subject in range(len(linked) + 1):
        order += draw.shuffled([fact for fact in told if fact.subject == subject])
        order += [link for link in linked if link.subject == subject]
    return order


def _write(setting: Setting, facts: list[Told], n_subjects: int, draw: Draw) -> Passage:
    lexicon = Lexicon(draw)
    values = {f"who_{subject}": lexicon.value(setting.kind) for subject in range(n_subjects)}
    values |= draw_fact_values(facts, setting, lexicon)
    narrator = Narrator(setting, values, draw, pronoun_rate=0.6)
    sentences = [narrator.open(), *(narrator.tell(told) for told in facts)]
    topic, n_words = draw.choice(setting.topics), draw.between(*TARGETS)
    return fill(with_filler(sentences, values, draw, topic=topic, n_words=n_words), values)


def _questions(setting: Setting, facts: list[Told], passage: Passage, draw: Draw) -> list[Question]:
    """Five questions a direction, each on a fact of its own."""
    deck = draw.shuffled(facts)
    forward = choose_asks(deck, N_FORWARD, draw, reverse=False)
    asked = {told.number for told, _ in forward}
    left = [told for told in deck if told.number not in asked]
    has_pair = "{who.last}" not in setting.short and draw.chance(PAIR_RATE)
    reverse = choose_asks(left, N_REVERSE + has_pair, draw, reverse=True)
    questions = [put_fact(told, ask, setting, passage, draw) for told, ask in [*forward, *reverse]]
    return draw.shuffled(_with_pair(questions) if has_pair else questions)


def _with_pair(questions: list[Question]) -> list[Question]:
    """The questions with the last one, a reverse one, joined to another reverse one that has another answer."""
    *others, last = questions
    partner = next(
        question
        for question in others
        if question.direction == "reverse"
        and question.question_type == "Standard"
        and question.answer != last.answer
    )
    return [question for question in others if question is not partner] + [put_both(partner, last)]
