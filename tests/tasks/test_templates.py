"""Filling templates, and how the base class of tasks guards what is composed."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from routelens.tasks.base import Draft, Question, Task
from routelens.tasks.draws import Draw
from routelens.tasks.lexicon import Value
from routelens.tasks.templates import fill, manipulated, put, reverse, several, slots_of, standard
from routelens.types import EvidenceGroup

HEDDA = Value("Hedda Caldane", "person", {"first": "Hedda", "last": "Caldane", "pronoun": "she"})
OTTER = Value("otter", "creature")
DAY = Value("4 May 1931", "date", {"day": "4", "month": "May", "year": "1931"}, ("May 4, 1931",))
VALUES = {"name": HEDDA, "pet": OTTER, "date": DAY}
PASSAGE = fill("{name} keeps {a pet}. {name.last} was born on {date}.", VALUES)


def stated(passage, slot):
    return [passage.text[start:end] for start, end in passage.spans[slot]]


def test_filling_records_where_each_value_stands():
    assert PASSAGE.text == "Hedda Caldane keeps an otter. Caldane was born on 4 May 1931."
    assert stated(PASSAGE, "name") == ["Hedda Caldane", "Caldane"]
    assert stated(PASSAGE, "pet") == ["otter"]
    assert stated(PASSAGE, "date") == ["4 May 1931"]
    assert PASSAGE.is_sound


def test_the_article_follows_the_sound_of_the_value():
    assert fill("{a pet}", {"pet": Value("heron", "creature")}).text == "a heron"


def test_slots_are_named_once_in_order():
    assert slots_of("{b} {a a} {b.last}") == ("b", "a")


@pytest.mark.parametrize(
    "template",
    [
        "{name} met an Otter with {a pet}.",
        "{name} keeps {a pet}. {name.last}, Caldane.",
        "{pet} {date} on 4 May 1931",
    ],
)
def test_a_value_that_also_stands_outside_its_slots_is_unsound(template):
    assert not fill(template, VALUES).is_sound


def test_a_standard_answer_takes_the_short_form_the_passage_uses_as_an_alias():
    question = put(reverse("name", "Who keeps {a pet}?"), PASSAGE, Draw("any"))
    assert (question.text, question.answer) == ("Who keeps an otter?", "Hedda Caldane")
    assert question.aliases == ("Caldane",)
    assert question.groups[0].occurrences == PASSAGE.spans["name"]
    assert (question.direction, question.answer_type) == ("reverse", "Person")


def test_a_date_may_be_given_in_the_other_order():
    question = put(standard("date", "When?"), PASSAGE, Draw("any"))
    assert question.aliases == ("May 4, 1931",)


def test_a_part_of_a_value_has_the_value_as_evidence():
    question = put(manipulated("date", "day", "Which day?"), PASSAGE, Draw("any"))
    assert (question.answer, question.answer_type) == ("4", "Numerals")
    assert question.question_type == "Manipulated"
    assert question.groups[0].occurrences == PASSAGE.spans["date"]


def test_several_pieces_have_a_group_each_and_may_come_in_any_order():
    question = put(several("{pet} since {date}", "What, and when?"), PASSAGE, Draw("any"))
    assert question.answer == "otter since 4 May 1931"
    assert "4 May 1931, otter" in question.aliases
    assert question.question_type == "Part"
    assert [group.name for group in question.groups] == ["pet", "date"]


@dataclass(frozen=True)
class Planted(Task):
    """Composes what the test puts in its list, attempt by attempt."""

    name: ClassVar[str] = "planted"
    description: ClassVar[str] = "for tests"
    stressor: ClassVar[str] = "none"
    default_n_passages: ClassVar[int] = 1
    drafts: ClassVar[list] = []

    def compose(self, draw):
        return self.drafts.pop(0)


def draft(question, answer="an otter"):
    group = EvidenceGroup(((6, 11),))
    return Draft("Keep: otter.", (Question(question, answer, (group,), "Creature"),))


def test_a_passage_that_clashes_or_gives_its_answer_away_is_drawn_again(monkeypatch):
    drafts = [None, draft("Is it the Otter?"), draft("What is it?"), draft("Never asked for?")]
    monkeypatch.setattr(Planted, "drafts", drafts)
    (item,) = Planted().passage(0)
    assert item.question == "What is it?"
    assert len(drafts) == 1


def test_an_unanswerable_question_gives_nothing_away(monkeypatch):
    monkeypatch.setattr(Planted, "drafts", [draft("What otter is it?", answer=None)])
    (item,) = Planted().passage(0)
    assert not item.answerable


def test_a_task_that_finds_no_clean_draw_says_so(monkeypatch):
    monkeypatch.setattr(Planted, "drafts", [None] * 1000)
    with pytest.raises(RuntimeError, match="passage 3 of seed 5"):
        Planted().passage(3, seed=5)
