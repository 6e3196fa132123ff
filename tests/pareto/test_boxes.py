from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.space.spaces import examples

from sonde.pareto.boxes import Boxes, undominated_boxes
from sonde.pareto.fronts import non_dominated
from sonde.pareto.hypervolume import hypervolume

POINTS = st.integers(1, 5).flatmap(
    lambda k: st.integers(0, 6).flatmap(lambda n: arrays(float, (n, k), elements=st.integers(-1, 4).map(float)))
)


def check_boxes(boxes: Boxes, front: np.ndarray, reference: np.ndarray) -> None:
    """They are disjoint, above the reference, undominated, and so large that nothing is left out."""
    assert np.all(np.isfinite(boxes.low))
    assert np.all(boxes.low >= reference)
    assert np.all(boxes.high > boxes.low)
    common = np.minimum(boxes.high[:, None], boxes.high) > np.maximum(boxes.low[:, None], boxes.low)
    np.testing.assert_array_equal(np.all(common, axis=-1), np.eye(len(boxes.low), dtype=bool))
    above = front[np.all(front > reference, axis=1)]
    assert not np.any(np.all(above[:, None] > boxes.low, axis=-1))
    ceiling = 2 * np.max(np.concatenate([above, reference[None]]), axis=0) - reference
    ceiling = np.where(ceiling > reference, ceiling, reference + 1)
    volume = np.prod(np.maximum(np.minimum(boxes.high, ceiling) - boxes.low, 0.0), axis=1).sum()
    whole = np.prod(ceiling - reference)
    assert (volume + hypervolume(front, reference)) / whole == pytest.approx(1.0, rel=1e-9)


@examples(150)
@given(front=POINTS)
def test_boxes_are_a_partition(front: np.ndarray) -> None:
    reference = np.zeros(front.shape[1])
    check_boxes(undominated_boxes(front, reference), front, reference)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(("objectives", "count"), [(1, 5), (2, 40), (3, 25), (4, 12), (5, 8)])
def test_boxes_of_larger_fronts_at_any_scale(objectives: int, count: int, scale: float) -> None:
    front = np.random.default_rng(objectives).normal(size=(count, objectives)) * scale
    reference = np.full(objectives, -1.2 * scale)
    check_boxes(undominated_boxes(front, reference), front, reference)


def test_strips_of_two_objectives() -> None:
    low, high = undominated_boxes(np.array([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5]]), np.zeros(2))
    order = np.argsort(low[:, 1])
    np.testing.assert_array_equal(low[order], [[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    np.testing.assert_array_equal(high[order], [[np.inf, 1.0], [np.inf, 2.0], [np.inf, np.inf]])


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5])
def test_without_a_front_there_is_one_box(objectives: int) -> None:
    reference = np.full(objectives, 3.0)
    for front in (np.empty((0, objectives)), np.full((2, objectives), 2.0), np.full((1, objectives), 3.0)):
        low, high = undominated_boxes(front, reference)
        np.testing.assert_array_equal(low, reference[None])
        np.testing.assert_array_equal(high, np.full((1, objectives), np.inf))


@pytest.mark.parametrize(("objectives", "most"), [(1, 1), (2, 21), (3, 41)])
def test_few_boxes(objectives: int, most: int) -> None:
    """n + 1 in two objectives, at most 2 n + 1 in three."""
    points = np.random.default_rng(0).normal(size=(20, objectives))
    front = np.abs(points) / np.linalg.norm(points, axis=1, keepdims=True)
    assert objectives == 1 or non_dominated(front).all()
    assert len(undominated_boxes(front, np.zeros(objectives)).low) == most
