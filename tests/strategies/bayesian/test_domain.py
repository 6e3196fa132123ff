"""The search domain: coordinates, constraints, and what has been tried."""

from __future__ import annotations

import numpy as np
from tests.strategies.bayesian.histories import PLANE, evaluated
from tests.trials.histories import add_pending, history_of

from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.strategies.bayesian.domain import LISTED, WHOLE_AXIS, Domain

MIXED = Space(
    x=Float(0, 1),
    n=Int(1, 1000),
    kind=Categorical(["a", "b", "c"]),
    depth=Int(1, 5, when={"kind": "b"}),
)


def points(space: Space, count: int) -> np.ndarray:
    return space.codec.project(np.random.default_rng(1).random((count, len(space))))[0]


def test_only_unstepped_floats_are_continuous() -> None:
    space = Space(x=Float(0, 1), s=Float(0, 1, step=0.1), n=Int(0, 9), kind=Categorical(["a", "b"]))
    assert Domain(space, history_of(space)).continuous.tolist() == [True, False, False, False]


def test_a_point_is_new_until_it_is_tried_pending_or_taken() -> None:
    history = evaluated(3)
    add_pending(history, PLANE.codec.decode(np.array([[0.11, 0.12]])))
    domain, new = Domain(PLANE, history), np.array([0.4, 0.6])
    assert len(domain.tried) == 4
    assert not any(domain.novel(point) for point in domain.tried)
    assert domain.novel(new)
    domain.take(new)
    assert not domain.novel(new)
    assert not domain.novel(new + 1e-12)
    assert domain.fresh().novel(new)
    assert not domain.fresh().novel(domain.tried[0])


def test_small_spaces_are_listed_without_what_breaks_a_constraint() -> None:
    space = Space(n=Int(0, 3), on=Bool()).where("n > 0")
    listed = Domain(space, history_of(space)).listed
    assert listed is not None
    assert listed.shape == (6, 2)
    large = Space(n=Int(0, LISTED + 1))
    assert Domain(large, history_of(large)).listed is None
    assert Domain(PLANE, history_of(PLANE)).listed is None


def test_known_constraints_are_checked() -> None:
    space = Space(x=Float(0, 1), y=Float(0, 1)).where("x + y <= 1")
    feasible = Domain(space, history_of(space)).feasible(np.array([[0.4, 0.4], [0.6, 0.6]]))
    assert feasible.tolist() == [True, False]


def test_perturbations_stay_in_the_cube_and_vary_in_scale() -> None:
    domain, centre = Domain(PLANE, history_of(PLANE)), np.array([[0.5, 0.99]])
    moved = domain.spread(centre, 400, np.random.default_rng(0))
    assert moved.shape == (400, 2)
    assert ((moved >= 0) & (moved <= 1)).all()
    distances = np.abs(moved - centre).max(axis=1)
    assert np.quantile(distances, 0.1) < 0.01 < 0.1 < np.quantile(distances, 0.95)


def test_neighbours_differ_in_one_active_lattice_coordinate() -> None:
    domain = Domain(MIXED, history_of(MIXED))
    for point in points(MIXED, 20):
        active = domain.project(point[None])[1][0]
        found = domain.neighbours(point, active)
        np.testing.assert_array_equal(found[:, 0], np.full(len(found), point[0]))
        changed = np.abs(found - point)[:, :3] > 1e-9
        changed_depth = (np.abs(found[:, 3] - point[3]) > 1e-9) & ~changed[:, 2]  # without kind "b" there is no depth
        assert (changed.sum(axis=1) + changed_depth == 1).all()
        assert len(set(found[changed[:, 2], 2])) == 2  # all other categories
        assert changed_depth.sum() == (4 if active[3] else 0)


def test_long_lattice_axes_have_neighbours_near_and_far() -> None:
    space = Space(n=Int(1, 1000))
    domain = Domain(space, history_of(space))
    here = space.codec.encode(np.array([[500.0]]))[0][0]
    found = space.codec.decode(domain.neighbours(here, np.array([True])))[:, 0]
    assert len(found) < WHOLE_AXIS
    assert {499.0, 501.0} <= set(found)
    assert max(abs(found - 500)) > 200
