"""The acquisition function of the paper, against sums over its samples, and fantasies of pending points."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from tests.strategies.bayesian.histories import PLANE, bowl, evaluated
from tests.surrogates.models import numeric_gradient

from sonde.sampling import Key
from sonde.strategies.bayesian.integrated_improvement import FANTASIES, Sampled
from sonde.strategies.bayesian.paper_model import DRAWS, PaperModel, PaperSurrogate
from sonde.trials import Outcome, failure, to_outcome

Array = NDArray[np.float64]

POINTS = np.random.default_rng(3).random((7, 2))
FAILS = np.array([0.1, 0.5])


def outcome(point: Array) -> Outcome:
    return failure("broke") if point[0] < 0.35 else to_outcome(bowl(point), PLANE)


@cache
def surrogate_of(failures: str | None = None) -> PaperSurrogate:
    history = evaluated(24, outcome if failures else bowl)
    return PaperModel(failures or "noisy").fit(PLANE, history, Key(0, 24))


def sampled(failures: str | None = None, room: int = 0) -> Sampled:
    surrogate = surrogate_of(failures)
    return Sampled.of(surrogate.features, surrogate.improvement, surrogate.validity, room=room, seed=0)


def values(own: Sampled, points: Array = POINTS) -> Array:
    return own.acquisition().values(points[:, None])


def probabilities(own: Sampled, points: Array) -> Array:
    """P(c = 1), (m, K)."""
    assert own.validity is not None
    return np.exp(own.validity.logarithm()(own.features(points))[0][..., 0])


def test_without_failures_it_is_the_mean_expected_improvement() -> None:
    """Eq. (2) and (3), with the variance of eq. (5), averaged as in eq. (12)."""
    surrogate = surrogate_of()
    assert len(surrogate.posteriors) == DRAWS
    total = np.zeros(len(POINTS))
    for posterior in surrogate.posteriors:
        at = posterior.marginals(surrogate.features(POINTS))
        deviation = np.sqrt(at.variance + posterior.noise)
        gamma = (at.mean[:, 0] - surrogate.values.max()) / deviation  # higher is better here
        total += deviation * (gamma * norm.cdf(gamma) + norm.pdf(gamma)) / DRAWS
    np.testing.assert_allclose(values(sampled()), np.log(total), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("failures", ["noisy", "noiseless"])
def test_with_failures_it_is_multiplied_by_the_probability_of_validity(failures: str) -> None:
    own = sampled(failures)
    assert own.improvement is not None
    assert own.validity is not None
    logs = own.improvement.logarithm()(own.features(POINTS))[0]
    expected = np.log(np.mean(np.exp(logs[..., 0]) * probabilities(own, POINTS), axis=1))
    np.testing.assert_allclose(values(own), expected, rtol=1e-6, atol=1e-6)


def test_a_step_function_is_surer_than_a_logistic_one() -> None:
    """P is that the latent function is positive, without the spread of a logistic likelihood."""
    noisy, noiseless = (probabilities(sampled(each), POINTS) for each in ("noisy", "noiseless"))
    assert np.all(np.abs(noiseless - 0.5) > np.abs(noisy - 0.5))
    np.testing.assert_array_equal(noiseless > 0.5, noisy > 0.5)


@pytest.mark.parametrize("failures", [None, "noisy", "noiseless"])
@pytest.mark.parametrize("pending", [0, 2])
def test_gradients(failures: str | None, pending: int) -> None:
    own = sampled(failures, pending)
    for point in np.random.default_rng(5).random((pending, 2)):
        own = own.given(point)
    value, gradient = own.acquisition().gradients(POINTS[:, None])
    np.testing.assert_allclose(value, values(own), rtol=1e-12)
    expected = numeric_gradient(lambda at: float(values(own, at).sum()), POINTS)
    np.testing.assert_allclose(gradient[:, 0], expected, rtol=2e-3, atol=2e-3)


# pending points


def test_a_pending_point_is_worth_less_than_before() -> None:
    before = sampled(room=1)
    best = POINTS[[int(np.argmax(values(before)))]]
    after = before.given(best[0])
    assert after.improvement is not None
    assert after.improvement.best.shape == (DRAWS, FANTASIES)
    assert values(after, best)[0] < values(before, best)[0] - 0.1


def test_fantasies_are_predictions() -> None:
    """Outcomes of a pending point have the mean and the variance of an observed value there, eq. (4) and (5)."""
    before, point = sampled(room=1), np.array([0.9, 0.9])
    assert before.improvement is not None
    x = before.features(point)
    after = before.improvement.given(x, np.ones(DRAWS, dtype=bool), np.tile([[-1.0, 0.0, 1.0]], (DRAWS, 1)))
    for old, new in zip(before.improvement.posteriors, after.posteriors, strict=True):
        was, now = old.marginals(x[None]), new.marginals(x[None])
        gain = was.variance / (was.variance + old.noise)  # of conditioning on one value with this noise
        shift = gain * np.sqrt(was.variance + old.noise) * np.array([-1.0, 0.0, 1.0])
        np.testing.assert_allclose(now.mean[0], was.mean[0] + shift, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(now.variance, was.variance * (1 - gain), rtol=1e-4, atol=1e-9)


def test_failures_of_pending_points_are_imagined() -> None:
    """Where one fails, its value is not added and its label is; the values do not rise."""
    own = sampled("noisy", room=1)
    after = own.given(FAILS)
    failed = own.uniforms[0] >= probabilities(own, FAILS[None])[0]
    assert failed.sum() >= DRAWS // 2
    assert own.improvement is not None
    assert after.improvement is not None
    for k, (before, now) in enumerate(zip(own.improvement.posteriors, after.improvement.posteriors, strict=True)):
        assert np.array_equal(before.root, now.root) == failed[k]
    assert np.all(after.improvement.best[failed] == own.improvement.best[failed])
    change = probabilities(after, FAILS[None])[0] - probabilities(own, FAILS[None])[0]
    assert np.all((change < 0) == failed)


def test_while_no_trial_is_valid_validity_is_maximised() -> None:
    own = sampled("noisy")
    alone = Sampled.of(own.features, None, own.validity, room=0, seed=0)
    np.testing.assert_allclose(values(alone), np.log(probabilities(own, POINTS).mean(axis=1)), rtol=1e-9)
