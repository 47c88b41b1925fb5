"""What each task of the registry states of itself (D21), one row a task: what the tests of its construction hold it to.

A new task needs one row of ``EXPECTED``. A task that a property cannot hold for is exempt from it by name and with the reason, and
must really break it: an exemption that is no longer needed fails.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from jaxtyping import config
from test_coreference import readable_answer

from routelens.tasks import TASKS, make_task
from routelens.tasks.base import DIRECTIONS, QUESTION_TYPES, Task
from routelens.tasks.lexicon import ANSWER_TYPES
from routelens.types import Item

N_ITEMS = 1000
"""Of each task at least so many are looked at; their hash is committed."""

ANSWER_NOWHERE_ELSE = "a Standard answer stands nowhere outside its payload"
BRIDGES_APART = "no bridge is a place of another group"
FORWARD_NOT_FOR_SUBJECTS = "a forward question does not ask for a subject"
EXEMPTIBLE = (ANSWER_NOWHERE_ELSE, BRIDGES_APART, FORWARD_NOT_FOR_SUBJECTS)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A row: what holds of a task with its ``options``, read on its first ``n_read`` passages.

    ``words`` is the range in which 95 % of passages lie, ``mean_words`` that of their mean; ``n_passages`` and ``n_questions`` are the
    task's counts. ``n_reverse`` is the range of reverse questions in a passage and ``subject`` a pattern of the names of evidence
    groups that reverse questions ask for. ``n_bridges`` and ``is_answerable`` say of an item what it must be; ``n_answerable`` says
    it of passages in turn (empty: every question). ``called_by`` is the part of a name by which passages may call its bearer.
    """

    task: str
    words: tuple[int, int]
    mean_words: tuple[float, float]
    n_questions: int
    n_passages: int
    n_reverse: tuple[int, int]
    subject: str
    n_read: int = 200
    options: Mapping[str, Any] = field(default_factory=dict)
    answer_types: Sequence[str] = ANSWER_TYPES
    question_types: Sequence[str] = QUESTION_TYPES
    directions: Sequence[str] = DIRECTIONS
    n_bridges: Callable[[Item], int] = lambda item: 0
    is_answerable: Callable[[Item], bool] = lambda item: True
    n_answerable: Sequence[int] = ()
    called_by: str = "last"
    exempt: Mapping[str, str] = field(default_factory=dict)

    def make(self) -> Task:
        """The task with the row's options."""
        return make_task(self.task, **self.options)


def _needle(variant: str, question_type: str = "Standard", **others: Any) -> Expected:
    """A row for a variant of the needle task, whose only question has one tag."""
    options = {} if variant == "single" else {"variant": variant}
    row: dict[str, Any] = {
        "question_types": (question_type,),
        "directions": ("forward",),
        "n_reverse": (0, 0),
    }
    return Expected(
        task="needle",
        options=options,
        words=(383, 417),
        mean_words=(399, 401),
        n_questions=1,
        n_passages=100,
        n_read=N_ITEMS,
        subject=r"name_\d",
        answer_types=("Numerals", "Thing"),
        **row | others,
    )


