"""What every task of the registry must hold by construction (D21), on 1,000 items of each; ``EXPECTED`` says what differs."""

from collections import Counter, defaultdict
from itertools import cycle, islice

import pytest
from test_suite_expectations import (
    ANSWER_NOWHERE_ELSE,
    BRIDGES_APART,
    EXPECTED,
    NAMES,
    by_passage,
    load,
    unless_exempt,
)

from routelens.matching import find_whole_words
from routelens.tasks import TASKS, iter_task, load_task
from routelens.tasks.base import content_words
from routelens.tasks.words import MONTHS

JOINTS = frozenset(
    ("from", "with")
)  # between the pieces of an answer, beside articles and prepositions


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def expected(name):
    return EXPECTED[name]


@pytest.fixture
def items(name):
    return load(name)


def payloads(item):
    return [group for group in item.required_groups if group.role == "payload"]


def texts(item, group):
    return [item.context[start:end] for start, end in group.occurrences]


def of_type(items, question_type):
    """The answerable items of that type: the others have no evidence."""
    return [item for item in items if item.question_type == question_type and item.answerable]


def test_a_passage_is_the_same_however_many_are_asked_for(expected, items):
    few = list(expected.make().generate(3))
    assert few == list(items[: len(few)])
    assert expected.make().passage(2) == by_passage(few)[few[-1].passage_id]


def test_fewer_questions_are_the_first_questions_of_the_same_passage(expected, items):
    n_questions = min(2, expected.n_questions)
    options = {**expected.options, "questions_per_passage": n_questions}
    few = load_task(expected.task, n_passages=5, **options)
    assert len(few) == 5 * n_questions
    passages = by_passage(items)
    for item in few:
        assert item in passages[item.passage_id][:n_questions]


def test_another_seed_gives_other_passages_and_other_ids(expected, items):
    others = load_task(expected.task, n_passages=20, seed=1, **expected.options)
    assert not {item.context for item in others} & {item.context for item in items}
    assert not {item.id for item in others} & {item.id for item in items}


def test_ids_are_unique_and_one_passage_has_one_text(expected, items):
    assert len({item.id for item in items}) == len(items)
    passages = by_passage(items)
    assert len(passages) == expected.n_read
    assert all(len({item.context for item in of_one}) == 1 for of_one in passages.values())
    assert len({item.context for item in items}) == expected.n_read


def test_each_passage_has_its_number_of_different_questions(expected, items):
    for of_one in by_passage(items).values():
        assert len(of_one) == expected.n_questions
        assert len({item.question for item in of_one}) == expected.n_questions


def test_lengths_are_in_range(expected, items):
    lengths = [len(of_one[0].context.split()) for of_one in by_passage(items).values()]
    low, high = expected.words
    assert sum(low <= length <= high for length in lengths) >= 0.95 * len(lengths)
    low, high = expected.mean_words
    assert low <= sum(lengths) / len(lengths) <= high


def test_exactly_the_stated_items_are_answerable(expected, items):
    for item in items:
        assert item.answerable == expected.is_answerable(item), item
    stated = cycle(expected.n_answerable or (expected.n_questions,))
    for of_one, n_answerable in zip(by_passage(items).values(), stated):
        assert sum(item.answerable for item in of_one) == n_answerable


def test_an_unanswerable_item_has_no_gold_and_no_evidence(items):
    for item in items:
        if not item.answerable:
            assert item.golds == item.aliases == ()
            assert item.required_groups == item.answer_spans == ()


def test_every_answerable_item_has_a_gold_and_evidence(items):
    for item in items:
        if item.answerable:
            assert all(gold.strip() for gold in item.golds)
            assert len(set(item.golds)) == len(item.golds)
            assert payloads(item)
            assert all(group.occurrences for group in item.required_groups)


def test_the_words_of_an_answer_all_stand_in_its_evidence(items):
    for item in items:
        if item.answerable:
            said = " ".join(text for group in payloads(item) for text in texts(item, group))
            assert content_words(item.answer) - JOINTS <= content_words(said), item


def test_a_question_has_the_stated_number_of_groups(expected, items):
    for item in items:
        if item.answerable:
            n_payloads = len(payloads(item))
            assert n_payloads >= 2 if item.question_type == "Part" else n_payloads == 1
            assert len(item.required_groups) - n_payloads == expected.n_bridges(item)


def test_a_bridge_stands_in_one_place_beside_the_payload(items):
    for item in items:
        bridges = [group for group in item.required_groups if group.role == "bridge"]
        assert all(len(group.occurrences) == 1 for group in bridges)
        assert len({group.occurrences for group in bridges}) == len(bridges)


def test_a_standard_answer_stands_at_each_of_its_spans(items):
    for item in of_type(items, "Standard"):
        (group,) = payloads(item)
        assert item.answer in texts(item, group)
        assert set(texts(item, group)) <= set(item.golds)


