"""The model and the schedule of several objectives, the front of its surrogates, and random trade-offs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.strategies.several import PLANE, TWO, distances, evaluated, history_of, objectives

from sonde.pareto.fronts import non_dominated
from sonde.sampling import Key
from sonde.strategies.bayesian.acquisitions import acquire, fantasies_of, scored_together
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.front import FrontSurrogate, reference_of
from sonde.strategies.bayesian.several import (
    MARGINS,
    SUM,
    FrontModel,
    FrontSchedule,
    Separately,
    chebyshev,
    scalarised,
    spans,
)
from sonde.strategies.bayesian.target import Target
from sonde.trials import Evaluation, History, failure

Array = NDArray[np.float64]

KEY = Key(0, 12)


def fitted(history: History, margin: float = MARGINS[0]) -> FrontSurrogate:
    return FrontModel(Separately(lambda: ExactModel("map"))).fit(PLANE, history, KEY)[margin]


def test_the_front_has_the_outcomes_that_no_other_dominates() -> None:
    history = evaluated(12)
    surrogate = fitted(history)
    kept = non_dominated(-history.outcomes)
    np.testing.assert_array_equal(surrogate.incumbents, history.units[kept])
    expected = [part.scale(history.outcomes[kept, k]) for k, part in enumerate(surrogate.parts)]
    np.testing.assert_array_equal(surrogate.front, np.stack(expected, axis=1))
    assert np.all(surrogate.reference < surrogate.front.min(axis=0))


def test_with_noise_the_front_is_of_the_posterior_means() -> None:
    """Also where the model finds no other noise than that declared; the other objective has its values."""
    history = evaluated(20, lambda point: Evaluation(distances(point), noise={"a": 0.5}))
    surrogate = fitted(history)
    noisy = surrogate.parts[0]
    means = noisy.posteriors[0].marginals(noisy.features(surrogate.incumbents)).mean[:, 0]
    np.testing.assert_allclose(surrogate.front[:, 0], means)
    assert set(surrogate.front[:, 1]) <= set(surrogate.parts[1].values)
    assert non_dominated(surrogate.front).all()


def test_what_breaks_a_constraint_is_not_on_the_front() -> None:
    history = evaluated(12, lambda point: Evaluation(distances(point), constraints={"c": point[0] - 0.5}))
    assert np.all(fitted(history).incumbents[:, 0] <= 0.5)
    never = fitted(evaluated(12, lambda point: Evaluation(distances(point), constraints={"c": 1.0})))
    assert never.best is None
    assert len(never.front) == 0
    assert len(never.incumbents) == 12


def test_the_reference_point_is_a_margin_above_the_front() -> None:
    outcomes = np.array([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]])
    history = history_of(PLANE, declared=TWO)
    np.testing.assert_allclose(reference_of(history, outcomes, 0.1), [1.1, 1.1])
    np.testing.assert_allclose(reference_of(history, outcomes, 1.0), [2.0, 2.0])


def test_thresholds_that_a_result_meets_are_the_reference_point() -> None:
    outcomes = np.array([[1.0, 3.0], [3.0, 1.0]])
    history = history_of(PLANE, declared=objectives(thresholds={"a": 2.0}))
    np.testing.assert_allclose(reference_of(history, outcomes, 0.1), [2.0, 3.2])
    loose = history_of(PLANE, declared=objectives(thresholds={"a": 90.0, "b": 3.0}))
    np.testing.assert_allclose(reference_of(loose, outcomes, 0.1), [90.0, 3.0])
    maximized = history_of(PLANE, declared=objectives(maximize="a", thresholds={"a": -2.0}))
    np.testing.assert_allclose(reference_of(maximized, outcomes, 0.1), [2.0, 3.2])


def test_the_reference_point_moves_to_the_nearest_result_while_none_meets_the_thresholds() -> None:
    outcomes = np.array([[1.0, 3.0], [3.0, 1.0], [2.1, 2.1]])
    far = history_of(PLANE, declared=objectives(thresholds={"a": -0.8, "b": -0.8}))  # the default is (3.2, 3.2)
    np.testing.assert_allclose(reference_of(far, outcomes, 0.1), 2.1 + 0.1 * 4)
    np.testing.assert_allclose(reference_of(far, outcomes, 1.0), 5.0)
    one = history_of(PLANE, declared=objectives(thresholds={"b": 0.2}))
    np.testing.assert_allclose(reference_of(one, outcomes, 0.1), [3.2, 1.0 + 0.1 * 3])


def test_weights_are_slopes_of_the_objectives() -> None:
    """On a logarithmic scale, a step near the best value is worth less than the same step far from it."""
    surrogate = fitted(evaluated(12, lambda point: [float(np.exp(20 * point[0])), float(point[1])]))
    assert surrogate.parts[0].scale.floor is not None
    (fantasy,) = fantasies_of(surrogate, 0, 0)
    (boxes,) = fantasy.boxes  # type: ignore[union-attr]
    weights = surrogate.weights(boxes)
    order = np.argsort(boxes.low[:, 0])
    assert weights[order[0], 0] > 2 * weights[order[-1], 0] > 0
    assert surrogate.parts[1].scale.floor is not None or np.all(weights[:, 1] == 1)


def test_one_point_scores_as_a_batch_of_one() -> None:
    """In closed form and by Monte Carlo, with the same weights."""
    surrogate = fitted(evaluated(8, lambda point: [float(np.exp(6 * point[0])), float(np.sum((point - 1) ** 2))]))
    points, none = np.random.default_rng(0).random((6, 1, 2)), np.empty((0, 2))
    closed = acquire("log_ei", surrogate, none, fantasies_of(surrogate, 0, 0), none, size=1, seed=0)
    pairs = np.concatenate([points, points], axis=1)  # the second adds nothing to the first
    sampled = replace(acquire("log_ei", surrogate, none, (), none, size=2, seed=0), samples=2**13)  # type: ignore[type-var]
    np.testing.assert_allclose(sampled.values(pairs), np.exp(closed.values(points)), rtol=0.1, atol=1e-3)
    assert scored_together(surrogate, 5)
    assert not scored_together(surrogate, 6)
    assert scored_together(surrogate.parts[0], 100)


def test_draws_of_the_hyperparameters_are_paired() -> None:
    """Who has fewer draws repeats them: one objective may have another basis than the others."""
    surrogate = fitted(evaluated(8))
    one, other = surrogate.parts
    three = replace(surrogate, parts=(one, replace(other, posteriors=other.posteriors * 3)))
    assert three.draws == ((one.posteriors[0], other.posteriors[0]),) * 3
    assert len(fantasies_of(three, 0, 0)) == 3
    turned = replace(three, parts=three.parts[::-1])
    assert len(fantasies_of(turned, 0, 0)) == 3


def test_margins_alternate_with_the_number_of_the_trial() -> None:
    domain = Domain(PLANE, evaluated(8))
    schedule = FrontSchedule(FrontModel(Separately(lambda: ExactModel("map"))))
    whole = schedule.targets(domain, 4, Key(0, 8))
    near, far, *later = (each.surrogate.reference for each in whole if isinstance(each, Target))  # type: ignore[union-attr]
    assert np.all(far < near)  # higher is better
    np.testing.assert_array_equal(later, [near, far])
    (next_one,) = schedule.targets(domain, 1, Key(0, 9))
    assert isinstance(next_one, Target)
    np.testing.assert_array_equal(next_one.surrogate.reference, far)  # type: ignore[union-attr]


# random trade-offs


def test_the_chebyshev_scalarisation_is_the_worst_weighted_objective_in_ranges() -> None:
    outcomes = np.array([[0.0, 30.0], [1.0, 20.0], [2.0, 10.0], [np.nan, np.nan]])
    none = np.full((4, 2), np.nan)
    units = 0.5 / spans(outcomes[:3], np.full(2, np.nan))
    values, noise = chebyshev(outcomes, none, np.arange(3), units)
    np.testing.assert_allclose(values[:3], np.array([0.5, 0.25, 0.5]) + SUM * 0.5)
    assert np.isnan(values[3])
    assert np.isnan(noise).all()
    assert np.isnan(chebyshev(outcomes, none, np.arange(0), units)[0]).all()


def test_ranges_of_interest_end_at_the_thresholds() -> None:
    outcomes = np.array([[0.0, 30.0, 5.0], [1.0, 20.0, 5.0], [4.0, 10.0, 5.0]])
    np.testing.assert_array_equal(2 * spans(outcomes, np.array([1.0, np.nan, 7.0])), [1.0, 20.0, 2.0])
    np.testing.assert_array_equal(2 * spans(outcomes, np.array([-1.0, 99.0, np.nan])), [4.0, 20.0, 2.0])  # not reached
    np.testing.assert_array_equal(spans(outcomes[:0], np.full(3, np.nan)), 1.0)
    big = np.array([[-1.7e308], [1.7e308]])
    assert np.isfinite(spans(big, np.array([np.nan]))).all()


def test_the_noise_of_a_trade_off_is_that_of_its_samples() -> None:
    rng, weights = np.random.default_rng(0), np.array([0.7, 0.3])
    outcomes = np.array([[0.0, 40.0], [1.0, 20.0], [4.0, 0.0]])
    units = weights / spans(outcomes, np.full(2, np.nan))
    noise = np.array([[0.1, np.nan], [0.05, 0.5], [np.nan, np.nan]])
    declared = chebyshev(outcomes, noise, np.arange(3), units)[1]
    ends = outcomes[[0, 2]]
    for row in (0, 1):
        drawn = outcomes[row] + np.nan_to_num(noise[row]) * rng.standard_normal((4000, 2))
        known = np.concatenate([ends, drawn])
        known = np.clip(known, ends.min(axis=0), ends.max(axis=0)) if row else known
        sampled = chebyshev(known, np.full(known.shape, np.nan), np.arange(2), units)[0][2:]
        assert sampled.std() / 2 ** (row * 0) == pytest.approx(declared[row], rel=0.1)
    assert np.isnan(declared[2])


def test_a_trade_off_is_drawn_anew_for_every_batch_and_keeps_states() -> None:
    history = evaluated(10, lambda point: distances(point) if point[0] < 0.7 else failure("why"))
    first, again, later = (scalarised(history, Key(0, number)) for number in (10, 10, 11))
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.allclose(first.values, later.values, equal_nan=True)
    np.testing.assert_array_equal(first.states, history.states)
    assert not first.objectives.several
