import json
import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.sweeps.grid import (
    DEFAULT_BUDGETS,
    DEFAULT_RATIOS,
    Grid,
    items_hash,
    parse_budgets,
    parse_ratios,
    parse_regimes,
    plan,
    units,
)
from routelens.types import EvidenceGroup, Item


@dataclass(frozen=True)
class Fixed:
    name: str = "fixed"
    window: int = 8

    def config(self):
        return {"name": self.name, "window": self.window}

    def reseeded(self, seed):
        return self


@dataclass(frozen=True)
class Drawn:
    seed: int = 0
    name: str = "drawn"

    def config(self):
        return {"seed": self.seed}

    def reseeded(self, seed):
        return replace(self, seed=seed)


@dataclass(frozen=True)
class Around:
    policy: Drawn
    name: str = "around"

    def config(self):
        return {"policy": self.policy.config()}

    def reseeded(self, seed):
        return replace(self, policy=self.policy.reseeded(seed))


def item(id_, context="Ann lives in Oslo.", passage_id="p", **fields):
    return Item(
        context=context,
        question=fields.pop("question", f"Question {id_}?"),
        answer="Oslo",
        passage_id=passage_id,
        id=id_,
        **fields,
    )


THREE = [item("q1"), item("q2"), item("q10")]


def test_the_default_ratios_are_the_papers_grid_and_four_more():
    grid = Grid(["key_norm"])
    assert grid.ratios == DEFAULT_RATIOS
    assert grid.ratios[:10] == tuple(round(0.1 * step, 1) for step in range(10))
    assert grid.ratios[10:] == (0.925, 0.95, 0.975, 0.99)


def test_cells_are_every_policy_at_every_ratio_and_budget():
    grid = Grid([Fixed(), "full"], ratios=(0.5, 0), budgets=(64, 8))
    points = [(cell.policy_name, cell.compression_ratio, cell.budget) for cell in grid.cells()]
    assert points == [
        (name, *point)
        for name in ("fixed", "full")
        for point in ((0.0, None), (0.5, None), (None, 8), (None, 64))
    ]


def test_a_cell_names_its_policys_whole_configuration():
    cell = Grid([Fixed(window=3)], ratios=(0.5,), rounding="kvpress").cells()[0]
    assert json.loads(cell.policy_config) == {"name": "fixed", "window": 3}
    assert cell.columns() == {
        "policy": "fixed",
        "policy_config": cell.policy_config,
        "compression_ratio": 0.5,
        "budget": None,
        "rounding": "kvpress",
        "seed": 0,
    }


def test_only_what_a_seed_changes_runs_once_per_seed():
    cells = Grid([Fixed(), Around(Drawn(9)), Drawn(9)], ratios=(0.5,), seeds=(3, 4)).cells()
    assert [(cell.policy_name, cell.seed) for cell in cells] == [
        ("fixed", 3),
        ("around", 3),
        ("around", 4),
        ("drawn", 3),
        ("drawn", 4),
    ]
    assert [cell.policy for cell in cells[1:]] == [
        Around(Drawn(3)),
        Around(Drawn(4)),
        Drawn(3),
        Drawn(4),
    ]


def test_without_seeds_every_policy_keeps_its_own():
    cells = Grid([Fixed(), Around(Drawn(9)), Drawn(1), Drawn(2)], ratios=(0.5,)).cells()
    assert [cell.seed for cell in cells] == [0, 9, 1, 2]
    assert [cell.policy for cell in cells[2:]] == [Drawn(1), Drawn(2)]


def test_a_bare_name_may_be_random_and_keeps_every_seed():
    cells = Grid(["random", {"name": "mine", "k": 1}], ratios=(0.5,), seeds=(0, 1)).cells()
    assert [(cell.policy_name, cell.seed) for cell in cells] == [
        ("random", 0),
        ("random", 1),
        ("mine", 0),
        ("mine", 1),
    ]


