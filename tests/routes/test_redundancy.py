"""Disjoint tickets on models that hold a known number of routes; the shared core and ticket survival by arithmetic."""

import math
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from conftest import skip_without
from hypothesis import given, settings
from hypothesis import strategies as st

import routelens as rl
from routelens.models.planted import planted
from routelens.routes.overlap import Core, find_disjoint_tickets, shared_core, ticket_survival
from routelens.routes.ticket import find_ticket


@pytest.fixture(autouse=True)
def hooked_transformer():
    skip_without("hooked")


@pytest.fixture(scope="module")
def chain():
    """A certified ticket of two KV entries, its cache and case."""
    case = planted("two_hop", 1)
    cache = rl.prefill(case.model, case.item)
    return find_ticket(case.model, case.item, cache=cache, ablation="zero"), cache, case


def of(ticket, numbers, **changes):
    """The ticket with other units."""
    return replace(ticket, numbers=tuple(sorted(numbers)), **changes)


@pytest.mark.parametrize("unit", ["edge", "kv"])
@pytest.mark.parametrize(("kind", "k"), [("or", 2), ("and", 1), ("two_hop", 1), ("sink", 1)])
def test_as_many_disjoint_tickets_are_found_as_there_are_routes(kind, k, unit):
    for seed in range(2):
        case = planted(kind, seed)
        tickets = find_disjoint_tickets(case.model, case.item, unit=unit, ablation="zero")
        assert len(tickets) == k
        assert {frozenset(t.units) for t in tickets} == set(case.routes[unit])
        assert all(t.certificate.holds for t in tickets)


def test_disjoint_tickets_have_no_unit_in_common_and_each_gives_the_answer_alone():
    case = planted("or", 3, size="large", n_copies=4)
    cache = rl.prefill(case.model, case.item)
    tickets = find_disjoint_tickets(case.model, cache=cache, unit="edge", k=9)
    assert len(tickets) == 4
    for one, other in combinations(tickets, 2):
        assert not set(one.units) & set(other.units)
    for ticket in tickets:
        assert rl.answer(cache, ticket.edit).text == case.item.answer
    assert [t.n_candidates for t in tickets] == [
        tickets[0].n_candidates - sum(t.size for t in tickets[:i]) for i in range(4)
    ]


def test_no_more_are_looked_for_than_asked():
    case = planted("or", 0, n_copies=3)
    assert len(find_disjoint_tickets(case.model, case.item, ablation="zero", k=2)) == 2


def test_where_no_route_is_needed_or_the_budget_is_too_small_there_is_none():
    case = planted("by_heart", 0)
    assert find_disjoint_tickets(case.model, case.item) == ()
    case = planted("or", 0)
    assert find_disjoint_tickets(case.model, case.item, budget=1) == ()


def test_bad_calls_are_refused(chain):
    ticket, cache, case = chain
    with pytest.raises(ValueError, match="k is at least 1"):
        find_disjoint_tickets(case.model, case.item, k=0)
    with pytest.raises(ValueError, match="pass an item"):
        find_disjoint_tickets(case.model)
    with pytest.raises(ValueError, match="margin is the share"):
        find_disjoint_tickets(case.model, case.item, margin=math.nan)
    with pytest.raises(ValueError, match="at least one ticket"):
        shared_core([])
    with pytest.raises(ValueError, match="different ones"):
        shared_core([ticket, replace(ticket, tokens=(*ticket.tokens, "x"))])
    with pytest.raises(ValueError, match="belongs to the ticket's prefix"):
        ticket_survival(ticket, rl.KeepMask.full(1, 1, 3))


def test_all_of_a_ticket_survives_the_full_mask_and_nothing_the_empty_one(chain):
    _, cache, case = chain
    for unit in ("edge", "kv", "token"):
        ticket = find_ticket(case.model, case.item, cache=cache, unit=unit, ablation="zero")
        assert ticket.size
        assert ticket_survival(ticket, cache.full_mask) == 1
        assert ticket_survival(ticket, ~cache.full_mask) == 0
        assert ticket_survival(ticket, ticket.entries) == 1
        assert ticket_survival(ticket, ~ticket.entries) == 0
    assert math.isnan(ticket_survival(of(ticket, ()), cache.full_mask))


@settings(max_examples=30)
@given(st.data())
def test_survival_is_the_kept_share_of_the_entries_and_grows_with_the_mask(chain, data):
    ticket, cache, _ = chain
    n = ticket.space.n_units
    some = st.sets(st.integers(0, n - 1), min_size=1)
    units, kept, more = data.draw(some), data.draw(some), data.draw(some)
    flat = torch.zeros(n, dtype=torch.bool)
    flat[list(kept)] = True
    keep = rl.KeepMask(flat.reshape(ticket.space.shape))
    survival = ticket_survival(of(ticket, units), keep)
    assert survival == pytest.approx(len(units & kept) / len(units))
    flat[list(more)] = True
    assert (
        ticket_survival(of(ticket, units), rl.KeepMask(flat.reshape(keep.keep.shape))) >= survival
    )


