"""What must come back is known: planted routes, with entries of them evicted."""

import math
from dataclasses import replace

import pytest
import torch
from brute_force import brute_force
from conftest import skip_without

import routelens as rl
from routelens.models.planted import planted
from routelens.routes.repairs import Place, Restoration
from routelens.routes.restoration import certified, restoration_set


@pytest.fixture(autouse=True)
def hooked_transformer():
    skip_without("hooked")


def evicting(cache, units):
    """The mask without these entries."""
    keep = cache.full_mask.keep.clone()
    for unit in units:
        keep[unit] = False
    return rl.KeepMask(keep)


def prefilled(kind, seed=0, **sizes):
    case = planted(kind, seed, **sizes)
    return case, rl.prefill(case.model, case.item)


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("kind", ["match_and_copy", "induction", "sink", "relay", "and"])
def test_where_one_needed_entry_was_evicted_it_is_the_restoration_set(kind, size):
    case, cache = prefilled(kind, 1, size=size)
    (route,) = case.routes["kv"]
    for unit in sorted(route):
        found = restoration_set(case.model, case.item, evicting(cache, [unit]), cache=cache)
        assert found.status == "certified", found.reason
        assert found.units == (unit,)
        assert found.n_evicted == 1 and found.share == 1
        assert found.repaired == case.item.answer
        assert found.touches_evidence == (kind != "relay")


@pytest.mark.parametrize("kind", ["match_and_copy", "and", "relay"])
def test_out_of_many_evicted_entries_those_of_the_route_are_found(kind):
    case, cache = prefilled(kind, 4, size="large")
    (route,) = case.routes["kv"]
    generator = torch.Generator().manual_seed(0)
    keep = rl.KeepMask(torch.rand(cache.full_mask.keep.shape, generator=generator) < 0.1)
    keep = keep & evicting(cache, route)
    found = restoration_set(case.model, case.item, keep, cache=cache)
    assert found.status == "certified", found.reason
    assert set(found.units) == route
    assert found.n_evicted > 1000 and found.cost < 0.1 * found.n_evicted
    said = rl.answer(cache, found.restored(keep))
    assert said.outcome == "correct" and rl.answer(cache, keep).outcome != "correct"


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["and", "two_hop", "or", "inhibitor", "standoff", "relay"])
def test_whatever_was_evicted_the_set_is_one_of_the_brute_forced_one_minimal_sets(kind, margin):
    """Every subset of the evicted entries, tried, with the kept ones always there."""
    n_certified = 0
    for seed in range(6):
        case, cache = prefilled(kind, seed)
        generator = torch.Generator().manual_seed(seed)
        lost = torch.rand(cache.full_mask.keep.shape, generator=generator) < 0.6
        keep = rl.KeepMask(~lost) & evicting(cache, frozenset().union(*case.routes["kv"]))
        lost = ~keep.keep
        found = restoration_set(case.model, case.item, keep, cache=cache, margin=margin)
        units = [tuple(unit) for unit in lost.nonzero().tolist()]
        lattice = brute_force(cache, units, ablation="renorm", margin=margin, rest="kept")
        if found.status == "not_a_failure":
            assert rl.answer(cache, keep).outcome == "correct"
            continue
        if found.status == "budget_exhausted":  # a tie proves neither side
            assert "too little to tell" in found.reason and lattice.slack < 1e-5
            continue
        n_certified += 1
        assert found.status == "certified"
        assert found.n_evicted == len(units)
        assert not lattice.says(())
        assert frozenset(found.units) in lattice.one_minimal
    assert n_certified >= 4


def test_kept_entries_are_the_base_and_need_no_return():
    """Of two pieces that are both needed, the one that was kept is not in the set."""
    case, cache = prefilled("and", 0, size="large")
    first, second = sorted(case.routes["kv"][0])
    keep = (~cache.full_mask).with_positions([0])  # where heads park
    keep = replace(
        keep, keep=keep.keep.index_put(tuple(map(torch.tensor, first)), torch.tensor(True))
    )
    found = restoration_set(case.model, case.item, keep, cache=cache)
    assert found.units == (second,)


def test_one_of_two_copies_is_enough():
    case, cache = prefilled("or", 2)
    copies = {unit for route in case.routes["kv"] for unit in route}
    found = restoration_set(case.model, case.item, evicting(cache, copies), cache=cache)
    assert found.status == "certified" and found.size == 1
    assert set(found.units) < copies
    one, _ = copies
    assert restoration_set(case.model, case.item, evicting(cache, [one])).status == "not_a_failure"


def test_an_inhibitor_that_was_kept_needs_its_remedy_back_too():
    """With the fact alone returned the rival would win: what repairs depends on the base."""
    case, cache = prefilled("inhibitor", 0)
    (fact,) = case.routes["kv"][0]
    words = case.item.context.split()
    (inhibitor,) = (i for i, word in enumerate(words) if "!" in word)
    (remedy,) = (i for i, word in enumerate(words) if "~" in word)
    keep = (~cache.full_mask).with_positions([0, inhibitor])
    found = restoration_set(case.model, case.item, keep, cache=cache)
    assert found.status == "certified", found.reason
    assert set(found.positions) == {fact[-1], remedy}
    alone = (~cache.full_mask).with_positions([0])
    assert restoration_set(case.model, case.item, alone, cache=cache).units == (fact,)