def test_duplicates_are_merged_with_a_note():
    grid = Grid(
        ["full", "full"], ratios=(0.3, 0.1 + 0.2, 0.5), budgets=(8, 8), regimes=["agnostic"] * 2
    )
    assert (grid.policies, grid.ratios, grid.budgets) == (("full",), (0.3, 0.5), (8,))
    assert len(grid.notes) == 4
    assert "ratio 0.3 was given twice and runs once" in grid.notes
    assert "note: budget 8" in plan(THREE, grid).describe()


def test_the_order_of_ratios_does_not_make_another_grid():
    grids = [Grid(["full"], ratios=ratios) for ratios in ((0.9, 0, 0.5), (0, 0.5, 0.9))]
    assert grids[0] == grids[1] and grids[0].config() == grids[1].config()
    assert json.loads(json.dumps(grids[0].config())) == grids[0].config()


def test_a_single_name_needs_no_list():
    grid = Grid("full", regimes="aware_one")
    assert (grid.policies, grid.regimes) == (("full",), ("aware_one",))


@pytest.mark.parametrize("ratio", [1.0, 4.0, -0.1, float("nan"), True, 1 - 1e-14])
def test_a_ratio_outside_zero_to_one_is_refused(ratio):
    with pytest.raises(ValueError, match=r"Grid: compression_ratio is the fraction .* in \[0, 1\)"):
        Grid(["full"], ratios=(0.5, ratio))


@pytest.mark.parametrize("budget", [0, -4, True])
def test_a_budget_below_one_is_refused(budget):
    with pytest.raises(ValueError, match="Grid: budget is a whole number"):
        Grid(["full"], budgets=(budget,))


@pytest.mark.parametrize("empty", ["policies", "regimes", "seeds"])
def test_empty_lists_are_refused(empty):
    with pytest.raises(ValueError, match=f"at least one of {empty}; got none"):
        Grid(**{"policies": ["full"], empty: []})


def test_a_grid_without_ratios_and_budgets_is_refused():
    with pytest.raises(ValueError, match="needs compression ratios or budgets; got neither"):
        Grid(["full"], ratios=())
    assert len(Grid(["full"], ratios=(), budgets=(4,)).cells()) == 1


@pytest.mark.parametrize(
    ("regime", "near"), [("agnostik", "agnostic"), ("aware", "aware_one"), ("score", "score_only")]
)
def test_an_unknown_regime_is_refused_with_the_nearest_name(regime, near):
    with pytest.raises(ValueError, match=f"got '{regime}'. Did you mean .*{near}"):
        Grid(["full"], regimes=[regime])


def test_an_unknown_rounding_or_seed_or_policy_is_refused():
    with pytest.raises(ValueError, match="Grid: rounding is 'floor' or 'kvpress'"):
        Grid(["full"], ratios=(), budgets=(4,), rounding="ceil")
    with pytest.raises(ValueError, match="Grid: a seed is a whole number"):
        Grid(["full"], seeds=(-1,))
    for policy in (Fixed, 3, {"window": 4}):
        with pytest.raises(ValueError, match="Grid: a policy is a Policy object, a name"):
            Grid([policy])


@pytest.mark.parametrize(
    ("text", "ratios"),
    [
        ("0,0.5,0.9", (0.0, 0.5, 0.9)),
        ("default", DEFAULT_RATIOS),
        ("0:0.9:0.1", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        (" 0.1 : 0.4 : 0.2 , .95", (0.1, 0.3, 0.95)),
        ("0.5:0.5:0.1", (0.5,)),
    ],
)
def test_ratios_are_read_from_text(text, ratios):
    assert parse_ratios(text) == ratios


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got ''"),
        ("0.5,,0.9", "got ''"),
        ("90%", "90 % is 0.9"),
        ("nan", "got 'nan'"),
        ("0:0.9", "start:stop:step"),
        ("0.9:0:0.1", "goes up"),
        ("0:0.9:0", "goes up"),
        ("0:0.9:1e-9", "goes up"),
        ("0:1:0.5", r"in \[0, 1\); got 1.0"),
        ("4", r"in \[0, 1\); got 4.0"),
    ],
)
def test_bad_ratio_texts_say_what_to_write(text, message):
    with pytest.raises(ValueError, match=message) as error:
        parse_ratios(text)
    assert "--ratios" in str(error.value)