def test_edges_survive_with_the_entry_they_read_and_protected_positions_do_not_count():
    case = planted("match_and_copy", 0, n_layers=2, n_heads=4, n_kv_heads=2, n_question=2)
    cache = rl.prefill(case.model, case.item)
    ticket = find_ticket(case.model, case.item, cache=cache, unit="edge", protect=1)
    # Heads 2 and 3 share KV head 1; both rows read it.
    units = [(0, 2, 0, 5), (0, 3, 1, 5), (1, 0, 1, 6)]
    ticket = of(ticket, ticket.space.numbers(units))
    full = cache.full_mask
    assert ticket_survival(ticket, full.with_positions([5], False)) == 1 / 2
    assert ticket_survival(ticket, full.with_positions([5], False, kv_heads=[0])) == 1
    assert ticket_survival(ticket, full.with_positions([0], False)) == 1
    assert ticket_survival(ticket, (~full).with_positions([6], layers=[1], kv_heads=[0])) == 1 / 2


def test_the_core_counts_the_units_that_tickets_share(chain, tmp_path):
    ticket, _, _ = chain
    n = ticket.space.n_units
    core = shared_core(
        [
            of(ticket, {0, 1, 2}, item_id="a"),
            of(ticket, {0, 1, 3}, item_id="b"),
            of(ticket, {0, 4}, item_id="c"),
            of(ticket, {1, 5}, item_id="d", status="budget_exhausted"),
        ]
    )
    assert (core.n_tickets, core.n_left_out, core.items) == (3, 1, ("a", "b", "c"))
    assert core.n_candidates == n
    unit = ticket.space.units
    assert core.in_all == unit([0])
    assert core.in_half == unit([0, 1])
    assert dict(core.counts) == dict(zip(unit(range(5)), (3, 2, 1, 1, 1), strict=True))
    pairs = {(pair.first, pair.second): pair for pair in core.overlaps}
    assert pairs[0, 1].n_shared == 2 and pairs[0, 1].jaccard == 2 / 4
    assert pairs[0, 2].jaccard == pairs[1, 2].jaccard == 1 / 4
    assert core.jaccard == pytest.approx((1 / 2 + 1 / 4 + 1 / 4) / 3)
    assert "1 units in all, 2 in at least half" in str(core) and "(3)" in str(core)
    core.save(tmp_path / "core.json")
    assert Core.load(tmp_path / "core.json") == core
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match="not written by"):
        Core.load(tmp_path / "bad.json")


def test_one_certified_ticket_has_no_overlap(chain):
    ticket, *_ = chain
    core = shared_core([ticket, replace(ticket, status="not_answered", numbers=())])
    assert set(core.in_all) == set(ticket.units)
    assert math.isnan(core.jaccard) and core.overlaps == ()


@pytest.mark.parametrize(("a", "b"), [(3, 2), (2, 5), (4, 4), (6, 7)])
def test_the_null_is_that_of_all_pairs_of_sets_of_these_sizes(chain, a, b):
    """Six positions are protected away from a space of sixteen entries, and every other set of size b is tried."""
    ticket, *_ = chain
    per_position = ticket.space.n_layers * ticket.space.n_kv_heads
    protect = ticket.space.n_prefix - 8 // per_position
    assert per_position == 2 and protect == 4
    numbers = [i for i in range(ticket.space.n_units) if i % ticket.space.n_prefix >= protect]
    assert len(numbers) == 8
    search = replace(ticket.search, protect=protect)
    one, other = set(numbers[:a]), set(numbers[8 - b :])
    (pair,) = shared_core([of(ticket, s, search=search) for s in (one, other)]).overlaps
    tried = [len(one & set(s)) for s in combinations(numbers, b)]
    jaccards = [shared / (a + b - shared) for shared in tried]
    assert pair.expected == pytest.approx(sum(jaccards) / len(jaccards))
    as_many = sum(shared >= pair.n_shared for shared in tried)
    assert pair.p_value == pytest.approx(as_many / len(tried))


def test_edge_tickets_of_one_passage_share_the_entries_they_read():
    """Rows of two questions are not the same rows: equal entries are one unit, whatever row reads them."""
    case = planted("match_and_copy", 2, size="large")
    items = (case.item, *case.others[:2])
    cache = rl.prefill(case.model, case.item)
    tickets = [find_ticket(case.model, item, cache=cache, unit="edge") for item in items]
    core = shared_core(tickets)
    assert core.kind == "kv" and core.n_tickets == 3
    assert core.in_all == () and core.jaccard == 0  # every question has a fact of its own
    assert len(core.counts) == 3
    same = shared_core([tickets[0], tickets[0]])
    assert same.jaccard == 1 and same.overlaps[0].p_value < 0.01
