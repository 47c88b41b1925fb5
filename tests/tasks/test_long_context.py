"""The long_context task: facts far apart in filler, asked for in all parts of the passage (D21)."""

import re
from collections import Counter, defaultdict
from functools import lru_cache

import pytest

from routelens.matching import find_whole_words
from routelens.tasks import filler_topics, make_task, words
from routelens.tasks.base import content_words
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import ANSWER_TYPES
from routelens.tasks.long_context import LongContext
from routelens.tasks.long_layout import COMPARED, CONNECTIVES, TURNS, cast, write
from routelens.tasks.subjects import SUBJECTS
from routelens.tasks.templates import slots_of

LENGTHS = (1100, 300, 150)


@lru_cache
def load(n_words=1100, n_passages=100):
    if (n_words, n_passages) == (1100, 100):
        return load(n_passages=200)[:1000]
    return list(make_task("long_context", words=n_words).generate(n_passages))


@pytest.fixture(scope="module")
def items():
    return load()


def by_passage(items):
    passages = defaultdict(list)
    for item in items:
        passages[item.passage_id].append(item)
    return list(passages.values())


def sentences(text):
    return re.split(r"(?<=\.) (?=[A-Z])", text)


@pytest.mark.parametrize("n_words", LENGTHS)
def test_lengths_reach_200_of_1100_words_to_both_sides(n_words):
    low, high = make_task("long_context", words=n_words).word_range
    lengths = [len(of_one[0].context.split()) for of_one in by_passage(load(n_words))]
    assert all(low <= length <= high for length in lengths)
    assert abs(sum(lengths) / len(lengths) - n_words) < 0.03 * n_words
    assert max(lengths) - min(lengths) > (high - low) / 3


def test_the_default_range_is_that_of_the_definition():
    assert LongContext().word_range == (900, 1300)


@pytest.mark.parametrize("n_words", LENGTHS)
def test_each_passage_has_ten_different_questions(n_words):
    passages = by_passage(load(n_words))
    assert len(passages) == 100
    for of_one in passages:
        assert len({item.question for item in of_one}) == len(of_one) == 10


@pytest.mark.parametrize("n_words", LENGTHS)
def test_all_tags_occur(n_words):
    items = load(n_words)
    assert {item.answer_type for item in items} == set(ANSWER_TYPES)
    assert {item.question_type for item in items} == {"Standard", "Manipulated", "Part"}
    assert {item.direction for item in items} == {"forward", "reverse"}


def test_each_passage_asks_in_both_directions_and_for_a_part(items):
    for of_one in by_passage(items):
        types = Counter(item.question_type for item in of_one)
        assert sum(item.direction == "reverse" for item in of_one) == 2
        assert types["Manipulated"] == 1
        assert types["Standard"] >= 7
    assert Counter(item.question_type for item in items)["Part"] > 150


@pytest.mark.parametrize("n_words", LENGTHS)
def test_every_piece_stands_at_its_spans_and_nowhere_else(n_words):
    for item in load(n_words):
        assert item.answerable
        assert len(item.required_groups) == (1 if item.question_type != "Part" else 2)
        for group in item.required_groups:
            assert group.role == "payload"
            texts = {item.context[start:end] for start, end in group.occurrences}
            full = max(texts, key=len)
            assert set(find_whole_words(item.context, full)) <= set(group.occurrences)
            assert len(texts) == 1 or item.direction == "reverse"
            if item.question_type == "Standard":
                assert item.answer in texts
                assert texts <= set(item.golds)
            elif item.question_type == "Part":
                assert find_whole_words(item.answer, full)
            else:
                assert find_whole_words(full, item.answer)
                assert full != item.answer


@pytest.mark.parametrize("n_words", LENGTHS)
def test_pieces_of_a_part_question_lie_far_apart(n_words):
    parts = [item for item in load(n_words) if item.question_type == "Part"]
    assert len(parts) >= 60
    for item in parts:
        first, second = sorted(group.occurrences[0] for group in item.required_groups)
        assert len(item.context[first[0] : second[0]].split()) >= n_words // 5


def test_the_stated_distances_are_those_to_the_end(items):
    for item in items:
        ends = [group.occurrences[-1][1] for group in item.required_groups]
        after = [len(re.sub(r"^\S+", "", item.context[end:]).split()) for end in ends]
        assert item.metadata["distances"] == after
        assert item.metadata["distance"] == max(after)


def test_answers_lie_in_all_thirds_of_the_passages(items):
    thirds = Counter(
        3 * item.required_groups[0].occurrences[0][0] // len(item.context)
        for item in items
        if item.question_type == "Standard" and item.direction == "forward"
    )
    assert min(thirds[third] for third in range(3)) > 0.28 * sum(thirds.values())


def planted(index, n_words=1100):
    draw = Draw("planted", index)
    members = cast(n_words, draw)
    return members, write(members, n_words, draw)


