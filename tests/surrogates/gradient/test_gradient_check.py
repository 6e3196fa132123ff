from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from sonde.surrogates.gradient.gradient_check import check_gradients

Array = NDArray[np.float64]
Evaluated = tuple[Array, Array]  # values (n,) and gradients (n, d)


def smooth(u: Array) -> Evaluated:
    weights = np.arange(1, u.shape[1] + 1)
    return np.sum(weights * u**2 + 0.1 * u**4, axis=1), 2 * weights * u + 0.4 * u**3


def ackley(u: Array) -> Evaluated:
    radius = np.sqrt(np.mean(u * u, axis=1, keepdims=True))
    near = 20 * np.exp(-0.2 * radius)
    wave = np.exp(np.mean(np.cos(2 * np.pi * u), axis=1, keepdims=True))
    gradients = 0.2 * near * u / radius + 2 * np.pi * wave * np.sin(2 * np.pi * u)
    return (20 + np.e - near - wave)[:, 0], gradients / u.shape[1]


def rastrigin(u: Array) -> Evaluated:
    return np.sum(u * u + 20 * np.sin(np.pi * u) ** 2, axis=1), 2 * u + 20 * np.pi * np.sin(2 * np.pi * u)


def griewank(u: Array) -> Evaluated:
    roots = np.sqrt(np.arange(1, u.shape[1] + 1))
    cosines = np.cos(u / roots)
    others = np.stack([np.prod(np.delete(cosines, k, axis=1), axis=1) for k in range(u.shape[1])], axis=1)
    return np.sum(u * u, axis=1) / 4000 - np.prod(cosines, axis=1) + 1, u / 2000 + others * np.sin(u / roots) / roots


def searched(
    function: Callable[[Array], Evaluated], half: float, seed: int, count: int = 60, d: int = 4, widest: float = -0.7
) -> tuple[Array, Array, Array]:
    """Points of the unit cube as a search leaves them, some near others at all distances, with values and gradients."""
    rng = np.random.default_rng(seed)
    x = np.empty((count, d))
    x[:10] = rng.random((10, d))
    for i in range(10, count):
        x[i] = np.clip(x[rng.integers(i)] + 10 ** rng.uniform(-3.5, widest) * rng.normal(size=d), 0.0, 1.0)
    values, gradients = function(2 * half * (x - 0.6))
    return x, values, 2 * half * gradients


# right ones


def test_right_gradients_of_a_smooth_function_are_right() -> None:
    for seed in range(20):
        check = check_gradients(*searched(smooth, 1.0, seed))
        assert not check.wrong.any()
        assert check.factor is None


@pytest.mark.parametrize(
    ("function", "half"),
    [(rastrigin, 5.12), (griewank, 50.0), (griewank, 200.0), (ackley, 5.0), (ackley, 10.0), (ackley, 32.0)],
)
def test_right_gradients_of_a_multimodal_function_are_never_wrong(
    function: Callable[[Array], Evaluated], half: float
) -> None:
    suspected = [seed for seed in range(20) if check_gradients(*searched(function, half, seed)).wrong.any()]
    assert suspected == []


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_gradients_with_noise_are_not_wrong(noise: float) -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        x, values, gradients = searched(smooth, 1.0, seed)
        noisy = gradients * (1 + noise * rng.standard_normal(gradients.shape))
        assert not check_gradients(x, values, noisy).wrong.all()


def test_noisy_values_are_no_fault_of_the_gradients() -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        x, values, gradients = searched(smooth, 1.0, seed)
        assert not check_gradients(x, values + values.std() * rng.standard_normal(60), gradients).wrong.all()


def test_a_factor_of_less_than_two_is_accepted() -> None:
    x, values, gradients = searched(smooth, 1.0, 0)
    assert not check_gradients(x, values, 1.8 * gradients).wrong.any()
    assert check_gradients(x, values, 2.5 * gradients).wrong.all()


# wrong ones


