from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from tests.acquisition.beliefs import MIXED, NONE, PLANE, belief_of, check_slopes
from tests.surrogates.models import units_of

from sonde.acquisition.entropy import Entropy
from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.gp import ExactPosterior
from sonde.surrogates.features import Features

LINE = Features((0,))


def search(features: Features = PLANE, size: int = 1, **options: Any) -> Entropy:
    options = {
        "posterior": belief_of(features), "representers": units_of(features, 8, seed=3), "fixed": NONE, **options,
    }  # fmt: skip
    return Entropy(features=features, size=size, **options)


def on_a_line(noise: float = 1e-6) -> ExactPosterior:
    """Values at 0, 0.1, ..., 0.5 fall to the right: what is not known lies on the right, beyond them."""
    units = np.arange(6)[:, None] / 10
    theta = np.log([0.15, 1.0, noise])
    return ExactPosterior.of(Covariance(LINE.groups, theta), LINE(units), 1.5 - 2 * units[:, 0])


@pytest.mark.parametrize("features", [PLANE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("pending", [0, 2])
@pytest.mark.parametrize("size", [1, 2])
def test_gradients(size: int, pending: int, features: Features) -> None:
    acquisition = search(features, size, fixed=units_of(features, pending, seed=2))
    check_slopes(acquisition, units_of(features, (2, size), seed=1), tolerance=1e-4)


def test_gradients_of_a_quadratic_mean() -> None:
    check_slopes(search(posterior=belief_of(quadratic=True)), units_of(PLANE, (2, 1), seed=1), tolerance=1e-4)


def test_it_is_the_drop_that_conditioning_brings() -> None:
    """By the long way: the belief conditioned on each outcome, sampled anew, against Matheron's rule."""
    representers, temperature = units_of(PLANE, 6, seed=3), 0.3
    acquisition = search(
        representers=representers, outcomes=64, samples=512, temperature=temperature, posterior=belief_of(noise=1e-2)
    )
    posterior, pool = acquisition.posterior, np.array([[[0.7, 0.3]]])
    rng = np.random.default_rng(0)

    def entropy(belief: ExactPosterior) -> float:
        joint = belief.joint(PLANE(representers)[None])
        samples = rng.multivariate_normal(joint.mean[0], joint.covariance[0], size=1000, method="eigh")
        chances = softmax(samples / temperature, axis=1).mean(axis=0)
        return float(-np.sum(chances * np.log(chances)))

    x = PLANE(pool[0])
    seen = posterior.marginals(x)
    deviation = np.sqrt(seen.variance[0] + posterior.covariance.noise)
    after = [entropy(posterior.condition(x, y)) for y in seen.mean[0, 0] + deviation * rng.normal(size=(200, 1, 1))]
    expected = entropy(posterior) - np.mean(after)
    assert expected > 0.1
    assert acquisition.values(pool)[0] == pytest.approx(expected, abs=0.03)


def test_outcomes_cannot_make_it_less_certain() -> None:
    pools = units_of(PLANE, (30, 1), seed=1)
    values = search(outcomes=32, samples=256).values(pools)
    assert np.all(values > -0.03)
    assert values.max() > 0.1


def test_it_asks_where_the_maximum_may_be() -> None:
    posterior, grid = on_a_line(), np.linspace(0, 1, 21)[:, None]
    acquisition = Entropy(posterior, LINE, grid, 1, np.empty((0, 1)), outcomes=16, samples=128)
    known, hopeless, open_ = acquisition.values(np.array([[[0.2]], [[0.45]], [[0.8]]]))
    assert abs(known) < 0.02  # it has been seen
    assert open_ > 0.2
    assert open_ > 5 * max(known, hopeless)


def test_what_is_under_way_is_not_asked_again() -> None:
    posterior, grid = on_a_line(), np.linspace(0, 1, 21)[:, None]
    under_way = np.array([[0.8]])
    before = Entropy(posterior, LINE, grid, 1, under_way, outcomes=16, samples=128)
    beside, elsewhere = before.values(np.array([[[0.8]], [[0.65]]]))
    assert elsewhere > beside + 0.05


def test_duplicates_stay_finite() -> None:
    posterior = belief_of(noise=1e-8)
    seen = posterior.x[:1] + 0.5
    representers = np.concatenate([units_of(PLANE, 4, seed=3)] * 2 + [seen])
    pools = np.stack([np.repeat(seen, 2, axis=0), [[0.3, 0.7], [0.3, 0.7]], representers[:2]])
    for fixed in (NONE, seen, representers[:1]):
        acquisition = search(size=2, posterior=posterior, representers=representers, fixed=fixed)
        for part in acquisition.gradients(pools):
            assert np.all(np.isfinite(part))


def test_many_pools_are_one_at_a_time() -> None:
    acquisition, pools = search(), units_of(PLANE, (19, 1), seed=1)
    values, gradients = acquisition.gradients(pools)
    for b in (0, 7, 8, 18):
        value, slope = acquisition.gradients(pools[b : b + 1])
        np.testing.assert_allclose(values[b], value[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(gradients[b], slope[0], rtol=1e-6, atol=1e-7)


def test_fresh_samples_are_other_ones() -> None:
    acquisition, pools = search(), units_of(PLANE, (3, 1), seed=1)
    assert not np.any(acquisition.fresh(0).values(pools) == acquisition.values(pools))
    np.testing.assert_array_equal(acquisition.fresh(1).values(pools), acquisition.fresh(1).values(pools))
    assert not acquisition.log
