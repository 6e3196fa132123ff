from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from tests.acquisition.posteriors import MIXED, NONE, PLANE, check_gradients, small_posterior
from tests.surrogates.models import units_of

from sonde.acquisition.entropy import Entropy
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior

LINE = Features((0,))


def search(features: Features = PLANE, size: int = 1, **options: Any) -> Entropy:
    defaults = {"posterior": small_posterior(features), "representers": units_of(features, 8, seed=3), "pending": NONE}
    return Entropy(features=features, size=size, **{**defaults, **options})


def on_a_line(noise: float = 1e-6) -> ExactPosterior:
    """Values at 0, 0.1, ..., 0.5 fall to the right; the posterior is uncertain to the right of 0.5."""
    units = np.arange(6)[:, None] / 10
    theta = np.log([0.15, 1.0, noise])
    return ExactPosterior.of(Covariance(LINE.groups, theta), LINE(units), 1.5 - 2 * units[:, 0])


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("pending", [0, 2])
@pytest.mark.parametrize("size", [1, 2])
def test_gradients(size: int, pending: int, features: Features) -> None:
    acquisition = search(features, size, pending=units_of(features, pending, seed=2))
    check_gradients(acquisition, units_of(features, (2, size), seed=1), tolerance=1e-4)


def test_gradients_of_a_quadratic_mean() -> None:
    check_gradients(search(posterior=small_posterior(quadratic=True)), units_of(PLANE, (2, 1), seed=1), tolerance=1e-4)


def test_value_is_the_decrease_of_entropy_by_conditioning() -> None:
    """Matheron's rule against the slow way: a posterior conditioned on each outcome, with new samples."""
    representers, temperature = units_of(PLANE, 6, seed=3), 0.3
    acquisition = search(
        representers=representers,
        outcomes=64,
        samples=512,
        temperature=temperature,
        posterior=small_posterior(noise=1e-2),
    )
    posterior, batch = acquisition.posterior, np.array([[[0.7, 0.3]]])
    rng = np.random.default_rng(0)

    def entropy(given: ExactPosterior) -> float:
        joint = given.joint(PLANE(representers)[None])
        samples = rng.multivariate_normal(joint.mean[0], joint.covariance[0], size=1000, method="eigh")
        p_max = softmax(samples / temperature, axis=1).mean(axis=0)
        return float(-np.sum(p_max * np.log(p_max)))

    x = PLANE(batch[0])
    predicted = posterior.marginals(x)
    deviation = np.sqrt(predicted.variance[0] + posterior.covariance.noise)
    after = [
        entropy(posterior.condition(x, y)) for y in predicted.mean[0, 0] + deviation * rng.normal(size=(200, 1, 1))
    ]
    expected = entropy(posterior) - np.mean(after)
    assert expected > 0.1
    assert acquisition.values(batch)[0] == pytest.approx(expected, abs=0.03)


def test_outcomes_do_not_increase_the_entropy() -> None:
    batches = units_of(PLANE, (30, 1), seed=1)
    values = search(outcomes=32, samples=256).values(batches)
    assert np.all(values > -0.03)
    assert values.max() > 0.1


def test_it_prefers_points_that_may_be_the_maximum() -> None:
    posterior, grid = on_a_line(), np.linspace(0, 1, 21)[:, None]
    acquisition = Entropy(posterior, LINE, grid, 1, np.empty((0, 1)), outcomes=16, samples=128)
    observed, poor, uncertain = acquisition.values(np.array([[[0.2]], [[0.45]], [[0.8]]]))
    assert abs(observed) < 0.02
    assert uncertain > 0.2
    assert uncertain > 5 * max(observed, poor)


def test_pending_points_are_not_suggested_again() -> None:
    posterior, grid = on_a_line(), np.linspace(0, 1, 21)[:, None]
    pending = np.array([[0.8]])
    acquisition = Entropy(posterior, LINE, grid, 1, pending, outcomes=16, samples=128)
    same, away = acquisition.values(np.array([[[0.8]], [[0.65]]]))
    assert away > same + 0.05


def test_duplicates_stay_finite() -> None:
    posterior = small_posterior(noise=1e-8)
    observed = posterior.x[:1] + 0.5
    representers = np.concatenate([units_of(PLANE, 4, seed=3)] * 2 + [observed])
    batches = np.stack([np.repeat(observed, 2, axis=0), [[0.3, 0.7], [0.3, 0.7]], representers[:2]])
    for pending in (NONE, observed, representers[:1]):
        acquisition = search(size=2, posterior=posterior, representers=representers, pending=pending)
        for part in acquisition.gradients(batches):
            assert np.all(np.isfinite(part))


def test_many_batches_equal_one_at_a_time() -> None:
    acquisition, batches = search(), units_of(PLANE, (19, 1), seed=1)
    values, gradients = acquisition.gradients(batches)
    for b in (0, 7, 8, 18):
        value, gradient = acquisition.gradients(batches[b : b + 1])
        np.testing.assert_allclose(values[b], value[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(gradients[b], gradient[0], rtol=1e-6, atol=1e-7)


def test_fresh_base_samples_change_the_value() -> None:
    acquisition, batches = search(), units_of(PLANE, (3, 1), seed=1)
    assert not np.any(acquisition.fresh(0).values(batches) == acquisition.values(batches))
    np.testing.assert_array_equal(acquisition.fresh(1).values(batches), acquisition.fresh(1).values(batches))
    assert not acquisition.log
