"""The model of a trust region."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.gradient.region import FEWEST, ROWS, RegionModel, fit_region, nearest

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]  # values (n,) and gradients (n, p) at x (n, p)

MINIMUM = 0.3
RADIUS = 0.2


def hessian(p: int) -> Array:
    """A rotated quadratic with curvatures from 1 to 20."""
    axes = np.linalg.qr(np.random.default_rng(p).normal(size=(p, p)))[0]
    return np.asarray(axes * np.geomspace(1.0, 20.0, p) @ axes.T)


def quadratic(x: Array) -> tuple[Array, Array]:
    z, curvatures = x - MINIMUM, hessian(x.shape[1])
    return 0.5 * np.sum(z @ curvatures * z, axis=1), z @ curvatures


def quartic(x: Array) -> tuple[Array, Array]:
    z = x - MINIMUM
    return np.sum(z**4, axis=1), 4 * z**3


def wave(x: Array) -> tuple[Array, Array]:
    return np.sum(np.sin(5 * x), axis=1), 5 * np.cos(5 * x)


def observed(function: Function, n: int, p: int, *, width: float = 1.0, seed: int = 0) -> Observations:
    x = 0.5 + width * (np.random.default_rng([seed, n, p]).random((n, p)) - 0.5)
    return Observations(x, function(x)[0], np.full(n, np.nan), function(x)[1])


def centre_of(observations: Observations) -> int:
    return int(np.argmin(observations.values))


def fitted(observations: Observations, radius: float = RADIUS) -> RegionModel:
    return fit_region(observations, centre_of(observations), radius)


def step(region: RegionModel, p: int, caution: float = 0.0, reach: float = 1.0) -> Array:
    """The minimizer of mean and deviations in a box."""

    def loss(u: Array) -> tuple[float, Array]:
        mean, in_mean, deviation, in_deviation = region(u)
        return mean + caution * deviation, in_mean + caution * in_deviation

    start = -0.01 * region(np.zeros(p))[1]
    return np.asarray(minimize(loss, start, jac=True, bounds=[(-reach, reach)] * p, options={"ftol": 1e-15}).x)


def probes(p: int, count: int = 5) -> Array:
    return np.random.default_rng(7).uniform(-1.0, 1.0, (count, p))


def predictions(region: RegionModel, u: Array) -> Array:
    """Means, standard deviations and their gradients at displacements (k, p), (k, 2 + 2 p)."""
    return np.array([np.hstack(region(each)) for each in u])


def noise_share(region: RegionModel) -> float:
    assert isinstance(region.posterior.covariance, Covariance)
    return region.posterior.covariance.gradient_noise


# what it predicts


@pytest.mark.parametrize("function", [quadratic, quartic, wave])
@pytest.mark.parametrize(("n", "p"), [(1, 2), (6, 3), (12, 2), (4, 30)])
def test_it_interpolates_value_and_gradient_at_the_centre(function: Function, n: int, p: int) -> None:
    """In units of the value's change over the region: there the steepest derivative is 1."""
    observations = observed(function, n, p)
    gradients = observations.gradients[centre_of(observations)]
    mean, in_mean, deviation, _ = fitted(observations)(np.zeros(p))
    assert mean == pytest.approx(0.0, abs=1e-3)
    assert deviation == pytest.approx(0.0, abs=1e-2)
    np.testing.assert_allclose(in_mean, gradients / np.abs(gradients).max(), atol=1e-3)


@pytest.mark.parametrize(("n", "p"), [(4, 2), (7, 5), (12, 10)])
def test_the_minimum_of_a_rotated_quadratic_is_that_of_the_mean(n: int, p: int) -> None:
    observations = observed(quadratic, n, p)
    centre = observations.x[centre_of(observations)]
    found = centre + RADIUS * step(fitted(observations), p, reach=10.0)
    assert np.abs(centre - MINIMUM).max() > 0.1
    np.testing.assert_allclose(found, MINIMUM, atol=2e-3)


