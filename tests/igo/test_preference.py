"""Preferences: weights by rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples

from sonde.igo.preference import centred, truncation, weigh

SIZES = [*range(2, 40), 100, 1001]


@pytest.mark.parametrize("size", SIZES)
def test_the_best_quarter_is_positive_and_the_worst_negative(size: int) -> None:
    weights, chosen = centred(size), -(-size // 4)
    assert weights.sum() == pytest.approx(0, abs=1e-12 * size)
    np.testing.assert_array_equal(weights[:chosen], size / chosen)
    np.testing.assert_array_equal(weights[size - chosen :], -size / chosen)
    assert not weights[chosen : size - chosen].any()


@pytest.mark.parametrize("size", SIZES)
def test_the_variance_of_the_weights_is_that_of_the_paper(size: int) -> None:
    chosen = -(-size // 4)
    assert np.var(centred(size)) == pytest.approx(2 * size / chosen)


@pytest.mark.parametrize("size", SIZES)
def test_the_weights_are_the_printed_ones_minus_their_mean(size: int) -> None:
    chosen = -(-size // 4)
    printed = np.repeat([2.0, 1.0, 0.0], [chosen, size - 2 * chosen, chosen]) * size / chosen
    np.testing.assert_allclose(centred(size), printed - printed.mean(), atol=1e-13)


def test_two_samples_have_the_weights_of_the_compact_genetic_algorithm() -> None:
    assert centred(2).tolist() == [2.0, -2.0]


def test_truncation_weights_only_the_selected() -> None:
    assert truncation(2)(4).tolist() == [2.0, 2.0, 0.0, 0.0]
    assert truncation(9)(3).tolist() == [1.0, 1.0, 1.0]


def test_ties_share_their_weights() -> None:
    losses = np.array([3.0, 1.0, 2.0, 1.0, 2.0, 2.0, 9.0, 9.0])
    np.testing.assert_allclose(weigh(losses, np.arange(8.0, 0.0, -1.0)), [3.0, 7.5, 5.0, 7.5, 5.0, 5.0, 1.5, 1.5])


@examples(100)
@given(losses=st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf]), min_size=2, max_size=30))
def test_weights_of_any_losses(losses: list[float]) -> None:
    """A sample has the mean weight of the ranks that its loss ties with; lower losses have larger weights."""
    values, by_rank = np.array(losses), centred(len(losses))
    weights, ranked = weigh(values, by_rank), np.sort(values)
    expected = [by_rank[ranked == value].mean() for value in losses]
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    assert weights.sum() == pytest.approx(0, abs=1e-10)
    assert (np.diff(weights[np.argsort(values)]) <= 1e-12).all()


def test_arguments_are_not_modified() -> None:
    losses, by_rank = np.array([2.0, 1.0, 2.0]), np.array([1.0, 0.0, -1.0])
    weigh(losses, by_rank)
    assert losses.tolist() == [2.0, 1.0, 2.0]
    assert by_rank.tolist() == [1.0, 0.0, -1.0]
