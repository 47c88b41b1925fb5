"""Hops: a reader that knows only the passage and the question's words reaches every answer, by the recorded links alone."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

import pytest

from routelens.tasks import load_task
from routelens.tasks.base import content_words
from routelens.tasks.relations import PHRASINGS, RELATIONS

N_PASSAGES = 60
WAYS = [(relation, backwards) for relation in RELATIONS for backwards in (False, True)]
FRAMES = {
    "noun": r"(?:Name|Identify|Look up) (?P<n>.+)\.",
    "steps": r"(?:Consider|Think of|Take) (?P<n>.+?)\. (?P<q>.+)",
    "roles": r"(?:Starting from|Begin with|From) (?P<x>.+?)(?:, go| and go|, move on) to the (?P<r>.+)\. Which \w+ is that\?",
}


@lru_cache
def pattern(template):
    """The template as a pattern in which each slot stands for anything."""
    text = re.escape(template).replace(r"\{a\ o\}", "an? (?P<o>.+)")
    for slot in "sox":
        text = text.replace(rf"\{{{slot}\}}", f"(?P<{slot}>.+)")
    return re.compile(text)


def read(template, text):
    """The slots of a template that the text follows, whatever the case of its first letter."""
    if not template.startswith("{"):
        text = template[0] + text[1:] if text[:1].lower() == template[0].lower() else text
    return pattern(template).fullmatch(text)


def facts_of(context):
    """Every link that the passage states, as (subject, relation, object), with the clause that states it."""
    facts = {}
    for clause in re.split(r"\. |, and |, while |; |\.$", context):
        found = {
            (match["s"], relation.name, match["o"])
            for relation in RELATIONS
            for statement in relation.statements
            if (match := read(statement, clause))
        }
        assert len(found) <= 1, clause
        facts |= {fact: clause for fact in found}
    return facts


class Reader:
    """Answers from the links of a passage, as sets of all that a question can mean."""

    def __init__(self, facts):
        self.facts = facts
        self.entities = {end for subject, _, object_ in facts for end in (subject, object_)}

    def follow(self, known, relation, backwards):
        links = [(o, s) if backwards else (s, o) for s, name, o in self.facts if name == relation]
        return {found for start, found in links if start in known}

    def noun(self, text, that: Iterable = ()):
        """What a noun phrase means; ``that`` is what "that company" means in it."""
        if re.fullmatch(r"that \w+", text):
            return set(that)
        if (name := text.removeprefix("the ")) in self.entities:
            return {name}
        return self.by_template(text, that, "nouns")

    def by_template(self, text, that, words):
        return {
            answer
            for relation, backwards in WAYS
            for template in getattr(relation.asked(backwards=backwards), words)
            if (match := read(template, text))
            for answer in self.follow(self.noun(match["x"], that), relation.name, backwards)
        }

    def answers(self, question, phrasing):
        if phrasing == "nested":
            return self.by_template(question, (), "asks")
        match = re.fullmatch(FRAMES[phrasing], question)
        assert match, question
        if phrasing == "noun":
            return self.noun(match["n"])
        if phrasing == "steps":
            known = set()
            for noun in match["n"].split(", then "):
                either = self.noun(noun.replace("which that", "that that"), known)
                known = self.noun(noun, known) | either
            return self.by_template(match["q"], known, "asks")
        known = self.noun(match["x"])
        for role in match["r"].split(", then to the "):
            known = {
                answer
                for relation, backwards in WAYS
                if relation.asked(backwards=backwards).role == role
                for answer in self.follow(known, relation.name, backwards)
            }
        return known


def answers(item, context=None):
    facts = facts_of(item.context if context is None else context)
    return Reader(facts).answers(item.question, item.metadata["phrasing"])


def without(context, spans):
    """The context with the text of each span replaced by a name of its own that occurs nowhere else."""
    for number, (start, end) in sorted(enumerate(spans), key=lambda pair: -pair[1][0]):
        context = f"{context[:start]}Blank{number}{context[end:]}"
    return context


def spans_of(item):
    return [span for group in item.required_groups for span in group.occurrences]


def mentions(item):
    """Every mention of every entity in the passage."""
    entities = Reader(facts_of(item.context)).entities
    found = [
        match.span() for name in entities for match in re.finditer(rf"\b{name}\b", item.context)
    ]
    return sorted(found)


@pytest.fixture(scope="module")
def items():
    return load_task("hops", n_passages=N_PASSAGES)


@pytest.fixture(scope="module")
def passages(items):
    found = defaultdict(list)
    for item in items:
        found[item.passage_id].append(item)
    return list(found.values())


def test_the_reader_finds_the_answer_and_no_other(items):
    for item in items:
        assert answers(item) == {item.answer}, item


def test_each_passage_asks_every_depth_in_every_phrasing(passages):
    for of_one in passages:
        asked = Counter((item.metadata["depth"], item.metadata["phrasing"]) for item in of_one)
        assert asked == {(depth, phrasing): 1 for depth in (1, 2, 3, 4) for phrasing in PHRASINGS}


def test_each_passage_holds_two_chains_of_five_links_and_a_piece_of_a_third(passages):
    for of_one in passages:
        facts = facts_of(of_one[0].context)
        onward = {subject: object_ for subject, _, object_ in facts}
        assert len(onward) == len(facts)
        lengths = []
        for start in set(onward) - set(onward.values()):
            length = 0
            while start in onward:
                start, length = onward[start], length + 1
            lengths.append(length)
        assert sorted(lengths, reverse=True)[:2] == [5, 5]
        assert len(lengths) == 3
        assert min(lengths) in (2, 3)


def test_each_relation_of_a_passage_is_stated_of_another_entity_too(passages):
    for of_one in passages:
        counts = Counter(relation for _, relation, _ in facts_of(of_one[0].context))
        assert len(counts) == 5
        assert min(counts.values()) >= 2


def test_the_recorded_path_is_stated_link_by_link(items):
    for item in items:
        path, relations = item.metadata["path"], item.metadata["relations"]
        assert len(relations) == item.metadata["depth"] == len(path) - 1
        assert path[-1] == item.answer
        facts = facts_of(item.context)
        for before, relation, after in zip(path, relations, path[1:], strict=False):
            link = (before, relation, after)
            assert (link if item.direction == "forward" else link[::-1]) in facts


def test_without_any_one_link_of_the_path_there_is_no_answer(items):
    for item in items[::11]:
        facts = facts_of(item.context)
        path, relations = item.metadata["path"], item.metadata["relations"]
        links = list(zip(path, relations, path[1:], strict=False))
        on_path = {link if item.direction == "forward" else link[::-1] for link in links}
        for fact in facts:
            found = Reader(facts.keys() - {fact}).answers(item.question, item.metadata["phrasing"])
            assert found == (set() if fact in on_path else {item.answer})


def test_a_question_of_depth_d_has_two_groups_for_each_bridge_and_the_payload(items):
    for item in items:
        *bridges, payload = item.required_groups
        inner = item.metadata["path"][1:-1]
        assert payload.role == "payload"
        assert {group.role for group in bridges} <= {"bridge"}
        named = [item.context[slice(*group.occurrences[0])] for group in bridges]
        assert named == [entity for entity in inner for _ in range(2)]
        assert item.context[slice(*payload.occurrences[0])] == item.answer
        assert all(len(group.occurrences) == 1 for group in item.required_groups)
        assert len(set(spans_of(item))) == len(spans_of(item))


def test_with_any_required_group_gone_the_answer_cannot_be_read(items):
    for item in items[::7]:
        for span in spans_of(item):
            assert item.answer not in answers(item, without(item.context, [span])), item


def test_with_only_the_required_groups_and_the_named_entity_left_the_answer_can_be_read(items):
    """So other mentions, of the answer too, are no evidence."""
    for item in items[::3]:
        start = item.metadata["path"][0]
        others = [
            span
            for span in mentions(item)
            if span not in spans_of(item) and item.context[slice(*span)] != start
        ]
        assert len(others) > 10
        assert answers(item, without(item.context, others)) == {item.answer}


def test_a_question_names_the_start_and_neither_bridge_nor_answer(items):
    for item in items:
        start, *others = item.metadata["path"]
        assert content_words(start) <= content_words(item.question)
        for other in others:
            assert not re.search(rf"\b{other}\b", item.question)


def test_some_questions_of_depths_one_and_two_go_backwards(items):
    backwards = Counter(item.metadata["depth"] for item in items if item.direction == "reverse")
    assert set(backwards) == {1, 2}
    assert 0.75 * N_PASSAGES <= min(backwards.values()) <= max(backwards.values()) <= N_PASSAGES


def test_links_stand_in_any_order(items):
    forward = [item for item in items if item.metadata["depth"] == 2]
    places = [[group.occurrences[0][0] for group in item.required_groups] for item in forward]
    share = sum(first < last for first, *_, last in places) / len(places)
    assert 0.4 < share < 0.6


def test_every_way_of_asking_has_three_wordings():
    for relation, backwards in WAYS:
        asked = relation.asked(backwards=backwards)
        assert len(set(asked.nouns)) == len(set(asked.asks)) == len(set(relation.statements)) == 3
        assert all("{x}" in template for template in (*asked.nouns, *asked.asks))


def test_no_entity_of_a_passage_can_be_told_by_its_place_in_the_text(items):
    """The answer is named first, or last, no more often than chance: nobody can answer without following links."""
    deep = [item for item in items if item.metadata["depth"] >= 3]
    ranks = []
    for item in deep:
        starts = [start for start, _ in mentions(item)]
        ranks.append(starts.index(spans_of(item)[-1][0]) / (len(starts) - 1))
    assert 0.4 < sum(ranks) / len(ranks) < 0.6
