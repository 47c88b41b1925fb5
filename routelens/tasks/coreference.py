"""The coreference task: 44 words on one person, nine questions each, and pronouns that may point at nobody (D21).

The first name is invented and says nothing of the person's gender; the opening does, by a noun ("a woman who …") or by a
pronoun bound to the name ("Tavren Arbane spent her youth …"), and nobody else is mentioned. So "What did she study?" asks
about that person, and "What did he study?" about nobody: the truth is then "I don't know". In half of the passages one
sentence, never the opening, has its pronouns swapped: it is about somebody unnamed, and does not answer questions on the
named person. (No question asks by the swapped pronoun for what that sentence says: its answer would be arguable.) An
unanswerable item keeps in its metadata what a careless reader would say. Counts and stressor [S]; the rest [C].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from routelens.tasks import words
from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.coreference_facts import (
    CONNECTIVES,
    FACTS,
    GENDERED,
    OPENINGS,
    SLOTS,
    Fact,
)
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon, Value
from routelens.tasks.templates import Ask, Passage, fill, put
from routelens.types import Item

WORDS = (38, 50)
PRONOUNS = ("she", "he")
N_FACTS = (4, 5)
N_OF_EACH = 5  # answerable and unanswerable questions, of which one is left out
N_ON_SWAPPED = 3
SHARE_NAMED = {"none": 0.12, "passage": 0.4, "question": 0.0}  # so that a name does not tell

FIRST_NAME_STEMS = (
    *(
        "Tavr",
        "Kess",
        "Morv",
        "Brinn",
        "Sulv",
        "Quell",
        "Jarn",
        "Nimm",
        "Zald",
        "Rovv",
        "Lisk",
        "Pell",
    ),
    *(
        "Wyst",
        "Gand",
        "Ombr",
        "Ust",
        "Virr",
        "Delm",
        "Hosk",
        "Curr",
        "Ebb",
        "Farl",
        "Thess",
        "Yend",
    ),
)
FIRST_NAME_ENDINGS = ("en", "ix", "eth", "ay", "or", "el", "in", "ith", "ow", "is", "une", "ack")


@dataclass(frozen=True)
class Coreference(Task):
    """Pronouns that refer to the person of the passage, or to nobody (D21)."""

    name: ClassVar[str] = "coreference"
    description: ClassVar[str] = "44 words on one person, 9 questions each, half unanswerable"
    stressor: ClassVar[str] = "a pronoun swapped in question or passage: the truth is unknown"
    default_n_passages: ClassVar[int] = 8000

    questions_per_passage: int = 9

    def compose(self, draw: Draw) -> Draft | None:
        """Ten questions, five of each kind."""
        gender = draw.below(2)
        facts = draw.shuffled([*FACTS[:3], *draw.sample(FACTS[3:], draw.choice(N_FACTS) - 3)])
        opening, *others = [facts[:1], *_grouped(facts[1:], draw)]
        swapped = draw.choice(others) if draw.chance(0.5) else []
        sentences = [_in_gender(_opening(opening[0], draw), gender)]
        for group in others:
            is_swapped = group is swapped
            sentence = _sentence(group, draw, named=not is_swapped)
            sentences.append(_in_gender(sentence, 1 - gender if is_swapped else gender))
        lexicon = Lexicon(draw)
        values = {slot: lexicon.value(kind) for slot, kind in SLOTS.items()}
        passage = fill(" ".join(sentences), values | {"name": _person(draw)})
        if not (WORDS[0] <= len(passage.text.split()) <= WORDS[1] and passage.is_sound):
            return None
        kept = [fact for fact in facts if fact not in swapped]
        questions = _questions(kept, swapped, passage, gender, draw)
        return Draft(passage.text, questions) if len(questions) == 2 * N_OF_EACH else None

    def _items(self, draft: Draft, passage_id: str) -> list[Item]:
        """Nine of the ten questions: over each pair of passages exactly half the items are unperturbed."""
        drop_answerable = int(passage_id[-1]) % 2 == 1
        surplus = next(
            q for q in draft.questions[::-1] if (q.answer is not None) == drop_answerable
        )
        nine = tuple(question for question in draft.questions if question is not surplus)
        return super()._items(replace(draft, questions=nine), passage_id)


def _person(draw: Draw) -> Value:
    """A name whose first name says nothing of the gender."""
    first = draw.choice(FIRST_NAME_STEMS) + draw.choice(FIRST_NAME_ENDINGS)
    last = draw.choice(words.SURNAME_STEMS) + draw.choice(words.SURNAME_ENDINGS)
    return Value(f"{first} {last}", "person", {"first": first, "last": last})


def _grouped(facts: list[Fact], draw: Draw) -> list[list[Fact]]:
    """The facts in sentences of one or two."""
    groups: list[list[Fact]] = []
    while facts:
        size = 2 if len(facts) > 1 and draw.chance(0.3) else 1
        groups.append(facts[:size])
        facts = facts[size:]
    return groups


def _opening(fact: Fact, draw: Draw) -> str:
    return draw.choice(OPENINGS).replace("<first>", draw.choice(fact.predicates))


def _sentence(facts: list[Fact], draw: Draw, *, named: bool) -> str:
    """A sentence on the person, by pronoun or (where ``named``) now and then by first name."""
    joint = " and ".join(draw.choice(fact.predicates) for fact in facts)
    if len(facts) == 1 and draw.chance(0.4):
        return draw.choice(facts[0].sentences)
    if named and draw.chance(0.2):
        return f"{{name.first}} {joint}."
    if draw.chance(0.2):
        return f"{draw.choice(CONNECTIVES)}<they> {joint}."
    return f"<They> {joint}."


def _in_gender(template: str, gender: int, **words_of_name: str) -> str:
    """The template with its gendered words filled in."""
    for mark, forms in GENDERED.items():
        word = words_of_name.get(mark, forms[gender])
        template = template.replace(f"<{mark}>", word)
        template = template.replace(f"<{mark.capitalize()}>", word[0].upper() + word[1:])
    return template


def _questions(
    kept: list[Fact], lost: list[Fact], passage: Passage, gender: int, draw: Draw
) -> tuple[Question, ...]:
    """Five answerable questions and five that are not, in random order.

    Unanswerable are questions on the sentence that is about somebody else, and questions on all the rest with the pronoun
    swapped, which only those that hold a pronoun can be.
    """
    backwards = 1 if draw.chance(0.5) else 0
    answerable = _sample(_asks(kept), N_OF_EACH, backwards, draw)
    on_swapped = _sample(_asks(lost), N_ON_SWAPPED, 1, draw)
    with_pronoun = [ask for ask in _asks(kept) if _has_pronoun(ask)]
    on_nobody = draw.sample(with_pronoun, N_OF_EACH - len(on_swapped))
    put_all = [
        *(_put(ask, passage, gender, "none", draw) for ask in answerable),
        *(_put(ask, passage, gender, "passage", draw) for ask in on_swapped),
        *(_put(ask, passage, 1 - gender, "question", draw) for ask in on_nobody),
    ]
    return tuple(draw.shuffled(put_all))


def _sample(asks: list[Ask], n: int, n_reverse: int, draw: Draw) -> list[Ask]:
    """Up to n of the questions, ``n_reverse`` of them attribute → subject."""
    backwards = draw.sample([ask for ask in asks if ask.reverse], n_reverse)
    return backwards + draw.sample([ask for ask in asks if not ask.reverse], n - len(backwards))


def _put(ask: Ask, passage: Passage, gender: int, perturbation: str, draw: Draw) -> Question:
    """The question, by pronoun or by name, with its truth."""
    by_name = _has_pronoun(ask) and draw.chance(SHARE_NAMED[perturbation])
    naming = {"they": "{name}", "their": "{name}'s", "them": "{name}"} if by_name else {}
    wordings = tuple(_in_gender(wording, gender, **naming) for wording in ask.wordings)
    question = put(replace(ask, wordings=wordings), passage, draw)
    metadata = question.metadata | {
        "perturbation": perturbation,
        "named": by_name or not _has_pronoun(ask),
        "pronoun": PRONOUNS[gender],
    }
    if perturbation == "none":
        return replace(question, metadata=metadata)
    metadata["withheld"] = question.answer
    return replace(question, answer=None, aliases=(), groups=(), metadata=metadata)


def _asks(facts: Sequence[Fact]) -> list[Ask]:
    return [ask for fact in facts for ask in fact.asks]


def _has_pronoun(ask: Ask) -> bool:
    return not ask.reverse
