from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gradient.fitting import (
    FORMS,
    STEEP,
    ModelForm,
    Observations,
    WarmStartedGradientFits,
    scale_observations,
)
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]
PLANE = np.arange(2)
PLAIN = tuple(form for form in FORMS if form.kappa is None)


def value_at(x: Array) -> float:
    return float(np.exp(x[0]) + np.sin(3 * x[1]) * x[0] + 2 * x[1] ** 2)


def gradient_at(x: Array) -> Array:
    return np.array([np.exp(x[0]) + np.sin(3 * x[1]), 3 * np.cos(3 * x[1]) * x[0] + 4 * x[1]])


def hessian_at(x: Array) -> Array:
    mixed = 3 * np.cos(3 * x[1])
    return np.array([[np.exp(x[0]), mixed], [mixed, -9 * np.sin(3 * x[1]) * x[0] + 4]])


def observations_at(x: Array, *, curved: bool = False) -> Observations:
    return Observations(
        x,
        np.array([value_at(each) for each in x]),
        np.full(len(x), np.nan),
        np.array([gradient_at(each) for each in x]),
        np.array([hessian_at(each) for each in x]) if curved else None,
    )


def points(count: int, d: int = 2, seed: int = 0) -> Array:
    return np.random.default_rng([seed, 4]).random((count, d)) - 0.5


def drawn(count: int, length: float, *, d: int = 2, noise: float = 0.0, seed: int = 0) -> Observations:
    """A draw of a smooth stationary process, by random Fourier features of an RBF kernel, with noise on everything."""
    rng = np.random.default_rng([seed, 5])
    frequencies, phases = rng.normal(size=(400, d)) / length, rng.uniform(0, 2 * np.pi, 400)
    weights = rng.normal(size=400) * np.sqrt(2 / 400)
    x = points(count, d, seed)
    phase = x @ frequencies.T + phases
    values, gradients = np.cos(phase) @ weights, -np.sin(phase) * weights @ frequencies
    values += noise * rng.normal(size=count)
    return Observations(x, values, np.full(count, np.nan), gradients * (1 + noise * rng.normal(size=gradients.shape)))


def quadratic(count: int, d: int = 3, seed: int = 0) -> Observations:
    x = points(count, d, seed)
    weights, minimizer = np.arange(1, d + 1), 0.2
    values, gradients = np.sum(weights * (x - minimizer) ** 2, axis=1), 2 * weights * (x - minimizer)
    return Observations(x, values, np.full(count, np.nan), gradients)


# observations on the model's scale


@pytest.mark.parametrize("kappa", KAPPAS)
def test_gradients_and_curvatures_are_those_of_the_values_on_the_models_scale(kappa: float | None) -> None:
    observations = observations_at(points(5), curved=True)
    scale = Scale.of(observations.values, kappa)
    data = scale_observations(observations, scale, with_hessians=True)
    n, count = len(observations.x), data.layout.gradients.shape[1]
    np.testing.assert_array_equal(data.y[:n], scale(observations.values))
    assert data.layout.gradients.shape == (2, 2 * n)
    assert data.layout.curvatures.shape == (3, 3 * n)

    def modelled(x: Array) -> float:
        return float(scale(np.array([value_at(x)]))[0])

    def scaled_gradient(x: Array) -> Array:
        return scale.slope(np.array([value_at(x)]))[0] * gradient_at(x)

    for (i, c), found in zip(data.layout.gradients.T, data.y[n : n + count], strict=True):
        assert found == pytest.approx(numeric_gradient(modelled, observations.x[i])[c], rel=1e-5, abs=1e-6)
    for (i, c, e), found in zip(data.layout.curvatures.T, data.y[n + count :], strict=True):
        numeric = numeric_gradient(lambda x, c=c: float(scaled_gradient(x)[c]), observations.x[i])[e]
        assert found == pytest.approx(numeric, rel=1e-5, abs=1e-5)


def test_missing_derivatives_are_left_out() -> None:
    observations = observations_at(points(4), curved=True)
    assert observations.hessians is not None
    observations.gradients[1] = np.nan
    observations.gradients[2, 0] = np.nan
    observations.hessians[3, 0, 1] = observations.hessians[3, 1, 0] = np.nan
    data = scale_observations(observations, Scale.of(observations.values), with_hessians=True)
    assert data.layout.gradients.T.tolist() == [[0, 0], [0, 1], [2, 1], [3, 0], [3, 1]]
    assert data.layout.curvatures.T.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 1], [2, 1, 1], [3, 0, 0], [3, 1, 1]]
    assert np.isfinite(data.y).all()
    assert scale_observations(observations, Scale.of(observations.values)).layout.curvatures.shape == (3, 0)


