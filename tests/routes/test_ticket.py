"""Tickets on models whose routes are known, against brute force, and every way in which there is none."""

import math
from dataclasses import replace

import pytest
import torch
from brute_force import brute_force, context_units

import routelens as rl
from routelens.models.planted import KINDS, planted
from routelens.routes.certificate import certify
from routelens.routes.controls import with_controls
from routelens.routes.results import Ticket
from routelens.routes.ticket import find_ticket

SEEDS = range(4)


@pytest.fixture(scope="module")
def models():
    made = {}

    def get(kind, seed=0, size="small"):
        if (kind, seed, size) not in made:
            case = planted(kind, seed, size=size)
            made[kind, seed, size] = case, rl.prefill(case.model, case.item)
        return made[kind, seed, size]

    return get


@pytest.mark.parametrize("unit", ["edge", "kv"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_planted_route_is_found_and_is_one_of_the_brute_forced_minimal_sets(
    models, kind, seed, unit
):
    case, cache = models(kind, seed)
    ticket = find_ticket(case.model, case.item, cache=cache, unit=unit, ablation="zero")
    assert ticket.status == ("no_route_needed" if kind == "by_heart" else "certified"), (
        ticket.reason
    )
    lattice = brute_force(cache, context_units(cache, unit))
    assert frozenset(ticket.units) in lattice.one_minimal
    if kind != "standoff":  # built to have 1-minimal sets that are no routes
        assert frozenset(ticket.units) in case.routes[unit]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_route_is_found_among_thousands_of_edges_for_few_forwards(models, kind):
    case, cache = models(kind, 0, "large")
    ticket = find_ticket(case.model, case.item, cache=cache, unit="edge")
    assert ticket.status == ("no_route_needed" if kind == "by_heart" else "certified"), (
        ticket.reason
    )
    assert ticket.n_candidates > 2_000
    assert frozenset(ticket.units) in (*case.routes["edge"], *case.traps.get("edge", ()))
    assert ticket.cost < 0.1 * ticket.n_candidates


@pytest.mark.parametrize("unit", ["token", "kv", "edge"])
@pytest.mark.parametrize("ablation", ["renorm", "zero"])
def test_every_unit_and_ablation_ends_in_a_set_that_brute_force_calls_one_minimal(
    models, unit, ablation
):
    case, cache = models("two_hop", 1)
    ticket = find_ticket(case.model, case.item, cache=cache, unit=unit, ablation=ablation)
    lattice = brute_force(cache, context_units(cache, unit), ablation=ablation)
    assert ticket.status == "certified"
    assert frozenset(ticket.units) in lattice.one_minimal


def test_under_renorm_without_a_margin_the_mask_itself_points_at_the_answer(models):
    case, cache = models("two_hop", 0)
    leaky = find_ticket(
        case.model, case.item, cache=cache, unit="edge", ablation="renorm", margin=0
    )
    whole = find_ticket(
        case.model, case.item, cache=cache, unit="edge", ablation="zero", margin=0.5
    )
    assert (leaky.size, whole.size) == (1, 2)


@pytest.mark.parametrize("ranking", ["recompute", "attention", "random"])
def test_any_ranking_ends_certified(models, ranking):
    case, cache = models("and", 0)
    ticket = find_ticket(
        case.model, case.item, cache=cache, unit="kv", ablation="zero", ranking=ranking
    )
    assert ticket.status == "certified"
    assert frozenset(ticket.units) in case.routes["kv"]


def test_a_certificate_fails_for_a_set_too_small_and_for_one_too_large(models):
    case, cache = models("two_hop", 2)
    ticket = find_ticket(case.model, case.item, cache=cache, unit="edge")
    assert certify(case.model, case.item, ticket).holds
    few = certify(case.model, case.item, replace(ticket, numbers=ticket.numbers[:1]))
    assert not few.holds and "does not give the answer" in few.reason
    spare = next(n for n in range(ticket.space.n_units) if n not in ticket.numbers)
    many = certify(case.model, case.item, replace(ticket, numbers=(*ticket.numbers, spare)))
    assert not many.holds and "can go" in many.reason


def test_protected_positions_are_kept_and_counted_apart(models):
    case, cache = models("match_and_copy", 0)
    ticket = find_ticket(case.model, case.item, cache=cache, unit="kv", protect=2)
    assert ticket.n_protected == 2 * ticket.space.n_layers * ticket.space.n_kv_heads
    assert ticket.n_candidates + ticket.n_protected == ticket.space.n_units
    assert ticket.keep.keep[:, :, :2].all()
    assert all(position >= 2 for position in ticket.positions)


def test_an_answer_that_is_wrong_has_no_ticket_unless_asked_for(models):
    case, cache = models("match_and_copy", 0)
    wrong = replace(case.item, answer="Nowhere", required_groups=(), answer_spans=(), id="wrong")
    ticket = find_ticket(case.model, wrong, cache=rl.prefill(case.model, wrong))
    assert ticket.status == "not_answered" and ticket.size == 0 and "hallucination" in ticket.reason
    assert math.isnan(ticket.share) and not ticket.keep.keep.any()
    own = find_ticket(case.model, wrong, unit="edge", require_correct=False)
    assert own.status == "certified"


def test_an_answer_that_needs_nothing_has_an_empty_ticket(models):
    case, _ = models("match_and_copy", 0)
    unknown = replace(case.item, question="nobody?", answer=None, required_groups=(), id="nobody")
    cache = rl.prefill(case.model, unknown)
    ticket = find_ticket(case.model, unknown, cache=cache, require_correct=False)
    assert ticket.status == "no_route_needed"
    assert ticket.size == 0 and ticket.certificate is None


def test_a_budget_too_small_gives_the_best_set_so_far(models):
    case, cache = models("two_hop", 0, "large")
    ticket = find_ticket(case.model, case.item, cache=cache, unit="edge", budget=25)
    assert ticket.status == "budget_exhausted" and "25" in ticket.reason
    assert 0 < ticket.size <= ticket.n_candidates
    said = rl.answer(cache, ticket.edit)
    assert said.token_ids[: len(ticket.answer_ids)] == ticket.answer_ids


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"unit": "heads"}, "unit is one of"),
        ({"ablation": "mean"}, "ablation is one of"),
        ({"ranking": "magic"}, "ranking is one of"),
        ({"margin": math.nan}, "margin is the share"),
        ({"margin": 1.5}, "margin is the share"),
        ({"budget": 0}, "budget is a number"),
        ({"protect": -1}, "protect is a number"),
    ],
)
def test_bad_options_are_refused(models, options, says):
    case, cache = models("match_and_copy", 0)
    with pytest.raises(ValueError, match=says):
        find_ticket(case.model, case.item, cache=cache, **options)


