"""The needle task: what is hidden, where, and what is asked (RULER-like)."""

import re
import time
from collections import Counter
from functools import lru_cache

import pytest

from routelens.matching import find_whole_words
from routelens.tasks import filler_topics, iter_task, make_task, needle_texts, words
from routelens.tasks.base import content_words
from routelens.tasks.needle import VARIANTS, Needle

N_PASSAGES = 200
PIECES = {"single": 1, "multi_key": 1, "multi_value": 4, "multi_query": 4}
HIDDEN = {"single": 1, "multi_key": 4, "multi_value": 6, "multi_query": 6}
VALUE = re.compile(
    rf"\b(?:\d{{5}}|(?:{'|'.join(needle_texts.NAME_STEMS)})(?:{'|'.join(needle_texts.NAME_ENDINGS)}))\b"
)
NAME, NUMBER = r"([A-Z][a-z]+)", r"(\d{5})"
ASSIGNED = [re.compile(text.format(name=NAME, value=NUMBER)) for text in needle_texts.ASSIGNMENTS]
COPIED = {
    text: re.compile(text.replace("{name}", NAME, 1).format(name=NAME, source=NAME))
    for text in needle_texts.COPIES
}


@lru_cache
def load(variant):
    return list(make_task("needle", variant=variant).generate(N_PASSAGES))


@pytest.fixture(params=VARIANTS)
def variant(request):
    return request.param


def payload(item):
    return [group for group in item.required_groups if group.role == "payload"]


def sentence_at(item, span):
    start = item.context.rfind(". ", 0, span[0]) + 2 if ". " in item.context[: span[0]] else 0
    return item.context[start : item.context.index(".", span[1]) + 1]


def test_every_piece_is_found_just_where_it_is_said_to_stand(variant):
    for item in load(variant):
        for group in payload(item):
            pieces = {item.context[start:end] for start, end in group.occurrences}
            (piece,) = pieces
            assert find_whole_words(item.context, piece) == group.occurrences
            assert find_whole_words(item.answer, piece)


@pytest.mark.parametrize("variant", PIECES)
def test_each_value_asked_for_is_a_group_of_its_own(variant):
    for item in load(variant):
        groups = item.required_groups
        assert len(groups) == len({group.name for group in groups}) == PIECES[variant]
        assert all(len(group.occurrences) == 1 for group in groups)
        assert item.question_type == ("Part" if len(groups) > 1 else "Standard")
        assert item.direction == "forward"
        assert len(VALUE.findall(item.answer)) == PIECES[variant]


@pytest.mark.parametrize("variant", PIECES)
def test_the_others_are_of_the_same_class(variant):
    for item in load(variant):
        values = VALUE.findall(item.context)
        assert len(set(values)) == len(values) == HIDDEN[variant]
        assert len({value.isdigit() for value in values}) == 1
        assert item.answer_type == ("Numerals" if values[0].isdigit() else "Thing")


@pytest.mark.parametrize("variant", ["single", "multi_key", "multi_value"])
def test_the_key_asked_for_has_these_values_and_no_others(variant):
    for item in load(variant):
        (key,) = {
            f"{adjective} {noun}"
            for adjective in needle_texts.KEY_ADJECTIVES
            for noun in needle_texts.KEY_NOUNS
            if f"{adjective} {noun}" in item.question
        }
        told = [s for s in re.split(r"(?<=\.) ", item.context) if key in s]
        values = {value for sentence in told for value in VALUE.findall(sentence)}
        assert values == set(VALUE.findall(item.answer))


def test_several_keys_are_answered_in_the_order_of_the_question():
    for item in load("multi_query"):
        keys = re.findall(r"the (\w+ \w+)(?=,| and|\?|\.)", item.question)
        assert len(keys) == 4
        for key, group in zip(keys, item.required_groups, strict=True):
            assert key in sentence_at(item, group.occurrences[0])
        answers = VALUE.findall(item.answer)
        assert answers == [item.context[slice(*group.occurrences[0])] for group in payload(item)]


def chains(context):
    """The value of each name, worked out from the sentences alone."""
    values = {match[1]: match[2] for pattern in ASSIGNED for match in pattern.finditer(context)}
    sources = {}
    for text, pattern in COPIED.items():
        for match in pattern.finditer(context):
            name, source = match[1], match[2]
            if text.index("{source}") < text.index("{name}"):
                name, source = source, name
            sources[name] = source
    while sources:
        name = next(name for name, source in sources.items() if source in values)
        values[name] = values[sources.pop(name)]
    return values


def test_the_value_of_a_name_follows_from_its_chain():
    forward = [item for item in load("variable_tracking") if item.direction == "forward"]
    assert len(forward) > 60
    for item in forward:
        values = chains(item.context)
        assert Counter(values.values()).most_common() == [
            (value, 4) for value in dict.fromkeys(values.values())
        ]
        (asked,) = [name for name in values if name in item.question]
        assert values[asked] == item.answer
        assert (item.question_type, item.answer_type) == ("Standard", "Numerals")


def test_the_names_of_a_value_are_all_names_of_its_chain():
    reverse = [item for item in load("variable_tracking") if item.direction == "reverse"]
    assert len(reverse) > 60
    for item in reverse:
        values = chains(item.context)
        (asked,) = re.findall(r"\d{5}", item.question)
        names = {name for name in values if values[name] == asked}
        assert set(re.findall(NAME, item.answer)) == names
        assert len(payload(item)) == len(names) == 4
        assert (item.question_type, item.answer_type) == ("Part", "Thing")


