"""Collections of tickets: whole files, going on after any stop, one set of settings a folder, and a table that hides nothing."""

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import routelens as rl
from routelens.models.planted import planted
from routelens.routes import collection as module
from routelens.routes.collected import _COLUMNS, _row
from routelens.routes.ticket_folder import INDEX, _file_name

SEARCH = {"unit": "kv", "ablation": "zero", "progress": False}
FAST = SEARCH | {"controls": False, "max_new_tokens": 2}


@pytest.fixture(scope="module")
def case():
    """A planted passage with three questions, and one that the passage does not answer so."""
    made = planted("match_and_copy", 0, n_context=12, n_others=3, n_names=8)
    wrong = replace(made.item, answer="Nowhere", required_groups=(), answer_spans=(), id="wrong")
    return made.model, (made.item, *made.others[:2], wrong)


@pytest.fixture(scope="module")
def finished(case, tmp_path_factory):
    out = tmp_path_factory.mktemp("tickets") / "all"
    return rl.find_tickets(*case, out=out, **SEARCH)


@pytest.fixture
def searched(monkeypatch):
    """The ids of items searched for, in order."""
    ids = []

    def spy(cache, item, *arguments, **options):
        ids.append(item.id)
        return original(cache, item, *arguments, **options)

    original = module.search_ticket
    monkeypatch.setattr(module, "search_ticket", spy)
    return ids


def ids(items):
    return [item.id for item in items]


def files(path):
    return sorted(Path(path).glob("ticket-*.json"))


def test_every_item_has_a_ticket_in_order_and_a_file_that_ticket_load_reads(case, finished):
    _, items = case
    assert [ticket.item_id for ticket in finished] == ids(items)
    assert [ticket.status for ticket in finished] == ["certified"] * 3 + ["not_answered"]
    loaded = {rl.Ticket.load(file).item_id for file in files(finished.path)}
    assert loaded == set(ids(items)) and finished.n_missing == 0


def test_tickets_are_those_of_find_ticket_with_the_passages_other_questions_as_query_swaps(
    case, finished
):
    model, items = case
    alone = rl.find_ticket(model, items[0], unit="kv", ablation="zero")
    assert finished.tickets[0].numbers == alone.numbers
    assert "2 other questions" in finished.tickets[0].controls.query_swap.seen
    assert finished.tickets[0].controls.kind == "selective"


def test_reading_gives_what_finding_gave(finished):
    read = rl.read_tickets(finished.path)
    assert read.tickets[:3] == finished.tickets[:3]  # the fourth has NaN for its full margin
    assert read.entries == finished.entries and read.settings == finished.settings
    assert read.summary() == finished.summary() == str(read)


def test_questions_of_a_passage_share_one_prefill_and_items_keep_their_order(
    case, tmp_path, monkeypatch
):
    model, items = case
    other = replace(items[0], context=items[0].context + " x", passage_id="p2", id="elsewhere")
    prefilled = []

    def spy(model, item):
        prefilled.append(item.context)
        return original(model, item)

    original = module.prefill
    monkeypatch.setattr(module, "prefill", spy)
    mixed = [items[0], other, items[1]]
    found = rl.find_tickets(model, mixed, out=tmp_path, require_correct=False, **FAST)
    assert [ticket.item_id for ticket in found] == ids(mixed)
    assert prefilled == [items[0].context, other.context]


def test_it_goes_on_where_it_stopped_and_does_a_removed_or_broken_file_again(
    case, finished, tmp_path, searched
):
    model, items = case
    for file in Path(finished.path).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    same = rl.find_tickets(model, items, out=tmp_path, **SEARCH)
    assert searched == [] and same.tickets[:3] == finished.tickets[:3]

    removed, broken, swapped = (tmp_path / _file_name(item.id) for item in items[:3])
    whole = {file: json.loads(file.read_text())["numbers"] for file in (removed, broken, swapped)}
    removed.unlink()
    broken.write_bytes(broken.read_bytes()[:200])
    swapped.write_bytes((tmp_path / _file_name(items[3].id)).read_bytes())
    with pytest.warns(UserWarning, match="does not count") as warned:
        again = rl.find_tickets(model, items, out=tmp_path, **SEARCH)
    assert searched == ids(items[:3]) and len(warned) == 2
    assert {file: json.loads(file.read_text())["numbers"] for file in whole} == whole
    assert [t.item_id for t in again] == ids(items) and again.n_missing == 0


