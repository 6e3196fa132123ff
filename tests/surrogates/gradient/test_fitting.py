from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gradient.fitting import (
    EXACT,
    FORMS,
    KEPT,
    SHAPES,
    STEEP,
    Form,
    Seen,
    WarmStartedGradientFits,
    fit_near,
    observed,
)
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]
PLANE = np.arange(2)
PLAIN = tuple(form for form in FORMS if form.kappa is None)


def height(x: Array) -> float:
    return float(np.exp(x[0]) + np.sin(3 * x[1]) * x[0] + 2 * x[1] ** 2)


def slope(x: Array) -> Array:
    return np.array([np.exp(x[0]) + np.sin(3 * x[1]), 3 * np.cos(3 * x[1]) * x[0] + 4 * x[1]])


def bend(x: Array) -> Array:
    mixed = 3 * np.cos(3 * x[1])
    return np.array([[np.exp(x[0]), mixed], [mixed, -9 * np.sin(3 * x[1]) * x[0] + 4]])


def seen_at(x: Array, *, curved: bool = False) -> Seen:
    return Seen(
        x,
        np.array([height(each) for each in x]),
        np.full(len(x), np.nan),
        np.array([slope(each) for each in x]),
        np.array([bend(each) for each in x]) if curved else None,
    )


def points(count: int, d: int = 2, seed: int = 0) -> Array:
    return np.random.default_rng([seed, 4]).random((count, d)) - 0.5


def drawn(count: int, length: float, *, d: int = 2, noise: float = 0.0, seed: int = 0) -> Seen:
    """A draw of a smooth stationary process, by random Fourier features of an RBF kernel, with noise on everything."""
    rng = np.random.default_rng([seed, 5])
    waves, turns = rng.normal(size=(400, d)) / length, rng.uniform(0, 2 * np.pi, 400)
    weights = rng.normal(size=400) * np.sqrt(2 / 400)
    x = points(count, d, seed)
    phase = x @ waves.T + turns
    values, gradients = np.cos(phase) @ weights, -np.sin(phase) * weights @ waves
    values += noise * rng.normal(size=count)
    return Seen(x, values, np.full(count, np.nan), gradients * (1 + noise * rng.normal(size=gradients.shape)))


def quadratic(count: int, d: int = 3, seed: int = 0) -> Seen:
    x = points(count, d, seed)
    weights, bottom = np.arange(1, d + 1), 0.2
    values, gradients = np.sum(weights * (x - bottom) ** 2, axis=1), 2 * weights * (x - bottom)
    return Seen(x, values, np.full(count, np.nan), gradients)


# what is seen


@pytest.mark.parametrize("kappa", KAPPAS)
def test_slopes_and_curvatures_are_those_of_the_values_on_the_models_scale(kappa: float | None) -> None:
    seen = seen_at(points(5), curved=True)
    scale = Scale.of(seen.values, kappa)
    data = observed(seen, scale, curvatures=True)
    n, count = len(seen.x), data.sites.gradients.shape[1]
    np.testing.assert_array_equal(data.y[:n], scale(seen.values))
    assert data.sites.gradients.shape == (2, 2 * n)
    assert data.sites.bends.shape == (3, 3 * n)

    def modelled(x: Array) -> float:
        return float(scale(np.array([height(x)]))[0])

    def slope_of(x: Array) -> Array:
        return scale.slope(np.array([height(x)]))[0] * slope(x)

    for (i, c), found in zip(data.sites.gradients.T, data.y[n : n + count], strict=True):
        assert found == pytest.approx(numeric_gradient(modelled, seen.x[i])[c], rel=1e-5, abs=1e-6)
    for (i, c, e), found in zip(data.sites.bends.T, data.y[n + count :], strict=True):
        numeric = numeric_gradient(lambda x, c=c: float(slope_of(x)[c]), seen.x[i])[e]
        assert found == pytest.approx(numeric, rel=1e-5, abs=1e-5)


def test_what_is_missing_is_left_out() -> None:
    seen = seen_at(points(4), curved=True)
    assert seen.hessians is not None
    seen.gradients[1] = np.nan
    seen.gradients[2, 0] = np.nan
    seen.hessians[3, 0, 1] = seen.hessians[3, 1, 0] = np.nan
    data = observed(seen, Scale.of(seen.values), curvatures=True)
    assert data.sites.gradients.T.tolist() == [[0, 0], [0, 1], [2, 1], [3, 0], [3, 1]]
    assert data.sites.bends.T.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 1], [2, 1, 1], [3, 0, 0], [3, 1, 1]]
    assert np.isfinite(data.y).all()
    assert observed(seen, Scale.of(seen.values)).sites.bends.shape == (3, 0)


