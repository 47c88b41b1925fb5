"""Filler prose: varied, never repeated, and free of anything that could be an answer."""

import re

import pytest

from routelens.tasks import filler_topics, words
from routelens.tasks.draws import Draw
from routelens.tasks.filler import TOPICS, Filler

OF_A_PERSON = {"he", "she", "him", "his", "her", "hers"}


def words_of(text):
    return re.findall(r"[a-z']+", text.lower())


NUMBER_WORDS = set(
    words_of(
        """
        zero one two three four five six seven eight nine ten eleven twelve dozen twenty thirty fifty
        hundred thousand million first second third fourth fifth half quarter once twice thrice
        several pair couple single double
        """
    )
)


def value_words():
    """Every word of every word list from which values are drawn, in lower case."""
    lists = [value for name, value in vars(words).items() if name.isupper()]
    flat = [part for part in lists if isinstance(part, tuple)]
    flat += [names for part in lists if isinstance(part, dict) for names in part.values()]
    return {word.lower() for part in flat for word in part}


def vocabulary():
    texts = [
        *filler_topics.LEADS,
        *filler_topics.FRAMES,
        *filler_topics.TAILS,
        *filler_topics.JOINTS,
    ]
    for topic in filler_topics.TOPICS.values():
        texts += [*topic.clauses, *topic.conditions]
    return {word for text in texts for word in words_of(text)}


@pytest.fixture(scope="module", params=TOPICS)
def sentences(request):
    filler = Filler(Draw("filler", request.param), request.param)
    return [filler.sentence() for _ in range(400)]


def test_there_are_eight_topics_or_more():
    assert len(set(TOPICS)) == len(TOPICS) >= 8


def test_no_sentence_comes_twice(sentences):
    assert len(set(sentences)) == len(sentences)


def test_sentences_are_of_many_lengths_between_8_and_25_words(sentences):
    lengths = [len(sentence.split()) for sentence in sentences]
    assert min(lengths) >= 8
    assert max(lengths) <= 25
    assert len(set(lengths)) >= 12


def test_a_sentence_is_one_sentence_without_leftovers(sentences):
    for sentence in sentences:
        assert re.fullmatch(r"[A-Z][a-z ,;]+\.", sentence), sentence
        assert "  " not in sentence
        assert not re.search(r"\b(\w+) \1\b", sentence), sentence


def longest_part(clause):
    return max(re.split(r"\[[^]]+\]", clause), key=len).strip()


@pytest.mark.parametrize("topic", TOPICS)
def test_a_clause_returns_only_after_many_others(topic):
    filler = Filler(Draw("deck", topic), topic)
    told = [filler.sentence().lower() for _ in range(300)]
    for clause in filler_topics.TOPICS[topic].clauses:
        places = [index for index, text in enumerate(told) if longest_part(clause) in text]
        assert len(places) > 10
        assert min(later - earlier for earlier, later in zip(places, places[1:])) >= 2


def test_no_word_belongs_to_a_class_of_values():
    assert not vocabulary() & value_words()


def test_the_test_of_value_words_sees_the_lists():
    assert {"otter", "may", "leaves", "kettles", "hedda", "regatta"} <= value_words()


def test_nothing_counts_or_speaks_of_a_person():
    assert not vocabulary() & (NUMBER_WORDS | OF_A_PERSON)


def test_the_vocabulary_is_small_and_the_topics_differ():
    assert len(vocabulary()) <= 500
    for topic, texts in filler_topics.TOPICS.items():
        assert len(set(texts.clauses)) == len(texts.clauses) >= 12, topic


def test_the_same_draws_give_the_same_prose():
    first, second = (Filler(Draw("same", 1)) for _ in range(2))
    assert first.topic == second.topic
    assert first.paragraph(300) == second.paragraph(300)
    assert Filler(Draw("same", 2), first.topic).paragraph(300) != first.paragraph(300)


def test_topics_are_drawn_evenly():
    drawn = [Filler(Draw("topic", index)).topic for index in range(400)]
    assert min(drawn.count(topic) for topic in TOPICS) > 20


def test_a_paragraph_is_as_long_as_asked_or_a_sentence_longer():
    for n_words in (1, 60, 500):
        assert n_words <= len(Filler(Draw("p", n_words)).paragraph(n_words).split()) < n_words + 25


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_gives_a_thousand_sentences_and_more(topic):
    filler = Filler(Draw("many"), topic)
    assert len({filler.sentence() for _ in range(1500)}) == 1500


def test_an_unknown_topic_is_refused():
    with pytest.raises(ValueError, match="topic is one of weather.*got 'chess'"):
        Filler(Draw("none"), "chess")


def test_an_exhausted_topic_says_so(monkeypatch):
    short = filler_topics.Topic(("the bread is warm and the day is long",), ("when it rains",))
    monkeypatch.setitem(filler_topics.TOPICS, "bread", short)
    filler = Filler(Draw("exhausted"), "bread")
    with pytest.raises(ValueError, match="take another topic"):
        for _ in range(3000):
            filler.sentence()
