from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import qmc

from sonde.sampling import sobol


@pytest.mark.parametrize(("dimension", "count"), [(1, 1024), (5, 1024), (1024, 64)])
def test_the_plain_sequence_is_that_of_scipy(dimension: int, count: int) -> None:
    expected = qmc.Sobol(dimension, scramble=False, bits=32).random(count)
    np.testing.assert_array_equal(sobol(0, count, dimension), expected)


def test_points_of_high_index_are_those_of_scipy() -> None:
    sequence = qmc.Sobol(21, scramble=False, bits=32)
    sequence.fast_forward(2**20 + 12_345)
    np.testing.assert_array_equal(sobol(2**20 + 12_345, 8, 21), sequence.random(8))


@pytest.mark.parametrize("seed", [0, 1, 2**62])
@pytest.mark.parametrize(("start", "level", "dimension"), [(0, 8, 7), (3 * 2**6, 6, 1024), (5 * 2**10, 10, 3)])
def test_every_aligned_block_has_one_point_in_each_interval(seed: int, start: int, level: int, dimension: int) -> None:
    points = sobol(start, 2**level, dimension, seed=seed)
    assert_stratified(points)


def assert_stratified(points: NDArray[np.float64]) -> None:
    count = len(points)
    cells = np.sort(np.floor(points * count).astype(int), axis=0)
    assert np.array_equal(cells, np.broadcast_to(np.arange(count)[:, None], points.shape))


def test_scrambling_keeps_the_net_in_two_dimensions() -> None:
    points = sobol(0, 2**8, 2, seed=3)
    for bits in range(9):  # every elementary box of 2^-bits x 2^(bits - 8) holds one point
        boxes = np.floor(points * [2**bits, 2 ** (8 - bits)]).astype(int)
        assert len(np.unique(boxes, axis=0)) == 2**8


def test_seeds_make_different_sequences_and_the_same_seed_the_same() -> None:
    one, same, other = sobol(0, 16, 4, seed=1), sobol(0, 16, 4, seed=1), sobol(0, 16, 4, seed=2)
    np.testing.assert_array_equal(one, same)
    assert not np.any(one == other)


def test_dimensions_are_scrambled_independently() -> None:
    shifts = sobol(0, 1, 1024, seed=5)[0]
    assert len(np.unique(shifts)) == 1024
    assert 0.4 < shifts.mean() < 0.6


def test_no_scrambled_point_lies_on_the_boundary() -> None:
    points = np.vstack([sobol(0, 4096, 20, seed=seed) for seed in range(5)])
    assert points.min() > 0
    assert points.max() < 1


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("dimension", [1, 6, 1030])
def test_any_slice_equals_that_of_a_longer_run(seed: int | None, dimension: int) -> None:
    run = sobol(0, 40, dimension, seed=seed)
    for start, count in [(0, 1), (1, 7), (13, 27), (39, 1), (5, 0)]:
        np.testing.assert_array_equal(sobol(start, count, dimension, seed=seed), run[start : start + count])


def test_beyond_the_table_the_dimensions_are_random_numbers() -> None:
    points = sobol(0, 256, 1100, seed=4)
    assert points.shape == (256, 1100)
    assert_stratified(points[:, :1024])
    extra = points[:, 1024:]
    assert len(np.unique(extra)) == extra.size
    assert abs(extra.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(extra.T)[np.triu_indices(76, 1)].mean()) < 0.01
    assert not np.any(extra == sobol(0, 256, 1100, seed=5)[:, 1024:])