def test_slopes_too_steep_to_learn_from_are_left_out() -> None:
    seen = seen_at(points(4))
    scale = Scale.of(seen.values)
    seen.gradients[0, 0], seen.gradients[1, 1] = 1e300, 2 * STEEP / abs(scale.slope(seen.values)[1])
    seen.gradients[2, 0] = np.inf
    data = observed(seen, scale)
    assert data.sites.gradients.T.tolist() == [[0, 1], [1, 0], [2, 1], [3, 0], [3, 1]]
    assert np.all(data.power > 0)


def test_the_power_of_slopes_is_their_mean_square() -> None:
    seen = seen_at(points(6))
    seen.gradients[:3, 0] = np.nan
    scale = Scale.of(seen.values)
    gradients = scale.slope(seen.values)[:, None] * seen.gradients
    np.testing.assert_allclose(observed(seen, scale).power, np.nanmean(gradients**2, axis=0))


def test_told_noise_is_on_the_models_scale() -> None:
    seen = seen_at(points(6))._replace(deviations=np.array([0.1, np.nan, 0.2, np.nan, np.nan, 0.0]))
    scale = Scale.of(seen.values)
    expected = (np.nan_to_num(seen.deviations) * scale.slope(seen.values)) ** 2
    np.testing.assert_allclose(observed(seen, scale).told, expected)


def test_some_of_the_results() -> None:
    seen = seen_at(points(40), curved=True)
    few = seen.rows(np.array([3, 5]))
    np.testing.assert_array_equal(few.gradients, seen.gradients[[3, 5]])
    assert few.hessians is not None
    assert few.hessians.shape == (2, 2, 2)
    assert seen.width == 3
    thin = seen.thinned(30)
    assert len(thin.values) == 10
    assert (thin.values[0], thin.values[-1]) == (seen.values[0], seen.values[-1])
    assert len(seen.thinned(1).values) == 4
    assert len(seen.thinned(1000).values) == 40
    doubted = seen.trusting(np.arange(40) != 7)
    assert np.isnan(doubted.gradients[7]).all()
    assert doubted.hessians is not None
    assert np.isnan(doubted.hessians[7]).all()
    assert np.isfinite(np.delete(doubted.gradients, 7, axis=0)).all()
    assert np.isfinite(seen.gradients).all()  # a copy was changed
    assert len({seen.digest(), doubted.digest(), thin.digest()}) == 3


# forms


@pytest.mark.parametrize("seed", range(2))
def test_a_quadratic_gets_a_trend(seed: int) -> None:
    assert WarmStartedGradientFits(forms=PLAIN).fit(np.arange(3), quadratic(10, seed=seed)).form.trend is not None


def test_a_sample_of_a_stationary_process_mostly_gets_none() -> None:
    forms = [WarmStartedGradientFits(forms=PLAIN).fit(PLANE, drawn(20, 0.2, seed=seed)).form for seed in range(4)]
    assert sum(form.trend is None for form in forms) >= 3


def test_values_over_decades_get_a_logarithm() -> None:
    x = points(16)
    values = np.exp(12 * x[:, 0]) + 1e-3
    gradients = np.column_stack([12 * np.exp(12 * x[:, 0]), np.zeros(16)])
    seen = Seen(x, values, np.full(16, np.nan), gradients)
    assert WarmStartedGradientFits().fit(PLANE, seen).kappa is not None


def test_forms_that_are_not_offered_are_not_taken() -> None:
    chain = WarmStartedGradientFits("rbf", (Form(None, "bowl"),))
    fitted = chain.fit(PLANE, drawn(12, 0.2))
    assert fitted.form == Form(None, "bowl")
    assert fitted.covariance.profile == "rbf"


def test_it_finds_the_lengthscale_a_function_was_drawn_with() -> None:
    found = [
        WarmStartedGradientFits("rbf", PLAIN[:1]).fit(PLANE, drawn(30, length, seed=seed)).covariance.theta[:2]
        for length in (0.1, 0.4)
        for seed in range(2)
    ]
    np.testing.assert_allclose(np.mean(found[:2]), np.log(0.1), atol=0.3)
    np.testing.assert_allclose(np.mean(found[2:]), np.log(0.4), atol=0.3)


def test_the_fit_foretells_values_and_their_own_units() -> None:
    seen = drawn(30, 0.3)
    fitted = WarmStartedGradientFits(forms=PLAIN).fit(PLANE, seen)
    scale, posterior = fitted.posterior(seen)
    means = posterior.marginals(seen.x).mean[:, 0]
    np.testing.assert_allclose(means, scale(seen.values), atol=0.05)


# a pure function


def test_the_same_data_have_the_same_fit_in_any_chain_however_they_came() -> None:
    whole = drawn(21, 0.3)
    grown = WarmStartedGradientFits(forms=PLAIN)
    for count in (3, 7, 8, 11, 16, 19):
        grown.fit(PLANE, whole.rows(slice(count)))
    one, other = grown.fit(PLANE, whole), WarmStartedGradientFits(forms=PLAIN).fit(PLANE, whole)
    assert one.form == other.form
    np.testing.assert_array_equal(one.covariance.theta, other.covariance.theta)
    assert one.score == other.score


