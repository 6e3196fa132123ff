from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.surrogates.slope_models import points_of, some_sites, whole_sites

from sonde.surrogates.gradient.observations import ObservationLayout, one_hot

X = points_of(3, 2)
SLOPES = np.array([[0, 2, 2], [1, 0, 1]])
BENDS = np.array([[1, 1], [0, 1], [0, 0]])


def test_points_alone_have_values() -> None:
    sites = ObservationLayout(X)
    assert len(sites) == 3
    assert sites.highest == 0
    assert [len(seen.points) for seen in sites.orders] == [3, 0, 0]
    assert sites.gradients.shape == (2, 0)
    assert sites.bends.shape == (3, 0)


def test_values_come_before_slopes_and_slopes_before_curvatures() -> None:
    sites = ObservationLayout(X, SLOPES, BENDS)
    names = np.array(["f0", "f1", "f2", "f0_1", "f2_0", "f2_1", "f1_00", "f1_10"])
    assert len(sites) == len(names)
    assert names[sites.values].tolist() == ["f0", "f1", "f2"]
    assert names[sites.gradient_entries].tolist() == ["f0_1", "f2_0", "f2_1"]
    assert names[sites.curvature_entries].tolist() == ["f1_00", "f1_10"]
    assert sites.points.tolist() == [0, 1, 2, 0, 2, 2, 1, 1]
    told = []
    for seen in sites.orders:
        for k, point in enumerate(seen.points):
            columns = "".join(str(column[k]) for column in seen.columns)
            told.append(f"f{point}_{columns}" if columns else f"f{point}")
    assert told == names.tolist()


@pytest.mark.parametrize(
    ("sites", "highest"),
    [
        (ObservationLayout(X), 0),
        (ObservationLayout(X, SLOPES), 1),
        (ObservationLayout(X, SLOPES, BENDS), 2),
        (ObservationLayout(X[:0]), 0),
    ],
)
def test_the_highest_order_is_that_of_what_was_seen(sites: ObservationLayout, highest: int) -> None:
    assert sites.highest == highest


def test_curvatures_need_no_slopes() -> None:
    sites = ObservationLayout(X, bends=BENDS)
    assert sites.highest == 2
    assert len(sites) == 5
    assert sites.gradient_entries == slice(3, 3)
    assert sites.curvature_entries == slice(3, 5)


def test_an_index_becomes_a_row_with_a_one() -> None:
    np.testing.assert_array_equal(one_hot(np.array([2, 0]), 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert one_hot(np.empty(0, dtype=np.intp), 3).shape == (0, 3)


@examples(25)
@given(n=st.integers(1, 6), p=st.integers(1, 4), seed=st.integers(0, 99))
def test_sums_go_by_point_and_by_column(n: int, p: int, seed: int) -> None:
    sites = some_sites(points_of(n, p, seed), seed=seed)
    told = np.random.default_rng(seed).normal(size=sites.gradients.shape[1])
    table = np.zeros((n, p))
    table[sites.gradients[0], sites.gradients[1]] = told
    np.testing.assert_allclose(told @ sites.by_point, table.sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(told @ sites.by_column, table.sum(axis=0), atol=1e-14)


@examples(25)
@given(n=st.integers(0, 5), p=st.integers(1, 4), whole=st.booleans(), curvatures=st.booleans(), seed=st.integers(0, 99))
def test_the_stretches_make_up_the_vector(n: int, p: int, whole: bool, curvatures: bool, seed: int) -> None:
    x = points_of(n, p, seed)
    sites = whole_sites(x, curvatures=curvatures) if whole else some_sites(x, curvatures=curvatures, seed=seed)
    entries = np.arange(len(sites))
    stretches = [entries[sites.values], entries[sites.gradient_entries], entries[sites.curvature_entries]]
    np.testing.assert_array_equal(np.concatenate(stretches), entries)
    assert [len(each) for each in stretches] == [len(seen.points) for seen in sites.orders]
    assert [seen.order for seen in sites.orders] == [0, 1, 2]
    assert len(sites.points) == len(sites)