EXPECTED: Mapping[str, Expected] = {
    "base": Expected(
        task="base",
        words=(150, 200),
        mean_words=(173, 179),
        n_questions=6,
        n_passages=200,
        n_reverse=(0, 1),
        subject="name",
    ),
    "knowledge": Expected(
        task="knowledge",
        words=(28, 37),
        mean_words=(31.5, 32.5),
        n_questions=13,
        n_passages=4000,
        n_reverse=(0, 3),
        subject="name",
    ),
    "multi_presence": Expected(
        task="multi_presence",
        words=(400, 600),
        mean_words=(485, 515),
        n_questions=10,
        n_passages=100,
        n_reverse=(5, 5),
        n_read=100,
        subject=r"who_\d",
    ),
    "multi_entity": Expected(
        task="multi_entity",
        words=(400, 600),
        mean_words=(485, 515),
        n_questions=10,
        n_passages=100,
        n_reverse=(5, 5),
        n_read=100,
        subject=r"who_\d",
        exempt={
            FORWARD_NOT_FOR_SUBJECTS: "links join subjects: 'Who is her tenant?' asks for another one"
        },
    ),
    "long_context": Expected(
        task="long_context",
        words=(900, 1300),
        mean_words=(1080, 1120),
        n_questions=10,
        n_passages=100,
        n_reverse=(1, 2),
        subject=r"[a-z]+\d_name",
    ),
    "coreference": Expected(
        task="coreference",
        words=(38, 50),
        mean_words=(43.5, 45),
        n_questions=9,
        n_passages=8000,
        n_reverse=(0, 2),
        subject="name",
        is_answerable=readable_answer,
        n_answerable=(5, 4),
        called_by="first",
    ),
    "hops": Expected(
        task="hops",
        words=(75, 120),
        mean_words=(90, 98),
        n_questions=16,
        n_passages=100,
        n_reverse=(0, 2),
        subject=r"\w+\.subject",
        question_types=("Standard",),
        n_bridges=lambda item: 2 * (item.metadata["depth"] - 1),
        exempt={
            ANSWER_NOWHERE_ELSE: "only its own link supplies an entity, which the next link names again",
        },
    ),
    "needle": _needle("single"),
    "needle/multi_key": _needle("multi_key"),
    "needle/multi_value": _needle("multi_value", "Part"),
    "needle/multi_query": _needle("multi_query", "Part"),
    "needle/variable_tracking": _needle(
        "variable_tracking",
        question_types=("Standard", "Part"),
        directions=DIRECTIONS,
        n_reverse=(0, 1),
        n_bridges=lambda item: 6 if item.direction == "forward" else 3,
        exempt={BRIDGES_APART: "in reverse the names asked for are also the way to one another"},
    ),
}
NAMES = tuple(EXPECTED)


@cache
def load(name: str) -> tuple[Item, ...]:
    """The items that the tests read: made once for all of them, unchecked, since checking each call's types costs ten times it."""
    row = EXPECTED[name]
    checked = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        return tuple(row.make().generate(row.n_read))
    finally:
        config.update("jaxtyping_disable", checked)


def by_passage(items: Sequence[Item]) -> dict[str, list[Item]]:
    """The items of each passage, by its id."""
    passages: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        passages[item.passage_id].append(item)
    return passages


@contextmanager
def unless_exempt(expected: Expected, rule: str) -> Iterator[None]:
    """Lets the block assert; for a task that is exempt from the rule it must fail."""
    if rule not in expected.exempt:
        yield
        return
    with pytest.raises(AssertionError):
        yield


def test_every_task_of_the_registry_has_a_row_and_no_other_has():
    assert {row.task for row in EXPECTED.values()} == set(TASKS)
    assert all(name.split("/")[0] == row.task for name, row in EXPECTED.items())
    assert all(EXPECTED[name].options == {} for name in TASKS)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_reads_a_thousand_items_and_gives_reasons_for_its_exemptions(name):
    row = EXPECTED[name]
    assert row.n_read * row.n_questions >= N_ITEMS
    assert set(row.exempt) <= set(EXEMPTIBLE)
    assert all(len(reason.split()) >= 5 for reason in row.exempt.values())


def test_an_exemption_that_is_not_needed_fails():
    exempt = Expected(**{**vars(EXPECTED["base"]), "exempt": {BRIDGES_APART: "for no reason"}})
    with pytest.raises(pytest.fail.Exception), unless_exempt(exempt, BRIDGES_APART):
        pass
    with unless_exempt(exempt, BRIDGES_APART):
        assert not exempt.words
    with pytest.raises(AssertionError), unless_exempt(exempt, ANSWER_NOWHERE_ELSE):
        assert not exempt.words