def test_the_bridges_are_the_links_of_the_chain_and_no_others():
    for item in load("variable_tracking"):
        bridges = [group for group in item.required_groups if group.role == "bridge"]
        names = [item.context[slice(*group.occurrences[0])] for group in bridges]
        assert len({group.occurrences for group in bridges}) == len(bridges)
        assert all(len(group.occurrences) == 1 for group in bridges)
        values = chains(item.context)
        if item.direction == "forward":
            assert Counter(names) == {name: 2 for name in dict.fromkeys(names)}
            assert len(bridges) == 6
            assert not [name for name in names if name in item.question]
            assert {values[name] for name in names} == {item.answer}
        else:
            assert len(names) == len(set(names)) == 3
            assert set(names) < set(re.findall(NAME, item.answer))


@pytest.mark.parametrize("n_words", [200, 2000])
def test_a_passage_is_as_long_as_asked_within_a_sentence(variant, n_words):
    for item in make_task("needle", variant=variant, words=n_words).generate(5):
        assert abs(len(item.context.split()) - n_words) <= 17


@pytest.mark.parametrize("variant", ["multi_query", "variable_tracking"])
def test_the_longest_passage_takes_time_in_proportion(variant):
    def seconds(n_words):
        start = time.process_time()
        (item,) = make_task("needle", variant=variant, words=n_words).passage(0)
        assert abs(len(item.context.split()) - n_words) <= 17
        return time.process_time() - start

    seconds(1000)
    assert seconds(200_000) < 12 * seconds(50_000)


def test_no_sentence_comes_twice_in_twenty_thousand_words():
    (item,) = make_task("needle", words=20_000).passage(0)
    told = re.split(r"(?<=\.) ", item.context)
    assert len(told) > 1000
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("variant", PIECES)
def test_needles_lie_at_all_depths(variant):
    depths = [depth for item in load(variant) for depth in item.metadata["depths"]]
    quarters = Counter(min(int(4 * depth), 3) for depth in depths)
    assert all(0 <= depth <= 1 for depth in depths)
    assert min(quarters[quarter] for quarter in range(4)) > 0.15 * len(depths)


def test_the_stated_depths_are_the_share_of_words_before_each_piece(variant):
    for item in load(variant)[:50]:
        total = len(item.context.split())
        before = [len(item.context[: group.occurrences[0][0]].split()) for group in payload(item)]
        assert item.metadata["depths"] == pytest.approx([n / total for n in before], abs=1e-4)
        assert item.metadata["depth"] == min(item.metadata["depths"])
        assert item.metadata["variant"] == variant


def test_questions_come_in_three_wordings_and_give_nothing_away(variant):
    items = load(variant)
    assert len({(item.direction, item.metadata["wording"]) for item in items}) >= 3
    for item in items:
        assert not set("{}<>_") & set(item.context + item.question + item.answer)
        for gold in item.golds:
            assert not content_words(gold) & content_words(item.question)


def test_needles_use_no_word_of_the_filler_and_none_of_the_classes_of_values():
    texts = [*filler_topics.LEADS, *filler_topics.FRAMES, *filler_topics.TAILS]
    for topic in filler_topics.TOPICS.values():
        texts += topic.clauses
    lists = [value for name, value in vars(words).items() if name.isupper()]
    classes = {word.lower() for part in lists if isinstance(part, tuple) for word in part}
    taken = classes | set(re.findall(r"[a-z]+", " ".join(texts)))
    invented = {
        stem + ending for stem in needle_texts.NAME_STEMS for ending in needle_texts.NAME_ENDINGS
    }
    keys = {*needle_texts.KEY_ADJECTIVES, *needle_texts.KEY_NOUNS}
    assert not taken & (keys | invented)
    assert len(invented) == 200


def test_the_first_item_comes_before_the_second_passage_is_made(monkeypatch):
    made = []
    compose = Needle.compose
    monkeypatch.setattr(Needle, "compose", lambda self, draw: made.append(1) or compose(self, draw))
    stream = iter_task("needle", n_passages=10**9)
    assert not made
    next(stream)
    assert len(made) == 1


def test_every_option_has_ids_of_its_own():
    tasks = [Needle(), Needle(words=500), Needle(variant="multi_key"), Needle(needles=2)]
    assert len({task.passage(0)[0].id for task in tasks}) == 4
    assert Needle().passage(0)[0].id == "needle-s0-p00000-q00"


@pytest.mark.parametrize("needles", [2, 8])
def test_as_many_values_are_hidden_as_asked(needles):
    for variant in ("multi_value", "multi_query"):
        (item,) = make_task("needle", variant=variant, needles=needles).passage(0)
        assert len(item.required_groups) == needles


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="variant is one of single, .*got 'niah'"):
        make_task("needle", variant="niah")
    with pytest.raises(ValueError, match="needles is between 2 and 8; got 9"):
        make_task("needle", needles=9)
    with pytest.raises(ValueError, match="words is between 160 .* got 100"):
        make_task("needle", variant="variable_tracking", words=100)
    with pytest.raises(ValueError, match="between 50 .* and 200000; got 200001"):
        make_task("needle", words=200_001)