def test_budgets_and_regimes_are_read_from_text():
    assert parse_budgets("4, 64") == (4, 64)
    assert parse_budgets("default") == DEFAULT_BUDGETS
    assert parse_regimes("agnostic, score_only") == ("agnostic", "score_only")
    assert len(parse_regimes("all")) == 4
    for text in ("", "4.5", "-4", "0"):
        with pytest.raises(ValueError, match="budget"):
            parse_budgets(text)
    with pytest.raises(ValueError, match="Did you mean agnostic"):
        parse_regimes("agnostc")


def test_a_unit_is_a_passage_under_a_regime_and_an_item_in_aware_one():
    grid = Grid(["full"], regimes=("agnostic", "aware_one", "aware_list", "score_only"))
    found = units(THREE, grid)
    assert [(unit.regime, len(unit.items), len(unit.questions)) for unit in found] == [
        ("agnostic", 3, 0),
        ("aware_one", 1, 1),
        ("aware_one", 1, 1),
        ("aware_one", 1, 1),
        ("aware_list", 3, 3),
        ("score_only", 3, 3),
    ]
    assert len({unit.id for unit in found}) == len(found)
    assert found[1].questions == (found[1].items[0].question,)


def test_one_passage_id_with_two_contexts_is_two_passages():
    same_id = [item("a"), item("b", context="Ben lives in Oslo.")]
    found = units(same_id, Grid(["full"]))
    assert [unit.context for unit in found] == ["Ann lives in Oslo.", "Ben lives in Oslo."]
    assert len({unit.id for unit in found}) == 2
    assert plan(same_id, Grid(["full"])).n_passages == 2


def test_passages_come_in_the_order_of_their_first_item():
    mixed = [item("z", passage_id="late"), item("b", passage_id="early"), THREE[0]]
    found = units([*mixed, item("a", passage_id="late")], Grid(["full"]))
    assert [unit.passage_id for unit in found] == ["late", "early", "p"]
    assert [it.id for it in found[0].items] == ["a", "z"]


def test_questions_stand_in_the_order_of_ids_with_numbers_by_value():
    found = units(reversed(THREE), Grid(["full"], regimes=["aware_list"]))
    assert [it.id for it in found[0].items] == ["q1", "q2", "q10"]
    assert found[0].questions == ("Question q1?", "Question q2?", "Question q10?")


def test_unit_ids_are_the_same_on_every_machine():
    grid = Grid(["full"], regimes=("agnostic", "aware_list"))
    assert [unit.id for unit in units(THREE, grid)] == [
        "p/agnostic/f054658653491e6a",
        "p/aware_list/75669084cf63bc87",
    ]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.text(), st.sampled_from("ab"), st.booleans()), min_size=1, max_size=9),
    st.randoms(),
)
def test_unit_ids_and_contents_do_not_depend_on_the_order_of_the_items(parts, rng):
    items = list(
        {
            id_: item(id_ or "empty", context=f"Ann {other}.", passage_id=passage)
            for id_, passage, other in parts
            if id_ != "empty"
        }.values()
    ) or [THREE[0]]
    grid = Grid(["full"], regimes=("agnostic", "aware_one", "aware_list"))
    first = {unit.id: unit for unit in units(items, grid)}
    shuffled = list(items)
    rng.shuffle(shuffled)
    assert {unit.id: unit for unit in units(shuffled, grid)} == first
    assert items_hash(shuffled) == items_hash(items)
    assert sum(len(unit.items) for unit in first.values()) == 3 * len(items)


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Where?"},
        {"answer": "Rome"},
        {"answer": None},
        {"aliases": ("O.",)},
        {"context": "Ann lives in Oslo!"},
        {"required_groups": (EvidenceGroup(((0, 3),)),)},
        {"passage_id": "other"},
        {"answer_type": "Location"},
    ],
)
def test_other_contents_are_another_unit_and_another_hash(change):
    changed = [replace(THREE[0], **change), *THREE[1:]]
    grid = Grid(["full"])
    assert {u.id for u in units(changed, grid)}.isdisjoint(u.id for u in units(THREE, grid))
    assert items_hash(changed) != items_hash(THREE)


