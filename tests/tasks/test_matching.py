"""Whole-word matching over characters, and the evidence groups that rest on it (D5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routelens.matching import evidence_groups, find_whole_words
from routelens.types import EvidenceGroup, Item


def found(text, phrase):
    return [text[start:end] for start, end in find_whole_words(text, phrase)]


def test_every_occurrence_is_found_whatever_its_letter_case():
    text = "Marigold met MARIGOLD; the marigold wept."
    assert find_whole_words(text, "marigold") == ((0, 8), (13, 21), (27, 35))


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("The Marigolds left", "Marigold", []),
        ("Marigold's boat", "Marigold", ["Marigold"]),
        ("in (Paris).", "Paris", ["Paris"]),
        ("the U.S. economy", "U.S.", ["U.S."]),
        ("a a a", "a a", ["a a", "a a"]),
        ("Kestrel\n   Bay", "Kestrel Bay", ["Kestrel\n   Bay"]),
        ("snake_case", "snake", []),
        ("anything", "", []),
        ("anything", " \n", []),
        ("", "word", []),
    ],
)
def test_words_are_whole(text, phrase, expected):
    assert found(text, phrase) == expected


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("pi is 3.14", "14", []),
        ("pi is 3.14", "3", []),
        ("it is -5 today", "5", []),
        ("it is \u22125 today", "-5", ["\u22125"]),
        ("pages 3-5", "5", ["5"]),
        ("pages 3-5", "-5", []),
        ("1,000 people", "1000", ["1,000"]),
        ("1000 people", "1,000", ["1000"]),
        ("1,000 people", "000", []),
        ("born in 1971.", "1971", ["1971"]),
        ("born in 1971, in May", "1971", ["1971"]),
        ("10\u00b2 metres", "102", []),
        ("room \uff14\uff12", "42", ["\uff14\uff12"]),
    ],
)
def test_a_number_is_one_word(text, phrase, expected):
    assert found(text, phrase) == expected


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("Müller lebt in MÜNCHEN", "münchen", ["MÜNCHEN"]),
        ("nai\u0308ve", "naïve", ["nai\u0308ve"]),
        ("naïve", "nai\u0308ve", ["naïve"]),
        ("cafe\u0301", "cafe", []),
        ("Straße", "strasse", ["Straße"]),
        ("Straße", "stras", []),
        ("O’Brien", "O'Brien", ["O’Brien"]),
        ("smile 😀 now", "😀", ["😀"]),
        ("Kest\u00adrel", "kestrel", ["Kest\u00adrel"]),
        ("東京都に行く", "東京", ["東京"]),
        ("서울에서", "서울", ["서울"]),
        ("ฉันรักกรุงเทพมาก", "กรุงเทพ", ["กรุงเทพ"]),
        ("Москва-река", "москва", ["Москва"]),
    ],
)
def test_any_script_is_matched_in_source_characters(text, phrase, expected):
    assert found(text, phrase) == expected


@given(st.text(max_size=40), st.text(max_size=40), st.text(min_size=1, max_size=12))
def test_spans_lie_in_the_text_in_ascending_order(before, after, phrase):
    text = before + phrase + after
    spans = find_whole_words(text, phrase)
    assert list(spans) == sorted(set(spans))
    assert all(0 <= start < end <= len(text) for start, end in spans)


@given(st.lists(st.sampled_from(["tin", "tinder", "a tin", "Tin!", "satin"]), max_size=12))
def test_the_count_agrees_with_a_plain_reading_of_ascii_words(words):
    text = " ".join(words)
    plain = sum(word.strip("!").lower() == "tin" for word in text.split())
    assert len(find_whole_words(text, "tin")) == plain


def test_stated_groups_win_over_matching():
    group = EvidenceGroup(((0, 3),), name="stated")
    item = Item("Ann saw Bob. Bob waved.", "Who?", "Bob", required_groups=(group,))
    assert evidence_groups(item) == (group,)


def test_without_groups_all_occurrences_of_the_answer_are_one_group():
    item = Item("Ann saw Bob. Bob waved.", "Who?", "bob", aliases=("Ann",))
    (group,) = evidence_groups(item)
    assert group.occurrences == ((8, 11), (13, 16))
    assert group.role == "payload"


def test_aliases_are_searched_where_the_answer_is_not_found():
    item = Item("Ann met Rob and Bobby.", "Who?", "Robert", aliases=("Rob", "Bobby"))
    (group,) = evidence_groups(item)
    assert group.occurrences == ((8, 11), (16, 21))


@pytest.mark.parametrize("answer", ["yes", "U.S.", "", "3,677 seated"])
def test_an_answer_not_in_the_context_has_no_evidence(answer):
    """Neither erased nor kept."""
    item = Item("The United States sent 3,677 people.", "Where?", answer)
    assert evidence_groups(item) == ()


def test_an_unanswerable_item_has_no_evidence_even_with_spans():
    assert evidence_groups(Item("Ann saw Bob.", "Who?", None, answer_spans=((8, 11),))) == ()
