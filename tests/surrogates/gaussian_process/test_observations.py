from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.gradient_models import full_layout, partial_layout, points_of

from sonde.surrogates.gaussian_process.observations import ObservationLayout, one_hot

X = points_of(3, 2)
GRADIENTS = np.array([[0, 2, 2], [1, 0, 1]])
CURVATURES = np.array([[1, 1], [0, 1], [0, 0]])


def test_points_alone_have_values() -> None:
    layout = ObservationLayout(X)
    assert len(layout) == 3
    assert layout.highest == 0
    assert [len(block.points) for block in layout.orders] == [3, 0, 0]
    assert layout.gradients.shape == (2, 0)
    assert layout.curvatures.shape == (3, 0)


def test_values_come_before_gradients_and_gradients_before_curvatures() -> None:
    layout = ObservationLayout(X, GRADIENTS, CURVATURES)
    names = np.array(["f0", "f1", "f2", "f0_1", "f2_0", "f2_1", "f1_00", "f1_10"])
    assert len(layout) == len(names)
    assert names[layout.values].tolist() == ["f0", "f1", "f2"]
    assert names[layout.gradient_entries].tolist() == ["f0_1", "f2_0", "f2_1"]
    assert names[layout.curvature_entries].tolist() == ["f1_00", "f1_10"]
    assert layout.points.tolist() == [0, 1, 2, 0, 2, 2, 1, 1]
    found = []
    for block in layout.orders:
        for k, point in enumerate(block.points):
            columns = "".join(str(column[k]) for column in block.columns)
            found.append(f"f{point}_{columns}" if columns else f"f{point}")
    assert found == names.tolist()


@pytest.mark.parametrize(
    ("layout", "highest"),
    [
        (ObservationLayout(X), 0),
        (ObservationLayout(X, GRADIENTS), 1),
        (ObservationLayout(X, GRADIENTS, CURVATURES), 2),
        (ObservationLayout(X[:0]), 0),
    ],
)
def test_the_highest_order_is_that_of_the_observations(layout: ObservationLayout, highest: int) -> None:
    assert layout.highest == highest


def test_curvatures_need_no_gradients() -> None:
    layout = ObservationLayout(X, curvatures=CURVATURES)
    assert layout.highest == 2
    assert len(layout) == 5
    assert layout.gradient_entries == slice(3, 3)
    assert layout.curvature_entries == slice(3, 5)


def test_an_index_becomes_a_row_with_a_one() -> None:
    np.testing.assert_array_equal(one_hot(np.array([2, 0]), 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert one_hot(np.empty(0, dtype=np.intp), 3).shape == (0, 3)


@examples(25)
@given(n=st.integers(1, 6), p=st.integers(1, 4), seed=st.integers(0, 99))
def test_sums_go_by_point_and_by_column(n: int, p: int, seed: int) -> None:
    layout = partial_layout(points_of(n, p, seed), seed=seed)
    found = np.random.default_rng(seed).normal(size=layout.gradients.shape[1])
    table = np.zeros((n, p))
    table[layout.gradients[0], layout.gradients[1]] = found
    np.testing.assert_allclose(found @ layout.by_point, table.sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(found @ layout.by_column, table.sum(axis=0), atol=1e-14)


@examples(25)
@given(n=st.integers(0, 5), p=st.integers(1, 4), whole=st.booleans(), curvatures=st.booleans(), seed=st.integers(0, 99))
def test_the_slices_make_up_the_vector(n: int, p: int, whole: bool, curvatures: bool, seed: int) -> None:
    x = points_of(n, p, seed)
    layout = full_layout(x, curvatures=curvatures) if whole else partial_layout(x, curvatures=curvatures, seed=seed)
    entries = np.arange(len(layout))
    slices = [entries[layout.values], entries[layout.gradient_entries], entries[layout.curvature_entries]]
    np.testing.assert_array_equal(np.concatenate(slices), entries)
    assert [len(each) for each in slices] == [len(block.points) for block in layout.orders]
    assert [block.order for block in layout.orders] == [0, 1, 2]
    assert len(layout.points) == len(layout)
