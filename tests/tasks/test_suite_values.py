"""The values that passages are made of: uniform, independent of one another, no word twice, the same on every machine."""

from collections import Counter

import pytest
from scipy.stats import chi2_contingency

from routelens.tasks.draws import Draw
from routelens.tasks.knowledge import SLOTS
from routelens.tasks.lexicon import ANSWER_TYPES, KINDS, Lexicon
from routelens.tasks.templates import draw_values


def association(pairs):
    """p of the χ² test of independence over pairs of labels."""
    rows, columns = (sorted(set(labels)) for labels in zip(*pairs))
    counts = Counter(pairs)
    table = [[counts[row, column] for column in columns] for row in rows]
    return chi2_contingency(table).pvalue  # pyright: ignore[reportAttributeAccessIssue]


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