@pytest.mark.parametrize("content", ["", "[]", '"text"', "null", "{}", '{"numbers": 3}'])
def test_a_file_that_is_no_ticket_is_left_out_in_reading(finished, tmp_path, content):
    for file in Path(finished.path).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    files(tmp_path)[0].write_text(content)
    with pytest.warns(UserWarning, match="does not count"):
        read = rl.read_tickets(tmp_path)
    assert (len(read), read.n_missing) == (3, 1) and "1 still missing" in read.summary()


def test_a_stop_in_the_middle_leaves_whole_tickets_and_a_readable_folder(
    case, tmp_path, monkeypatch
):
    model, items = case
    original = module.search_ticket

    def stopping(cache, item, *arguments, **options):
        if item.id == items[2].id:
            raise KeyboardInterrupt
        return original(cache, item, *arguments, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "search_ticket", stopping)
        rl.find_tickets(model, items, out=tmp_path, **FAST)
    read = rl.read_tickets(tmp_path)
    assert [t.item_id for t in read] == ids(items[:2]) and read.n_missing == 2
    assert len(read.table()) == 2
    assert len(rl.find_tickets(model, items, out=tmp_path, **FAST)) == 4


def test_a_stop_before_the_first_ticket_leaves_an_empty_table(case, tmp_path, monkeypatch):
    model, items = case

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "search_ticket", stop)
        rl.find_tickets(model, items, out=tmp_path, **FAST)
    table = rl.read_tickets(tmp_path).table()
    assert len(table) == 0 and list(table) == _COLUMNS
    assert "0 tickets" in rl.read_tickets(tmp_path).summary()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": 0.6}, r"search.margin: stored 0.5, asked 0.6"),
        ({"unit": "edge"}, r"search.unit: stored 'kv', asked 'edge'"),
        ({"budget": 50}, "search.budget"),
        ({"require_correct": False}, "require_correct: stored True, asked False"),
        ({"controls": False}, "controls"),
        ({"max_new_tokens": 5}, "max_new_tokens"),
    ],
)
def test_other_settings_are_refused_with_what_differs(case, finished, changes, message):
    before = {file: file.read_bytes() for file in Path(finished.path).iterdir()}
    with pytest.raises(ValueError, match=message):
        rl.find_tickets(*case, out=finished.path, **SEARCH | changes)
    assert {file: file.read_bytes() for file in Path(finished.path).iterdir()} == before


def test_another_model_and_other_items_are_refused(case, finished):
    model, items = case
    with pytest.raises(ValueError, match=r"model_revision: stored"):
        other = planted("match_and_copy", 1, n_context=12, n_others=3, n_names=8)
        rl.find_tickets(other.model, [other.item], out=finished.path, **SEARCH)
    with pytest.raises(ValueError, match="item 1: stored"):
        rl.find_tickets(model, items[::-1], out=finished.path, **SEARCH)
    with pytest.raises(ValueError, match=r"item 2, .*: its content"):
        changed = replace(items[3], answer="Somewhere")
        rl.find_tickets(model, [*items[:3], changed], out=finished.path, **SEARCH)
    with pytest.raises(ValueError, match="pass limit="):  # its query swaps would be fewer
        rl.find_tickets(model, items[:2], out=finished.path, **SEARCH)


def test_a_larger_limit_adds_and_a_smaller_one_gives_the_first_ones(case, tmp_path, searched):
    model, items = case
    one = rl.find_tickets(model, items, out=tmp_path, limit=1, **SEARCH)
    assert len(one) == 1 and "2 other questions" in one.tickets[0].controls.query_swap.seen
    more = rl.find_tickets(model, items, out=tmp_path, limit=3, **SEARCH)
    assert searched == ids(items[:3]) and [t.item_id for t in more] == ids(items[:3])
    assert len(rl.find_tickets(model, items, out=tmp_path, limit=2, **SEARCH)) == 2
    assert len(rl.read_tickets(tmp_path)) == 3 and searched == ids(items[:3])