def test_between_checkpoints_the_fit_is_that_of_the_last_one() -> None:
    whole, chain = drawn(11, 0.3), WarmStartedGradientFits(forms=PLAIN[:1])
    assert checkpoint(11) == checkpoint(10) == 10
    assert chain.fit(PLANE, whole) is chain.fit(PLANE, whole.rows(slice(10)))
    assert chain.fit(PLANE, whole.rows(slice(8))) is not chain.fit(PLANE, whole)


@pytest.mark.parametrize("changed", ["x", "values", "gradients", "groups"])
def test_other_data_have_another_fit(changed: str) -> None:
    seen, chain = drawn(6, 0.3), WarmStartedGradientFits(forms=PLAIN[:1])
    other = seen if changed == "groups" else seen._replace(**{changed: getattr(seen, changed) * 1.5})
    groups = np.zeros(2, dtype=np.intp) if changed == "groups" else PLANE
    assert chain.fit(groups, other) is not chain.fit(PLANE, seen)
    assert chain.fit(PLANE, seen) is chain.fit(PLANE, seen)


def test_few_fits_are_remembered() -> None:
    chain, seen = WarmStartedGradientFits("rbf", PLAIN[:1]), quadratic(2, d=1)
    for i in range(KEPT + 3):  # of two results each
        chain.fit(np.arange(1), seen._replace(values=seen.values * (1 + i)))
    assert len(chain._known) == KEPT


# near a point


@pytest.mark.parametrize("profile", ["matern52", "rbf"])
def test_near_a_point_all_parameters_share_a_lengthscale(profile: str) -> None:
    fitted = fit_near(np.arange(3), quadratic(6), profile, SHAPES)
    lengthscales = fitted.covariance.theta[:3]
    assert np.all(lengthscales == lengthscales[0])
    assert np.isfinite(fitted.score)
    assert fitted.kappa is None


def test_near_a_point_there_is_no_noise() -> None:
    noisy = drawn(40, 1.0, noise=1.0)
    exact, free = (
        fit_near(PLANE, noisy, "matern52", SHAPES[:1]).covariance,
        WarmStartedGradientFits(forms=PLAIN).fit(PLANE, noisy),
    )
    assert max(np.log(exact.noise), np.log(exact.gradient_noise)) <= EXACT + 1e-9
    assert max(np.log(free.covariance.noise), np.log(free.covariance.gradient_noise)) > EXACT + 2
    assert exact.theta[0] < free.covariance.theta[0]  # what is not noise is roughness


def test_near_a_point_only_the_shapes_asked_for_are_taken() -> None:
    for shape in SHAPES:
        assert fit_near(np.arange(3), quadratic(6), "matern52", (shape,)).form.trend == shape


def test_near_the_bottom_of_a_quadratic_the_bottom_is_foretold() -> None:
    seen = quadratic(4)
    fitted = fit_near(np.arange(3), seen, "matern52", SHAPES)
    scale, posterior = fitted.posterior(seen)
    bottom = posterior.marginals(np.full((1, 3), 0.2))
    assert float(bottom.mean[0, 0]) == pytest.approx(float(scale(np.zeros(1))[0]), abs=0.05)


@pytest.mark.parametrize(
    "seen",
    [
        Seen(np.zeros((1, 2)), np.zeros(1), np.full(1, np.nan), np.ones((1, 2))),
        Seen(np.zeros((3, 2)), np.arange(3.0), np.full(3, np.nan), np.ones((3, 2))),
        Seen(points(4), np.ones(4), np.full(4, np.nan), np.zeros((4, 2))),
        Seen(points(4), np.ones(4), np.full(4, np.nan), np.full((4, 2), np.nan)),
        Seen(points(4), np.arange(4.0), np.full(4, np.nan), np.full((4, 2), 1e300)),
        Seen(points(4), 1e300 * np.arange(4.0), np.full(4, np.nan), np.full((4, 2), 1e-300)),
        Seen(points(4), 1e-300 * np.arange(4.0), np.full(4, np.nan), np.full((4, 2), 1e300)),
        Seen(points(4), 1.7e308 * np.array([-1.0, 1, 0, 1]), np.full(4, np.nan), np.full((4, 2), 1.7e308)),
    ],
    ids=["one", "one place", "flat", "no gradients", "steep", "huge values", "tiny values", "largest numbers"],
)
def test_odd_data_have_a_fit(seen: Seen) -> None:
    for fitted in (
        fit_near(PLANE, seen, "matern52", SHAPES),
        WarmStartedGradientFits(forms=PLAIN).fit(PLANE, seen),
    ):
        assert np.isfinite(fitted.covariance.theta).all()
        _, posterior = fitted.posterior(seen)
        assert np.isfinite(posterior.marginals(points(3)).mean).all()
