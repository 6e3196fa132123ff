"""The model of a trust region from values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from sonde.surrogates.exact.region import NEAREST, Region, RegionFit, censored, fit_region, scale_of
from sonde.surrogates.features import Features

Array = NDArray[np.float64]


def fitted(
    function: Callable[[Array], Array], n: int, d: int, *, side: float = 0.5, noise: float = 0.0, seed: int = 0
) -> tuple[RegionFit, Array, Array]:
    rng = np.random.default_rng([seed, n, d])
    units = rng.random((n, d))
    values = function(units) + noise * rng.standard_normal(n)
    centre = units[int(np.argmin(values))]
    return fit_region(Features((0,) * d), Region(centre, side), units, values, np.full(n, np.nan)), units, values


def predictions(model: RegionFit, units: Array) -> tuple[Array, Array]:
    """Means and standard deviations in the units of the values."""
    marginals = model.posterior.marginals(model.features(units))
    return model.scale.restore(marginals.mean[:, 0], marginals.variance)


def rotated(d: int, seed: int = 1) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def ellipsoid(units: Array) -> Array:
    d = units.shape[1]
    z = (units - 0.45) @ rotated(d)
    return np.sum(10.0 ** (4 * np.arange(d) / (d - 1)) * z**2, axis=1)


def steep(units: Array) -> Array:
    """Smooth near its minimum, and huge far from it."""
    return np.expm1(12 * np.sum((units - 0.4) ** 2, axis=1))


def test_a_rotated_quadratic_is_known_from_as_many_values_as_it_has_coefficients() -> None:
    model, units, values = fitted(ellipsoid, 30, 5)
    new = units[int(np.argmin(values))] + 0.1 * (np.random.default_rng(5).random((50, 5)) - 0.5)
    errors = predictions(model, new)[0] - ellipsoid(new)
    assert np.abs(errors).max() < 1e-3 * np.std(ellipsoid(new))


def test_values_far_above_the_best_do_not_hide_what_is_near_it() -> None:
    correlations, inside = [], []
    for seed in range(6):
        model, units, values = fitted(steep, 60, 4, side=0.3, seed=seed)
        assert values.max() > 20 * np.median(values)
        new = units[int(np.argmin(values))] + 0.2 * (np.random.default_rng(5).random((50, 4)) - 0.5)
        correlations.append(np.corrcoef(predictions(model, new)[0], steep(new))[0, 1])
        marginals = model.posterior.marginals(model.features(new))  # on the model's scale they are normal
        errors = marginals.mean[:, 0] - model.scale(steep(new))
        inside.append(np.mean(np.abs(errors) < 3 * np.sqrt(marginals.variance)))
    assert np.mean(correlations) > 0.9
    assert np.mean(inside) > 0.9


def test_the_scale_of_the_values_is_the_more_probable_one() -> None:
    for seed in range(3):
        assert fitted(ellipsoid, 40, 4, seed=seed)[0].scale.floor is None
        assert fitted(steep, 40, 4, seed=seed)[0].scale.floor is not None


def test_a_plateau_does_not_hide_the_quadratic_below_it() -> None:
    def clipped(units: Array) -> Array:
        return np.minimum(ellipsoid(units), 600.0)

    model, units, values = fitted(clipped, 60, 5)
    plateau = values == 600.0
    assert 20 < np.sum(plateau) < 40
    new = units[int(np.argmin(values))] + 0.1 * (np.random.default_rng(5).random((50, 5)) - 0.5)
    means, _ = predictions(model, new)
    assert np.abs(means - ellipsoid(new)).max() < 0.01 * np.std(ellipsoid(new))
    # a censored result is a bound: the model predicts what the others say, never less than the bound
    assert np.all(predictions(model, units[plateau])[0] > 599.0)
    assert np.median(predictions(model, units[plateau])[0]) > 700.0


def test_two_equal_values_or_all_but_one_are_no_plateau() -> None:
    assert not censored(np.array([3.0, 1.0, 3.0, 2.0])).any()
    assert not censored(np.array([3.0, 3.0, 3.0, 2.0])).any()
    assert censored(np.array([3.0, 3.0, 3.0, 2.0, 1.0])).tolist() == [True, True, True, False, False]


def test_noise_is_inferred_beside_the_misfits() -> None:
    model, _, values = fitted(lambda units: np.sum((units - 0.5) ** 2, axis=1), 80, 2, noise=0.02)
    inferred = np.sqrt(model.posterior.noise) * model.scale.range
    assert 0.01 < inferred < 0.04
    assert len(model.y) == len(values)


def test_known_noise_counts() -> None:
    units = np.random.default_rng(0).random((20, 2))
    values, region = np.sum(units, axis=1), Region(units[0], 0.5)
    told = [fit_region(Features((0, 0)), region, units, values, np.full(20, each)) for each in (np.nan, 1.0)]
    certain, uncertain = (predictions(each, units[:5])[1].mean() for each in told)
    assert uncertain > 2 * certain


def test_it_learns_from_the_nearest_observations() -> None:
    model, units, values = fitted(ellipsoid, NEAREST + 50, 3)
    distances = np.abs(units - units[int(np.argmin(values))]).max(axis=1)
    assert len(model.rows) == NEAREST
    assert distances[model.rows].max() <= np.delete(distances, model.rows).min()


def test_few_parameters_that_matter_have_short_length_scales() -> None:
    model, _, _ = fitted(lambda units: np.sin(9 * units[:, 2]) + np.cos(8 * units[:, 4]), 80, 8, side=1.0)
    lengths = np.asarray(model.posterior.covariance.theta[:8])
    assert lengths[[2, 4]].max() < np.delete(lengths, [2, 4]).min() - 0.5


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.7e308, -1.7e308, 0.0], [1e-300, 2e-300, 3e-300], [0.0, 0, 5]])
def test_equal_huge_and_tiny_values_give_numbers(values: list[float]) -> None:
    units = np.array([[0.1, 0.2], [0.6, 0.5], [0.9, 0.1]])
    model = fit_region(Features((0, 0)), Region(units[1], 0.4), units, np.array(values), np.full(3, np.nan))
    marginals = model.posterior.marginals(model.features(units))
    assert np.isfinite(marginals.mean).all()
    assert np.isfinite(marginals.variance).all()
    assert np.isfinite(scale_of(np.array(values)).range)