def test_the_table_has_a_row_a_ticket_and_what_was_not_measured_is_missing(finished):
    table = finished.table()
    assert list(table) == _COLUMNS == list(_row(finished.entries[0], finished.tickets[0]))
    assert list(table["item"]) == [entry.item for entry in finished.entries]
    sure = table[table["status"] == "certified"]
    assert (sure["size"] == 1).all() and (sure["share"] == 1 / sure["n_candidates"]).all()
    assert (sure["certificate_cost"] == 3).all() and (sure["cost"] > 0).all()
    assert sure["touches_evidence"].all() and set(sure["kind"]) == {"selective"}
    assert (sure["margin"] == 0.5).all() and (
        sure["ticket_margin"] > 0.5 * sure["full_margin"]
    ).all()
    assert (table["seconds"] > 0).all()
    (none,) = table[table["status"] == "not_answered"].to_dict("records")
    missing = (
        "size share n_candidates certificate_cost touches_evidence value_swap kind full_margin"
    )
    assert all(
        none[name] is None or none[name] != none[name] or str(none[name]) == "<NA>"
        for name in missing.split()
    )


def test_the_summary_counts_statuses_and_controls_with_wilson_intervals(finished):
    text = finished.summary()
    assert "4 tickets on 1 passage" in text and "kv units, zero, margin 0.5" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["certified"][1:3] == ["3", "1"] and rows["not_answered"][1:3] == ["1", "–"]
    assert "3 of 3    1.00 [0.44, 1.00]" in text  # Wilson, three of three
    assert "query swap: selective" in text and "hard-wired" in text


def test_without_controls_there_are_none(case, tmp_path):
    model, items = case
    found = rl.find_tickets(model, items[:1], out=tmp_path, controls=False, **SEARCH)
    assert found.tickets[0].status == "certified" and found.tickets[0].controls is None
    assert found.table()["kind"].isna().all() and "query swap" not in found.summary()


HARD_IDS = ["a/b", "A/B", "..", "", " ", "con", "é" * 300, "x\0y\n", "\ud800", "ניסוי", "*?<>|:"]


def test_any_id_has_a_file_name_of_its_own_that_is_safe_anywhere():
    names = [_file_name(text) for text in HARD_IDS]
    assert len({name.lower() for name in names}) == len(HARD_IDS)
    assert all(
        name.isascii() and len(name) < 100 and set(name) & set('/\\:*?"<>|\0') == set()
        for name in names
    )


@pytest.mark.parametrize("item_id", ["../out", "\ud800", "x\0y\n"])
def test_a_ticket_is_found_again_whatever_its_id(case, tmp_path, item_id):
    model, items = case
    item = replace(items[0], id=item_id)
    rl.find_tickets(model, [item], out=tmp_path, **FAST)
    (ticket,) = rl.read_tickets(tmp_path)
    assert ticket.item_id == item_id and len(list(tmp_path.iterdir())) == 2


def test_a_folder_with_other_things_a_file_and_no_folder_are_refused(case, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds notes.txt"):
        rl.find_tickets(*case, out=tmp_path, **SEARCH)
    with pytest.raises(ValueError, match="is a file"):
        rl.find_tickets(*case, out=tmp_path / "notes.txt", **SEARCH)
    with pytest.raises(ValueError, match="holds no tickets"):
        rl.read_tickets(tmp_path)
    (tmp_path / INDEX).write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        rl.read_tickets(tmp_path)


def test_nothing_to_search_and_bad_settings_are_refused_before_anything_is_written(case, tmp_path):
    model, items = case
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="0 items"):
        rl.find_tickets(model, [], out=out, **SEARCH)
    with pytest.raises(ValueError, match="limit=0"):
        rl.find_tickets(model, items, out=out, limit=0, **SEARCH)
    with pytest.raises(ValueError, match="margin"):
        rl.find_tickets(model, items, out=out, **SEARCH, margin=math.nan)
    with pytest.raises(ValueError, match="names two"):
        twice = [items[0], replace(items[1], id=items[0].id)]
        rl.find_tickets(model, twice, out=out, **SEARCH)
    with pytest.raises(ValueError, match=r"1 prompts do not fit:\nitem long"):
        long = replace(items[0], context="x " * 500, required_groups=(), id="long")
        rl.find_tickets(model, [items[0], long], out=out, **SEARCH)
    assert not out.exists()


def test_going_on_with_another_version_warns_and_records_both(case, finished, tmp_path):
    for file in Path(finished.path).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    index = json.loads((tmp_path / INDEX).read_text())
    assert index["versions"] == [rl.__version__]
    (tmp_path / INDEX).write_text(json.dumps(index | {"versions": ["0.0.1"]}))
    with pytest.warns(UserWarning, match=r"0\.0\.1"):
        rl.find_tickets(*case, out=tmp_path, **SEARCH)
    assert json.loads((tmp_path / INDEX).read_text())["versions"] == ["0.0.1", rl.__version__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.find_tickets(*case, out=tmp_path, **SEARCH)
