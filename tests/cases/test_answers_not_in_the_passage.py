"""A gold answer that is not in the passage, or holds no text, is swept, scored and counted, and has no eviction ratio."""

import re

import pytest

import routelens as rl
from routelens.viz import write_report

FORMAT = rl.PromptFormat(instruction="Be brief.")
ANSWERS = ("yes", "U.S.", "", "  ", "3,677 seated")


@pytest.fixture(scope="module")
def run(tiny, tmp_path_factory):
    context = "The United States voted in 1990. Ada was born in Oslo."
    asked = [*enumerate(ANSWERS), (9, "Oslo")]
    items = [
        rl.Item(context=context, question=f"What is fact {i}?", answer=answer, id=f"q{i}")
        for i, answer in asked
    ]
    return rl.sweep(
        tiny("llama_long", "bridge"),
        items,
        policies=("full", "random"),
        ratios=(0.0, 0.9),
        format=FORMAT,
        max_new_tokens=3,
        out=tmp_path_factory.mktemp("run") / "run",
        progress=False,
    )


def test_such_items_have_a_status_scores_and_no_eviction_ratio(run):
    rows = run.table()
    assert len(rows) == (len(ANSWERS) + 1) * 4
    odd = rows[rows.item_id != "q9"]
    assert set(odd.evidence_status) == {"not_locatable"}
    assert (
        odd.ger_layer.isna().all() and odd.erased_layer.isna().all() and odd.retention.isna().all()
    )
    assert odd.f1.notna().all() and odd.outcome.notna().all()
    assert rows[rows.item_id == "q9"].ger_layer.notna().all()


def test_a_gold_answer_without_text_has_no_probability(run):
    found = run.table().groupby("gold").log_p_gold
    assert found.apply(lambda column: column.isna().all()).to_dict() == {
        answer: not answer.strip() for answer in (*ANSWERS, "Oslo")
    }


def test_the_report_counts_them(run):
    page = write_report(run.path, figures=(), n_resamples=20).html.read_text(encoding="utf-8")
    table = page[page.index("not located</th>") :]
    (row,) = re.findall(
        r'<th scope="row">agnostic</th>(.*?)</tr>', table[: table.index("</table>")]
    )
    items, located, missing = re.findall(r">(\d+)</td>", row)[:3]
    assert (items, located, missing) == ("6", "1", "5")
