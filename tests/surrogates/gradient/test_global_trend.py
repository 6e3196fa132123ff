from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import sonde.surrogates.gradient.global_trend as module
from sonde.surrogates.gradient.global_trend import (
    MIN_DISTANCE,
    PRIOR_DEVIATION,
    fit_global_trends,
    residual_range,
    spread_out,
)

Array = NDArray[np.float64]


def quadratic_data(
    count: int, d: int, minimizer: Array, *, amplitude: float = 0.0, frequency: float = 20.0, seed: int = 0
) -> tuple[Array, Array, Array]:
    """Points of the centred cube, with standardised values and gradients of a quadratic plus cosines."""
    x = np.random.default_rng(seed).random((count, d)) - 0.5
    phase = frequency * (x - minimizer) + np.arange(d)
    y = np.sum((x - minimizer) ** 2 + amplitude * np.cos(phase), axis=1)
    gradients = 2 * (x - minimizer) - amplitude * frequency * np.sin(phase)
    return x, (y - y.mean()) / y.std(), gradients / y.std()


def draws(x: Array, y: Array, gradients: Array, count: int = 400, at_minimum: NDArray[np.bool_] | None = None) -> Array:
    trends = fit_global_trends(x, y, gradients, np.zeros(len(x), dtype=bool) if at_minimum is None else at_minimum)
    return np.array([trends.sample_minimizer(np.random.default_rng([7, i])) for i in range(count)])


@pytest.mark.parametrize(("d", "count"), [(1, 3), (2, 3), (4, 4), (10, 6)])
def test_an_exact_quadratic_is_found_from_few_points_with_gradients(d: int, count: int) -> None:
    minimizer = np.linspace(-0.3, 0.2, d)
    found = draws(*quadratic_data(count, d, minimizer), count=100)
    assert np.abs(np.median(found, axis=0) - minimizer).max() < 0.05


def test_an_exact_quadratic_is_found_from_values_alone() -> None:
    minimizer = np.array([0.2, -0.1])
    x, y, gradients = quadratic_data(20, 2, minimizer)
    found = draws(x, y, np.full_like(gradients, np.nan), count=100)
    assert np.abs(np.median(found, axis=0) - minimizer).max() < 0.05


def test_gradients_locate_the_minimizer_better_than_values_alone() -> None:
    minimizer = np.array([0.2, -0.1, 0.0])
    x, y, gradients = quadratic_data(5, 3, minimizer, amplitude=0.003)
    with_gradients, without = draws(x, y, gradients), draws(x, y, np.full_like(gradients, np.nan))
    assert np.abs(with_gradients - minimizer).mean() < 0.5 * np.abs(without - minimizer).mean()


def test_with_residuals_the_error_of_the_minimizer_shrinks_with_more_observations() -> None:
    minimizer = np.array([0.2, -0.15])
    errors = [
        np.mean(
            [
                np.abs(draws(*quadratic_data(n, 2, minimizer, amplitude=0.05, seed=s), 50) - minimizer).mean()
                for s in range(6)
            ]
        )
        for n in (4, 16, 80)
    ]
    assert errors[0] > 1.3 * errors[1] > 1.3**2 * errors[2]
    assert errors[2] < 0.12


def test_samples_of_the_minimizer_are_calibrated() -> None:
    """Over many multimodal functions the truth lies among the samples as often as it should."""
    inside, d = [], 2
    for seed in range(30):
        minimizer = PRIOR_DEVIATION * np.random.default_rng([seed, 1]).normal(size=d)
        found = draws(*quadratic_data(12, d, minimizer, amplitude=0.03, seed=seed), 80)
        inside += ((found < minimizer).mean(axis=0) > 0.1).tolist()
        inside += ((found < minimizer).mean(axis=0) < 0.9).tolist()
    assert 0.75 < np.mean(inside) <= 1.0