@pytest.mark.parametrize(("n", "p"), [(1, 2), (6, 3), (4, 30)])
def test_gradients_of_mean_and_deviation(n: int, p: int) -> None:
    region = fitted(observed(wave, n, p))
    assert (region.subspace is not None) == (p == 30)
    for u in probes(p, 3):
        _, in_mean, _, in_deviation = region(u)
        np.testing.assert_allclose(in_mean, numeric_gradient(lambda at: region(at)[0], u), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(in_deviation, numeric_gradient(lambda at: region(at)[2], u), rtol=1e-5, atol=1e-6)


def test_the_deviation_grows_away_from_the_observations() -> None:
    region = fitted(observed(wave, 1, 3))
    deviations = [region(np.full(3, distance))[2] for distance in (0.01, 0.1, 0.5, 1.0)]
    assert np.all(np.diff(deviations) > 0)
    assert deviations[-1] > 0.1


def test_one_observation_leads_downhill() -> None:
    observations = observed(quadratic, 1, 3)
    found = step(fitted(observations), 3, caution=1.0)
    assert found @ observations.gradients[0] < 0


# high dimension


def on_the_whole_space(observations: Observations, region: RegionModel) -> RegionModel:
    """The model with the same hyperparameters, not reduced to a subspace."""
    n, p = observations.x.shape
    centre = centre_of(observations)
    unit = np.nanmax(np.abs(observations.gradients[centre])) * RADIUS
    values, gradients = (
        (observations.values - observations.values[centre]) / unit,
        observations.gradients * RADIUS / unit,
    )
    points, columns = np.nonzero(np.isfinite(gradients))
    layout = ObservationLayout((observations.x - observations.x[centre]) / RADIUS, np.stack([points, columns]))
    squares = np.nanmean((gradients - gradients[centre]) ** 2, axis=1)
    misfits = np.concatenate([values**2, squares[points]])
    reduced = region.posterior.covariance
    assert isinstance(reduced, Covariance)
    covariance = Covariance(np.zeros(p, dtype=np.intp), reduced.theta, "quadratic", reduced.profile)
    y = -np.concatenate([values, gradients[points, columns]])
    return RegionModel(Evidence(layout, y, np.zeros(n), misfits=misfits).posterior(covariance), None)


@pytest.mark.parametrize("function", [quadratic, wave])
@pytest.mark.parametrize("missing", [False, True])
def test_on_the_subspace_it_is_that_of_the_whole_space(function: Function, missing: bool) -> None:
    observations = observed(function, 4, 14)
    if missing:
        observations.gradients[:, [2, 9]] = np.nan
    few = fitted(observations)
    assert few.subspace is not None
    full = on_the_whole_space(observations, few)
    for u in probes(14):
        mean, in_mean, deviation, _ = few(u)
        assert mean == pytest.approx(full(u)[0], rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(in_mean, full(u)[1], rtol=1e-4, atol=1e-5)
        assert deviation >= full(u)[2] - 1e-5  # derivatives along the complement are not used
    inside = (observations.x[1] - observations.x[2]) / RADIUS + np.nan_to_num(observations.gradients[0])
    assert few(inside)[2] == pytest.approx(full(inside)[2], rel=1e-5)


@pytest.mark.parametrize("function", [quadratic, wave])
def test_the_fit_on_the_subspace_is_about_that_on_the_whole_space(function: Function) -> None:
    observations = observed(function, 4, 14)
    few = fitted(observations)
    full = fitted(observations._replace(hessians=np.full((4, 14, 14), np.nan)))  # these say nothing
    assert few.subspace is not None
    assert full.subspace is None
    for u in probes(14):
        assert few(u)[0] == pytest.approx(full(u)[0], rel=0.05, abs=0.01)


def test_it_predicts_a_quadratic_in_a_thousand_dimensions() -> None:
    """Values away from the observations, along their gradients."""
    x = 0.2 * (np.random.default_rng(7).random((6, 1000)) - 0.5)
    observations = Observations(x, np.sum((x - 0.05) ** 2, axis=1), np.full(6, np.nan), 2 * (x - 0.05))
    centre = centre_of(observations)
    unit = np.abs(observations.gradients[centre]).max() * RADIUS
    region = fitted(observations)
    for each in range(6):
        there = x[each] - 0.4 * observations.gradients[each]
        mean = observations.values[centre] + unit * region((there - x[centre]) / RADIUS)[0]
        assert mean == pytest.approx(np.sum((there - 0.05) ** 2), abs=0.3 * observations.values[centre])


@pytest.mark.parametrize(("n", "p"), [(6, 3), (4, 30)])
def test_rotations_cost_nothing(n: int, p: int) -> None:
    observations = observed(wave, n, p)
    # a rotation about the gradient at the centre, whose largest component is the unit of the values
    slope = observations.gradients[centre_of(observations)]
    axes, _ = np.linalg.qr(np.column_stack([slope, np.random.default_rng(3).normal(size=(p, p - 1))]))
    turn, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(p - 1, p - 1)))
    rotation = np.outer(axes[:, 0], axes[:, 0]) + axes[:, 1:] @ turn @ axes[:, 1:].T
    rotated = observations._replace(x=observations.x @ rotation, gradients=observations.gradients @ rotation)
    one, other = fitted(observations), fitted(rotated)
    for u in probes(p):
        assert other(u @ rotation)[0] == pytest.approx(one(u)[0], rel=0.02, abs=0.01)
        assert other(u @ rotation)[2] == pytest.approx(one(u)[2], rel=0.02)


