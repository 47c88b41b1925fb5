"""A sweep's rows are cleaned once: numbers are floats, policies are told apart, controls keep their looks."""

import json

import numpy as np
import pandas as pd
import pytest
from made_rows import CLIFF, RATIOS, as_table, make_rows, make_table

from routelens.sweeps.store import SCHEMA
from routelens.viz.rows import as_sweep, axes_of
from routelens.viz.style import LOOKS

SMALL = {"n_passages": 2, "n_questions": 2, "ratios": (0.0, 0.5, 0.9)}


def configured(**configs):
    """Rows of one policy under several configurations."""
    rows = make_rows(policies=("random",), **SMALL)
    return as_table(
        [row | {"policy_config": json.dumps(config)} for config in configs.values() for row in rows]
    )


def test_seeds_of_one_policy_are_one_series():
    sweep = as_sweep(configured(a={"name": "random", "seed": 0}, b={"name": "random", "seed": 7}))
    assert [series.label for series in sweep.series] == ["random"]
    assert len(sweep.of("agnostic", "random")) == 2 * 2 * 2 * 3


def test_two_configurations_of_a_policy_are_named_by_what_differs():
    plain = {"name": "random", "window": 16, "kernel": 5}
    sweep = as_sweep(configured(a=plain, b=plain | {"window": 64}))
    assert {series.label for series in sweep.series} == {"random (window=16)", "random (window=64)"}
    assert len({series.look for series in sweep.series}) == 2


def test_a_wrapper_is_named_by_the_policy_it_wraps():
    inner = [{"name": "adakv", "policy": {"name": name}} for name in ("snapkv", "key_norm")]
    sweep = as_sweep(configured(a=inner[0], b=inner[1]))
    assert {series.label for series in sweep.series} == {"random (snapkv)", "random (key_norm)"}


def test_a_configuration_that_is_no_json_still_tells_series_apart():
    rows = make_rows(policies=("random",), **SMALL)
    rows += [row | {"policy_config": "not json"} for row in rows]
    assert len(as_sweep(as_table(rows)).series) == 2


@pytest.mark.parametrize(
    "policies", [("key_norm", "full"), ("full", "random", "key_norm"), tuple(CLIFF)]
)
def test_a_policy_keeps_its_look_whatever_else_ran(policies):
    sweep = as_sweep(make_table(policies=policies, **SMALL))
    assert all(series.look == LOOKS[series.policy] for series in sweep.series)
    assert [series.policy for series in sweep.series] == [
        name for name in LOOKS if name in policies
    ]


def test_the_policies_of_the_package_all_have_a_look_of_their_own():
    from routelens.policies import POLICIES

    assert set(POLICIES) <= set(LOOKS)
    assert len({(look.color, look.marker) for look in LOOKS.values()}) == len(LOOKS)


def test_the_order_of_rows_does_not_matter():
    table = make_table(**SMALL)
    one, other = as_sweep(table), as_sweep(table.sample(frac=1, random_state=1))
    assert one.series == other.series and one.axis == other.axis and one.regimes == other.regimes


def test_missing_columns_are_added_as_missing_and_noted():
    sweep = as_sweep(make_table(**SMALL).drop(columns=["ger_layer", "drift_by_layer"]))
    assert sweep.rows["ger_layer"].isna().all() and set(SCHEMA.names) <= set(sweep.rows)
    assert "ger_layer, drift_by_layer" in sweep.notes[0] or "drift_by_layer" in sweep.notes[0]


def test_flags_of_every_kind_become_the_same_floats():
    table = make_table(**SMALL)
    plain = table.astype({"erased_layer": object})
    plain["erased_layer"] = pd.Series(
        [None if v is pd.NA else bool(v) for v in table["erased_layer"]], dtype=object
    )
    expected = table["erased_layer"].to_numpy(dtype=float, na_value=np.nan)
    for version in (table, plain):
        np.testing.assert_array_equal(as_sweep(version).rows["erased_layer"], expected)


def test_a_failure_that_compression_caused_is_defined_on_items_right_before():
    rows = as_sweep(make_table(n_passages=6, n_questions=6)).rows
    right = rows["full_outcome"] == "correct"
    assert right.any() and not right.all()
    assert rows.loc[~right, "caused_failure"].isna().all()
    np.testing.assert_array_equal(
        rows.loc[right, "caused_failure"], rows.loc[right, "transition"] == "C->W"
    )


def test_failures_split_into_erased_intact_and_unknown():
    rows = as_sweep(make_table(n_passages=4, unanswerable=5)).rows
    parts = rows["failed_erased"] + rows["failed_intact"] + rows["failed_unknown"]
    np.testing.assert_array_equal(parts, rows["failed"])
    assert rows["failed_unknown"].sum() == rows.loc[rows["erased_layer"].isna(), "failed"].sum() > 0


def test_an_outcome_of_an_unknown_class_is_left_out_and_noted():
    table = make_table(**SMALL)
    table.loc[0, "outcome"] = "strange"
    sweep = as_sweep(table)
    assert np.isnan(sweep.rows.loc[0, "correct"]) and any("strange" in note for note in sweep.notes)


def test_ratios_and_budgets_are_two_axes():
    table = make_table(n_passages=2, budgets=(4, 64))
    assert axes_of(table) == ("ratio", "budget")
    assert as_sweep(table).axis.points == RATIOS
    assert as_sweep(table, axis="budget").axis.points == (4.0, 64.0)
    assert as_sweep(make_table(n_passages=2, ratios=(), budgets=(8,))).axis.name == "budget"


def test_the_point_of_reference_is_nine_tenths_or_the_nearest():
    assert as_sweep(make_table(**SMALL)).reference == 0.9
    assert as_sweep(make_table(n_passages=1, ratios=(0.0, 0.85, 0.95))).reference == 0.85
    assert as_sweep(make_table(n_passages=1, ratios=(), budgets=(4, 16, 256))).reference == 16


def test_lone_surrogates_and_nulls_do_no_harm():
    table = make_table(**SMALL).astype({"prediction": object, "task": object})
    table["prediction"] = pd.Series(["\ud800"] * len(table), dtype=object)
    table["task"] = pd.Series([None] * len(table), dtype=object)
    rows = as_sweep(table).rows
    assert (
        rows["prediction"].iloc[0] == "\N{REPLACEMENT CHARACTER}"
        and rows["task"].iloc[0] == "(none)"
    )