def test_the_limit_counts_items_and_leaves_their_rows_as_they_are():
    grid = Grid(["full"], regimes=("agnostic", "aware_list"))
    items = [*THREE, item("x", passage_id="next")]
    limited = units(items, grid, limit=2)
    assert [[it.id for it in unit.items] for unit in limited] == [["q1", "q2"], ["q1", "q2"]]
    whole = units(items, grid)
    assert limited[1].questions == whole[1].questions
    assert limited[0].id != whole[0].id
    assert [unit.id for unit in units(items, grid, limit=99)] == [unit.id for unit in whole]
    with pytest.raises(ValueError, match="limit is a number of items, at least 1; got 0"):
        units(items, grid, limit=0)


def test_repeated_items_are_merged_and_different_ones_with_one_id_refused():
    grid = Grid(["full"])
    assert units([*THREE, THREE[1]], grid) == units(THREE, grid)
    assert "1 repeated items merged" in plan([*THREE, THREE[1]], grid).notes
    with pytest.raises(ValueError, match="'q1' names two that differ.*'Question q1.'.*'Else.'"):
        units([*THREE, item("q1", question="Else?")], grid)
    with pytest.raises(ValueError, match="at least one item; got none"):
        units([], grid)


def test_a_plan_counts_what_a_plain_loop_counts():
    grid = Grid([Fixed(), Drawn(), "full"], ratios=(0, 0.5, 0.9), budgets=(8,), seeds=(0, 1),
                regimes=("agnostic", "aware_one"))  # fmt: skip
    items = [*THREE, item("x", context="Else.", passage_id="next")]
    rows, masks, answers = 0, 0, 0
    for unit in units(items, grid):
        evicting = 0
        for cell in grid.cells():
            rows += len(unit.items)
            evicting += cell.compression_ratio != 0 and cell.policy_name != "full"
        masks += evicting + 1
        answers += (evicting + 1) * len(unit.items)
    found = plan(items, grid)
    assert (found.n_items, found.n_passages, found.n_units) == (4, 2, 6)
    assert (found.n_rows, found.n_unique_masks, found.n_answers) == (rows, masks, answers)
    assert found.n_cells == 4 * (1 + 2 + 2)
    assert found.n_units_by_regime == {"agnostic": 2, "aware_one": 4}
    assert (found.n_units_left, found.n_rows_left) == (found.n_units, found.n_rows)


def test_a_plan_knows_what_is_left():
    grid = Grid(["key_norm"], ratios=(0, 0.5), regimes=("agnostic", "aware_one"))
    finished = {units(THREE, grid)[0].id}
    found = plan(THREE, grid, done=finished.__contains__)
    assert (found.n_units, found.n_units_left) == (4, 3)
    assert (found.n_rows, found.n_rows_left) == (12, 6)
    assert "3 units and 6 rows are left" in found.describe()
    assert plan(THREE, grid, limit=1).n_items == 1


def test_a_plan_of_thousands_of_items_is_quick():
    import time

    items = [
        item(f"{passage}-{index}", context=f"Passage {passage}.", passage_id=str(passage))
        for passage in range(400)
        for index in range(13)
    ]
    random.Random(0).shuffle(items)
    start = time.perf_counter()
    assert plan(items, Grid(["full"], regimes=("agnostic", "aware_list"))).n_units == 800
    assert time.perf_counter() - start < 5