def radial_data(count: int, d: int, minimizer: Array, power: float, seed: int) -> tuple[Array, Array, Array]:
    """|x - minimizer|^power standardised, with a little noise on the gradients."""
    rng = np.random.default_rng(seed)
    x = rng.random((count, d)) - 0.5
    offset = x - minimizer
    radius = np.linalg.norm(offset, axis=1, keepdims=True)
    y, gradients = radius[:, 0] ** power, power * radius ** (power - 2) * offset
    gradients += 0.5 * gradients.std() * rng.normal(size=gradients.shape)
    return x, (y - y.mean()) / y.std(), gradients / y.std()


@pytest.mark.parametrize("power", [0.5, 4.0])
def test_a_trend_need_not_be_quadratic(power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spike and a trough: a quadratic explains as residual what locates the minimizer."""
    d = 6

    def error() -> float:
        found = []
        for seed in range(6):
            minimizer = 0.25 * np.random.default_rng([seed, 2]).normal(size=d)
            found.append(np.abs(draws(*radial_data(40, d, minimizer, power, seed), 20) - minimizer).mean())
        return float(np.mean(found))

    ours = error()
    monkeypatch.setattr(module, "WARPS", (0.0,))
    assert ours < 0.8 * error()


def ackley(u: Array) -> tuple[Array, Array]:
    """Values and gradients: a cone, with residuals of the same size everywhere."""
    radius = np.sqrt(np.mean(u * u, axis=1, keepdims=True))
    cone, frequency = np.exp(-0.2 * radius), np.exp(np.mean(np.cos(2 * np.pi * u), axis=1, keepdims=True))
    gradients = (4 * cone * u / radius + 2 * np.pi * frequency * np.sin(2 * np.pi * u)) / u.shape[1]
    return (-20 * cone - frequency)[:, 0], gradients


def test_a_cone_is_found_with_residuals_of_the_same_size_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In exp(k y) the residuals are far larger at the boundary than at the minimizer."""
    d, side = 4, 10.0

    def error() -> float:
        found = []
        for seed in range(12):
            rng = np.random.default_rng([seed, 3])
            minimizer = 0.3 * (rng.random(d) - 0.5)
            offset = (rng.random((30, d)) - 0.5 - minimizer) * rng.random((30, 1))
            y, gradients = ackley(side * offset)
            found.append(
                np.abs(
                    draws(minimizer + offset, (y - y.mean()) / y.std(), side * gradients / y.std(), 20) - minimizer
                ).mean()
            )
        return float(np.mean(found))

    ours = error()
    monkeypatch.setattr(module, "WARPS", (0.0,))
    assert ours < 0.5 * error()


@pytest.mark.parametrize(("n", "size", "equal"), [(3, 8, False), (8, 8, False), (12, 5, False), (5, 9, True)])
def test_the_posterior_is_the_same_by_the_smaller_matrix_and_by_products(n: int, size: int, equal: bool) -> None:
    rng = np.random.default_rng(0)
    rows, values, diagonal = rng.normal(size=(n, size)), 0.1 + rng.random(n), 0.5 + rng.random(size)
    moment, products = rng.normal(size=size), None
    if equal:
        diagonal[:-2], products = 0.7, rows[:, :-2] @ rows[:, :-2].T
    precision = np.diag(diagonal) + rows.T @ np.diag(1 / values) @ rows
    covariance = np.linalg.inv(precision)
    mean, spread, fitted, log_determinant = module._linear_posterior(rows, values, diagonal, moment, products)
    np.testing.assert_allclose(mean, covariance @ moment)
    expected = np.diagonal(covariance).copy()
    if equal:
        expected[:-2] = expected[:-2].mean()
    np.testing.assert_allclose(spread, expected)
    np.testing.assert_allclose(fitted, np.diagonal(rows @ covariance @ rows.T))
    assert log_determinant == pytest.approx(np.log(np.linalg.eigvalsh(precision)).sum())


@pytest.mark.parametrize("unknown", [False, True])
def test_many_parameters_are_fitted_the_same_with_and_without_products(
    unknown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, gradients = quadratic_data(12, 40, np.full(40, 0.1), amplitude=0.01)
    if unknown:
        gradients[::3] = np.nan
    at_minimum = np.arange(12) % 4 == 0
    found = []
    for most in (30, 128):
        monkeypatch.setattr(module, "MAX_POINTS", most)
        found.append(fit_global_trends(x, y, gradients, at_minimum))
    for one, other in zip(*(trends.components for trends in found), strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-4)
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)


def test_a_few_very_steep_observations_count_less(monkeypatch: pytest.MonkeyPatch) -> None:
    minimizer, found = np.array([0.2, -0.1, 0.15, 0.0]), []
    for degrees in (module.DEGREES, 1e9):
        monkeypatch.setattr(module, "DEGREES", degrees)
        errors = []
        for seed in range(6):
            x, y, gradients = quadratic_data(24, 4, minimizer, amplitude=0.002, seed=seed)
            gradients[::4] += 40 * np.random.default_rng(seed).normal(size=gradients[::4].shape)
            noisy = y + np.random.default_rng(seed).normal(size=len(y))  # so that values tell little
            errors.append(np.abs(draws(x, noisy, gradients, 20) - minimizer).mean())
        found.append(np.mean(errors))
    assert found[0] < 0.6 * found[1]


def test_with_confidence_sampled_minimizers_are_nearer_to_the_mean_than_samples() -> None:
    minimizer = np.full(10, 0.1)
    trends = fit_global_trends(*quadratic_data(30, 10, minimizer, amplitude=0.01), np.zeros(30, dtype=bool))
    best = max(trends.components, key=lambda trend: trend.score)
    assert trends.confidence > 0.999
    minima, drawn = (
        np.mean([np.abs(one(np.random.default_rng(i))[:10] - best.mean[:10]).mean() for i in range(200)])
        for one in (trends.sample_minimizer, best.sample)
    )
    assert minima == pytest.approx(0.5 * drawn, rel=0.25)


def test_points_share_their_residual_within_half_the_distance_of_minima() -> None:
    minima = np.array([[0.0, 0.0], [0.04, 0.0], [0.0, 0.06], [0.4, 0.4]])
    assert residual_range(minima) == pytest.approx(0.5 * 0.05)  # 0.04, 0.04, 0.06 and 0.36 to the next
    assert residual_range(minima[[0, 3]]) == MIN_DISTANCE
    assert residual_range(minima[:1]) == MIN_DISTANCE
    assert len(spread_out(minima, 0.025)) == 4
    assert len(spread_out(minima)) == 2


def test_without_a_trend_the_minimizer_may_be_anywhere() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((30, 3)) - 0.5, rng.normal(size=30)
    found = draws(x, y, 30 * rng.normal(size=(30, 3)))
    assert found.std(axis=0) == pytest.approx(np.full(3, PRIOR_DEVIATION), rel=0.35)
    assert np.abs(found.mean(axis=0)).max() < 0.15


@pytest.mark.parametrize("d", [1, 3])
def test_one_flat_observation_does_not_locate_the_minimizer(d: int) -> None:
    x = np.zeros((1, d))
    found = draws(x, np.zeros(1), np.full((1, d), np.nan))
    assert found.std(axis=0) == pytest.approx(np.full(d, PRIOR_DEVIATION), rel=0.25)
    assert np.abs(found.mean(axis=0)).max() < 0.1


def test_one_gradient_tells_on_which_side_the_minimizer_is() -> None:
    found = draws(np.zeros((1, 2)), np.zeros(1), np.array([[3.0, -3.0]]), 2000)
    assert np.mean(found[:, 0] < 0) > 0.54
    assert np.mean(found[:, 1] > 0) > 0.54


def test_parameters_without_gradients_may_have_their_minimizer_anywhere() -> None:
    x, _, gradients = quadratic_data(20, 2, np.array([0.2, 0.2]))
    gradients[:, 1] = np.nan
    gradients[::2, 0] = np.nan
    found = draws(x, np.random.default_rng(0).normal(size=20), gradients)
    assert np.median(np.abs(found[:, 0] - 0.2)) < 0.5 * np.median(np.abs(found[:, 1]))


@pytest.mark.parametrize("shift", [-0.5, 1.0])
def test_a_shift_of_the_values_does_not_matter(shift: float) -> None:
    """The level is free, up to a wide prior."""
    x, y, gradients = quadratic_data(12, 2, np.array([0.2, -0.1]), amplitude=0.02)
    np.testing.assert_allclose(draws(x, y + shift, gradients, 50), draws(x, y, gradients, 50), atol=0.05)


def test_mirroring_the_cube_mirrors_the_minimizer() -> None:
    x, y, gradients = quadratic_data(12, 2, np.array([0.2, -0.1]), amplitude=0.02)
    there, mirrored = draws(x, y, gradients), draws(-x, y, -gradients)
    np.testing.assert_allclose(mirrored.mean(axis=0), -there.mean(axis=0), atol=0.02)


def test_a_cluster_counts_once() -> None:
    x, y, gradients = quadratic_data(10, 2, np.array([0.2, -0.1]), amplitude=0.05)
    repeated = np.repeat(np.arange(10), [50, *[1] * 9])
    near = x[repeated] + 1e-4 * np.arange(len(repeated))[:, None] * (repeated == 0)[:, None]
    np.testing.assert_allclose(draws(near, y[repeated], gradients[repeated], 50), draws(x, y, gradients, 50), atol=1e-6)


def test_points_that_are_apart_are_kept_in_order() -> None:
    x = np.array([[0.0, 0.0], [0.05, 0.05], [0.0, 1.01 * MIN_DISTANCE], [0.0, 0.5], [0.02, 0.51]])
    assert spread_out(x).tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("y", "gradients"),
    [
        (np.zeros(6), np.zeros((6, 2))),
        (np.zeros(6), np.full((6, 2), 1e150)),
        (np.array([1e6, 0, 0, 0, 0, 0]), np.full((6, 2), -1e9)),
        (np.linspace(-1, 1, 6), np.full((6, 2), 1e-300)),
    ],
)
def test_extreme_numbers_leave_the_minimizer_finite(y: Array, gradients: Array) -> None:
    x = np.random.default_rng(0).random((6, 2)) - 0.5
    assert np.isfinite(draws(x, y, gradients, 20)).all()


