from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.space.spaces import examples

from sonde.pareto.hypervolume import contributions, hypervolume, hypervolume_gradient, reference_point

OBJECTIVES = [1, 2, 3, 4]
POINTS = st.integers(1, 4).flatmap(
    lambda k: st.integers(0, 6).flatmap(lambda n: arrays(float, (n, k), elements=st.integers(-1, 4).map(float)))
)


def by_inclusion(y: np.ndarray, reference: np.ndarray) -> float:
    """Inclusion and exclusion over all sets of points."""
    gains, total = np.maximum(y - reference, 0.0), 0.0
    for size in range(1, len(y) + 1):
        for subset in combinations(range(len(y)), size):
            total -= (-1) ** size * float(np.prod(gains[list(subset)].min(axis=0)))
    return total


def without_each(y: np.ndarray, reference: np.ndarray) -> list[float]:
    whole = by_inclusion(y, reference)
    return [whole - by_inclusion(np.delete(y, i, axis=0), reference) for i in range(len(y))]


@examples(150)
@given(y=POINTS)
def test_volume_and_contributions_by_inclusion_and_exclusion(y: np.ndarray) -> None:
    reference = np.zeros(y.shape[1])
    assert hypervolume(y, reference) == pytest.approx(by_inclusion(y, reference))
    assert contributions(y, reference) == pytest.approx(without_each(y, reference))


@pytest.mark.parametrize("objectives", OBJECTIVES)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_random_points_at_any_scale(objectives: int, scale: float) -> None:
    y = np.random.default_rng(objectives).normal(size=(9, objectives)) * scale
    reference = np.full(objectives, -0.4 * scale)
    volume = scale**objectives
    assert hypervolume(y, reference) / volume == pytest.approx(by_inclusion(y, reference) / volume, rel=1e-12)
    expected = np.array(without_each(y, reference)) / volume
    np.testing.assert_allclose(contributions(y, reference) / volume, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_random_points_by_monte_carlo(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    y = rng.random((40, objectives))
    samples = rng.random((20_000, objectives))
    share = np.mean(np.any(np.all(samples[:, None] < y, axis=-1), axis=1))
    assert hypervolume(y, np.zeros(objectives)) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(
    ("front", "expected"),  # from BoTorch 0.18.1, with the reference point -0.5
    [
        ([[1, 5], [2, 4], [3.5, 2], [5, 0.5]], 18.0),
        ([[1, 2, 3], [2, 3, 1], [3, 1, 2], [2, 2, 2]], 26.875),
        ([[1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 1, 3], [2.5, 2.5, 2.5, 2.5]], 151.3125),
    ],
)
def test_volumes_of_botorch(front: list[list[float]], expected: float) -> None:
    y = np.array(front, dtype=float)
    assert hypervolume(y, np.full(y.shape[1], -0.5)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("objectives", [*OBJECTIVES, 5])
def test_gradient(objectives: int) -> None:
    y = np.random.default_rng(objectives).normal(size=(12, objectives))
    reference = np.full(objectives, -0.6)
    step, expected = 1e-6, np.zeros(y.shape)
    for index in np.ndindex(*y.shape):
        up, down = y.copy(), y.copy()
        up[index] += step
        down[index] -= step
        expected[index] = (hypervolume(up, reference) - hypervolume(down, reference)) / (2 * step)
    np.testing.assert_allclose(hypervolume_gradient(y, reference), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("objectives", OBJECTIVES)
def test_dominated_equal_and_low_points_contribute_nothing(objectives: int) -> None:
    best, worse, low = np.full(objectives, 2.0), np.full(objectives, 1.0), np.full(objectives, -1.0)
    reference = np.zeros(objectives)
    np.testing.assert_array_equal(contributions(np.stack([best, worse, low]), reference)[1:], 0.0)
    np.testing.assert_array_equal(contributions(np.stack([best, best]), reference), 0.0)
    np.testing.assert_array_equal(hypervolume_gradient(np.stack([best, worse, low]), reference)[1:], 0.0)
    np.testing.assert_array_equal(hypervolume_gradient(np.stack([best, best]), reference), 0.0)


@pytest.mark.parametrize("objectives", OBJECTIVES)
def test_no_point_above_the_reference(objectives: int) -> None:
    reference = np.zeros(objectives)
    for y in (np.empty((0, objectives)), np.full((3, objectives), -1.0), np.eye(objectives) - 1.0):
        assert hypervolume(y, reference) == 0.0
        np.testing.assert_array_equal(contributions(y, reference), np.zeros(len(y)))
        np.testing.assert_array_equal(hypervolume_gradient(y, reference), np.zeros(y.shape))


@pytest.mark.parametrize("objectives", OBJECTIVES)
def test_one_point(objectives: int) -> None:
    y, reference = np.arange(2.0, 2.0 + objectives)[None], np.ones(objectives)
    sides = y[0] - reference
    assert hypervolume(y, reference) == pytest.approx(np.prod(sides))
    assert contributions(y, reference) == pytest.approx([np.prod(sides)])
    np.testing.assert_allclose(hypervolume_gradient(y, reference)[0], np.prod(sides) / sides)


def test_tiny_contributions_keep_their_digits() -> None:
    """A difference of hypervolumes would be rounded to zero."""
    y = np.array([[1e6, 1.0, 1.0], [1.0, 1e6, 1.0], [1 + 1e-9, 1 + 1e-9, 1.0]])
    assert contributions(y, np.zeros(3))[2] == pytest.approx(1e-18, rel=1e-6)


def test_reference_point_is_below_the_worst_of_the_front() -> None:
    y = np.array([[0.0, 10.0], [1.0, 5.0], [2.0, 0.0], [-7.0, -7.0]])
    np.testing.assert_allclose(reference_point(y), [-0.2, -1.0])


@pytest.mark.parametrize("objectives", [2, 3])
def test_reference_point_is_scaled_and_shifted_with_the_objectives(objectives: int) -> None:
    y = np.random.default_rng(0).normal(size=(20, objectives))
    scales = np.array([1e-12, 1e12, 3.0])[:objectives]
    np.testing.assert_allclose(reference_point(y * scales), reference_point(y) * scales, rtol=1e-12)
    np.testing.assert_allclose(reference_point(y + 5.0), reference_point(y) + 5.0, rtol=1e-12)


def test_reference_point_of_a_front_without_a_range() -> None:
    np.testing.assert_allclose(reference_point(np.array([[3.0, 3.0], [1.0, 2.0]])), [2.8, 2.9])  # the range of all
    np.testing.assert_allclose(reference_point(np.array([[1e12, -1e-12], [1e12, -1e-12]])), [0.9e12, -1.1e-12])
    np.testing.assert_allclose(reference_point(np.zeros((1, 3))), -1.0)
