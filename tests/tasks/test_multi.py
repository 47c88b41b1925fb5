"""What multi_presence and multi_entity hold beside what every task must: directions, mentions, distractors, complete groups."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import pytest

from routelens.matching import find_whole_words
from routelens.tasks import multi_entity, multi_presence, words
from routelens.tasks.chronicles import CHRONICLES
from routelens.tasks.circles import CIRCLES
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import KINDS, Lexicon, Value
from routelens.tasks.multi_entity import MultiEntity
from routelens.tasks.multi_presence import MultiPresence
from routelens.tasks.narrative import FactKind, Setting, Told, apart, choose_asks, put_fact
from routelens.tasks.narrator import Narrator
from routelens.tasks.templates import fill, slots_of, standard

N_PASSAGES = 100
TASKS = {"multi_presence": MultiPresence, "multi_entity": MultiEntity}
SETTINGS = {f"{kind}-{s.name}": s for kind, of in (("p", CHRONICLES), ("e", CIRCLES)) for s in of}


@lru_cache
def load(name):
    task = TASKS[name]()
    return [task.passage(index, seed=7) for index in range(N_PASSAGES)]


@pytest.fixture(params=sorted(TASKS))
def passages(request):
    return load(request.param)


def reverse_of(items):
    return [item for item in items if item.direction == "reverse"]


def test_every_passage_has_five_questions_a_direction(passages):
    for items in passages:
        assert Counter(item.direction for item in items) == {"forward": 5, "reverse": 5}


def test_every_passage_has_400_to_600_words(passages):
    assert all(400 <= len(items[0].context.split()) <= 600 for items in passages)


def test_directions_come_in_no_fixed_order(passages):
    firsts = Counter(items[0].direction for items in passages)
    assert min(firsts["forward"], firsts["reverse"]) > 0.3 * len(passages)


def test_every_setting_occurs_and_no_passage_twice(passages):
    assert len({items[0].context for items in passages}) == len(passages)
    settings = Counter(items[0].metadata["setting"] for items in passages)
    kind = CHRONICLES if passages is load("multi_presence") else CIRCLES
    assert set(settings) == {setting.name for setting in kind}
    assert max(settings.values()) < 0.35 * len(passages)


def missing_places(item):
    """Where a gold answer stands outside its evidence (a first name is only supplied where it is said)."""
    spans = [span for group in item.required_groups for span in group.occurrences]
    texts = {item.context[start:end] for start, end in spans}
    if item.metadata["part"]:
        texts = {max(texts, key=len)}
    found = [span for text in texts for span in find_whole_words(item.context, text)]
    return [
        (start, end)
        for start, end in found
        if not any(first <= start and end <= last for first, last in spans)
    ]


def test_evidence_groups_are_complete(passages):
    assert not [item for items in passages for item in items if missing_places(item)]


def test_a_group_that_lacks_an_occurrence_is_noticed():
    item = next(
        item
        for items in load("multi_presence")
        for item in items
        if len(item.required_groups[0].occurrences) > 5
    )
    (group,) = item.required_groups
    lacking = replace(group, occurrences=group.occurrences[:-1])
    assert missing_places(replace(item, required_groups=(lacking,)))


def test_every_evidence_span_says_its_value(passages):
    for items in passages:
        for item in items:
            for group in item.required_groups:
                forms = {item.context[start:end] for start, end in group.occurrences}
                longest = max(forms, key=len)
                assert all(set(form.split()) <= set(longest.split()) for form in forms)


def test_a_first_name_is_found_only_where_it_is_said():
    items = [i for of in load("multi_presence") for i in of if i.metadata["part"] == "first"]
    assert items
    for item in items:
        for start, end in item.required_groups[0].occurrences:
            assert item.answer in item.context[start:end].split()


def main_of(items):
    """The subject of the forward questions, taken from the questions alone: what all five of them name."""
    forward = [item.question for item in items if item.direction == "forward"]
    groups = [group for item in reverse_of(items) for group in item.required_groups]
    names = {items[0].context[slice(*group.occurrences[0])] for group in groups}
    (main,) = {name for name in names if all(name in question for question in forward)}
    return main


def test_the_main_subject_is_named_at_least_ten_times_in_as_many_sentences():
    for items in load("multi_presence"):
        main = main_of(items)
        (spans,) = {
            group.occurrences
            for item in reverse_of(items)
            for group in item.required_groups
            if not item.metadata["part"] and items[0].context[slice(*group.occurrences[0])] == main
        } or {find_whole_words(items[0].context, main.split()[-1])}
        assert len(spans) >= 10
        sentences = {items[0].context.count(". ", 0, start) for start, _ in spans}
        assert len(sentences) >= 10


def test_the_main_subject_answers_two_of_five_reverse_questions():
    for items in load("multi_presence"):
        main = main_of(items)
        firsts = [
            items[0].context[slice(*item.required_groups[0].occurrences[0])]
            for item in reverse_of(items)
        ]
        assert firsts.count(main) == 2
        assert len(set(firsts)) == 4


def test_no_reverse_question_names_the_main_subject():
    for items in load("multi_presence"):
        main = main_of(items)
        assert not any(find_whole_words(item.question, main) for item in reverse_of(items))


def test_the_prose_of_multi_presence_moves_forward_in_time():
    for items in load("multi_presence"):
        years = [int(year) for year in re.findall(r"\b(?:18|19|20)\d\d\b", items[0].context)]
        assert years == sorted(years)


def test_reverse_answers_of_multi_entity_are_several_subjects():
    for items in load("multi_entity"):
        answers = Counter(
            group.name for item in reverse_of(items) for group in item.required_groups
        )
        assert len(answers) >= 4
        assert max(answers.values()) <= 2
        assert all(name.startswith("who_") for name in answers)


def test_no_place_of_the_subject_is_always_the_right_answer():
    """Whoever always says the first, or the most mentioned, subject of the passage is mostly wrong."""
    for name, limit in (("multi_presence", 0.45), ("multi_entity", 0.3)):
        right = Counter()
        for items in load(name):
            questions = reverse_of(items)
            groups = [item.required_groups[0] for item in questions]
            first = min(groups, key=lambda group: group.occurrences[0])
            most = max(groups, key=lambda group: len(group.occurrences))
            right["first"] += sum(group.name == first.name for group in groups)
            right["most"] += sum(group.name == most.name for group in groups)
        assert max(right.values()) < limit * 5 * N_PASSAGES


@pytest.mark.parametrize("n_subjects", [4, 5, 6])
@pytest.mark.parametrize("setting", CIRCLES, ids=lambda setting: setting.name)
def test_every_attribute_is_told_of_three_subjects_or_more(setting, n_subjects):
    for index in range(5):
        facts = multi_entity._plan(setting, n_subjects, Draw("plan", index))
        told_of = defaultdict(set)
        for told in facts:
            if told.other < 0:
                told_of[told.kind.name].add(told.subject)
        assert {len(subjects) for subjects in told_of.values()} <= {3, 4}
        assert {told.subject for told in facts} == set(range(n_subjects))


def test_the_subjects_of_multi_entity_are_linked_in_a_chain():
    for index in range(20):
        facts = multi_entity._plan(CIRCLES[0], 5, Draw("chain", index))
        assert [(told.subject, told.other) for told in facts if told.other >= 0] == [
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
        ]


def test_values_of_different_subjects_share_no_word():
    for items in load("multi_entity"):
        words_of = defaultdict(set)
        for item in items:
            for group in item.required_groups:
                text = item.context[slice(*group.occurrences[0])]
                words_of[group.name] |= set(re.findall(r"\w+", text.lower()))
        counts = Counter(word for used in words_of.values() for word in used)
        assert max(counts.values()) == 1


def test_no_telling_is_used_twice_in_a_passage():
    for index in range(30):
        draw = Draw("tellings", index)
        for facts in (
            multi_presence._plan(draw.choice(CHRONICLES), draw),
            multi_entity._plan(draw.choice(CIRCLES), draw.between(4, 6), draw),
        ):
            assert max(Counter(told.telling for told in facts).values()) == 1


def test_no_two_facts_of_a_sort_stand_side_by_side_in_multi_presence():
    for index in range(100):
        facts = multi_presence._plan(CHRONICLES[index % len(CHRONICLES)], Draw("apart", index))
        clashes = sum(one.kind == following.kind for one, following in pairwise(facts))
        assert clashes <= 1


@pytest.mark.parametrize("module", [multi_presence, multi_entity], ids=["presence", "entity"])
def test_most_of_a_passage_is_facts(module, monkeypatch):
    task = MultiPresence() if module is multi_presence else MultiEntity()
    full = [len(task.passage(index, seed=7)[0].context.split()) for index in range(10)]
    monkeypatch.setattr(module, "TARGETS", (0, 0))
    monkeypatch.setattr(module, "WORDS", (0, 600))
    bare = [len(task.passage(index, seed=7)[0].context.split()) for index in range(10)]
    assert all(facts >= 2 / 3 * words for facts, words in zip(bare, full))


CLOSED = {
    word.lower()
    for name in (
        [
            "CREATURES",
            "PREY",
            "THINGS",
            "OBJECTS",
            "MATERIALS",
            "LININGS",
            "GOODS",
            "PRIZES",
            "FIELDS",
            "JOBS",
            "MONTHS",
        ]
    )
    for word in getattr(words, name)
    if word != "May"
}
NAME_WORDS = {
    word.lower()
    for name in ["COLLEGES", "COMPANIES", "SOCIETIES", "EVENT_KINDS", "EVENT_STEMS", "REGIONS"]
    for word in getattr(words, name)
}


def kinds_of(setting):
    return (*setting.facts, *setting.links)


def frame_words(template):
    return set(re.findall(r"[a-z]+", re.sub(r"\{[^}]*\}|<\w+>", " ", template.lower())))


@pytest.fixture(params=sorted(SETTINGS))
def setting(request):
    return SETTINGS[request.param]


def test_every_telling_says_all_slots_of_its_fact_and_its_subject(setting):
    for kind in kinds_of(setting):
        slots = [set(slots_of(telling)) for telling in kind.tellings]
        assert all(found == slots[0] for found in slots), kind.name
        for telling in kind.tellings:
            assert len(re.findall(r"<[Ww]hom?>", telling)) == 1, telling
            assert telling.endswith(".") and not telling.startswith(("{a ", "<who", "[a")), telling


def test_every_question_form_has_three_paraphrases_and_only_told_slots(setting):
    for kind in kinds_of(setting):
        told = {*slots_of(kind.tellings[0]), "who"}
        for ask in kind.asks:
            assert len(set(ask.wordings)) == len(ask.wordings) >= 3, ask
            assert {s for w in ask.wordings for s in slots_of(w)} | set(ask.slots) <= told, ask


def test_forward_questions_name_the_subject_and_no_question_its_answer(setting):
    for kind in kinds_of(setting):
        for ask in kind.asks:
            for wording in ask.wordings:
                assert ("who" in slots_of(wording)) != ask.reverse, wording
                assert not set(ask.slots) & set(slots_of(wording)), wording


def test_every_fact_has_standard_questions_both_ways(setting):
    for kind in kinds_of(setting):
        assert kind.asks_of("Standard", reverse=False) and kind.asks_of("Standard", reverse=True)


def test_no_frame_word_is_a_value(setting):
    """Else a passage would say a value where none was put, and a question could name its answer."""
    for kind in kinds_of(setting):
        for text in kind.tellings:
            assert not frame_words(text) & CLOSED, text
        for wording in (wording for ask in kind.asks for wording in ask.wordings):
            assert not frame_words(wording) & (CLOSED | NAME_WORDS), wording
    for text in (*setting.openings, *setting.others):
        assert not frame_words(text) & CLOSED, text


def test_the_slots_of_a_setting_are_those_of_its_facts(setting):
    told = {slot for kind in kinds_of(setting) for slot in slots_of(kind.tellings[0])}
    assert told - {"other"} == set(setting.slots)
    assert set(setting.slots.values()) <= set(KINDS)


def woman(text):
    first, last = text.split()
    return Value(text, "person", {"first": first, "last": last, "pronoun": "she"})


MEETS = FactKind("meets", ("<Who> met {person}.",), (standard("person", "Whom did {who} meet?"),))
RESTS = FactKind("rests", ("<Who> rested.",), ())
LATE = FactKind("late", ("When {person} came, <who> left.",), ())
PLANTED = Setting(
    name="planted",
    kind="person",
    slots={"person": "person"},
    facts=(MEETS, RESTS),
    openings=("This is about {who}.",),
    topics=("bread",),
    short="{who.last}",
)


def narrate(kinds, values):
    narrator = Narrator(PLANTED, values, Draw("narrate"), pronoun_rate=1.0)
    told = [Told(kind, kind.tellings[0], 0, number) for number, kind in enumerate(kinds)]
    sentences = [narrator.open(), *map(narrator.tell, told)]
    return [fill(sentence.template, values).text for sentence in sentences]


def test_a_pronoun_stands_only_where_it_can_mean_nobody_else():
    values = {"who_0": woman("Hedda Caldane"), "person_0": woman("Ilva Drostava")}
    texts = narrate([MEETS, RESTS], values)
    assert "she" in texts[1].lower().split() and not re.search(r"\b[Ss]he\b", texts[2])
    man = Value("Bodo Ruskarro", "person", {"first": "Bodo", "last": "Ruskarro", "pronoun": "he"})
    assert "Caldane" in " ".join(narrate([RESTS, MEETS], {**values, "person_1": man})[2:])
    assert not re.search(r"\bshe\b", narrate([LATE], values)[1])
    assert re.search(r"\bshe\b", narrate([LATE], {**values, "person_0": man})[1])


def test_a_question_on_a_told_fact_points_at_its_value_and_no_other():
    values = {
        "who_0": woman("Hedda Caldane"),
        "person_0": woman("Ilva Drostava"),
        "person_1": woman("Zofia Mordane"),
    }
    passage = fill("{who_0} met {person_0}. {who_0.last} met {person_1}.", values)
    told = Told(MEETS, MEETS.tellings[0], 0, 1)
    question = put_fact(told, MEETS.asks[0], PLANTED, passage, Draw("put"))
    assert question.text == "Whom did Hedda Caldane meet?"
    assert question.answer == "Zofia Mordane"
    ((start, end),) = question.groups[0].occurrences
    assert passage.text[start:end] == "Zofia Mordane"
    assert question.metadata["fact"] == "meets"


def test_questions_are_put_on_facts_of_their_own_and_on_different_subjects():
    facts = [
        Told(kind, kind.tellings[0], subject, number)
        for number, (kind, subject) in enumerate(
            (kind, subject) for kind in CIRCLES[0].facts for subject in range(5)
        )
    ]
    chosen = choose_asks(facts, 5, Draw("choose"), reverse=True)
    assert len({told.number for told, _ in chosen}) == 5
    assert len({told.subject for told, _ in chosen}) == 5
    assert all(ask.reverse for _, ask in chosen)


def test_cards_that_clash_are_kept_apart():
    for index in range(50):
        order = apart("aaabbbccc", Draw("cards", index), lambda one, following: one == following)
        assert sorted(order) == list("aaabbbccc")
        assert all(one != following for one, following in pairwise(order))


def test_a_lexicon_suffices_for_the_longest_passage():
    """Each setting's rarest class (months, schools) is drawn from often enough for four tellings of a fact."""
    for setting in CHRONICLES:
        for index in range(3):
            lexicon = Lexicon(Draw("supply", setting.name, index))
            for kind in setting.facts:
                for slot in slots_of(kind.tellings[0]):
                    for _ in kind.tellings:
                        assert lexicon.value(setting.slots[slot]).text
