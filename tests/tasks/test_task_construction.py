"""What every task must hold by construction (D21), and what the two written so far state of themselves."""

import hashlib
import json
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import islice

import pytest
from scipy.stats import chi2_contingency

from routelens.matching import find_whole_words
from routelens.tasks import TASKS, iter_task, load_task, make_task
from routelens.tasks.base import DIRECTIONS, QUESTION_TYPES, content_words
from routelens.tasks.draws import Draw
from routelens.tasks.knowledge import SLOTS, Knowledge
from routelens.tasks.lexicon import ANSWER_TYPES, KINDS, Lexicon
from routelens.tasks.templates import draw_values
from routelens.tasks.words import MONTHS

N_PASSAGES = 200
WORDS = {"base": (150, 200), "knowledge": (28, 37)}
MEAN_WORDS = {"base": (173, 179), "knowledge": (31.5, 32.5)}
QUESTIONS = {"base": 6, "knowledge": 13}
# SHA-256 of the first 100 items: a change here changes every published number on the task.
FIRST_ITEMS = {
    "base": "fba53f08903f495a7e0952281ba4b52b78cb4929af6432e74e6592ee5a62ae21",
    "knowledge": "7eac2f657b4eaf05a597005f7840f92ce9de529413432dc1677f1c44f622c076",
}


@pytest.fixture(scope="module", params=sorted(TASKS))
def name(request):
    return request.param


@lru_cache
def load(name):
    return load_task(name, n_passages=N_PASSAGES)


@pytest.fixture(scope="module")
def items(name):
    return load(name)


def by_passage(items):
    passages = defaultdict(list)
    for item in items:
        passages[item.passage_id].append(item)
    return passages


