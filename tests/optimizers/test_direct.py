from __future__ import annotations

import numpy as np
import pytest

from sonde.optimizers import direct


def peaks(x: np.ndarray) -> np.ndarray:
    """A high, narrow maximum at (0.2, 0.7), and a low, wide one at (0.8, 0.3)."""
    high, low = np.array([0.2, 0.7]), np.array([0.8, 0.3])
    return np.exp(-50 * np.sum((x - high) ** 2, axis=1)) + 0.6 * np.exp(-5 * np.sum((x - low) ** 2, axis=1))


def test_the_higher_of_two_maxima() -> None:
    found = direct(peaks, np.zeros(2), np.ones(2))
    assert found.shape == (1, 2)
    np.testing.assert_allclose(found[0], [0.2, 0.7], atol=0.01)


def test_bounds_and_budget_hold() -> None:
    calls = []

    def counted(x: np.ndarray) -> np.ndarray:
        assert x.shape == (1, 2)
        assert np.all((x >= [0.5, -1]) & (x <= [1, 1]))
        calls.append(x)
        return peaks(x)

    found = direct(counted, np.array([0.5, -1.0]), np.array([1.0, 1.0]), evaluations=300)
    np.testing.assert_allclose(found[0], [0.8, 0.3], atol=0.03)
    assert len(calls) <= 400


@pytest.mark.parametrize("held", [0.25, 0.9])
def test_a_coordinate_of_zero_width_stays(held: float) -> None:
    found = direct(peaks, np.array([0.0, held]), np.array([1.0, held]))
    assert found[0, 1] == held
    grid = np.stack([np.linspace(0, 1, 2001), np.full(2001, held)], axis=1)
    assert peaks(found)[0] == pytest.approx(peaks(grid).max(), abs=1e-4)


def test_a_box_that_is_one_point() -> None:
    point = np.array([0.3, 0.6])
    found = direct(peaks, point, point)
    np.testing.assert_array_equal(found, [[0.3, 0.6]])
    assert not np.shares_memory(found, point)


def test_infinite_values_are_avoided() -> None:
    def partly_infinite(x: np.ndarray) -> np.ndarray:
        return np.where(x[:, 0] > 0.5, -np.inf, peaks(x))

    np.testing.assert_allclose(direct(partly_infinite, np.zeros(2), np.ones(2))[0], [0.2, 0.7], atol=0.02)
