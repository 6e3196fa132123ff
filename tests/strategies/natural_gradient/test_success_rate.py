"""Success rates with decaying weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples

from sonde.strategies.natural_gradient.success_rate import MEMORY, SuccessRate

counted = st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), max_size=30)


def plain_rate(free: int, observations: list[tuple[int, bool]], now: int) -> float:
    """The rate as the sums that define it."""
    weights = [(math.exp((arrival - now) / (MEMORY * free)), better) for arrival, better in observations]
    return (sum(w for w, better in weights if better) + 1) / (sum(w for w, _ in weights) + free)


def rate(free: int, observations: list[tuple[int, bool]], now: int) -> float:
    success = SuccessRate(free)
    for arrival, better in observations:
        success.add(arrival, better=better)
    return success.rate(now)


def test_the_rate_before_any_observation_is_one_in_n() -> None:
    assert SuccessRate(20).rate(0) == 1 / 20


def test_an_observation_that_just_arrived_has_weight_one() -> None:
    assert rate(10, [(7, True), (7, False), (7, False)], 7) == pytest.approx(2 / 13)


def test_an_observation_one_decay_time_ago_has_weight_one_over_e() -> None:
    assert rate(10, [(0, True)], 10 * MEMORY) == pytest.approx((1 + math.exp(-1)) / (10 + math.exp(-1)))


def test_old_improvements_are_forgotten() -> None:
    assert rate(3, [(0, True)] * 50, 10**9) == pytest.approx(1 / 3)


@examples(100)
@given(st.integers(1, 5000), counted, st.integers(0, 10**6))
def test_the_rate_is_a_ratio_of_sums_of_exponentials(
    free: int, observations: list[tuple[int, bool]], later: int
) -> None:
    now = max([arrival for arrival, _ in observations], default=0) + later
    assert rate(free, observations, now) == pytest.approx(plain_rate(free, observations, now), rel=1e-9)


@examples(50)
@given(st.integers(1, 100), counted, st.randoms())
def test_the_order_of_additions_does_not_matter(
    free: int, observations: list[tuple[int, bool]], random: object
) -> None:
    shuffled = list(observations)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rate(free, shuffled, 10**6) == pytest.approx(rate(free, observations, 10**6), rel=1e-9)


@pytest.mark.parametrize("free", [1, 1000])
@pytest.mark.parametrize("arrivals", [[10**9], [0, 10**9], [10**9, 0], range(0, 10**9, 10**6)])
def test_nothing_overflows(free: int, arrivals: list[int]) -> None:
    found = rate(free, [(arrival, True) for arrival in arrivals], 10**9)
    assert 1 / free <= found <= len(arrivals) + 1
