"""The exact model: the Gaussian process of a history as a surrogate."""

from __future__ import annotations

import numpy as np
import pytest
from tests.strategies.bayesian.histories import PLANE, bowl, evaluated

from sonde.sampling import Key
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.surrogates.exact.region import Region
from sonde.surrogates.exact.warm_starts import FORMS
from sonde.trials import Evaluation, failure, to_outcome

REGION = Region(np.full(2, 0.5), 0.4)


def thetas(model: ExactModel, *, key: Key, region: Region | None = REGION) -> np.ndarray:
    surrogate = model.fit(PLANE, evaluated(14), key, region)
    return np.array([posterior.covariance.theta for posterior in surrogate.posteriors])  # type: ignore[attr-defined]


def test_the_incumbents_are_the_best_points() -> None:
    history = evaluated(14)
    surrogate = ExactModel().fit(PLANE, history, Key(0, 14), None)
    order = np.argsort(history.values)
    np.testing.assert_array_equal(surrogate.incumbents, history.units[order[:3]])
    assert surrogate.best == pytest.approx(surrogate.values.max())
    assert surrogate.feasibility is None


@pytest.mark.parametrize(("hyperparameters", "count"), [("map", 1), ("draw", 1), ("slice", 10)])
def test_hyperparameters_are_drawn_or_most_probable(hyperparameters: str, count: int) -> None:
    model = ExactModel(hyperparameters)
    one, other = thetas(model, key=Key(0, 14)), thetas(model, key=Key(1, 14))
    assert len(one) == count
    assert np.array_equal(one, other) == (hyperparameters == "map")
    np.testing.assert_array_equal(one, thetas(ExactModel(hyperparameters), key=Key(0, 14)))


def test_for_exploration_they_are_always_drawn() -> None:
    drawn = thetas(ExactModel("draw"), key=Key(0, 14))
    np.testing.assert_array_equal(thetas(ExactModel("map"), key=Key(0, 14), region=None), drawn)
    assert not np.array_equal(thetas(ExactModel("map"), key=Key(0, 14)), drawn)


def test_a_region_has_a_model_of_its_own_where_nothing_failed_and_no_constraint_is_broken() -> None:
    model, works = ExactModel(), evaluated(14)
    origin = model.fit(PLANE, works, Key(0, 14), REGION).features.origin
    assert model.has_regions(PLANE, works)
    np.testing.assert_array_equal(origin, REGION.centre)
    numbers = iter(range(14))
    fails = evaluated(14, lambda point: failure("broke") if next(numbers) == 5 else to_outcome(bowl(point), PLANE))
    broken = evaluated(14, lambda point: Evaluation(bowl(point), constraints={"right": 0.5 - point[0]}))
    for history in (fails, broken):
        assert not model.has_regions(PLANE, history)
        assert model.fit(PLANE, history, Key(0, 14), REGION).features.origin == ()
    assert not ExactModel("draw").has_regions(PLANE, works)


def test_values_that_break_a_constraint_are_not_the_best() -> None:
    history = evaluated(14, lambda point: Evaluation(bowl(point), constraints={"right": 0.5 - point[0]}))
    surrogate = ExactModel().fit(PLANE, history, Key(0, 14), None)
    assert surrogate.incumbents[0, 0] >= 0.5
    assert surrogate.best is not None
    assert surrogate.best < surrogate.values.max()
    assert surrogate.feasibility is not None
    left, right = surrogate.feasibility(np.array([[0.1, 0.5], [0.9, 0.5]]))[0]
    assert left < right


def test_without_a_feasible_value_there_is_no_best() -> None:
    history = evaluated(14, lambda point: Evaluation(bowl(point), constraints={"never": 1.0}))
    assert ExactModel().fit(PLANE, history, Key(0, 14), None).best is None


def test_failures_are_improbable_near_failures() -> None:
    history = evaluated(20, lambda point: failure("broke") if point[0] > 0.5 else to_outcome(bowl(point), PLANE))
    surrogate = ExactModel().fit(PLANE, history, Key(0, 20), None)
    assert surrogate.feasibility is not None
    works, fails = surrogate.feasibility(np.array([[0.1, 0.5], [0.9, 0.5]]))[0]
    assert fails < works


def test_the_shortest_length_scale_is_that_of_the_parameter_that_matters() -> None:
    history = evaluated(25, lambda point: float(np.sin(9 * point[1])))
    surrogate, lengths = ExactModel(forms=FORMS[:1]).most_probable(PLANE, history)
    assert len(surrogate.values) == 25
    assert lengths.shape == (2,)
    assert lengths[1] < lengths[0]


def test_predictions_are_in_the_units_of_the_values() -> None:
    history = evaluated(25)
    predictions = ExactModel().predictions(PLANE, history)
    rows = np.array([[0.3, 0.3], [0.8, 0.8]])
    means, deviations = predictions.predict(rows)
    np.testing.assert_allclose(means, [0.0, 0.5], atol=0.02)
    assert (deviations > 0).all()
    numbers, left_out, spread, scores = predictions.leave_one_out()
    assert numbers.tolist() == list(range(25))
    assert np.corrcoef(left_out, history.values)[0, 1] > 0.95
    assert spread.shape == scores.shape == (25,)
