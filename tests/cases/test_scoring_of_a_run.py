"""A data set in another language, with refusals of its own: a run can be told how to judge, and says how it judged."""

import re

import pytest

import routelens as rl
from routelens.metrics import ABSTENTION_PATTERNS, Scoring

ITEM = rl.Item(context="Bo wohnt am Rhein in Köln.", question="Wo wohnt Bo?", answer="Rhein")


def judged(text, **options):
    return Scoring(**options).judge(text, ITEM)


def test_articles_of_the_chosen_language_are_left_out_of_f1():
    assert judged("der Rhein", language="de").f1 == 100
    assert judged("der Rhein").f1 < 100
    assert judged("the Rhein", language=None).f1 < 100


def test_an_abstention_of_ones_own_counts_beside_the_printed_ones():
    said = "Njet, keen Schimmer"
    assert judged(said).outcome == "hallucination"
    own = Scoring(abstentions=(r"\bkeen schimmer\b",))
    assert own.judge(said, ITEM).outcome == "unknown"
    assert own.judge("Das weiß ich nicht", ITEM).outcome == judged("Das weiß ich nicht").outcome
    assert list(own.patterns)[:-1] == list(ABSTENTION_PATTERNS)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"language": "xx"}, "language is one of"),
        ({"abstentions": ("(",)}, "regular expression"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(options, says):
    with pytest.raises(ValueError, match=says):
        Scoring(**options)


def test_a_run_judges_as_told_records_it_and_its_report_prints_it(tiny, tmp_path):
    model = tiny("llama", "hooked")
    text = rl.answer(rl.prefill(model, ITEM), max_new_tokens=4).text
    piece = re.search(r"[a-z]+", text.lower()).group()
    assert piece not in "rhein"
    scoring = Scoring(language="de", abstentions=(piece,))
    run = rl.sweep(
        model,
        [ITEM],
        policies=["full"],
        ratios=[0],
        out=tmp_path / "run",
        max_new_tokens=4,
        scoring=scoring,
        progress=False,
    )
    assert set(run.table().outcome) == {"unknown"}
    assert run.manifest["config"]["scoring"] == {"language": "de", "abstentions": [piece]}
    html = rl.write_report(run.path, tmp_path / "r.html", figures=()).html.read_text()
    assert "the run&#x27;s own" in html or "the run's own" in html
    with pytest.raises(ValueError, match="other settings|differ"):
        rl.sweep(
            model, [ITEM], policies=["full"], ratios=[0], out=tmp_path / "run", max_new_tokens=4
        )
