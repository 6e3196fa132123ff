from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples

from sonde.optimizers import choose_starts

NUMBERS = st.one_of(st.floats(-1e100, 1e100), st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1e100]))
LISTS = st.lists(NUMBERS, min_size=1, max_size=12)


@examples(100)
@given(values=LISTS, count=st.integers(1, 12), log=st.booleans(), seed=st.integers(0, 9))
def test_the_best_is_first_and_none_is_repeated(values: list[float], count: int, log: bool, seed: int) -> None:
    given_values = np.array(values)
    before = given_values.copy()
    chosen = choose_starts(given_values, count, np.random.default_rng(seed), log=log)
    np.testing.assert_array_equal(given_values, before)
    assert len(chosen) == min(count, len(values)) == len(set(chosen.tolist()))
    finite = given_values[np.isfinite(given_values)]
    if len(finite):
        assert given_values[chosen[0]] == finite.max()
        assert np.all(np.isfinite(given_values[chosen[: min(count, len(finite))]]))  # infinite ones come last


def test_logarithms_are_drawn_in_proportion_to_their_exponentials() -> None:
    weights = np.array([8.0, 4.0, 2.0, 1.0, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    second = [choose_starts(logs, 2, np.random.default_rng(seed), log=True)[1] for seed in range(2000)]
    shares = np.bincount(second, minlength=5) / 2000
    np.testing.assert_allclose(shares, [0, 4 / 7, 2 / 7, 1 / 7, 0], atol=0.035)


@pytest.mark.parametrize(("factor", "shift"), [(1.0, 0.0), (1e-30, 0.0), (1e6, -3e6)])
def test_numbers_are_drawn_by_their_standard_score(factor: float, shift: float) -> None:
    """For values of any size and sign."""
    values = np.array([3.0, 2.0, 1.0, 0.0, -1.0])
    scores = np.exp((values - 3) / values.std())
    second = [choose_starts(factor * values + shift, 2, np.random.default_rng(seed))[1] for seed in range(2000)]
    shares = np.bincount(second, minlength=5) / 2000
    np.testing.assert_allclose(shares[1:], scores[1:] / scores[1:].sum(), atol=0.035)
    assert shares[0] == 0


def test_equal_values_are_drawn_with_equal_probability() -> None:
    draws = [choose_starts(np.zeros(5), 2, np.random.default_rng(seed))[1] for seed in range(1000)]
    shares = np.bincount(draws, minlength=5) / 1000
    assert shares[0] == 0  # the first is the best of equals
    np.testing.assert_allclose(shares[1:], 0.25, atol=0.05)


def test_the_same_seed_makes_the_same_choice() -> None:
    values = np.random.default_rng(0).random(50)
    one, same, other = (choose_starts(values, 6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