@pytest.mark.parametrize("factor", [-1.0, 100.0, 1e-3, -20.0, 1e6, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_a_common_factor_is_found_and_returned(factor: float, seed: int) -> None:
    x, values, gradients = searched(smooth, 1.0, seed)
    check = check_gradients(x, values, factor * gradients)
    assert check.wrong.all()
    assert check.factor == pytest.approx(1 / factor, rel=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_unrelated_to_the_values_are_wrong(seed: int) -> None:
    """A constant direction, that of no function with these values; only very near neighbours show it."""
    x, values, gradients = searched(smooth, 1.0, seed, widest=-2.7)
    check = check_gradients(x, values, np.tile(100 * gradients.std() * np.array([1.0, -1.0, 1.0, -1.0]), (60, 1)))
    assert check.wrong.all()


@pytest.mark.parametrize("seed", range(5))
def test_one_outlier_is_found_among_right_gradients(seed: int) -> None:
    x, values, gradients = searched(smooth, 1.0, seed)
    x[30:36] = 0.15 + 0.002 * np.random.default_rng(seed).normal(size=(6, 4))
    values, gradients = smooth(2 * (x - 0.6))
    gradients = 2 * gradients
    gradients[30] *= -1
    check = check_gradients(x, values, gradients)
    assert check.wrong[30]
    assert not np.delete(check.wrong, 30).any()
    assert check.factor is None


@pytest.mark.parametrize("seed", range(5))
def test_a_tenth_of_wrong_sign_does_not_make_the_others_wrong(seed: int) -> None:
    x, values, gradients = searched(smooth, 1.0, seed)
    negated = np.random.default_rng(seed).random(60) < 0.1
    check = check_gradients(x, values, np.where(negated[:, None], -gradients, gradients))
    assert not check.wrong[~negated].any()


# what is missing or odd


def test_too_few_gradients_are_not_checked() -> None:
    x, values, gradients = searched(smooth, 1.0, 0)
    missing = np.full_like(gradients, np.nan)
    assert not check_gradients(x, values, missing).wrong.any()
    missing[7] = -gradients[7]
    assert not check_gradients(x, values, missing).wrong.any()
    assert not check_gradients(x[:1], values[:1], -gradients[:1]).wrong.any()
    assert check_gradients(x[:0], values[:0], gradients[:0]).wrong.shape == (0,)


def test_only_known_gradients_are_wrong() -> None:
    x, values, gradients = searched(smooth, 1.0, 0)
    told = np.arange(60) % 4 > 0
    check = check_gradients(x, values, np.where(told[:, None], -gradients, np.nan))
    np.testing.assert_array_equal(check.wrong, told)


def test_missing_entries_where_points_do_not_differ_do_not_matter() -> None:
    x, _, _ = searched(smooth, 1.0, 0)
    x[:, 2:] = 0.5  # a search of the first two parameters
    values, gradients = smooth(2 * (x - 0.6))
    gradients[:, 2:] = np.nan
    assert not check_gradients(x, values, 2 * gradients).wrong.any()
    assert check_gradients(x, values, -2 * gradients).wrong.all()


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1e10, 1e300])
def test_units_of_the_values_do_not_matter(scale: float) -> None:
    x, values, gradients = searched(smooth, 1.0, 0)
    assert not check_gradients(x, scale * values, scale * gradients).wrong.any()
    assert check_gradients(x, scale * values, -scale * gradients).wrong.all()


def test_a_shift_of_the_values_does_not_matter() -> None:
    x, values, gradients = searched(smooth, 1.0, 0)
    for shift in (-1e3, 1e6):
        assert not check_gradients(x, values + shift, gradients).wrong.any()
        assert check_gradients(x, values + shift, -gradients).wrong.all()


@pytest.mark.parametrize(
    ("values", "gradients"),
    [
        (np.zeros(20), np.zeros((20, 2))),
        (np.full(20, 1e308), np.zeros((20, 2))),
        (1.7e308 * np.linspace(-1, 1, 20), np.full((20, 2), 1e300)),
        (np.linspace(0, 1, 20), np.full((20, 2), 1e300)),
        (np.linspace(0, 1, 20), np.full((20, 2), 1.7e308)),
        (np.linspace(0, 1e-300, 20), np.full((20, 2), 1e300)),
        (np.linspace(0, 1, 20), np.full((20, 2), 1e-300)),
        (np.linspace(0, 5e-324, 20), np.full((20, 2), 1.0)),
    ],
)
def test_extreme_numbers_are_checked_without_a_warning(values: Array, gradients: Array) -> None:
    x = np.random.default_rng(0).random((20, 2))
    x[10:] = x[:10] + 0.01
    assert check_gradients(x, values, gradients).wrong.shape == (20,)


def test_one_repeated_point_tells_nothing() -> None:
    x = np.full((8, 2), 0.5)
    assert not check_gradients(x, np.arange(8.0), np.ones((8, 2))).wrong.any()


def test_the_data_are_left_as_they_are() -> None:
    data = searched(smooth, 1.0, 0)
    copies = [each.copy() for each in data]
    check_gradients(*data)
    for one, other in zip(data, copies, strict=True):
        np.testing.assert_array_equal(one, other)
