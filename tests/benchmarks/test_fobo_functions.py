"""The test functions of the paper's figure 5 and appendix F."""

import numpy as np
import pytest
from benchmarks.fobo.functions import FUNCTIONS, OPTIMUM, OTHERS, Function
from scipy.optimize import minimize

ALL = FUNCTIONS | OTHERS
EACH = pytest.mark.parametrize("function", ALL.values(), ids=ALL)
CASES = pytest.mark.parametrize(
    ("function", "d"),
    [
        pytest.param(function, d, id=f"{name}-{d}")
        for name, function in ALL.items()
        for d in (1, 2, 4, 16)
        if d > 1 or name != "rosenbrock"  # a sum over neighbouring coordinates
    ],
)


@CASES
def test_gradients_are_those_of_finite_differences(function: Function, d: int) -> None:
    x = np.random.default_rng(d).uniform(-1, 1, (5, d))
    step = 1e-6 * np.eye(d)
    values = function(x[:, None] + step)[0] - function(x[:, None] - step)[0]
    np.testing.assert_allclose(function(x)[1], values / 2e-6, rtol=1e-5, atol=1e-6)


@CASES
def test_the_optimum_is_zero_at_a_quarter(function: Function, d: int) -> None:
    value, gradient = function(np.full(d, OPTIMUM))
    assert value == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    rng = np.random.default_rng(d)
    assert (function(rng.uniform(-1, 1, (1000, d)))[0] > 0).all()


@CASES
def test_the_highest_value_is_one(function: Function, d: int) -> None:
    rng = np.random.default_rng(d)
    starts = np.where(rng.random((30, d)) < 0.1, rng.uniform(-1, 1, (30, d)), -1 + 0.1 * rng.random((30, d)))
    highest = [
        minimize(lambda x: tuple(-part for part in function(x)), start, jac=True, bounds=[(-1, 1)] * d).fun
        for start in starts
    ]
    assert -min(highest) <= 1 + 1e-7
    assert -min(highest) >= 0.98


@EACH
def test_a_batch_is_its_points(function: Function) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (2, 3, 4))
    values, gradients = function(x)
    assert values.shape == (2, 3)
    value, gradient = function(x[1, 2])
    np.testing.assert_allclose(values[1, 2], value)
    np.testing.assert_allclose(gradients[1, 2], gradient)
