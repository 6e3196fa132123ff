"""Boxes: where a search looks."""

from __future__ import annotations

import numpy as np

from sonde.strategies.bayesian.target import Box

CONTINUOUS = np.array([True, True, False])


def test_a_trust_region_is_inside_the_cube_and_bounds_continuous_coordinates_only() -> None:
    box = Box.around(np.array([0.1, 0.5, 0.5]), 0.4, CONTINUOUS)
    np.testing.assert_allclose(box.low, [0.0, 0.3, 0.0])
    np.testing.assert_allclose(box.high, [0.3, 0.7, 1.0])
    np.testing.assert_array_equal(box.centres, [[0.1, 0.5, 0.5]])
    assert box.allows(np.array([[0.1, 0.5, 0.5]]), CONTINUOUS).all()


def test_exploration_leaves_out_the_surroundings_of_the_incumbent() -> None:
    best, second = np.array([0.5, 0.5, 0.25]), np.array([0.9, 0.1, 0.75])
    box = Box.exploring(np.array([best, second]))
    assert not box.low.any()
    assert box.high.all()
    near, far, other_value = [0.55, 0.45, 0.25], [0.65, 0.5, 0.25], [0.5, 0.5, 0.75]
    assert box.allows(np.array([best, near, far, other_value, second]), CONTINUOUS).tolist() == [
        False, False, True, True, True,
    ]  # fmt: skip
