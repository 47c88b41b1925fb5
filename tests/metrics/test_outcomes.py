"""Outcome classes (D10): the order, negation, abstention, loops, transitions."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import (
    ABSTENTION_PATTERNS,
    asserts,
    classify,
    compression_failure_rate,
    degeneration,
    is_abstention,
    outcome_shares,
    survived_but_wrong,
    transition,
)
from routelens.types import Item

laws = settings(deadline=None, max_examples=40)

PASSAGE = "Cora Vale was born in Paris in 1990. She works as a Tour Guide in London."


def item(answer, *, question="Where was Cora Vale born?", aliases=()):
    return Item(context=PASSAGE, question=question, answer=answer, aliases=aliases)


def outcome(prediction, answer: str | None = "Paris", **options):
    return classify(prediction, item(answer, **options)).outcome


@pytest.mark.parametrize(
    "prediction",
    [
        "Paris",
        "She was born in Paris.",
        "Paris, not London",
        "not London but Paris",
        "No, Paris.",
        "It is not only Paris that counts",
        "none other than Paris",
        "London? Paris!",
        "PARIS\n\nQuestion: who?",
        "She did not move until Paris",
    ],
)
def test_a_stated_gold_is_correct(prediction):
    assert outcome(prediction) == "correct"


@pytest.mark.parametrize(
    "prediction",
    [
        "not Paris",
        "London, not Paris",
        "She was never in Paris",
        "She does not live in Paris",
        "It isn’t Paris",
        "London rather than Paris",
        "neither Rome nor Paris",
        "Paris is not correct.",
        "Parisian",
        "Rome",
    ],
)
def test_a_negated_or_missing_gold_is_a_hallucination(prediction):
    assert outcome(prediction) == "hallucination"


def test_f1_does_not_rescue_a_negated_gold():
    result = classify("not Paris", item("Paris"))
    assert result.f1 == pytest.approx(200 / 3)
    assert result.outcome == "hallucination"
    assert outcome("東京ではない", "東京") == "hallucination"


def test_half_the_words_are_enough():
    assert outcome("the Helix Institute", "Helix Oceanic Institute") == "correct"  # F1 80
    assert outcome("the Institute of Marine Life", "Helix Oceanic Institute") != "correct"


def test_a_negative_question_lets_the_answer_repeat_its_negation():
    question = "Which city did Cora never visit?"
    assert outcome("She never visited Paris", question=question) == "correct"
    assert outcome("She never visited Paris") == "hallucination"


def test_numbers_match_as_whole_values():
    assert outcome("in 1990", "1990") == "correct"
    assert outcome("5", "-5") == "hallucination"
    assert outcome("19901", "1990") == "hallucination"


def test_aliases_count():
    assert outcome("New York", "NYC", aliases=("New York",)) == "correct"


def test_a_one_letter_answer_is_found_though_it_looks_like_an_article():
    assert outcome("The answer is A.", "A") == "correct"
    assert outcome("The answer is B.", "A") == "hallucination"


@pytest.mark.parametrize(
    "prediction",
    [
        "I don't know.",
        "I don’t know",
        "I do not know the answer.",
        "It is impossible to answer from the text.",
        "The passage does not mention where she was born.",
        "It is not stated in the passage.",
        "This is not mentioned.",
        "Not specified",
        "The text doesn't say.",
        "It cannot be determined from the passage.",
        "There is no information about that.",
        "I cannot determine her birthplace.",
        "Unknown",
        "Her birthplace is unknown.",
        "N/A",
        "I'm not sure.",
        "There is no mention of it.",
        "Unanswerable.",
        "There's not enough information to tell.",
        "I couldn't find it.",
        "Ich konnte das nicht finden",
        "Das ist nicht angegeben.",
        "Je ne sais pas.",
        "Ce n’est pas mentionné.",
        "No se menciona.",
        "无法确定",
        "わかりません。",
    ],
)
def test_real_abstentions_are_unknown_and_correct_where_the_passage_does_not_say(prediction):
    assert outcome(prediction) == "unknown"
    result = classify(prediction, item(None))
    assert (result.outcome, result.f1) == ("correct", 100)


@pytest.mark.parametrize(
    "prediction",
    [
        "The Unknown Soldier",
        "Paris",
        "She works as a Tour Guide",
        "No. 5",
        "Notre-Dame",
        "The Known World",
        "Ignotus",
    ],
)
def test_plain_answers_are_no_abstentions(prediction):
    assert not is_abstention(prediction)
    assert outcome(prediction, None) == "hallucination"


def test_the_unknown_soldier_is_a_correct_answer():
    assert outcome("The Unknown Soldier", "The Unknown Soldier") == "correct"
    assert outcome("the unknown soldier.", "The Unknown Soldier") == "correct"


def test_a_hedged_answer_is_correct_where_it_holds_the_gold_and_unknown_elsewhere():
    assert outcome("I don't know, maybe Paris", "Paris") == "correct"
    assert outcome("I don't know, maybe Paris", "London") == "unknown"


def test_an_abstention_that_names_the_gold_only_to_deny_it_stays_an_abstention():
    assert outcome("Paris is not mentioned in the passage.") == "unknown"


def test_a_gold_that_is_an_abstention_makes_the_item_unanswerable():
    assert outcome("It is not mentioned.", "I don't know") == "correct"
    assert outcome("Paris", "I don't know") == "hallucination"


def test_patterns_can_be_extended_and_chosen():
    assert outcome("Non lo so") == "hallucination"
    italian = {**ABSTENTION_PATTERNS, "it": (r"\bnon lo so\b",)}
    assert classify("Non lo so", item("Paris"), patterns=italian).outcome == "unknown"
    english = {"en": ABSTENTION_PATTERNS["en"]}
    assert not is_abstention("Ich konnte das nicht finden", patterns=english)
    assert not is_abstention("I don't know", patterns={})


def test_a_broken_pattern_is_named():
    with pytest.raises(ValueError, match=r"'\(oops'"):
        is_abstention("x", patterns={"en": ("(oops",)})


def test_a_hallucination_is_from_the_passage_or_made_up():
    assert classify("London", item("Paris")).subclass == "in_context"
    assert classify("a tour guide", item("Paris")).subclass == "in_context"
    assert classify("Rome", item("Paris")).subclass == "fabricated"
    assert classify("Tour", item("Paris")).subclass == "in_context"
    assert classify("Lond", item("Paris")).subclass == "fabricated"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("...!?", "empty"),
        ("no no no no no no no", "loop"),
        ("no no no no no no", None),
        ("she lives in Paris " * 4, "loop"),
        ("she lives in Paris " * 3, None),
        ("東京都内" * 4, "loop"),
        ("東京都内", None),
        ("1.", None),
    ],
)
def test_degenerate_is_empty_or_a_loop(text, fault):
    assert degeneration(text) == fault


def test_degenerate_comes_before_correct():
    result = classify("Paris Paris Paris Paris Paris Paris Paris", item("Paris"))
    assert (result.outcome, result.subclass) == ("degenerate", "loop")
    assert classify("", item(None)).outcome == "degenerate"


def test_a_loop_is_seen_past_the_extracted_answer():
    assert classify("Paris\n\n" + "and so it goes " * 5, item("Paris")).outcome == "degenerate"


def test_transitions_are_the_two_by_two():
    assert transition("correct", "correct") == "C->C"
    assert transition("correct", "unknown") == "C->W"
    assert transition("hallucination", "correct") == "W->C"
    assert transition("degenerate", "hallucination") == "W->W"
    with pytest.raises((ValueError, TypeError)):
        transition("right", "wrong")  # pyright: ignore[reportArgumentType]


def test_the_compression_caused_failure_rate_starts_from_right_answers():
    found = compression_failure_rate(
        ["correct", "correct", "unknown", "correct"],
        ["hallucination", "correct", "hallucination", "unknown"],
        list("aabb"),
    )
    assert found.mean == pytest.approx(2 / 3)
    assert (found.n, found.n_missing) == (3, 0)
    assert math.isnan(compression_failure_rate(["unknown"], ["correct"]).mean)
    with pytest.raises(ValueError, match="got 1 and 2"):
        compression_failure_rate(["correct"], ["correct", "correct"])


def test_survived_but_wrong_needs_a_right_start_and_no_erasure():
    assert survived_but_wrong("correct", "hallucination", False) is True
    assert survived_but_wrong("correct", "hallucination", True) is False
    assert survived_but_wrong("correct", "correct", False) is False
    assert survived_but_wrong("unknown", "hallucination", False) is False
    assert survived_but_wrong("correct", "hallucination", None) is None


answers = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["Paris", "not Paris", "I don't know", "", "Rome", "la la la la la la la"]),
)


@laws
@given(
    st.lists(st.tuples(answers, st.sampled_from(["Paris", "1990", None])), min_size=1, max_size=8)
)
def test_every_answer_has_one_class_and_the_shares_add_up_to_one(pairs):
    shares = outcome_shares([outcome(text, gold) for text, gold in pairs])
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares) == ["correct", "unknown", "hallucination", "degenerate"]


def test_shares_of_nothing_are_nan():
    assert all(math.isnan(share) for share in outcome_shares([]).values())


@laws
@given(st.text(max_size=30))
def test_whatever_asserts_a_phrase_contains_it(text):
    if asserts(text, "Paris"):
        assert "paris" in text.casefold()
    assert asserts(f"{text}\nParis", "Paris")
