from __future__ import annotations

import numpy as np
from tests.optimizers.functions import quadratic

from sonde.optimizers import adam, bfgs


def test_a_noisy_quadratic() -> None:
    function, _, _ = quadratic(3, 5, condition=10.0)
    low, high = np.zeros(3), np.ones(3)

    def noisy(step: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = function(x)
        return value, gradient + np.random.default_rng(step).normal(scale=2.0, size=x.shape)

    starts = np.random.default_rng(0).random((4, 3))
    reached = adam(noisy, starts, low, high)
    expected, best = bfgs(function, starts[:1], low, high, calls=300, tolerance=1e-12)
    np.testing.assert_allclose(reached, np.broadcast_to(expected, (4, 3)), atol=0.05)
    assert np.all(best - function(reached)[0] < 0.05)


def test_steps_are_numbered_and_scale_with_the_box() -> None:
    """The first step is the learning rate times the width of the box, for a gradient of any size."""
    calls = []

    def function(step: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        calls.append((step, x.copy()))
        return np.zeros(len(x)), np.broadcast_to([1e-3, -1e3], x.shape)

    low, high = np.array([0.0, -50.0]), np.array([1.0, 50.0])
    adam(function, np.array([[0.5, 0.0]]), low, high, steps=5, rate=0.02)
    assert [step for step, _ in calls] == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(calls[1][1] - calls[0][1], [[0.02, -2.0]], rtol=1e-3)


def test_bounds_hold_and_coordinates_of_zero_width_stay() -> None:
    low, high = np.array([0.0, 0.3]), np.array([1.0, 0.3])

    def upward(step: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert np.all((x >= low) & (x <= high))
        return x.sum(axis=1), np.ones_like(x)

    start = np.array([[0.2, 5.0]])
    np.testing.assert_array_equal(adam(upward, start, low, high, steps=200, rate=0.1), [[1.0, 0.3]])
    np.testing.assert_array_equal(start, [[0.2, 5.0]])


def test_a_start_with_a_nan_gradient_does_not_affect_others() -> None:
    def function(step: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient = -2 * (x - 0.4)
        gradient[1] = np.nan
        return -np.sum((x - 0.4) ** 2, axis=1), gradient

    reached = adam(function, np.full((3, 2), 0.8), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(reached[[0, 2]], 0.4, atol=0.01)