def test_gradients_that_are_too_steep_are_left_out() -> None:
    observations = observations_at(points(4))
    scale = Scale.of(observations.values)
    observations.gradients[0, 0], observations.gradients[1, 1] = (
        1e300,
        2 * STEEP / abs(scale.slope(observations.values)[1]),
    )
    observations.gradients[2, 0] = np.inf
    data = scale_observations(observations, scale)
    assert data.layout.gradients.T.tolist() == [[0, 1], [1, 0], [2, 1], [3, 0], [3, 1]]
    assert np.all(data.mean_squares > 0)


def test_the_mean_squares_of_gradients() -> None:
    observations = observations_at(points(6))
    observations.gradients[:3, 0] = np.nan
    scale = Scale.of(observations.values)
    gradients = scale.slope(observations.values)[:, None] * observations.gradients
    np.testing.assert_allclose(scale_observations(observations, scale).mean_squares, np.nanmean(gradients**2, axis=0))


def test_told_noise_is_on_the_models_scale() -> None:
    observations = observations_at(points(6))._replace(deviations=np.array([0.1, np.nan, 0.2, np.nan, np.nan, 0.0]))
    scale = Scale.of(observations.values)
    expected = (np.nan_to_num(observations.deviations) * scale.slope(observations.values)) ** 2
    np.testing.assert_allclose(scale_observations(observations, scale).known_noise, expected)


def test_subsets_of_observations() -> None:
    observations = observations_at(points(40), curved=True)
    few = observations.rows(np.array([3, 5]))
    np.testing.assert_array_equal(few.gradients, observations.gradients[[3, 5]])
    assert few.hessians is not None
    assert few.hessians.shape == (2, 2, 2)
    assert observations.width == 3
    thin = observations.thinned(30)
    assert len(thin.values) == 10
    assert (thin.values[0], thin.values[-1]) == (observations.values[0], observations.values[-1])
    assert len(observations.thinned(1).values) == 4
    assert len(observations.thinned(1000).values) == 40
    doubted = observations.trusting(np.arange(40) != 7)
    assert np.isnan(doubted.gradients[7]).all()
    assert doubted.hessians is not None
    assert np.isnan(doubted.hessians[7]).all()
    assert np.isfinite(np.delete(doubted.gradients, 7, axis=0)).all()
    assert np.isfinite(observations.gradients).all()  # a copy was changed
    assert len({observations.digest(), doubted.digest(), thin.digest()}) == 3


# forms


@pytest.mark.parametrize("seed", range(2))
def test_a_quadratic_gets_a_trend(seed: int) -> None:
    assert WarmStartedGradientFits(forms=PLAIN).fit(np.arange(3), quadratic(10, seed=seed)).covariance.trend is not None


def test_a_sample_of_a_stationary_process_mostly_gets_none() -> None:
    fits = [WarmStartedGradientFits(forms=PLAIN).fit(PLANE, drawn(20, 0.2, seed=seed)) for seed in range(4)]
    assert sum(each.covariance.trend is None for each in fits) >= 3


def test_values_over_decades_get_a_logarithm() -> None:
    x = points(16)
    values = np.exp(12 * x[:, 0]) + 1e-3
    gradients = np.column_stack([12 * np.exp(12 * x[:, 0]), np.zeros(16)])
    observations = Observations(x, values, np.full(16, np.nan), gradients)
    assert WarmStartedGradientFits().fit(PLANE, observations).kappa is not None


def test_forms_that_are_not_offered_are_not_taken() -> None:
    fits = WarmStartedGradientFits("rbf", (ModelForm(None, "bowl"),))
    fitted = fits.fit(PLANE, drawn(12, 0.2))
    assert (fitted.kappa, fitted.covariance.trend) == (None, "bowl")
    assert fitted.covariance.profile == "rbf"


def test_it_finds_the_length_scale_of_a_sampled_function() -> None:
    found = [
        WarmStartedGradientFits("rbf", PLAIN[:1]).fit(PLANE, drawn(30, length, seed=seed)).covariance.theta[:2]
        for length in (0.1, 0.4)
        for seed in range(2)
    ]
    np.testing.assert_allclose(np.mean(found[:2]), np.log(0.1), atol=0.3)
    np.testing.assert_allclose(np.mean(found[2:]), np.log(0.4), atol=0.3)