# units


def assert_same(one: RegionModel, other: RegionModel, p: int, tolerance: float) -> None:
    """Means, deviations and steps agree."""
    np.testing.assert_allclose(
        predictions(other, probes(p)), predictions(one, probes(p)), rtol=tolerance, atol=tolerance
    )
    np.testing.assert_allclose(step(other, p, caution=1.0), step(one, p, caution=1.0), atol=tolerance)


# rounding may change where the fit of hyperparameters ends; powers of two are exact
@pytest.mark.parametrize(("factor", "tolerance"), [(2.0**20, 1e-6), (1e6, 0.02), (1e-6, 0.02)])
@pytest.mark.parametrize("function", [quadratic, wave])
@pytest.mark.parametrize(("n", "p"), [(6, 3), (4, 30)])
def test_units_of_the_values_do_not_matter(function: Function, n: int, p: int, factor: float, tolerance: float) -> None:
    observations = observed(function, n, p)
    other = observations._replace(values=factor * observations.values, gradients=factor * observations.gradients)
    assert_same(fitted(observations), fitted(other), p, tolerance)


@pytest.mark.parametrize(("n", "p"), [(6, 3), (4, 30)])
def test_a_constant_does_not_matter(n: int, p: int) -> None:
    observations = observed(wave, n, p)
    assert_same(fitted(observations), fitted(observations._replace(values=observations.values + 100.0)), p, 0.02)


@pytest.mark.parametrize(("factor", "tolerance"), [(2.0**-12, 1e-6), (1e-4, 0.02), (1e3, 0.02)])
@pytest.mark.parametrize(("n", "p"), [(6, 3), (4, 30)])
def test_units_of_the_parameters_do_not_matter(n: int, p: int, factor: float, tolerance: float) -> None:
    observations = observed(wave, n, p)
    other = observations._replace(x=factor * observations.x, gradients=observations.gradients / factor)
    assert_same(fitted(observations), fitted(other, factor * RADIUS), p, tolerance)


# noise


def test_far_observations_have_more_noise_on_a_quartic_than_on_a_quadratic() -> None:
    def shares(function: Function) -> list[float]:
        return [noise_share(fitted(observed(function, 12, 3, width=2.0, seed=seed), 0.02)) for seed in range(3)]

    assert max(shares(quadratic)) < 1e-4
    assert min(shares(quartic)) > 100 * max(shares(quadratic))


def test_on_a_quartic_far_observations_do_not_hide_the_minimum() -> None:
    near, far = observed(quartic, 4, 2, width=0.6), observed(quartic, 8, 2, width=100.0)
    both = Observations(*(np.concatenate(pair) for pair in zip(near[:4], far[:4], strict=True)))
    centre = both.x[centre_of(both)]
    found = centre + RADIUS * step(fitted(both), 2)
    assert quartic(found[None])[0][0] < 0.9 * both.values.min()