def test_no_item_is_refused(models):
    case, _ = models("match_and_copy", 0)
    with pytest.raises(ValueError, match="pass an item"):
        find_ticket(case.model)


def test_a_ticket_reads_back_as_it_was_and_prints_its_tokens(models, tmp_path):
    case, cache = models("two_hop", 1)
    ticket = find_ticket(case.model, case.item, cache=cache, unit="edge")
    ticket = with_controls(cache, case.item, ticket, others=case.others)
    ticket.save(tmp_path / "t.json")
    assert Ticket.load(tmp_path / "t.json") == ticket
    text = str(ticket)
    assert "certified" in text and case.item.answer in text
    for unit in ticket.units:
        assert f"L{unit[0]}H{unit[1]}" in text
    (tmp_path / "bad.json").write_text('{"numbers": []}')
    with pytest.raises(ValueError, match="is not a ticket"):
        Ticket.load(tmp_path / "bad.json")


def test_a_real_routes_controls_come_out_as_they_must(models):
    case, cache = models("two_hop", 3, "large")
    ticket = find_ticket(case.model, case.item, cache=cache, unit="edge")
    controls = with_controls(cache, case.item, ticket, others=case.others).controls
    assert controls.random_sets.passed and controls.other_heads.passed and controls.necessity.passed
    assert controls.kind == "selective"


def test_candidates_sharing_lower_layers_are_judged_as_from_the_start(models):
    from routelens.routes.criterion import Criterion
    from routelens.routes.ticket import space_of

    case, cache = models("two_hop", 0, "large")
    suffix = cache.prompt_of(case.item).suffix_ids
    answer = rl.answer(cache).token_ids
    space = space_of(cache, "kv", len(suffix) + len(answer) - 1)
    criterion = Criterion(
        cache, suffix, answer, space, ablation="zero", margin=0.5, always=space.leading(0)
    )
    generator = torch.Generator().manual_seed(0)
    base = torch.rand(space.n_units, generator=generator) < 0.7
    sets = base.repeat(64, 1)
    for row in range(64):
        sets[row, torch.randint(space.n_units, (1,), generator=generator)] ^= True
    plain = criterion.judge(sets)
    before = criterion.cost.forwards
    criterion.remember(base)
    resumed = criterion.judge(sets)
    assert (
        criterion.cost.forwards - before < 48
    )  # one for the base's states, and less than whole ones after
    assert torch.allclose(plain.mean, resumed.mean, atol=1e-5)


@pytest.mark.parametrize("regime", ["aware_list", "score_only"])
def test_a_ticket_found_in_another_regime_is_proved_in_that_regime(models, regime):
    case, _ = models("match_and_copy", 1)
    questions = [case.item.question, case.others[0].question]
    cache = rl.prefill(case.model, case.item, regime=regime, questions=questions)
    ticket = find_ticket(
        case.model, case.item, cache=cache, unit="token", require_correct=False, max_new_tokens=3
    )
    assert ticket.space.n_prefix == cache.n_prefix
    assert ticket.status in ("certified", "no_route_needed"), ticket.reason
    with_controls(cache, case.item, ticket, others=case.others)
