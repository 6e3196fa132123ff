from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.space.spaces import examples

from sonde.pareto.fronts import non_dominated, non_domination_ranks

# Few distinct values, so that points are often equal, dominated or tied.
POINTS = st.integers(1, 5).flatmap(
    lambda k: st.integers(0, 12).flatmap(lambda n: arrays(float, (n, k), elements=st.integers(0, 4).map(float)))
)


def dominated(y: np.ndarray) -> np.ndarray:
    """The definition: every point against every other one."""
    as_good = np.all(y[:, None] >= y, axis=-1)
    better = np.any(y[:, None] > y, axis=-1)
    return np.any(as_good & better, axis=0)


def ranks(y: np.ndarray) -> np.ndarray:
    left, result, rank = np.arange(len(y)), np.zeros(len(y), dtype=int), 0
    while len(left):
        below = dominated(y[left])
        result[left[~below]] = rank
        left, rank = left[below], rank + 1
    return result


@examples(200)
@given(y=POINTS)
def test_fronts_and_ranks_are_those_of_the_definition(y: np.ndarray) -> None:
    np.testing.assert_array_equal(non_dominated(y), ~dominated(y))
    np.testing.assert_array_equal(non_domination_ranks(y), ranks(y))


@pytest.mark.parametrize("objectives", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_many_points(objectives: int, scale: float) -> None:
    y = np.random.default_rng(objectives).normal(size=(300, objectives)) * scale
    y[::7] = y[3]
    y[:, 0] *= 1e-6
    np.testing.assert_array_equal(non_dominated(y), ~dominated(y))
    np.testing.assert_array_equal(non_domination_ranks(y), ranks(y))


@pytest.mark.parametrize("objectives", [2, 3])
def test_equal_points_share_a_rank(objectives: int) -> None:
    y = np.array([[1.0] * objectives, [0.0] * objectives] * 3)
    np.testing.assert_array_equal(non_dominated(y), [True, False] * 3)
    np.testing.assert_array_equal(non_domination_ranks(y), [0, 1] * 3)


def test_what_is_beside_the_front_in_one_objective_stays_on_it() -> None:
    y = np.array([[3.0, 1.0], [3.0, 0.5], [1.0, 3.0], [0.5, 3.0], [2.0, 2.0], [1.0, 1.0]])
    np.testing.assert_array_equal(non_domination_ranks(y), [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_a_hundred_thousand_points_need_no_comparison_of_all_pairs(objectives: int) -> None:
    """These would be 10^10 comparisons: more memory than there is."""
    y = np.random.default_rng(0).random((100_000, objectives))
    front = y[non_dominated(y)]
    assert 1 <= len(front) < 300
    assert not dominated(front).any()
    np.testing.assert_array_equal(front.max(axis=0), y.max(axis=0))
