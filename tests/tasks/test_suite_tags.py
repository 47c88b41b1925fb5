"""Tags and directions are right: a reader that knows the classes of words tells the tag of an answer from its text alone."""

import re
from collections import Counter
from itertools import product

import pytest
from test_suite_expectations import (
    EXPECTED,
    FORWARD_NOT_FOR_SUBJECTS,
    NAMES,
    by_passage,
    load,
    unless_exempt,
)

from routelens.tasks import coreference, needle_texts, words
from routelens.tasks.lexicon import ANSWER_TYPES


def joined(stems, endings):
    return {stem + ending for stem, ending in product(stems, endings)}


SURNAMES = joined(words.SURNAME_STEMS, words.SURNAME_ENDINGS)
INVENTED = joined(needle_texts.NAME_STEMS, needle_texts.NAME_ENDINGS)
# The last word of a name or thing tells its class.
LAST_WORDS = {
    "Person": SURNAMES
    | {name for names in words.FIRST_NAMES.values() for name in names}
    | joined(coreference.FIRST_NAME_STEMS, coreference.FIRST_NAME_ENDINGS),
    "Location": joined(words.TOWN_STEMS, words.TOWN_ENDINGS) | {*words.REGIONS},
    "Organization": {*words.COLLEGES, *words.COMPANIES, *words.SOCIETIES},
    "Event": {*words.EVENT_KINDS},
    "Creature": {*words.CREATURES, *words.PREY}
    | joined(words.SPECIES_STEMS, words.SPECIES_ENDINGS),
    "Thing": {*words.THINGS, *words.OBJECTS, *words.MATERIALS, *words.LININGS, *words.GOODS}
    | {*words.PRIZES, *words.FIELDS, *words.JOBS, *INVENTED}
    | {word.capitalize() for word in (*words.OBJECTS, *INVENTED)},
}
MONTH = "|".join(words.MONTHS)
DATE = re.compile(rf"\d{{1,2}} ({MONTH}) \d{{4}}|({MONTH}) \d{{1,2}}, \d{{4}}|({MONTH})|\d{{4}}")


def tags(text):
    """The tags that a text can have."""
    if DATE.fullmatch(text):
        return {"Date/Time"}
    if text.isdigit():
        return {"Numerals"}
    return {tag for tag, known in LAST_WORDS.items() if text.split()[-1] in known}


def tagged_text(item):
    """What the tag is about: the answer, or its first piece."""
    if item.question_type != "Part":
        return item.answer
    first = next(group for group in item.required_groups if group.role == "payload")
    return max((item.context[start:end] for start, end in first.occurrences), key=len)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def expected(name):
    return EXPECTED[name]


@pytest.fixture
def items(name):
    return load(name)


def test_every_stated_tag_and_direction_occurs_and_no_other(expected, items):
    assert {item.answer_type for item in items} == set(expected.answer_types)
    assert {item.question_type for item in items} == set(expected.question_types)
    assert {item.direction for item in items} == set(expected.directions)
    assert {item.task for item in items} == {expected.task}


def test_the_answer_type_is_that_of_the_answer(items):
    for item in items:
        if item.answerable:
            assert tags(tagged_text(item)) == {item.answer_type}, item


def test_the_answer_type_of_an_unanswerable_item_is_that_of_what_is_asked_for(items):
    for item in items:
        if not item.answerable and item.question_type != "Part":
            assert tags(item.metadata["withheld"]) == {item.answer_type}, item


def test_each_passage_has_the_stated_number_of_reverse_questions(expected, items):
    low, high = expected.n_reverse
    counts = {
        sum(item.direction == "reverse" for item in of_one) for of_one in by_passage(items).values()
    }
    assert low <= min(counts)
    assert max(counts) == high


def subjects(expected, item):
    """For each piece of the answer whether it is a subject."""
    return {
        re.fullmatch(expected.subject, group.name) is not None
        for group in item.required_groups
        if group.role == "payload"
    }


def test_a_reverse_question_asks_for_a_subject_and_a_forward_one_does_not(expected, items):
    asked = [(item, subjects(expected, item)) for item in items if item.answerable]
    assert all(found == {True} for item, found in asked if item.direction == "reverse")
    with unless_exempt(expected, FORWARD_NOT_FOR_SUBJECTS):
        assert all(found == {False} for item, found in asked if item.direction == "forward")


def test_the_reader_of_this_file_knows_every_word_of_its_classes_by_one_tag():
    counts = Counter(word for known in LAST_WORDS.values() for word in known)
    assert {word for word, n in counts.items() if n > 1} == set()
    assert {*LAST_WORDS, "Date/Time", "Numerals"} == set(ANSWER_TYPES)
    assert tags("Hedda Caldane") == {"Person"}
    assert tags("Whitlock Union") == {"Organization"}
    assert tags("May 3, 1920") == tags("May") == tags("1920") == {"Date/Time"}
    assert tags("something else") == set()