def test_a_standard_answer_stands_nowhere_else(expected, items):
    with unless_exempt(expected, ANSWER_NOWHERE_ELSE):
        for item in of_type(items, "Standard"):
            (group,) = payloads(item)
            assert set(find_whole_words(item.context, item.answer)) <= set(group.occurrences)
            found = [span for gold in item.golds for span in find_whole_words(item.context, gold)]
            for start, end in found:
                assert any(start < last and first < end for first, last in group.occurrences)


def test_a_manipulated_answer_points_at_the_source_value(expected, items):
    for item in of_type(items, "Manipulated"):
        (group,) = payloads(item)
        sources = texts(item, group)
        assert all(find_whole_words(source, item.answer) for source in sources[:1])
        assert item.answer not in sources or item.metadata["part"] == expected.called_by
        source = max(sources, key=len)
        assert len(source.split()) > len(item.answer.split())
        assert set(find_whole_words(item.context, source)) <= set(group.occurrences)


def test_a_part_question_has_one_group_for_each_piece(items):
    for item in of_type(items, "Part"):
        for group in payloads(item):
            piece = item.context[slice(*group.occurrences[0])]
            assert find_whole_words(item.answer, piece)
            assert find_whole_words(item.context, piece) == group.occurrences
        pieces = [content_words(texts(item, group)[0]) for group in payloads(item)]
        assert sum(map(len, pieces)) == len(frozenset().union(*pieces))


def test_no_question_names_a_word_of_its_answer(items):
    for item in items:
        for gold in item.golds:
            assert not content_words(gold) & content_words(item.question), item


def test_no_placeholder_is_left(items):
    for item in items:
        assert not set("{}<>_[]|") & set(item.context + item.question + "".join(item.golds))
        assert "  " not in item.context


def share_no_place(items, *, roles):
    """Whether no two groups of a passage that are named differently touch."""
    for of_one in by_passage(items).values():
        places = defaultdict(set)
        for item in of_one:
            for group in item.required_groups:
                if group.role in roles:
                    places[group.name].update(group.occurrences)
        spans = sorted(span for found in places.values() for span in found)
        if not all(first[1] <= second[0] for first, second in zip(spans, spans[1:])):
            return False
    return True


def test_values_of_a_passage_share_no_word(expected, items):
    assert share_no_place(items, roles=("payload",))
    with unless_exempt(expected, BRIDGES_APART):
        assert share_no_place(items, roles=("payload", "bridge"))


def form(item):
    """The form of a question, whatever its wording."""
    return (*item.metadata["attributes"], item.metadata["part"], item.direction)


def test_several_wordings_of_each_question_are_in_use(items):
    wordings = defaultdict(set)
    for item in items:
        wordings[form(item)].add(item.metadata["wording"])
    assert all(len(used) >= 2 for used in wordings.values())


def test_neither_form_nor_wording_of_a_question_gives_the_answer(items):
    answers = defaultdict(Counter)
    for item in items:
        if item.answerable:
            answers[form(item)][item.answer] += 1
            answers[(*form(item), item.metadata["wording"])][item.answer] += 1
    shares = [max(seen.values()) / seen.total() for seen in answers.values() if seen.total() >= 20]
    assert len(shares) >= 2
    assert max(shares) < 0.35


def test_the_first_item_comes_before_the_second_passage_is_made(expected, monkeypatch):
    made = []
    task = TASKS[expected.task]
    compose = task.compose
    monkeypatch.setattr(task, "compose", lambda self, draw: made.append(1) or compose(self, draw))
    stream = iter_task(expected.task, n_passages=10**9, **expected.options)
    assert not made
    first = next(stream)
    assert first.id.endswith("q00")
    per_passage = len(made)
    list(islice(stream, expected.n_questions))
    assert len(made) > per_passage
    assert len(made) < 100


def test_a_task_describes_itself(expected):
    task = TASKS[expected.task]
    assert task.name == expected.task
    assert task.description
    assert task.stressor
    assert task.default_n_passages == expected.n_passages
    assert task.questions_per_passage == expected.n_questions


def test_most_base_questions_are_standard():
    counts = Counter(item.question_type for item in load("base"))
    assert counts["Standard"] > 0.75 * sum(counts.values())
    assert min(counts["Manipulated"], counts["Part"]) > 0.04 * sum(counts.values())


def test_base_passages_hold_distractors_of_the_same_class():
    """Whoever answers with any date, any town or any person of the passage is wrong at times."""
    passages = by_passage(load("base"))
    n_dates = [
        sum(word.strip(",.") in MONTHS for word in of_one[0].context.split())
        for of_one in passages.values()
    ]
    assert sum(n >= 2 for n in n_dates) > 0.3 * len(n_dates)