def test_the_first_hundred_items_never_change(name):
    rows = [
        [item.id, item.passage_id, item.context, item.question, item.answer, list(item.aliases)]
        + [[group.occurrences, group.role, group.name] for group in item.required_groups]
        + [item.answer_type, item.question_type, item.direction, item.metadata]
        for item in islice(iter_task(name), 100)
    ]
    text = json.dumps(rows, ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == FIRST_ITEMS[name]


def test_a_passage_is_the_same_however_many_are_asked_for(name, items):
    few = load_task(name, n_passages=3)
    assert few == items[: len(few)]
    assert make_task(name).passage(2) == by_passage(few)[few[-1].passage_id]


def test_fewer_questions_are_the_first_questions_of_the_same_passage(name, items):
    passages = by_passage(items)
    for item in load_task(name, n_passages=5, questions_per_passage=2):
        assert item in passages[item.passage_id][:2]


def test_another_seed_gives_other_passages_and_other_ids(name, items):
    others = load_task(name, n_passages=20, seed=1)
    assert not {item.context for item in others} & {item.context for item in items}
    assert not {item.id for item in others} & {item.id for item in items}


def test_ids_are_unique_and_one_passage_has_one_text(name, items):
    assert len({item.id for item in items}) == len(items)
    passages = by_passage(items)
    assert len(passages) == N_PASSAGES
    assert all(len({item.context for item in of_one}) == 1 for of_one in passages.values())
    assert len({item.context for item in items}) == N_PASSAGES


def test_each_passage_has_its_number_of_different_questions(name, items):
    for of_one in by_passage(items).values():
        assert len(of_one) == QUESTIONS[name]
        assert len({item.question for item in of_one}) == QUESTIONS[name]


def test_lengths_are_in_range(name, items):
    lengths = [len(of_one[0].context.split()) for of_one in by_passage(items).values()]
    low, high = WORDS[name]
    assert sum(low <= length <= high for length in lengths) >= 0.95 * len(lengths)
    low, high = MEAN_WORDS[name]
    assert low <= sum(lengths) / len(lengths) <= high


def test_tags_are_legal_and_every_answer_type_occurs(name, items):
    assert {item.answer_type for item in items} == set(ANSWER_TYPES)
    assert {item.question_type for item in items} == set(QUESTION_TYPES)
    assert {item.direction for item in items} == set(DIRECTIONS)
    assert {item.task for item in items} == {name}


def test_every_item_is_answerable_with_a_gold_and_evidence(items):
    for item in items:
        assert item.answerable
        assert all(gold.strip() for gold in item.golds)
        assert len(set(item.golds)) == len(item.golds)
        assert item.required_groups
        assert all(group.occurrences for group in item.required_groups)


def test_a_standard_answer_stands_at_each_of_its_spans_and_nowhere_else(items):
    for item in items:
        if item.question_type != "Standard":
            continue
        (group,) = item.required_groups
        texts = {item.context[start:end] for start, end in group.occurrences}
        assert item.answer in texts
        assert texts <= set(item.golds)
        assert set(find_whole_words(item.context, item.answer)) <= set(group.occurrences)
        for start, end in [s for gold in item.golds for s in find_whole_words(item.context, gold)]:
            assert any(start < last and first < end for first, last in group.occurrences)


def test_a_manipulated_answer_points_at_the_source_value(items):
    for item in items:
        if item.question_type != "Manipulated":
            continue
        (group,) = item.required_groups
        sources = [item.context[start:end] for start, end in group.occurrences]
        assert all(find_whole_words(source, item.answer) for source in sources[:1])
        assert item.answer not in sources or item.metadata["part"] == "last"
        source = max(sources, key=len)
        assert len(source.split()) > len(item.answer.split())
        assert set(find_whole_words(item.context, source)) <= set(group.occurrences)


def test_a_part_question_has_one_group_for_each_piece(items):
    for item in items:
        if item.question_type == "Part":
            assert len(item.required_groups) >= 2
            for group in item.required_groups:
                piece = item.context[slice(*group.occurrences[0])]
                assert find_whole_words(item.answer, piece)
                assert find_whole_words(item.context, piece) == group.occurrences
        else:
            assert len(item.required_groups) == 1


def test_no_question_names_a_word_of_its_answer(items):
    for item in items:
        for gold in item.golds:
            assert not content_words(gold) & content_words(item.question), item


def test_no_placeholder_is_left(items):
    for item in items:
        assert not set("{}<>_") & set(item.context + item.question + "".join(item.golds))
        assert "  " not in item.context


def test_values_of_a_passage_share_no_word(items):
    for of_one in by_passage(items).values():
        places = defaultdict(set)
        for item in of_one:
            for group in item.required_groups:
                places[group.name].update(group.occurrences)
        spans = sorted(span for found in places.values() for span in found)
        assert all(first[1] <= second[0] for first, second in zip(spans, spans[1:]))


def test_several_wordings_of_each_question_are_in_use(items):
    wordings = defaultdict(set)
    for item in items:
        key = (*item.metadata["attributes"], item.metadata["part"], item.direction)
        wordings[key].add(item.metadata["wording"])
    assert all(len(used) >= 2 for used in wordings.values())


def test_the_first_item_comes_before_the_second_passage_is_made(name, monkeypatch):
    made = []
    compose = TASKS[name].compose
    monkeypatch.setattr(
        TASKS[name], "compose", lambda self, draw: made.append(1) or compose(self, draw)
    )
    stream = iter_task(name, n_passages=10**9)
    assert not made
    first = next(stream)
    assert first.id.endswith("q00")
    per_passage = len(made)
    list(islice(stream, QUESTIONS[name]))
    assert len(made) > per_passage
    assert len(made) < 100


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


def association(pairs):
    """p of the χ² test of independence over pairs of labels."""
    rows, columns = (sorted(set(labels)) for labels in zip(*pairs))
    counts = Counter(pairs)
    return chi2_contingency([[counts[row, column] for column in columns] for row in rows]).pvalue


@pytest.fixture(scope="module")
def biographies():
    """The values of 1500 biographies, drawn as the task draws them."""
    return [
        draw_values(
            " ".join(f"{{{slot}}}" for slot in SLOTS), SLOTS, Lexicon(Draw("values", index))
        )
        for index in range(1500)
    ]


def test_values_do_not_depend_on_the_name(biographies):
    names = [values["name"].text for values in biographies]
    initials = [name[0] < "K" for name in names]
    thirds = [ord(name.split()[1][0]) % 3 for name in names]
    for slot in SLOTS:
        if slot != "name":
            texts = [values[slot].text for values in biographies]
            codes = [sum(map(ord, text)) % 4 for text in texts]
            assert association(list(zip(initials, (text[0] for text in texts)))) > 1e-3, slot
            assert association(list(zip(thirds, codes))) > 1e-3, slot


def test_the_test_of_independence_sees_a_dependence(biographies):
    names = [values["name"].text for values in biographies]
    assert association([(name[0] < "K", name[0]) for name in names]) < 1e-6
    leaning = [(name[0] < "K", index % 3 == 0 or name[0] < "K") for index, name in enumerate(names)]
    assert association(leaning) < 1e-6


def test_the_wording_of_a_question_does_not_give_the_answer(items):
    answers = defaultdict(Counter)
    for item in items:
        key = (*item.metadata["attributes"], item.metadata["part"], item.metadata["wording"])
        answers[key][item.answer] += 1
    shares = [max(seen.values()) / seen.total() for seen in answers.values() if seen.total() >= 20]
    assert len(shares) >= 2
    assert max(shares) < 0.35


def test_months_fields_and_jobs_are_uniform():
    for kind, key in (("date", "month"), ("field", ""), ("job", ""), ("creature", "")):
        values = [KINDS[kind].make(Draw(kind, index)) for index in range(1500)]
        counts = Counter(value.parts[key] if key else value.text for value in values)
        expected = len(values) / len(counts)
        statistic = sum((count - expected) ** 2 / expected for count in counts.values())
        assert statistic < 2.2 * len(counts)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_class_of_value_has_a_tag_and_enough_values(kind):
    values = [KINDS[kind].make(Draw(kind, index)) for index in range(300)]
    assert {value.kind for value in values} == {kind}
    assert {value.answer_type for value in values} <= set(ANSWER_TYPES)
    assert len({value.text for value in values}) >= 18
    assert all(value.text not in value.aliases for value in values)


def test_a_lexicon_gives_no_word_twice():
    lexicon = Lexicon(Draw("twice"))
    words = [
        word
        for kind in ("date", "date", "date", "company", "company", "person", "person", "number")
        for word in lexicon.value(kind).text.replace(",", "").split()
    ]
    assert len(set(words)) == len(words)


def test_an_exhausted_lexicon_says_so():
    lexicon = Lexicon(Draw("all months"))
    with pytest.raises(ValueError, match="'date'"):
        for _ in range(13):
            lexicon.value("date")


def test_draws_are_those_of_every_machine():
    draw = Draw("planted", 0)
    assert [draw.below(1000) for _ in range(5)] == [323, 691, 210, 554, 785]
    assert sorted(draw.shuffled(range(10))) == list(range(10))
    assert len(set(draw.sample("abcdef", 3))) == 3
    assert {draw.between(3, 5) for _ in range(100)} == {3, 4, 5}


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(ValueError, match=r"got 'knowlege'.*Did you mean 'knowledge'"):
        load_task("knowlege")


def test_wrong_options_and_counts_are_refused_at_the_call():
    with pytest.raises(ValueError, match="questions_per_passage.*got question_count"):
        iter_task("base", question_count=3)
    with pytest.raises(ValueError, match="between 1 and 6; got 7"):
        iter_task("base", questions_per_passage=7)
    with pytest.raises(ValueError, match="n_passages is at least 1; got 0"):
        iter_task("base", n_passages=0)
    with pytest.raises(ValueError, match="seed is an integer from 0 on; got -1"):
        iter_task("base", seed=-1)


def test_an_option_that_changes_the_text_changes_the_ids():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Louder(Knowledge):
        volume: int = 1

    assert Louder().passage(0)[0].id == Knowledge().passage(0)[0].id
    assert Louder(volume=2).passage(0)[0].id != Knowledge().passage(0)[0].id


def test_a_task_describes_itself(name):
    task = TASKS[name]
    assert task.name == name
    assert task.description
    assert task.stressor
    assert task.default_n_passages == {"base": 200, "knowledge": 4000}[name]