def test_told_noise_lets_the_mean_miss_a_wrong_value() -> None:
    observations = observed(quadratic, 6, 2)
    worst = int(np.argmax(observations.values))
    values, deviations = observations.values.copy(), np.full(6, np.nan)
    values[worst] += 1.0
    deviations[worst] = 10.0
    wrong = observations._replace(values=values)
    centre = observations.x[centre_of(observations)]
    u = (observations.x[worst] - centre) / RADIUS
    truth, taken, missed = (fitted(each)(u)[0] for each in (observations, wrong, wrong._replace(deviations=deviations)))
    assert abs(missed - truth) < 0.1 * abs(taken - truth)


def test_told_noise_of_the_centre() -> None:
    observations = observed(quadratic, 1, 2)
    unit = np.abs(observations.gradients).max() * RADIUS
    exact, noisy = (
        fitted(each)(np.zeros(2))[2]
        for each in (observations, observations._replace(deviations=np.array([0.1 * unit])))
    )
    assert exact < 1e-4
    assert noisy == pytest.approx(0.1, rel=0.1)  # the prior variance is at least 1


# missing derivatives


def test_partial_gradients() -> None:
    observations = observed(quadratic, 8, 3)
    centre = centre_of(observations)
    steepest = np.abs(observations.gradients[centre]).argmax()
    gradients = observations.gradients.copy()
    gradients[::2, 1] = np.nan
    gradients[(centre + 1) % 8] = np.nan
    gradients[centre] = np.where(np.arange(3) == steepest, observations.gradients[centre], np.nan)
    region = fitted(observations._replace(gradients=gradients))
    assert region(np.zeros(3))[0] == pytest.approx(0.0, abs=1e-4)
    assert region(np.zeros(3))[1][steepest] == pytest.approx(np.sign(gradients[centre, steepest]), abs=1e-3)
    found = observations.x[centre] + RADIUS * step(region, 3, reach=10.0)
    np.testing.assert_allclose(found, MINIMUM, atol=0.05)


@pytest.mark.parametrize(("n", "p"), [(6, 2), (3, 10)])
def test_without_gradients_it_is_a_model_of_the_values(n: int, p: int) -> None:
    observations = observed(quadratic, n, p)
    region = fitted(observations._replace(gradients=np.full((n, p), np.nan)))
    away = (observations.x[np.argmax(observations.values)] - observations.x[centre_of(observations)]) / RADIUS
    assert region(np.zeros(p))[0] == pytest.approx(0.0, abs=1e-6)
    assert region(away)[0] > 0.01
    assert np.isfinite(predictions(region, probes(p))).all()


def test_a_hessian_is_the_curvature_of_the_mean_at_the_centre() -> None:
    observations = observed(quadratic, 1, 3)
    known = observations._replace(hessians=hessian(3)[None])
    unit = np.abs(observations.gradients).max() * RADIUS
    expected = hessian(3) * RADIUS**2 / unit

    def curvature(region: RegionModel, column: int) -> Array:
        return numeric_gradient(lambda u: float(region(u)[1][column]), np.zeros(3), step=1e-4)

    for column in range(3):
        found = curvature(fitted(known), column)
        np.testing.assert_allclose(found, expected[column], atol=1e-3)
        without = curvature(fitted(observations), column)
        assert np.abs(without - expected[column]).max() > 0.01


# which observations


@pytest.mark.parametrize(
    ("n", "width", "count"),
    [(7, 3, 7), (50, 3, FEWEST), (50, 10, FEWEST), (50, 15, 25), (50, 24, 16), (50, 1000, 13), (1, 1000, 1)],
)
def test_how_many_observations_are_near(n: int, width: int, count: int) -> None:
    """Twice as many as columns, and never a matrix of more than ``ROWS`` rows; a point has at most 2 n axes."""
    distances = np.random.default_rng(0).random(n)
    found = nearest(distances, width)
    assert len(found) == count
    assert count * (1 + min(width, 2 * count)) <= ROWS
    assert np.all(np.diff(found) > 0)
    assert set(found) == set(np.argsort(distances)[:count])
