"""The tests of construction can fail: each notices an item that was spoiled in the way it is there for."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import test_suite_tags as tagging
import test_task_construction as construction
from test_suite_expectations import EXPECTED, load

from routelens.types import EvidenceGroup, Item


@dataclass(frozen=True)
class Control:
    """A test, the task it is run on, which of its items is taken (the first that fits), and how that is spoiled."""

    test: Callable
    name: str
    fits: Callable[[Item], bool]
    spoil: Callable[[Item], Item]


def check(test: Callable, name: str, item: Item) -> None:
    """Runs the test on that item alone."""
    needed = test.__code__.co_varnames[: test.__code__.co_argcount]
    known = {"expected": EXPECTED[name], "items": [item]}
    test(**{key: known[key] for key in needed})


def is_answered(question_type: str) -> Callable[[Item], bool]:
    return lambda item: item.answerable and item.question_type == question_type


def is_named_often(item: Item) -> bool:
    return item.question_type == "Standard" and len(item.required_groups[0].occurrences) >= 5


def is_unanswerable(item: Item) -> bool:
    return not item.answerable and item.question_type == "Standard"


def last_group(change: Callable[[EvidenceGroup], EvidenceGroup]) -> Callable[[Item], Item]:
    """Changes the last group of an item."""
    return lambda item: replace(
        item, required_groups=(*item.required_groups[:-1], change(item.required_groups[-1]))
    )


def shorter(group: EvidenceGroup) -> EvidenceGroup:
    """The group with its first span a character too short."""
    (start, end), *others = group.occurrences
    return replace(group, occurrences=[(start, end - 1), *others])


def fewer(group: EvidenceGroup) -> EvidenceGroup:
    """The group without its last occurrence."""
    return replace(group, occurrences=group.occurrences[:-1])


def without_first_group(item: Item) -> Item:
    return replace(item, required_groups=item.required_groups[1:])


def with_first_group_twice(item: Item) -> Item:
    return replace(item, required_groups=(item.required_groups[0], *item.required_groups))


CONTROLS = {
    "a span one character short": Control(
        construction.test_a_standard_answer_stands_at_each_of_its_spans,
        "base",
        is_answered("Standard"),
        last_group(shorter),
    ),
    "an occurrence left out": Control(
        construction.test_a_standard_answer_stands_nowhere_else,
        "multi_presence",
        is_named_often,
        last_group(fewer),
    ),
    "an answer that is not in its source": Control(
        construction.test_a_manipulated_answer_points_at_the_source_value,
        "base",
        is_answered("Manipulated"),
        lambda item: replace(item, answer="nothing"),
    ),
    "a piece's span one character short": Control(
        construction.test_a_part_question_has_one_group_for_each_piece,
        "knowledge",
        is_answered("Part"),
        last_group(shorter),
    ),
    "a piece without evidence": Control(
        construction.test_the_words_of_an_answer_all_stand_in_its_evidence,
        "knowledge",
        is_answered("Part"),
        without_first_group,
    ),
    "a piece's group left out": Control(
        construction.test_a_question_has_the_stated_number_of_groups,
        "knowledge",
        is_answered("Part"),
        without_first_group,
    ),
    "a bridge left out": Control(
        construction.test_a_question_has_the_stated_number_of_groups,
        "hops",
        lambda item: item.metadata["depth"] > 1,
        without_first_group,
    ),
    "a link of a chain of names left out": Control(
        construction.test_a_question_has_the_stated_number_of_groups,
        "needle/variable_tracking",
        is_answered("Standard"),
        without_first_group,
    ),
    "a bridge twice": Control(
        construction.test_a_bridge_stands_in_one_place_beside_the_payload,
        "hops",
        lambda item: item.metadata["depth"] > 1,
        with_first_group_twice,
    ),
    "an unanswerable item with evidence": Control(
        construction.test_an_unanswerable_item_has_no_gold_and_no_evidence,
        "coreference",
        is_unanswerable,
        lambda item: replace(item, answer_spans=((0, 5),)),
    ),
    "an answer in the question": Control(
        construction.test_no_question_names_a_word_of_its_answer,
        "base",
        is_answered("Standard"),
        lambda item: replace(item, question=f"Is it {item.answer}?"),
    ),
    "a slot left open": Control(
        construction.test_no_placeholder_is_left,
        "base",
        is_answered("Standard"),
        lambda item: replace(item, question="Where is {who}?"),
    ),
    "a wrong tag": Control(
        tagging.test_the_answer_type_is_that_of_the_answer,
        "knowledge",
        lambda item: item.answer_type == "Person",
        lambda item: replace(item, answer_type="Event"),
    ),
    "a wrong direction": Control(
        tagging.test_a_reverse_question_asks_for_a_subject_and_a_forward_one_does_not,
        "base",
        lambda item: item.direction == "forward",
        lambda item: replace(item, direction="reverse"),
    ),
}


@pytest.mark.parametrize("spoiled", CONTROLS)
def test_a_spoiled_item_is_noticed(spoiled):
    control = CONTROLS[spoiled]
    item = next(filter(control.fits, load(control.name)))
    check(control.test, control.name, item)
    with pytest.raises(AssertionError):
        check(control.test, control.name, control.spoil(item))


def test_an_answer_that_the_pronouns_do_not_allow_is_noticed():
    is_answerable = EXPECTED["coreference"].is_answerable
    item = next(filter(is_unanswerable, load("coreference")))
    spoiled = replace(item, answer=item.metadata["withheld"])
    assert item.answerable == is_answerable(item)
    assert spoiled.answerable != is_answerable(spoiled)
