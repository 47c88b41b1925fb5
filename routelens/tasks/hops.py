"""The hops task: chains of five links between invented entities, asked at depths 1 to 4 (D21).

A passage of about 95 words states the links of two chains with the same relations, and of a piece of a third, in shuffled
order. A question of depth d needs d links: it follows one to d − 1 entities that it does not name (the bridges) to the
answer. Each depth is asked in four phrasings (nested question, nested noun, step by step, by roles), each on a path of its own;
at depths 1 and 2 one of the four goes backwards, where that is clear. Counts [S]; depths × phrasings, relations, wordings [C].

Evidence (D5), of which D21 leaves the spans open [C]: a link supplies an entity only in its own sentence, so other mentions
of the same entity are no alternatives. The payload is the answer's mention in the last link. A bridge is needed twice, where
the link to it ends and where the next begins: one group of role "bridge" for each of the two mentions, named after relation and
side, so that the bridge counts as erased (D6) when either is gone.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Lexicon, Value
from routelens.tasks.relations import PHRASINGS, RELATIONS, Relation, capital, word
from routelens.tasks.templates import Passage, fill
from routelens.types import EvidenceGroup, Role

WORDS = (75, 120)
N_LINKS = 5
DEPTHS = (1, 2, 3, 4)
REVERSED_DEPTHS = (1, 2)
OPENINGS = (
    "",
    "A few notes on people and places. ",
    "This is what the almanac says. ",
    "Here is some news from the county. ",
    "The following is common knowledge. ",
)
JOINTS = (", and ", ", while ", "; ")
SOURCES = frozenset(relation.source for relation in RELATIONS)

Side = Literal["subject", "object"]


@dataclass(frozen=True)
class Link:
    """One link of a chain: its relation and the slots of its two entities."""

    relation: Relation
    subject: str
    object: str

    def at(self, side: Side) -> str:
        """The slot of the entity on that side."""
        return self.subject if side == "subject" else self.object


@dataclass(frozen=True)
class Hops(Task):
    """Questions along chains of entities (D21)."""

    name: ClassVar[str] = "hops"
    description: ClassVar[str] = "chains of 5 links, 16 questions each at depths 1 to 4"
    stressor: ClassVar[str] = "chains of entities; bridges recorded"
    default_n_passages: ClassVar[int] = 100

    questions_per_passage: int = 16

    def compose(self, draw: Draw) -> Draft | None:
        signature = _signature(draw)
        length = draw.between(2, 3)
        start = draw.between(0, N_LINKS - length)
        pieces = (signature, signature, signature[start : start + length])
        chains = [
            _chain(letter, relations) for letter, relations in zip("abc", pieces, strict=True)
        ]
        links = draw.shuffled([link for chain in chains for link in chain])
        passage = fill(_write(links, draw), _values(chains, Lexicon(draw)))
        if not (WORDS[0] <= len(passage.text.split()) <= WORDS[1] and passage.is_sound):
            return None
        questions = [
            question
            for depth in DEPTHS
            for question in _questions(depth, chains, links, passage, draw)
        ]
        if len({question.text for question in questions}) < len(questions):
            return None
        return Draft(passage.text, tuple(draw.shuffled(questions)))


def _signature(draw: Draw) -> tuple[Relation, ...]:
    """Five different relations, each of which begins where the one before ends."""
    while True:
        relations = [draw.choice(RELATIONS)]
        while len(relations) < N_LINKS:
            following = [
                relation
                for relation in RELATIONS
                if relation.source == relations[-1].target
                and relation not in relations
                and (relations[-1].name, relation.name) != ("leader", "employer")
            ]
            if not following:
                break
            ends = [relation for relation in following if relation.target not in SOURCES]
            is_last = len(relations) == N_LINKS - 1
            relations.append(
                draw.choice(ends if is_last and ends and draw.chance(0.5) else following)
            )
        if len(relations) == N_LINKS:
            return tuple(relations)


def _chain(letter: str, relations: tuple[Relation, ...]) -> list[Link]:
    return [
        Link(relation, f"{letter}{place}", f"{letter}{place + 1}")
        for place, relation in enumerate(relations)
    ]


def _values(chains: list[list[Link]], lexicon: Lexicon) -> dict[str, Value]:
    values = {}
    for chain in chains:
        values[chain[0].subject] = lexicon.value(chain[0].relation.source)
        for link in chain:
            values[link.object] = lexicon.value(link.relation.target)
    return values


def _write(links: list[Link], draw: Draw) -> str:
    """The links in the order given, one or two to a sentence."""
    clauses = [
        draw.choice(link.relation.statements)
        .replace("{s}", f"{{{link.subject}}}")
        .replace("{o}", f"{{{link.object}}}")
        .replace("{a o}", f"{{a {link.object}}}")
        for link in links
    ]
    sentences = []
    while clauses:
        size = 2 if _can_join(links[len(links) - len(clauses) :]) and draw.chance(0.5) else 1
        sentences.append(capital(draw.choice(JOINTS).join(clauses[:size])) + ".")
        clauses = clauses[size:]
    return draw.choice(OPENINGS) + " ".join(sentences)


def _can_join(links: list[Link]) -> bool:
    """Whether the first two links are about different entities, so that one sentence names nobody twice."""
    return len({slot for link in links[:2] for slot in (link.subject, link.object)}) == 4


def _questions(
    depth: int, chains: list[list[Link]], links: list[Link], passage: Passage, draw: Draw
) -> list[Question]:
    """The four questions of one depth, one a phrasing, each on a path of its own."""
    paths = [
        chain[start : start + depth] for chain in chains for start in range(len(chain) - depth + 1)
    ]
    chosen = draw.sample(paths, len(PHRASINGS))
    can_turn = [place for place, path in enumerate(chosen) if _is_clear_backwards(path, chains)]
    backwards = draw.choice(can_turn) if can_turn and depth in REVERSED_DEPTHS else -1
    return [
        _question(path, place == backwards, phrasing, links, passage, draw)
        for place, (path, phrasing) in enumerate(zip(chosen, PHRASINGS, strict=True))
    ]


def _is_clear_backwards(path: list[Link], chains: list[list[Link]]) -> bool:
    """Who works for a company is no clear question where the passage also says who leads it."""
    led = {link.subject for chain in chains for link in chain if link.relation.name == "leader"}
    return not any(link.relation.name == "employer" and link.object in led for link in path)


def _question(
    path: list[Link],
    backwards: bool,
    phrasing: str,
    links: list[Link],
    passage: Passage,
    draw: Draw,
) -> Question:
    """The question that walks ``path``, forwards or backwards."""
    walk = path[::-1] if backwards else path
    known: Side = "object" if backwards else "subject"
    found: Side = "subject" if backwards else "object"
    start, end = walk[0].at(known), walk[-1].at(found)
    value = passage.values[end]
    steps = [link.relation.asked(backwards=backwards) for link in walk]
    text, wording = word(steps, passage.values[start], phrasing, draw)
    return Question(
        text=text,
        answer=value.text,
        aliases=value.aliases,
        groups=_groups(walk, known, found, links, passage),
        answer_type=value.answer_type,
        direction="reverse" if backwards else "forward",
        metadata={
            "attributes": [walk[-1].relation.name],
            "kinds": [value.kind],
            "part": "",
            "wording": wording,
            "depth": len(path),
            "phrasing": phrasing,
            "relations": [link.relation.name for link in walk],
            "path": [passage.values[start].text]
            + [passage.values[link.at(found)].text for link in walk],
        },
    )


def _groups(
    walk: list[Link], known: Side, found: Side, links: list[Link], passage: Passage
) -> tuple[EvidenceGroup, ...]:
    """Two bridge groups for each entity on the way, and the payload."""
    bridges: list[EvidenceGroup] = []
    for before, after in pairwise(walk):
        bridges.append(_group(before, found, "bridge", links, passage))
        bridges.append(_group(after, known, "bridge", links, passage))
    return (*bridges, _group(walk[-1], found, "payload", links, passage))


def _group(
    link: Link, side: Side, role: Role, links: list[Link], passage: Passage
) -> EvidenceGroup:
    """The mention of a link's entity in the link's own sentence."""
    slot = link.at(side)
    mentioned_in = [one for one in links if slot in (one.subject, one.object)]
    span = passage.spans[slot][mentioned_in.index(link)]
    return EvidenceGroup((span,), role, f"{link.relation.name}.{side}")
