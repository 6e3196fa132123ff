"""The search: from targets to the points of a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.strategies.bayesian.histories import PLANE, bowl, evaluated
from tests.trials.histories import add_pending, history_of

from sonde.acquisition.utilities import UTILITIES
from sonde.sampling import Key
from sonde.space import Bool, Float, Int, Space
from sonde.strategies.bayesian.acquisitions import NAMES, acquire, fantasies_of
from sonde.strategies.bayesian.acquisitions import add_pending as add_fantasies
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.fantasies import Fantasies
from sonde.strategies.bayesian.large_batch import LARGE, select_large_batch
from sonde.strategies.bayesian.point_search import best_point, candidates, point_values
from sonde.strategies.bayesian.search import Search
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.bayesian.target import Box, Target
from sonde.surrogates.exact.region import Region
from sonde.trials import History, failure, to_outcome

Array = NDArray[np.float64]
KEY = Key(0, 12)
CUBE = Box(np.zeros(2), np.ones(2), np.empty((0, 2)))


def surrogate_of(history: History, space: Space = PLANE) -> Surrogate:
    return ExactModel("map").fit(space, history, KEY, Region(np.full(len(space), 0.5), 1.0))


def found(search: Search, targets: list[Target | Array], history: History, space: Space = PLANE) -> Array:
    return search.points(targets, Domain(space, history), KEY)


def log_ei(surrogate: Surrogate, points: Array) -> Array:
    fantasies = [Fantasies.of(each, surrogate.best or 0.0, 0, 0) for each in surrogate.posteriors]
    none = points[:0]
    return point_values(acquire("log_ei", surrogate, none, fantasies, none, size=1, seed=0), points)


# one point


def test_one_point_is_the_maximum_of_the_acquisition_function() -> None:
    history = evaluated(12)
    surrogate = surrogate_of(history)
    point = found(Search(), [Target(surrogate, CUBE)], history)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    assert log_ei(surrogate, point)[0] >= log_ei(surrogate, grid).max() - 1e-3


def test_a_point_is_in_the_box_of_its_target_and_outside_its_excluded_region() -> None:
    history = evaluated(12)
    surrogate = surrogate_of(history)
    box = Box(np.array([0.6, 0.1]), np.array([0.9, 0.2]), np.empty((0, 2)))
    point = found(Search(), [Target(surrogate, box)], history)[0]
    assert ((box.low <= point) & (point <= box.high)).all()
    free = found(Search(), [Target(surrogate, CUBE)], history)[0]
    elsewhere = found(Search(), [Target(surrogate, replace(CUBE, excluded=free))], history)[0]
    assert np.abs(elsewhere - free).max() > 0.1


def test_a_target_may_have_another_acquisition_function() -> None:
    """The simple regret of one point is the posterior mean."""
    history = evaluated(12)
    surrogate = surrogate_of(history)
    point = found(Search("ucb"), [Target(surrogate, CUBE, acquisition="sr")], history)
    grid = np.random.default_rng(3).random((2000, 2))
    means = surrogate.posteriors[0].marginals(surrogate.features(np.concatenate([point, grid]))).mean[:, 0]
    assert means[0] >= means[1:].max() - 1e-6


def test_candidates_meet_constraints_and_avoid_the_excluded_region() -> None:
    space = Space(x=Float(0, 1), n=Int(0, 20)).where("x + n / 20 <= 1")
    history = history_of(space)
    best = np.array([0.3, space.codec.axes[1].to_unit([4])[0]])
    box = Box(np.zeros(2), np.ones(2), best[None], excluded=best)
    points = candidates(Domain(space, history), box, KEY)
    rows = space.codec.decode(points)
    assert len(points) > 100
    assert (rows[:, 0] + rows[:, 1] / 20 <= 1).all()
    assert not np.any((rows[:, 1] == 4) & (np.abs(points[:, 0] - 0.3) <= 0.1))


def test_in_a_mixed_space_the_best_lattice_value_is_found() -> None:
    space = Space(x=Float(0, 1), n=Int(0, 200))
    history = evaluated(25, bowl, space)
    surrogate = surrogate_of(history, space)
    fantasies = [Fantasies.of(each, surrogate.best or 0.0, 0, 0) for each in surrogate.posteriors]
    none = np.empty((0, 2))
    acquisition = acquire("log_ei", surrogate, none, fantasies, none, size=1, seed=0)
    domain = Domain(space, history)
    point = best_point(acquisition, domain, Box(np.zeros(2), np.ones(2), none), KEY)
    assert point is not None
    moves = domain.neighbours(point, np.array([True, True]))
    moves = moves[[domain.novel(move) for move in moves]]
    assert point_values(acquisition, point[None])[0] >= point_values(acquisition, moves).max()


# batches


@pytest.mark.parametrize("acquisition", NAMES)
def test_points_of_a_batch_are_distinct_whatever_the_acquisition_function(acquisition: str) -> None:
    history = evaluated(10)
    add_pending(history, PLANE.codec.decode(np.array([[0.3, 0.3]])))
    points = found(Search(acquisition), [Target(surrogate_of(history), CUBE)] * 3, history)
    everything = np.concatenate([history.units, points])
    gaps = np.abs(everything[:, None] - everything).max(axis=2)[np.triu_indices(len(everything), 1)]
    assert points.shape == (3, 2)
    assert gaps.min() > 1e-9


def test_the_first_point_of_a_batch_is_that_of_a_single_search() -> None:
    history = evaluated(12)
    target = Target(surrogate_of(history), CUBE)
    one, three = (found(Search("ucb"), [target] * count, history) for count in (1, 3))
    np.testing.assert_array_equal(one[0], three[0])


def test_a_pending_point_moves_the_next_one_as_if_it_had_been_chosen() -> None:
    history = evaluated(12)
    target = Target(surrogate_of(history), CUBE)
    first, second = found(Search("ucb"), [target] * 2, history)
    add_pending(history, PLANE.codec.decode(first[None]))
    assert np.abs(found(Search("ucb"), [target], history)[0] - first).max() > 0.01
    assert np.abs(second - first).max() > 0.01


def test_failures_of_few_pending_points_are_imagined() -> None:
    """Where a pending point probably fails, the best value seldom rises, and so its value is still sought nearby."""
    history = evaluated(20, lambda point: failure("broke") if point[0] < 0.3 else to_outcome(bowl(point), PLANE))
    surrogate = ExactModel("map").fit(PLANE, history, KEY, None)
    assert surrogate.feasibility is not None
    point = np.array([[0.2, 0.3]])  # better than all that worked, if it worked
    (known,) = fantasies_of(replace(surrogate, feasibility=None), 1, 0)
    (doubted,) = fantasies_of(surrogate, 1, 0)
    add_fantasies(replace(surrogate, feasibility=None), [known], point)
    add_fantasies(surrogate, [doubted], point)
    assert isinstance(known, Fantasies)
    assert isinstance(doubted, Fantasies)
    np.testing.assert_array_equal(known.posterior.marginals(point).mean, doubted.posterior.marginals(point).mean)
    risen = [np.mean(each.best > surrogate.best) for each in (known, doubted)]
    assert risen[0] > 0.7
    assert risen[1] == pytest.approx(risen[0] * np.exp(surrogate.feasibility(point)[0][0]), abs=0.15)


def test_given_points_are_kept_in_their_places_and_count_as_pending() -> None:
    history = evaluated(12, lambda point: float(np.sin(9 * point[0]) * np.cos(7 * point[1])))
    target = Target(surrogate_of(history), CUBE)
    alone = found(Search(), [target], history)[0]
    given, other = alone.copy(), np.array([0.9, 0.8])
    points = found(Search(), [given, target, other], history)
    np.testing.assert_array_equal(points[[0, 2]], [given, other])
    assert np.abs(points[1] - given).max() > 1e-3


def test_given_points_are_kept_in_large_batches_too() -> None:
    given = list(np.random.default_rng(2).random((LARGE + 6, 2)))
    np.testing.assert_array_equal(found(Search(), [*given], evaluated(5)), given)


def test_a_large_batch_is_selected_from_a_candidate_set() -> None:
    history = evaluated(12)
    add_pending(history, PLANE.codec.decode(np.random.default_rng(4).random((LARGE - 2, 2))))
    targets = [Target(surrogate_of(history), CUBE)] * 3
    expected = select_large_batch(targets, Domain(PLANE, history), history.pending.units, KEY)
    np.testing.assert_array_equal(found(Search(), [*targets], history), expected)
    assert not np.array_equal(found(Search(), [*targets[:2]], history), expected[:2])


def test_thompson_sampling_selects_batches_of_any_size() -> None:
    history = evaluated(12)
    targets = [Target(surrogate_of(history), CUBE)] * 2
    expected = select_large_batch(targets, Domain(PLANE, history), history.pending.units, KEY, thompson=True)
    np.testing.assert_array_equal(found(Search(batch="thompson"), [*targets], history), expected)


@pytest.mark.parametrize("method", ["bfgs", "adam"])
def test_a_joint_batch_is_worth_at_least_as_much_as_the_greedy_one(method: str) -> None:
    history = evaluated(12)
    surrogate = surrogate_of(history)
    targets: list[Any] = [Target(surrogate, CUBE)] * 3
    value = acquire("log_ei", surrogate, np.empty((0, 2)), (), np.empty((0, 2)), size=3, seed=KEY.seed)
    greedy, joint = (found(Search(batch=batch, method=method), targets, history) for batch in ("greedy", "joint"))
    # where the greedy batch is a maximum already, the joint search ends there up to its tolerance
    assert value.values(joint[None])[0] >= value.values(greedy[None])[0] - 1e-8
    assert len(np.unique(joint, axis=0)) == 3


def test_where_a_finite_space_is_used_up_there_is_still_a_point_for_each_target() -> None:
    space = Space(n=Int(0, 3), on=Bool())
    rows = list(space.rows())
    history = history_of(
        space, [(space.codec.configuration(row), to_outcome(float(row[0]), space)) for row in rows[:6]]
    )
    targets: list[Any] = [Target(surrogate_of(history, space), CUBE)] * 4
    points = found(Search(), targets, history, space)
    assert points.shape == (4, 2)
    left = space.codec.encode(np.array(rows[6:]))[0]
    np.testing.assert_array_equal(np.unique(points[:2], axis=0), np.unique(left, axis=0))


def test_the_acquisition_function_is_named() -> None:
    assert Search("ei").acquisition_name == "ei"
    assert Search(UTILITIES["ei"]).acquisition_name == "a custom utility"
