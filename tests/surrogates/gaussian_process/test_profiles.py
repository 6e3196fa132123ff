from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.gradient_models import ALL, gradient_covariance, kernel_of

from sonde.kernels.structure import Pair
from sonde.surrogates.gaussian_process.profiles import PROFILES

Array = NDArray[Any]

ORDERS = {"matern52": 3, "matern72": 4, "rbf": 6, "rational_quadratic": 6}  # derivatives that are written out
SQUARES = np.array([1e-8, 1e-4, 0.01, 0.3, 1.0, 2.7, 10.0, 60.0])
CASES = [(name, order) for name in ALL for order in range(1, ORDERS[name] + 1)]


def derivatives(name: str, s: Array, order: int) -> list[Array]:
    return PROFILES[name].derivatives(s, order)


@pytest.mark.parametrize("name", ALL)
def test_at_distance_zero_a_profile_is_one(name: str) -> None:
    (value,) = derivatives(name, np.zeros(()), 0)
    assert value == 1.0


@pytest.mark.parametrize(("name", "order"), CASES)
def test_the_number_of_derivatives_is_the_order(name: str, order: int) -> None:
    found = derivatives(name, SQUARES, order)
    assert [each.shape for each in found] == [SQUARES.shape] * (order + 1)
    for one, other in zip(derivatives(name, SQUARES, order - 1), found[:-1], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_each_is_the_complex_step_derivative_of_the_one_before(name: str, order: int) -> None:
    """A complex step: Im f(s + ih) / h is f'(s) without cancellation."""
    before = derivatives(name, SQUARES + 1e-30j, order - 1)[-1]
    np.testing.assert_allclose(derivatives(name, SQUARES, order)[-1], before.imag / 1e-30, rtol=1e-11)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_each_is_the_finite_difference_of_the_one_before(name: str, order: int) -> None:
    s = SQUARES[SQUARES >= 0.01]
    low, high = (derivatives(name, s + step, order - 1)[-1] for step in (-1e-5, 1e-5))
    np.testing.assert_allclose(derivatives(name, s, order)[-1], (high - low) / 2e-5, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_they_are_those_of_the_kernels(name: str) -> None:
    """Automatic differentiation of the kernel's own formula, from distance zero on."""
    kernel = kernel_of(gradient_covariance(name)).parts[0].kernel.kernel
    functions: list[Callable[[Any], Any]] = [lambda s: kernel.profile(Pair(s, s, s, s))]
    for _ in range(min(PROFILES[name].smooth + 1, 3)):
        functions.append(jax.grad(functions[-1]))
    s = np.concatenate([[0.0, 1e-12], SQUARES])
    with jax.enable_x64(True):
        expected = [np.asarray(jax.jit(jax.vmap(function))(s)) for function in functions]
    for found, other in zip(derivatives(name, s, len(expected) - 1), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", ALL)
def test_derivatives_up_to_the_smoothness_are_continuous_at_distance_zero(name: str) -> None:
    order = min(PROFILES[name].smooth, 2) + 1
    here, near = derivatives(name, np.zeros(1), order), derivatives(name, np.full(1, 1e-14), order)
    np.testing.assert_allclose(near, here, rtol=1e-6)


@pytest.mark.parametrize(("name", "order"), [("matern52", 3), ("matern72", 4)])
def test_derivatives_beyond_the_smoothness_grow_as_one_over_the_distance_and_stay_finite(name: str, order: int) -> None:
    r = np.array([1e-6, 1e-8])
    last = derivatives(name, r**2, order)[order] * r
    assert last[1] == pytest.approx(last[0], rel=1e-5)
    assert abs(last[0]) > 1
    assert np.isfinite(derivatives(name, np.zeros(()), order)[order])


@pytest.mark.parametrize("name", ALL)
def test_far_apart_all_derivatives_vanish(name: str) -> None:
    for each in derivatives(name, np.array([1e8, 1e20]), 3):
        assert np.all(np.isfinite(each))
        assert np.all(np.abs(each) < 1e-7)
        assert abs(each[1]) <= abs(each[0])


@pytest.mark.parametrize("name", ALL)
def test_signs_alternate(name: str) -> None:
    """Completely monotone in s: a covariance in any number of dimensions (Schoenberg)."""
    for order, each in enumerate(derivatives(name, SQUARES, ORDERS[name])):
        assert np.all((-1) ** order * each > 0)


@pytest.mark.parametrize("name", ALL)
def test_inputs_are_not_changed(name: str) -> None:
    s = SQUARES.copy()
    derivatives(name, s, ORDERS[name])
    np.testing.assert_array_equal(s, SQUARES)
