"""The schedule of trials, and changes of discrete parameters in high dimension."""

import numpy as np
import pytest
from tests.trials.histories import add_pending, history_of

import sonde
from sonde.sampling import Key
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.large_batch import LARGE
from sonde.strategies.bayesian.target import Target
from sonde.strategies.first_order.active_searches import FIRST, HIGH_DIMENSION, local_searches, searching_locally
from sonde.strategies.first_order.fobo import FOBO
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.strategies.first_order.local_model import local_step
from sonde.strategies.first_order.schedule import AROUND, FirstOrderSchedule, changed_point
from sonde.trials import Evaluation, History, Outcome, State, to_outcome

FLOATS = {"x": sonde.Float(0, 1), "y": sonde.Float(0, 1)}
MIXED = sonde.Space(FLOATS | {"kind": sonde.Categorical(["a", "b", "c"]), "count": sonde.Int(0, 1)})
HERE = {"x": 0.2, "y": 0.3, "kind": "a", "count": 0}
DONE = Outcome(State.COMPLETED, 1.0)
ONE_SEARCH = (0.49, 0.9, 0.46, 0.42, 0.4, 0.37)  # initial design and steps, see ``with_gradients``


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


# targets


def with_gradients(space: sonde.Space, *coordinates: float) -> History:
    """Points of a quadratic with its minimum at 0.3; all coordinates of a point are equal."""
    units = np.repeat(np.array(coordinates)[:, None], len(space), axis=1)
    told = []
    for params in map(space.codec.configuration, space.codec.decode(units)):
        numbers = {name: float(value) - 0.3 for name, value in params.items() if isinstance(value, float)}
        gradient = {name: 2 * number for name, number in numbers.items()}
        value = sum(number**2 for number in numbers.values())
        told.append((params, to_outcome(Evaluation(value, gradient=gradient), space)))
    return history_of(space, told)


def kinds(history: History, count: int, number: int) -> list[str]:
    """What each of the next trials is: of the global model, the step of a local search, or another point."""
    model, domain = GradientModel("matern52", (None,)), Domain(history.space, history)
    found = FirstOrderSchedule(model).targets(domain, count, Key(0, number))
    searches = local_searches(domain).waiting if domain.continuous.any() else []
    steps = [local_step(model, domain, each, None) for each in searches]
    assert len(found) == count
    return [
        "global"
        if isinstance(each, Target)
        else "local"
        if any(np.array_equal(each, step) for step in steps)
        else "point"
        for each in found
    ]


def test_the_initial_design_has_the_centre_and_one_more_point() -> None:
    space = sonde.Space(FLOATS)
    assert FirstOrderSchedule(GradientModel("matern52", (None,))).first(space) == FIRST == 2
    points = FOBO().suggest(space, history_of(space), 2, Key(0, 0))
    assert points[0].tolist() == [0.5, 0.5]
    assert np.all(points[1] != 0.5)
    np.testing.assert_array_equal(FOBO().suggest(space, history_of(space), 1, Key(0, 1)), points[1:])


def test_trials_of_the_global_model_alternate_with_those_of_local_searches() -> None:
    history = with_gradients(MIXED, *ONE_SEARCH[:4])
    assert kinds(history, 1, number=4) == ["global"]
    assert kinds(history, 1, number=5) == ["local"]
    assert kinds(history, 4, number=4) == ["global", "local", "global", "point"]  # one search, then a new start


@pytest.mark.parametrize("number", [4, 5])
def test_until_a_minimum_is_known_all_trials_are_local_where_all_parameters_are_continuous(number: int) -> None:
    space = sonde.Space(FLOATS)
    before, after = with_gradients(space, 0.49, 0.9, 0.42, 0.35), with_gradients(space, 0.49, 0.9, 0.42, 0.3)
    assert [len(local_searches(Domain(space, each)).minima) for each in (before, after)] == [0, 1]
    assert kinds(before, 3, number) == ["local", "point", "point"]
    assert kinds(after, 3, number) == (["global", "point", "global"] if number == 4 else ["point", "global", "point"])


def test_after_a_minimum_is_known_other_searches_alternate_with_the_global_model() -> None:
    history = with_gradients(sonde.Space(FLOATS), 0.49, 0.9, 0.42, 0.3, 0.7, 0.45)  # the last one is odd: a new start
    assert kinds(history, 4, number=6) == ["global", "local", "global", "point"]


def test_pending_trials_count_towards_a_large_batch() -> None:
    history = with_gradients(sonde.Space(FLOATS), *ONE_SEARCH[:4])
    assert set(kinds(history, 2, number=4)) == {"local", "point"}
    add_pending(history, np.random.default_rng(1).random((LARGE - 1, 2)))
    assert kinds(history, 2, number=4 + LARGE) == ["global"] * 2


@pytest.mark.parametrize("space", [sonde.Space(FLOATS), MIXED], ids=["continuous", "mixed"])
def test_a_local_search_waits_while_its_trial_is_pending(space: sonde.Space) -> None:
    history = with_gradients(space, *ONE_SEARCH[:5])
    assert kinds(history, 1, number=5) == ["local"]
    best = history.units[int(np.argmin(history.values))]
    near = best + np.where(Domain(space, history).continuous, 0.01, 0.0)
    add_pending(history, space.codec.decode(near[None]))  # number 5 is odd: of a local search
    assert kinds(history, 1, number=7) == ["point"]


def test_local_first_any_pending_trial_is_of_a_local_search() -> None:
    history = with_gradients(sonde.Space(FLOATS), *ONE_SEARCH)
    best = history.units[int(np.argmin(history.values))]
    assert kinds(history, 1, number=7) == ["local"]
    add_pending(history, best[None] + 0.01)  # number 6 is even
    assert kinds(history, 1, number=7) == ["point"]


def test_all_points_of_a_large_batch_are_of_the_global_model() -> None:
    assert set(kinds(with_gradients(sonde.Space(FLOATS), *ONE_SEARCH), LARGE + 1, number=6)) == {"global"}


def test_a_lattice_has_no_local_searches() -> None:
    space = sonde.Space(n=sonde.Int(0, 99), m=sonde.Int(0, 99))
    told = [({"n": 9 * i, "m": 7 * i}, Evaluation(float(i), gradient={"n": 0.1, "m": 0.0})) for i in range(8)]
    history = history_of(space, [(params, to_outcome(value, space)) for params, value in told])
    assert kinds(history, 4, number=8) == ["global"] * 4


def test_in_high_dimension_there_is_no_global_model() -> None:
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(HIGH_DIMENSION + 1)})
    assert kinds(with_gradients(space, *ONE_SEARCH[:5]), 2, number=5) == ["local", "point"]
    assert kinds(with_gradients(space, *ONE_SEARCH[:4], 0.3), 2, number=5) == ["point"] * 2  # the minimum is known
