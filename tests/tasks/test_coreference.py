"""Coreference: a reader that follows pronouns alone says of each question whether the passage answers it."""

import re
from collections import Counter, defaultdict

import pytest
from scipy.stats import chi2_contingency

from routelens.tasks import load_task
from routelens.tasks.words import FIRST_NAMES

N_PASSAGES = 400
GENDERED = {
    **dict.fromkeys(("she", "her", "hers", "woman", "lady", "daughter"), "she"),
    **dict.fromkeys(("he", "him", "his", "man", "gentleman", "son"), "he"),
}


def words_of(text):
    return re.findall(r"[A-Za-z]+", text)


def genders(text):
    return {GENDERED[word.lower()] for word in words_of(text) if word.lower() in GENDERED}


def sentences(text):
    return re.split(r"(?<=\.) ", text)


def first_name(context):
    return re.findall(r"([A-Z][a-z]+) [A-Z][a-z]+", context)[0]


def gender_of_the_named(item):
    (gender,) = genders(sentences(item.context)[0])
    return gender


def stated_of(item, value):
    """Of whom the passage states a value: "named" for the person it names, else the pronoun of somebody unnamed."""
    named = gender_of_the_named(item)
    (sentence,) = [one for one in sentences(item.context) if re.search(rf"\b{value}\b", one)]
    if not genders(sentence):
        assert first_name(item.context) in words_of(sentence)
        return "named"
    (gender,) = genders(sentence)
    return "named" if gender == named else gender


def asked_of(item):
    """Of whom the question asks: the named person, somebody else by pronoun, or whomever the value is stated of."""
    found = genders(item.question)
    assert len(found) <= 1
    if item.direction == "reverse":
        assert not found
        return "anybody"
    return "named" if not found or found == {gender_of_the_named(item)} else found.pop()


def pieces(item):
    """The values which decide: what is asked for, or in reverse what is known."""
    if item.direction == "reverse":
        text = item.question.rstrip("?")
        known = re.findall(r"[A-Z]\w+ [A-Z]\w+|\d+ \w+ \d+|[A-Z]\w+ \d+, \d+|\d+", text)
        return known[:1] or words_of(text)[-1:]
    answer = item.metadata.get("withheld", item.answer)
    return re.split(r" and | at | in ", answer)


def readable_answer(item):
    """Whether a reader who follows the pronouns can answer."""
    stated = {stated_of(item, piece) for piece in pieces(item)}
    assert len(stated) == 1
    asked = asked_of(item)
    return stated == {"named"} if asked == "anybody" else stated == {asked}


@pytest.fixture(scope="module")
def items():
    return load_task("coreference", n_passages=N_PASSAGES)


@pytest.fixture(scope="module")
def passages(items):
    found = defaultdict(list)
    for item in items:
        found[item.passage_id].append(item)
    return list(found.values())


def test_items_are_answerable_just_where_the_pronouns_allow_it(items):
    for item in items:
        assert readable_answer(item) == item.answerable, item


def test_half_the_items_are_unperturbed_over_each_pair_of_passages(passages):
    counts = [sum(item.answerable for item in of_one) for of_one in passages]
    assert counts == [5, 4] * (len(passages) // 2)


def test_the_perturbation_says_why_there_is_no_answer(items):
    for item in items:
        kind = item.metadata["perturbation"]
        assert (kind == "none") == item.answerable
        if kind == "question":
            assert asked_of(item) not in ("named", "anybody")
        elif kind == "passage":
            assert asked_of(item) in ("named", "anybody")
            assert len(genders(item.context)) == 2


def test_an_unanswerable_item_has_no_evidence_and_keeps_what_a_careless_reader_would_say(items):
    for item in items:
        if not item.answerable:
            assert item.required_groups == item.aliases == item.answer_spans == ()
            for piece in re.split(r" and | at | in ", item.metadata["withheld"]):
                assert piece in item.context
        else:
            assert "withheld" not in item.metadata


def test_every_second_passage_has_one_sentence_about_somebody_else(passages):
    n_swapped = 0
    for of_one in passages:
        context = of_one[0].context
        named = gender_of_the_named(of_one[0])
        others = [sentence for sentence in sentences(context) if genders(sentence) - {named}]
        assert len(others) <= 1
        assert all(len(genders(sentence)) <= 1 for sentence in sentences(context))
        kinds = {item.metadata["perturbation"] for item in of_one}
        assert ("passage" in kinds) == bool(others)
        n_swapped += bool(others)
    assert 0.42 < n_swapped / len(passages) < 0.58


def test_the_sentence_about_somebody_else_never_names_the_person(passages):
    for of_one in passages:
        named = gender_of_the_named(of_one[0])
        for sentence in sentences(of_one[0].context):
            if genders(sentence) - {named}:
                assert first_name(of_one[0].context) not in words_of(sentence)


def test_nobody_else_and_no_living_thing_is_mentioned_that_a_pronoun_could_mean(passages):
    known = {name for names in FIRST_NAMES.values() for name in names}
    for of_one in passages:
        assert not known & set(words_of(of_one[0].context))
        for item in of_one:
            if item.answer_type == "Creature":
                animal = item.metadata.get("withheld", item.answer)
                (sentence,) = [one for one in sentences(item.context) if animal in words_of(one)]
                assert "tattoo" in sentence


def test_the_name_does_not_tell_the_gender(passages):
    pairs = Counter()
    for of_one in passages:
        pairs[first_name(of_one[0].context) < "M", gender_of_the_named(of_one[0])] += 1
    table = [[pairs[half, gender] for gender in ("she", "he")] for half in (True, False)]
    p_value = chi2_contingency(table).pvalue  # pyright: ignore[reportAttributeAccessIssue]
    assert p_value > 1e-3
    assert min(map(sum, zip(*table, strict=True))) > 0.4 * len(passages)


@pytest.mark.parametrize("cue", ["pronoun", "named", "direction", "question_type", "attribute"])
def test_the_question_alone_does_not_tell_whether_there_is_an_answer(items, cue):
    read = {
        "pronoun": lambda item: tuple(genders(item.question)),
        "named": lambda item: item.metadata["named"],
        "direction": lambda item: item.direction,
        "question_type": lambda item: item.question_type,
        "attribute": lambda item: (*item.metadata["attributes"], item.metadata["part"]),
    }[cue]
    counts = defaultdict(Counter)
    for item in items:
        counts[read(item)][item.answerable] += 1
    best = sum(max(seen.values()) for seen in counts.values())
    assert best / len(items) < 0.56


def test_the_reader_of_this_file_sees_a_swapped_pronoun(items):
    """The control: with the other pronoun in the question an answerable item has no answer for the reader."""
    swap = {"she": "he", "her": "his", "he": "she", "his": "her", "him": "her"}
    checked = 0
    for item in items[:400]:
        if item.answerable and genders(item.question):
            text = re.sub(r"\b(she|her|he|his|him)\b", lambda m: swap[m[0]], item.question)
            other = type(item)(**{**vars(item), "question": text})
            assert not readable_answer(other)
            checked += 1
    assert checked > 100