@pytest.mark.parametrize("index", range(20))
def test_every_subject_speaks_in_the_beginning_the_middle_and_the_end(index):
    members, passage = planted(index)
    assert len(members) == 3
    for member in members:
        own = [
            span[0]
            for slot, spans in passage.spans.items()
            if slot.startswith(member.prefix) and not slot.endswith("name")
            for span in spans
        ]
        assert {3 * start // len(passage.text) for start in own} == {0, 1, 2}


@pytest.mark.parametrize("index", range(20))
def test_each_class_of_the_paired_subjects_has_two_values_or_more(index):
    members, passage = planted(index)
    kinds = Counter(value.kind for value in passage.values.values())
    assert members[0].sort == members[1].sort != members[2].sort
    paired = {
        slot: value for slot, value in passage.values.items() if slot.startswith(members[0].prefix)
    }
    assert all(kinds[value.kind] >= 2 for value in paired.values())
    third = [
        value.kind for slot, value in passage.values.items() if slot.startswith(members[2].prefix)
    ]
    assert sum(kinds[kind] >= 2 for kind in third) > 0.6 * len(third)


@pytest.mark.parametrize("index", range(20))
def test_the_paired_subjects_tell_each_attribute_in_other_words(index):
    members, _ = planted(index)
    assert not set(members[0].told) & set(members[1].told)


@pytest.mark.parametrize("n_words", LENGTHS)
def test_no_sentence_comes_twice_and_filler_seldom_returns(n_words):
    for of_one in by_passage(load(n_words)):
        told = sentences(of_one[0].context)
        assert len(set(told)) == len(told)
    clauses = [clause for topic in filler_topics.TOPICS.values() for clause in topic.clauses]
    plain = [clause for clause in clauses if "[" not in clause]
    uses = Counter(
        of_one[0].context.lower().count(clause)
        for of_one in by_passage(load(n_words))
        for clause in plain
    )
    told = sum(uses[number] for number in uses if number)
    assert max(uses) <= 3
    assert uses[1] > 0.85 * told


def test_filler_lies_between_the_facts_of_a_long_passage(items):
    """Between facts that follow each other there are a sentence or two, so evidence is never in one place."""
    shares = []
    for of_one in by_passage(items):
        text = of_one[0].context.lower()
        clauses = [clause for topic in filler_topics.TOPICS.values() for clause in topic.clauses]
        filler = [
            longest
            for clause in clauses
            if (longest := max(re.split(r"\[[^]]+\]", clause), key=len).strip()) in text
        ]
        shares.append(len(filler))
    assert min(shares) >= 25


def test_no_question_names_a_word_of_its_answer(items):
    for item in items:
        for gold in item.golds:
            assert not content_words(gold) & content_words(item.question), item


def test_no_two_passages_are_alike_and_seeds_differ(items):
    contexts = {item.context for item in items}
    assert len(contexts) == 100
    assert not contexts & {item.context for item in LongContext().generate(10, seed=1)}


def test_nothing_is_left_of_the_templates(items):
    for item in items:
        assert not set("{}<>_[]|") & set(item.context + item.question + item.answer)
        assert "  " not in item.context
        assert item.question.endswith("?")


def test_the_wording_does_not_give_the_answer_away():
    answers = defaultdict(Counter)
    for item in load(n_passages=200):
        answers[(*item.metadata["attributes"], item.metadata["part"])][item.answer] += 1
    shares = [max(seen.values()) / seen.total() for seen in answers.values() if seen.total() >= 20]
    assert len(shares) >= 10
    assert max(shares) < 0.35


def test_each_frequent_question_comes_in_three_wordings_or_more():
    wordings, counts = defaultdict(set), Counter()
    for item in load(n_passages=200):
        key = (*item.metadata["attributes"], item.metadata["part"], item.direction)
        wordings[key].add(item.metadata["wording"])
        counts[key] += 1
    frequent = [key for key in counts if counts[key] >= 15]
    assert len(frequent) >= 20
    assert all(len(wordings[key]) >= 3 for key in frequent)


def test_turns_and_connectives_hold_no_word_of_a_class_of_values():
    lists = [value for name, value in vars(words).items() if name.isupper()]
    flat = [part for part in lists if isinstance(part, tuple)]
    taken = {word.lower() for part in flat for word in part}
    assert not content_words(" ".join([*TURNS, *CONNECTIVES])) & taken


@pytest.mark.parametrize("sort", sorted(SUBJECTS))
def test_compared_attributes_are_facts_that_can_be_asked_for(sort):
    subject = SUBJECTS[sort]
    told = {slot for wordings in subject.facts for slot in slots_of(wordings[0])}
    asked = {ask.slots[0] for ask in subject.asks if ask.question_type == "Standard"}
    assert set(COMPARED[sort]) <= told & asked


def test_a_shorter_variant_has_its_own_ids_and_is_a_task_of_its_own():
    short = make_task("long_context", words=300)
    assert short.passage(0)[0].id != LongContext().passage(0)[0].id
    assert LongContext(words=1100).passage(0)[0].id == "long_context-s0-p00000-q00"
    assert {len(cast(n_words, Draw("cast"))) for n_words in (150, 249)} == {2}


def test_a_passage_too_short_for_its_facts_is_refused():
    with pytest.raises(ValueError, match="words is at least 150.*got 149"):
        make_task("long_context", words=149)
