"""Reachability (D15) and the triad (D24): a small graph worked by hand, laws, and the three shares."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from routelens.metrics import accessibility, drift, head_max, reachable, retention, utilisation
from routelens.types import KeepMask, TokenGroup, Trace

laws = settings(deadline=None, max_examples=40)

N_PREFIX = 4


def hand_graph():
    """Three layers, three rows (q0, q1, and the target q2), prefix tokens p0..p3. Weights of the only edges:

    layer 0: p0 -.3-> q0, p3 -.5-> q2     layer 1: p1 -.4-> q1, q0 -.2-> q1     layer 2: q1 -.6-> q2, p2 -.05-> q2
    """
    edges = torch.zeros(3, 3, N_PREFIX + 3)
    edges[0, 0, 0], edges[0, 2, 3] = 0.3, 0.5
    edges[1, 1, 1], edges[1, 1, N_PREFIX + 0] = 0.4, 0.2
    edges[2, 2, N_PREFIX + 1], edges[2, 2, 2] = 0.6, 0.05
    return edges


def reach(groups=(), *, eps, target_row=2, edges=None):
    edges = hand_graph() if edges is None else edges
    return reachable(edges, N_PREFIX, groups, target_row=target_row, eps=eps)


@pytest.mark.parametrize(
    ("eps", "reached"),
    [
        (0.01, [True, True, True, True]),
        (0.1, [True, True, False, True]),  # p2's only edge weighs .05
        (0.25, [False, True, False, True]),  # the hop q0 -> q1 weighs .2
        (0.45, [False, False, False, True]),  # p1 -> q1 weighs .4
        (0.55, [False, False, False, False]),
    ],
)
def test_the_hand_worked_graph(eps, reached):
    assert reach(eps=eps).reached.tolist() == reached


def test_layers_run_in_order():
    edges = torch.zeros(2, 2, N_PREFIX + 2)
    edges[1, 0, 0] = 0.9  # p0 -> q0 in the last layer
    edges[0, 1, N_PREFIX] = 0.9  # q0 -> q1 in the first: too early to carry it
    assert not reach(eps=0.1, edges=edges, target_row=1).reached.any()
    assert reach(eps=0.1, edges=edges.flip(0), target_row=1).reached.tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_residual_edges_carry_a_row_up():
    edges = torch.zeros(5, 1, N_PREFIX + 1)
    edges[0, 0, 2] = 0.5
    assert reach(eps=0.1, edges=edges, target_row=0).reached.tolist() == [False, False, True, False]


def test_other_rows_do_not_count_without_a_path():
    # Generated row q2 reads p3, but the target here is q1.
    assert reach(eps=0.01, target_row=1).reached.tolist() == [True, True, False, False]


def test_the_three_readings_of_reachable():
    payload, bridge = TokenGroup(((0, 2), (1, 2))), TokenGroup(((3,),), role="bridge")
    low, middle = reach((payload, bridge), eps=0.01), reach((payload, bridge), eps=0.1)
    assert (low.any, low.occurrence, low.groups) == (True, True, True)
    assert (middle.any, middle.occurrence, middle.groups) == (True, False, False)
    none = reach((payload,), eps=0.9)
    assert (none.any, none.occurrence, none.groups) == (False, False, False)


def test_without_groups_reachability_is_none():
    found = reach((), eps=0.01)
    assert (found.any, found.occurrence, found.groups) == (None, None, None)
    assert reach((TokenGroup(()),), eps=0.01).groups is None
    bridge_only = reach((TokenGroup(((3,),), role="bridge"),), eps=0.01)
    assert (bridge_only.any, bridge_only.groups) == (None, True)


def test_the_default_threshold_is_one_over_the_prefix_length():
    assert reach(eps=None).reached.tolist() == reach(eps=1 / N_PREFIX).reached.tolist()


def test_a_wrong_shape_or_row_is_refused():
    with pytest.raises(ValueError, match="Trace all rows"):
        reachable(hand_graph(), N_PREFIX - 1, (), target_row=2, eps=0.1)
    with pytest.raises(ValueError, match=r"\[0, 3\); got 3"):
        reach(eps=0.1, target_row=3)
    with pytest.raises(ValueError, match="at least 0"):
        reach(eps=-0.1)


def brute_force(edges, target_row, eps):
    """Every path walked one edge at a time."""
    n_layers, n_rows, _ = edges.shape
    found = set()

    def walk(level, row):
        if level == 0:
            return
        for column in range(N_PREFIX + n_rows):
            if edges[level - 1, row, column] > eps:
                if column < N_PREFIX:
                    found.add(column)
                else:
                    walk(level - 1, column - N_PREFIX)
        walk(level - 1, row)

    walk(n_layers, target_row)
    return [t in found for t in range(N_PREFIX)]


@laws
@given(st.integers(0, 10**6), st.floats(0.3, 0.95))
def test_the_dynamic_programme_equals_walking_every_path(seed, eps):
    edges = torch.rand(3, 3, N_PREFIX + 3, generator=torch.Generator().manual_seed(seed))
    edges[:, :, N_PREFIX:] = edges[:, :, N_PREFIX:].tril()
    assert reach(eps=eps, edges=edges).reached.tolist() == brute_force(edges, 2, eps)


@laws
@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_reaches_no_less(seed, a, b):
    edges = torch.rand(3, 3, N_PREFIX + 3, generator=torch.Generator().manual_seed(seed))
    low, high = reach(eps=min(a, b), edges=edges), reach(eps=max(a, b), edges=edges)
    assert (high.reached <= low.reached).all()


def test_head_max_takes_the_strongest_head():
    pattern = torch.rand(2, 3, 4, 10)
    state = torch.zeros(3, 5)
    trace = Trace(pattern, 6, 0, 3, (1,) * 4, ("a",) * 4, state, state)
    assert torch.equal(head_max(trace), pattern.max(dim=1).values)


def test_retention_is_the_share_of_kept_answer_entries():
    keep = KeepMask.full(2, 2, 4).with_positions([1], keep=False, layers=[0], kv_heads=[0])
    assert retention(keep, (1,)) == 0.75
    assert retention(keep, (1, 2)) == 0.875
    assert retention(keep, (0,)) == 1


def test_accessibility_counts_items_with_known_evidence():
    found = accessibility([True, True, False, None], ["a", "b", "c", "d"])
    assert found.mean == pytest.approx(2 / 3)
    assert (found.n, found.n_missing) == (3, 1)


def test_utilisation_looks_at_accessible_items_only():
    found = utilisation([1, 0, 1, 1], [True, True, False, None], ["a", "b", "c", "d"])
    assert (found.mean, found.n) == (0.5, 2)
    assert math.isnan(utilisation([1, 1], [False, False]).mean)
    with pytest.raises(ValueError, match="2 correct and 1 accessible"):
        utilisation([1, 1], [True])
    with pytest.raises(ValueError, match="1 for 2"):
        utilisation([1, 1], [True, True], ["a"])


def test_drift_is_the_cosine_per_layer():
    full = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    compressed = torch.tensor([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0], [1.0, 1.0]])
    found = drift(full, compressed)
    assert found[:3].tolist() == [1, 0, -1]
    assert math.isnan(found[3])
    assert drift(full.bfloat16(), full.bfloat16()).dtype == torch.float32


def test_states_of_different_shapes_are_refused():
    with pytest.raises(TypeError):
        drift(torch.zeros(3, 4), torch.zeros(2, 4))
