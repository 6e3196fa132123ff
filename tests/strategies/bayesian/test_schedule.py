"""The schedule of targets: trust region and global exploration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.strategies.bayesian.histories import PLANE, bowl, evaluated
from tests.trials.histories import add_pending

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.schedule import TrustRegionSchedule
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.bayesian.target import Target
from sonde.strategies.initial_design import first_count
from sonde.surrogates.exact.region import Region
from sonde.trials import Evaluation, History, Outcome, State


class Recorded:
    """A model of all results, and for which purposes it was fitted."""

    def __init__(self) -> None:
        self._model, self.explored = ExactModel("draw"), list[bool]()

    def has_regions(self, space: Space, history: History) -> bool:
        return self._model.has_regions(space, history)

    def fit(self, space: Space, history: History, key: Key, region: Region | None) -> Surrogate:
        self.explored.append(region is None)
        return self._model.fit(space, history, key, region)


def targets_of(history: History, count: int, *, number: int | None = None) -> tuple[list[Target], list[bool]]:
    model = Recorded()
    key = Key(0, len(history) if number is None else number)
    found = TrustRegionSchedule(model).targets(Domain(PLANE, history), count, key)
    return [each for each in found if isinstance(each, Target)], model.explored


def progressing(count: int) -> History:
    """Values that fall: no trial without improvement."""
    numbers = iter(range(count))
    return evaluated(count, lambda point: -float(next(numbers)))


def stalled(count: int = 20) -> History:
    """The first value is the best."""
    first: list[NDArray[np.float64]] = []

    def away_from_the_first(point: NDArray[np.float64]) -> float:
        first.append(point)
        return float(np.sum((point - first[0]) ** 2))

    return evaluated(count, away_from_the_first)


def test_the_initial_design_is_that_of_the_space() -> None:
    assert TrustRegionSchedule(ExactModel()).first(PLANE) == first_count(PLANE)


def test_all_points_share_the_trust_region_around_the_incumbent() -> None:
    history = progressing(12)
    targets, explored = targets_of(history, 3)
    assert len(targets) == 3
    assert explored == [False]
    assert len({id(each) for each in targets}) == 1
    box, best = targets[0].box, history.units[11]
    np.testing.assert_array_equal(box.centres, [best])
    assert box.excluded is None
    assert (box.low <= best).all()
    assert (best <= box.high).all()


def test_once_it_has_stalled_every_other_trial_explores() -> None:
    history = stalled()
    targets, explored = targets_of(history, 4)
    assert sorted(explored) == [False, True]
    assert [each.box.excluded is not None for each in targets] == [False, True, False, True]  # odd numbers
    np.testing.assert_array_equal(targets[1].box.excluded, history.units[0])
    assert (targets[1].box.high - targets[1].box.low == 1).all()
    assert (targets[0].box.high - targets[0].box.low < 0.5).all()


@pytest.mark.parametrize("number", [20, 21])
def test_one_trial_needs_one_model(number: int) -> None:
    targets, explored = targets_of(stalled(), 1, number=number)
    assert explored == [number % 2 == 1]
    assert (targets[0].box.excluded is not None) == (number % 2 == 1)


def test_pending_trials_lend_patience() -> None:
    history = stalled(8)
    side = targets_of(history, 1, number=8)[0][0].box
    add_pending(history, PLANE.codec.decode(np.random.default_rng(5).random((12, 2))))
    wider, explored = targets_of(history, 2)
    assert explored == [False]
    assert (wider[0].box.high - wider[0].box.low >= side.high - side.low).all()


def test_the_incumbent_breaks_no_measured_constraint() -> None:
    history = evaluated(12, lambda point: Evaluation(bowl(point), constraints={"right": 0.5 - point[0]}))
    centre = targets_of(history, 1)[0][0].box.centres[0]
    assert centre[0] >= 0.5
    feasible = history.units[history.units[:, 0] >= 0.5]
    np.testing.assert_array_equal(centre, min(feasible, key=bowl))


def region_targets(history: History, count: int, number: int) -> list[Target]:
    found = TrustRegionSchedule(ExactModel()).targets(Domain(PLANE, history), count, Key(0, number))
    return [each for each in found if isinstance(each, Target)]


def test_the_region_has_a_model_centred_on_the_incumbent() -> None:
    history = progressing(12)
    first, second = region_targets(history, 2, 12)
    assert first is second
    best = history.units[11]
    np.testing.assert_array_equal(first.box.centres, [best])
    np.testing.assert_allclose(first.surrogate.features(best[None]), 0.0)
    assert first.surrogate.best == pytest.approx(first.surrogate.values.max(), abs=0.1)


def test_a_narrow_region_alternates_with_exploration() -> None:
    wide, narrow = stalled(20), stalled(80)
    assert [each.box.excluded is not None for each in region_targets(wide, 1, 21)] == [False]
    assert [each.box.excluded is not None for each in region_targets(narrow, 1, 81)] == [True]
    assert [each.box.excluded is not None for each in region_targets(narrow, 1, 82)] == [False]


def test_where_a_parameter_should_have_been_logarithmic_there_is_no_model_of_the_region() -> None:
    def steep(point: NDArray[np.float64]) -> float:
        return float((np.log10(point[0] + 1e-4) + 3) ** 2 + point[1] ** 2)

    warped, plain = region_targets(evaluated(24, steep), 1, 24), region_targets(evaluated(24, bowl), 1, 24)
    assert [bool(targets[0].surrogate.features.warp) for targets in (warped, plain)] == [True, False]
    assert [bool(targets[0].surrogate.features.origin) for targets in (warped, plain)] == [False, True]


def test_with_failures_there_is_no_model_of_the_region() -> None:
    numbers = iter(range(12))
    failing = evaluated(12, lambda point: Outcome(State.FAILED) if next(numbers) == 5 else bowl(point))
    assert region_targets(failing, 1, 12)[0].surrogate.features.origin == ()
    assert len(region_targets(evaluated(12), 1, 12)[0].surrogate.features.origin) == 2
