"""The initial design: the centre, a box around it, then the whole space."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.sampling import Key
from sonde.space import Categorical, Float, Int, Space
from sonde.strategies.initial_design import central_side, first_count
from sonde.strategies.sobol import AroundCentre
from sonde.trials import History


def cube(d: int) -> Space:
    return Space({f"x{i}": Float(0, 1) for i in range(d)})


def design(space: Space, count: int, number: int = 0) -> np.ndarray:
    rows = AroundCentre().suggest(space, History(space), count, Key(7, number))
    return space.codec.encode(rows)[0]


@pytest.mark.parametrize("d", [1, 2, 5, 10, 40])
def test_it_begins_in_the_centre_and_stays_in_a_box_of_one_diagonal(d: int) -> None:
    points, side = design(cube(d), first_count(cube(d))), central_side(cube(d))
    assert side == pytest.approx(min(1.0, 1.2 / np.sqrt(d)))
    np.testing.assert_allclose(points[0], 0.5)
    distances = np.abs(points - 0.5)
    assert distances.max() <= side / 2
    assert distances.max() > side / 4


def test_what_follows_is_anywhere() -> None:
    space = cube(10)
    later = design(space, 30, first_count(space))
    assert np.abs(later - 0.5).max() > 0.45
    np.testing.assert_array_equal(design(space, 40)[10:], later)  # asked for together or one after the other


def test_parameters_that_are_not_continuous_have_all_their_values() -> None:
    kinds = Categorical([f"c{i}" for i in range(4)])
    space = Space({"n": Int(0, 9), "kind": kinds, **{f"x{i}": Float(0, 1) for i in range(8)}})
    points = design(space, first_count(space))
    assert central_side(space) == pytest.approx(1.2 / np.sqrt(8))
    assert np.ptp(points[:, 0]) > 0.7
    assert len(np.unique(points[:, 1])) == 4
    assert np.abs(points[:, 2:] - 0.5).max() <= 0.6 / np.sqrt(8)
