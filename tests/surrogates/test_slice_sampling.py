from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sonde.surrogates.slice_sampling import slice_sample


def draws(log_density, start, count, seed=0, **options) -> np.ndarray:  # type: ignore[no-untyped-def]
    return slice_sample(log_density, np.array(start), count=count, rng=np.random.default_rng(seed), **options)


def test_a_correlated_normal() -> None:
    precision = np.linalg.inv(np.array([[1.0, 0.6], [0.6, 4.0]]))
    states = draws(lambda at: float(-0.5 * (at - 3) @ precision @ (at - 3)), [0.0, 0.0], count=1200, sweeps=3)[20:]
    np.testing.assert_allclose(states.mean(axis=0), [3, 3], atol=0.2)
    np.testing.assert_allclose(np.cov(states.T), [[1.0, 0.6], [0.6, 4.0]], atol=0.4)


# written out, because SciPy's logpdf is slow
DENSITIES = {
    "normal": (lambda x: -2 * (x - 2) ** 2, stats.norm(2, 0.5)),
    "truncated": (lambda x: -0.5 * x**2 if -0.5 <= x <= 3 else -np.inf, stats.truncnorm(-0.5, 3)),
    "gamma": (lambda x: 2 * np.log(x) - x if x > 0 else -np.inf, stats.gamma(3)),
    "exponential": (lambda x: -x if x >= 0 else -np.inf, stats.expon()),
    "uniform": (lambda x: 0.0 if -1 <= x <= 1 else -np.inf, stats.uniform(-1, 2)),
    "wide": (lambda x: -0.5 * (x / 12) ** 2, stats.norm(0, 12)),  # wider than a slice can be stepped out
}


@pytest.mark.parametrize("name", DENSITIES)
def test_known_distributions(name: str) -> None:
    log_density, expected = DENSITIES[name]
    sweeps = 20 if name == "wide" else 4  # so that states are nearly independent
    states = draws(lambda at: log_density(at[0]), [0.5], count=1000, sweeps=sweeps)[10:, 0]
    low, high = expected.support()
    assert np.all((states >= low) & (states <= high))
    assert stats.kstest(states, expected.cdf).pvalue > 0.01
    assert states.mean() == pytest.approx(expected.mean(), abs=0.2 * expected.std())
    assert states.std() == pytest.approx(expected.std(), rel=0.2)


def test_two_close_modes_are_visited_in_proportion() -> None:
    def log_density(at: np.ndarray) -> float:
        return float(np.logaddexp(np.log(0.75) - 8 * (at[0] + 1) ** 2, np.log(0.25) - 8 * (at[0] - 1) ** 2))

    states = draws(log_density, [-1.0], count=2000, sweeps=3)[:, 0]
    assert np.mean(states > 0) == pytest.approx(0.25, abs=0.05)


def test_a_distant_start_converges() -> None:
    states = draws(lambda at: float(-0.5 * at @ at), [50.0], count=100)[50:]
    assert np.all(np.abs(states) < 6)


def test_a_point_mass_is_not_left() -> None:
    states = draws(lambda at: 0.0 if at[0] == 0.25 else -np.inf, [0.25], count=3)
    np.testing.assert_array_equal(states, np.full((3, 1), 0.25))


def test_it_is_seeded_and_does_not_change_its_start() -> None:
    start = np.array([0.3, -0.2])
    one, same, other = (
        slice_sample(lambda at: float(-at @ at), start, count=5, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(start, [0.3, -0.2])
    np.testing.assert_array_equal(one, same)
    assert not np.any(one == other)
    assert len(np.unique(one, axis=0)) == 5