def test_the_fit_predicts_the_observed_values() -> None:
    observations = drawn(30, 0.3)
    fitted = WarmStartedGradientFits(forms=PLAIN).fit(PLANE, observations)
    scale, posterior = fitted.posterior(observations)
    means = posterior.marginals(observations.x).mean[:, 0]
    np.testing.assert_allclose(means, scale(observations.values), atol=0.05)


# a pure function


def test_the_same_data_have_the_same_fit_whatever_was_fitted_before() -> None:
    whole = drawn(21, 0.3)
    grown = WarmStartedGradientFits(forms=PLAIN)
    for count in (3, 7, 8, 11, 16, 19):
        grown.fit(PLANE, whole.rows(slice(count)))
    one, other = grown.fit(PLANE, whole), WarmStartedGradientFits(forms=PLAIN).fit(PLANE, whole)
    assert (one.kappa, one.covariance.trend) == (other.kappa, other.covariance.trend)
    np.testing.assert_array_equal(one.covariance.theta, other.covariance.theta)
    assert one.score == other.score


def test_between_checkpoints_the_fit_is_that_of_the_last_one() -> None:
    whole, fits = drawn(11, 0.3), WarmStartedGradientFits(forms=PLAIN[:1])
    assert checkpoint(11) == checkpoint(10) == 10
    assert fits.fit(PLANE, whole) is fits.fit(PLANE, whole.rows(slice(10)))
    assert fits.fit(PLANE, whole.rows(slice(8))) is not fits.fit(PLANE, whole)


@pytest.mark.parametrize("changed", ["x", "values", "gradients", "groups"])
def test_other_data_have_another_fit(changed: str) -> None:
    observations, fits = drawn(6, 0.3), WarmStartedGradientFits(forms=PLAIN[:1])
    other = (
        observations
        if changed == "groups"
        else observations._replace(**{changed: getattr(observations, changed) * 1.5})
    )
    groups = np.zeros(2, dtype=np.intp) if changed == "groups" else PLANE
    assert fits.fit(groups, other) is not fits.fit(PLANE, observations)
    assert fits.fit(PLANE, observations) is fits.fit(PLANE, observations)


def test_few_fits_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.surrogates.gradient.fitting.KEPT", 3)
    fits, observations = WarmStartedGradientFits("rbf", PLAIN[:1]), quadratic(2, d=1)
    several = [observations._replace(values=observations.values * (1 + i)) for i in range(6)]
    first, *_, last = (fits.fit(np.arange(1), each) for each in several)
    assert fits.fit(np.arange(1), several[-1]) is last
    assert fits.fit(np.arange(1), several[0]) is not first


# extreme data


@pytest.mark.parametrize(
    "observations",
    [
        Observations(np.zeros((1, 2)), np.zeros(1), np.full(1, np.nan), np.ones((1, 2))),
        Observations(np.zeros((3, 2)), np.arange(3.0), np.full(3, np.nan), np.ones((3, 2))),
        Observations(points(4), np.ones(4), np.full(4, np.nan), np.zeros((4, 2))),
        Observations(points(4), np.ones(4), np.full(4, np.nan), np.full((4, 2), np.nan)),
        Observations(points(4), np.arange(4.0), np.full(4, np.nan), np.full((4, 2), 1e300)),
        Observations(points(4), 1e300 * np.arange(4.0), np.full(4, np.nan), np.full((4, 2), 1e-300)),
        Observations(points(4), 1e-300 * np.arange(4.0), np.full(4, np.nan), np.full((4, 2), 1e300)),
        Observations(points(4), 1.7e308 * np.array([-1.0, 1, 0, 1]), np.full(4, np.nan), np.full((4, 2), 1.7e308)),
    ],
    ids=["one", "one place", "flat", "no gradients", "steep", "huge values", "tiny values", "largest numbers"],
)
def test_extreme_data_have_a_fit(observations: Observations) -> None:
    fitted = WarmStartedGradientFits(forms=PLAIN).fit(PLANE, observations)
    assert np.isfinite(fitted.covariance.theta).all()
    _, posterior = fitted.posterior(observations)
    assert np.isfinite(posterior.marginals(points(3)).mean).all()
