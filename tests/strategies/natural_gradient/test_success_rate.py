"""Rates of improvement that fade."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples

from sonde.strategies.natural_gradient.success_rate import MEMORY, SuccessRate

counted = st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), max_size=30)


def plain_rate(free: int, results: list[tuple[int, bool]], now: int) -> float:
    """The rate by its definition."""
    weights = [(math.exp((place - now) / (MEMORY * free)), better) for place, better in results]
    return (sum(w for w, better in weights if better) + 1) / (sum(w for w, _ in weights) + free)


def rate(free: int, results: list[tuple[int, bool]], now: int) -> float:
    luck = SuccessRate(free)
    for place, better in results:
        luck.add(place, better=better)
    return luck.rate(now)


def test_at_first_one_in_n() -> None:
    assert SuccessRate(20).rate(0) == 1 / 20


def test_what_has_just_come_counts_fully() -> None:
    assert rate(10, [(7, True), (7, False), (7, False)], 7) == pytest.approx(2 / 13)


def test_what_came_a_span_ago_counts_less_by_e() -> None:
    assert rate(10, [(0, True)], 10 * MEMORY) == pytest.approx((1 + math.exp(-1)) / (10 + math.exp(-1)))


def test_luck_is_forgotten() -> None:
    assert rate(3, [(0, True)] * 50, 10**9) == pytest.approx(1 / 3)


@examples(100)
@given(st.integers(1, 5000), counted, st.integers(0, 10**6))
def test_rates_are_sums_of_exponentials(free: int, results: list[tuple[int, bool]], later: int) -> None:
    now = max([place for place, _ in results], default=0) + later
    assert rate(free, results, now) == pytest.approx(plain_rate(free, results, now), rel=1e-9)


@examples(50)
@given(st.integers(1, 100), counted, st.randoms())
def test_the_order_does_not_matter(free: int, results: list[tuple[int, bool]], random: object) -> None:
    shuffled = list(results)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rate(free, shuffled, 10**6) == pytest.approx(rate(free, results, 10**6), rel=1e-9)


@pytest.mark.parametrize("free", [1, 1000])
@pytest.mark.parametrize("places", [[10**9], [0, 10**9], [10**9, 0], range(0, 10**9, 10**6)])
def test_nothing_overflows(free: int, places: list[int]) -> None:
    found = rate(free, [(place, True) for place in places], 10**9)
    assert 1 / free <= found <= len(places) + 1
