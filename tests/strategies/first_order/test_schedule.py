"""The schedule of trials, and changes of discrete parameters in high dimension."""

import numpy as np
import pytest
from tests.trials.histories import history_of

import sonde
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.first_order.active_searches import HIGH_DIMENSION, searching_locally
from sonde.strategies.first_order.schedule import AROUND, changed_point
from sonde.trials import Outcome, State

FLOATS = {"x": sonde.Float(0, 1), "y": sonde.Float(0, 1)}
MIXED = sonde.Space(FLOATS | {"kind": sonde.Categorical(["a", "b", "c"]), "count": sonde.Int(0, 1)})
HERE = {"x": 0.2, "y": 0.3, "kind": "a", "count": 0}
DONE = Outcome(State.COMPLETED, 1.0)


def changes(space: sonde.Space, *tried: dict, seeds: int = 40) -> list[dict]:
    """The changes of the first configuration that was tried."""
    history = history_of(space, [(params, DONE) for params in tried])
    found = (changed_point(Domain(space, history), history.units[0], np.random.default_rng(i)) for i in range(seeds))
    rows = [space.codec.decode(point[None])[0] for point in found if point is not None]
    return [space.codec.configuration(row) for row in rows]


def test_one_discrete_parameter_changes_and_the_continuous_ones_do_not() -> None:
    found = changes(MIXED, HERE)
    assert {(params["kind"], params["count"]) for params in found} == {("b", 0), ("c", 0), ("a", 1)}
    assert all((params["x"], params["y"]) == (pytest.approx(0.2), pytest.approx(0.3)) for params in found)


def test_a_combination_tried_nearby_is_not_tried_again() -> None:
    near, far = HERE | {"x": 0.2 + 0.9 * AROUND, "kind": "b"}, HERE | {"x": 0.2 + 2 * AROUND, "kind": "c"}
    found = changes(MIXED, HERE, near, far)
    assert {(params["kind"], params["count"]) for params in found} == {("c", 0), ("a", 1)}
    assert changes(MIXED, HERE, near, HERE | {"kind": "c"}, HERE | {"count": 1}) == []


def test_a_parameter_that_becomes_active_has_a_random_value() -> None:
    space = sonde.Space({"kind": sonde.Categorical(["a", "b"]), "depth": sonde.Float(0, 1, when={"kind": "b"})})
    depths = [params["depth"] for params in changes(space, {"kind": "a"})]
    assert len(set(depths)) > 30


def test_a_space_of_continuous_parameters_has_no_changes() -> None:
    assert changes(sonde.Space(FLOATS), {"x": 0.2, "y": 0.3}) == []


def test_which_trials_search_locally() -> None:
    numbers = np.arange(4)
    many = {f"x{i}": sonde.Float(0, 1) for i in range(HIGH_DIMENSION + 1)}
    spaces = MIXED, sonde.Space(many), sonde.Space(many | {"n": sonde.Int(1, 9)})
    found = [searching_locally(Domain(space, history_of(space)), numbers).tolist() for space in spaces]
    assert found == [[False, True, False, True], [True] * 4, [True, False, True, False]]