def test_a_right_answer_is_no_failure_and_a_wrong_full_cache_no_baseline():
    case, cache = prefilled("match_and_copy", 0)
    fine = restoration_set(case.model, case.item, cache.full_mask, cache=cache)
    assert fine.status == "not_a_failure" and fine.size == 0
    assert "nothing to repair" in fine.in_words and math.isnan(fine.share)
    wrong = replace(case.item, answer="Nowhere", required_groups=(), answer_spans=(), id="wrong")
    found = restoration_set(case.model, wrong, cache.full_mask, cache=cache)
    assert found.status == "baseline_failure"
    assert "hallucination" in found.in_words and found.certificate is None


def test_a_budget_too_small_gives_the_best_set_so_far():
    case, cache = prefilled("and", 0, size="large")
    keep = ~cache.full_mask
    found = restoration_set(case.model, case.item, keep, cache=cache, budget=3)
    assert found.status == "budget_exhausted"
    assert found.size and rl.answer(cache, found.restored(keep)).outcome == "correct"
    assert "best found" in found.in_words


def test_the_proof_fails_for_a_set_too_small_and_for_one_too_large():
    case, cache = prefilled("and", 1)
    keep = ~cache.full_mask
    found = restoration_set(case.model, case.item, keep, cache=cache)
    assert found.size == 2 and found.n_still_correct == 0
    few = certified(cache, case.item, keep, replace(found, numbers=found.numbers[:1]), 32)
    assert few.status == "budget_exhausted" and "does not give" in few.reason
    spare = next(n for n in range(found.space.n_units) if n not in found.numbers)
    many = certified(cache, case.item, keep, replace(found, numbers=(*found.numbers, spare)), 32)
    assert many.status == "budget_exhausted" and "can stay away" in many.reason


def test_a_margin_asks_for_more_back_than_the_tokens():
    """With an empty cache the second link alone already tips the answer, by less than half of the margin."""
    case, cache = prefilled("two_hop", 0)
    keep = ~cache.full_mask
    bare = restoration_set(case.model, case.item, keep, cache=cache)
    whole = restoration_set(case.model, case.item, keep, cache=cache, margin=0.5)
    assert bare.status == whole.status == "certified"
    assert bare.size == 1 and set(whole.units) == case.routes["kv"][0]
    assert bare.certificate.margin < 0.5 * bare.full_margin < whole.certificate.margin


@pytest.mark.parametrize("regime", ["agnostic", "aware_list", "score_only"])
def test_the_proof_is_made_in_the_caches_own_regime(regime):
    case = planted("match_and_copy", 0, n_question=2)
    cache = rl.prefill(case.model, case.item, regime=regime, questions=(case.item.question,))
    (unit,) = case.routes["kv"][0]
    found = restoration_set(case.model, case.item, evicting(cache, [unit]), cache=cache)
    assert found.status == "certified", found.reason
    assert found.units == (unit,)


def test_a_restoration_reads_back_as_it_was_and_says_what_returns(tmp_path):
    case, cache = prefilled("and", 3)
    keep = ~cache.full_mask
    found = restoration_set(case.model, case.item, keep, cache=cache)
    found.save(tmp_path / "r.json")
    assert Restoration.load(tmp_path / "r.json") == found
    for word in (case.item.context.split()[position] for position in found.positions):
        assert word in found.in_words
    assert found.in_words.startswith("returning 2 entries, ")
    assert found.in_words.endswith(" repairs the answer")
    assert case.item.answer in str(found)
    (tmp_path / "bad.json").write_text('{"units": []}')
    with pytest.raises(ValueError, match="not written by"):
        Restoration.load(tmp_path / "bad.json")


def test_places_are_named_by_their_layers():
    units = tuple((layer, 0, 7) for layer in (3, 5, 6, 7))
    assert str(Place("Harbor", units)) == "'Harbor' in L3, L5–L7"


def test_neighbouring_tokens_are_one_place_in_the_passages_own_words(tiny):
    from routelens.routes.repairs import places_of
    from routelens.routes.ticket import space_of

    item = rl.Item(context="The boat lay in Harbor city.", question="Where?", answer="Harbor")
    cache = rl.prefill(tiny("llama", "hooked"), item)
    space = space_of(cache, "kv", 1)
    at = cache.answer_positions
    assert len(at) > 1
    numbers = space.numbers([(layer, 1, pos) for pos in at for layer in (1, 2)] + [(0, 0, 4)])
    first, second = places_of(cache, space, tuple(sorted(numbers)))
    assert str(first) == "'Harbor' in L1–L2" and first.positions == at
    assert second.layers == (0,)


def test_bad_calls_are_refused():
    case, cache = prefilled("match_and_copy", 0)
    other = rl.KeepMask.full(1, 1, 3)
    with pytest.raises(ValueError, match="for this cache"):
        restoration_set(case.model, case.item, other, cache=cache)
    with pytest.raises(ValueError, match="pass an item"):
        restoration_set(case.model, None, other)
    with pytest.raises(ValueError, match="margin is the share"):
        restoration_set(case.model, case.item, cache.full_mask, margin=2.0)
    found = restoration_set(case.model, case.item, ~cache.full_mask, cache=cache)
    with pytest.raises(ValueError, match="belong to the mask"):
        found.restored(cache.full_mask)
