"""Normalisation and word F1 (D11): hand-worked pairs, numbers, languages, properties."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import exact_match, extract_answer, normalize, word_f1

laws = settings(deadline=None, max_examples=40)


@pytest.mark.parametrize(
    ("prediction", "gold", "f1"),
    [
        ("3.14", "314", 0),
        ("-5", "5", 0),
        ("\u22125", "-5", 100),  # U+2212, the minus sign
        ("1,000", "1000", 100),
        ("1,234,567.50", "1234567.5", 100),
        ("$29.00", "29", 100),  # numbers are compared as written values
        ("-$5", "-5", 100),
        ("(3.14)", "3.14", 100),
        ("3.14.", "3.14", 100),
        (".5", "0.5", 100),
        ("10-20", "1020", 0),
        ("10–20", "10-20", 100),
        ("2020-01-02", "20200102", 0),
        ("10.10.2020", "10.1.2020", 0),
        ("1.0.0", "1", 0),
        ("007", "7", 0),
        ("12:30", "1230", 0),
    ],
)
def test_numbers_keep_their_value(prediction, gold, f1):
    assert word_f1(prediction, gold) == f1
    assert exact_match(prediction, gold) == f1


@pytest.mark.parametrize(
    ("prediction", "gold", "f1"),
    [
        ("東京都", "東京", 80),  # 2 of 3 characters right, 2 of 2 found
        ("东京。", "东京", 100),
        ("“Paris”", "Paris", 100),
        ("４２", "42", 100),  # full width
        ("don’t", "don't", 100),
        ("U.S.", "US", 100),
        ("Ph.D.", "PhD", 100),
        ("co-founder", "co founder", 100),
        ("STRASSE", "Straße", 100),
        ("e\u0301cole", "école", 100),  # decomposed
        ("😀", "😀", 100),
        ("😀", "😎", 0),
        ("नमस्ते दुनिया", "दुनिया", 200 / 3),
    ],
)
def test_other_scripts_and_marks(prediction, gold, f1):
    assert word_f1(prediction, gold) == pytest.approx(f1)


def test_articles_go_only_for_the_chosen_language():
    assert word_f1("der Rhein", "Rhein") == pytest.approx(200 / 3)
    assert word_f1("der Rhein", "Rhein", language="de") == 100
    assert word_f1("the Rhine", "Rhine") == 100
    assert word_f1("the Rhine", "Rhine", language=None) == pytest.approx(200 / 3)
    assert word_f1("l’Europe", "Europe", language="fr") == 100


def test_an_answer_that_is_only_an_article_is_kept():
    assert word_f1("A", "A") == 100
    assert word_f1("A", "the") == 0


def test_f1_by_hand():
    # Shared: "marine", "biologist"; precision 2/4, recall 2/3.
    assert word_f1("a marine biologist from Kiel", "senior marine biologist") == pytest.approx(
        100 * 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3)
    )
    assert word_f1("paris paris", "Paris") == pytest.approx(200 / 3)


def test_f1_is_the_best_over_aliases():
    assert word_f1("New York City", ("Big Apple", "New York", "New York City")) == 100


def test_without_a_gold_f1_is_nan():
    assert math.isnan(word_f1("Paris", ()))
    assert math.isnan(exact_match("Paris", ()))


def test_an_empty_side_scores_as_in_squad():
    assert word_f1("", "Paris") == 0
    assert word_f1("Paris", "") == 0
    assert word_f1("", "") == 100


@pytest.mark.parametrize(
    ("prediction", "gold", "f1"),
    [
        ("3.14", "314", 100),
        ("-5", "5", 100),
        ("2020-01-02", "20200102", 100),
        ("The Cat's hat!", "cats hat", 100),
        ("$29.00", "29", 0),
        ("“Paris”", "Paris", 0),
        ("東京都", "東京", 0),
    ],
)
def test_squad_mode_gives_the_classic_numbers(prediction, gold, f1):
    assert word_f1(prediction, gold, mode="squad") == f1


def test_an_unknown_mode_or_language_is_refused():
    with pytest.raises((ValueError, TypeError), match="mode|squad"):
        normalize("x", mode="squash")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="language is one of"):
        normalize("x", language="tlh")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("10\n\nPassage", "10"),
        ("Paris\nQuestion: And who?\nAnswer: Cora", "Paris"),
        ("Paris\nPassage 2: Another one.", "Paris"),
        ("Answer: Paris", "Paris"),
        ("  \n Paris \n", "Paris"),
        ("1. Tour Guide\n2. Paris", "1. Tour Guide\n2. Paris"),
        ("Here it is:\n\nParis\n\nMore text.", "Here it is:\nParis"),
        ("Passage of Time", "Passage of Time"),
        ("Option\nA", "Option\nA"),
        ("", ""),
    ],
)
def test_the_answer_ends_where_a_new_turn_begins(text, answer):
    assert extract_answer(text) == answer


def test_ten_before_another_passage_matches_after_extraction():
    assert exact_match(extract_answer("10\n\nPassage"), "10") == 100


texts = st.text(max_size=40)


@laws
@given(texts, texts)
def test_f1_is_symmetric_and_bounded(left, right):
    assert 0 <= word_f1(left, right) <= 100
    assert word_f1(left, right) == pytest.approx(word_f1(right, left))


@laws
@given(texts)
def test_a_text_equals_itself(text):
    assert word_f1(text, text) == 100
    assert exact_match(text, text) == 100


@laws
@given(texts)
def test_normalising_twice_changes_nothing(text):
    once = normalize(text, language=None)
    assert normalize(once, language=None) == once


@laws
@given(
    st.lists(st.sampled_from(["cora", "vale", "paris", "1990", "tour", "guide"]), min_size=1),
    st.randoms(),
)
def test_word_order_does_not_matter_to_f1(said, random):
    shuffled = random.sample(said, len(said))
    assert word_f1(" ".join(said), " ".join(shuffled)) == 100


@laws
@given(st.integers(-(10**12), 10**12))
def test_thousands_separators_do_not_matter(number):
    assert exact_match(f"{number:,}", str(number)) == 100


@laws
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_different_numbers_never_match(left, right):
    assert (exact_match(f"{left:,}", f"{right}") == 100) == (left == right)