def test_the_same_generator_gives_the_same_sample() -> None:
    data = quadratic_data(8, 3, np.zeros(3), amplitude=0.02)
    one, other = (
        fit_global_trends(*data, np.zeros(8, dtype=bool)).sample_minimizer(np.random.default_rng(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)
    assert (
        np.abs(fit_global_trends(*data, np.zeros(8, dtype=bool)).sample_minimizer(np.random.default_rng(4)) - one).max()
        > 0
    )


def test_local_minima_locate_the_minimizer_better_than_other_points() -> None:
    """Ten points on the trend itself, at another level, among thirty with residuals larger than the trend."""
    minimizer, rng = np.array([0.2, -0.1, 0.05]), np.random.default_rng(5)
    x = rng.random((40, 3)) - 0.5
    at_minimum = np.arange(40) < 10
    y = 4 * np.sum((x - minimizer) ** 2, axis=1) + np.where(at_minimum, -3.0, 2 * rng.standard_normal(40))
    gradients = np.where(at_minimum[:, None], 0.0, 20 * rng.standard_normal((40, 3)))
    y = (y - y.mean()) / y.std()
    known, unknown = (
        np.abs(draws(x, y, gradients, 100, each) - minimizer).mean() for each in (at_minimum, np.zeros(40, dtype=bool))
    )
    assert known < 0.05
    assert known < unknown / 2
