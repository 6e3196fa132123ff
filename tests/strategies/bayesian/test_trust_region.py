"""The side of the trust region, from the values of the trials so far."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.strategies.bayesian.trust_region import NARROWEST, START, SUCCESSES, WIDEST, progress_of

FIRST, PATIENCE = 4, 5
DESIGN = [10.0, 11.0, 12.0, 13.0]


def after(*values: float, at_once: int = 1) -> tuple[float, bool]:
    return progress_of(np.array([*DESIGN, *values]), FIRST, PATIENCE, at_once)


def test_it_starts_after_the_initial_design() -> None:
    assert after() == (START, False)


def test_successes_in_a_row_double_it_up_to_a_limit() -> None:
    falling = [10.0 - i for i in range(1, 4 * SUCCESSES + 1)]
    assert after(*falling[: SUCCESSES - 1]).side == START
    assert after(*falling[:SUCCESSES]).side == 2 * START
    assert after(*falling).side == WIDEST


def test_failures_in_a_row_halve_it_and_a_success_in_between_does_not() -> None:
    assert after(*[20.0] * (PATIENCE - 1)).side == START
    assert after(*[20.0] * PATIENCE).side == START / 2
    assert after(*[20.0] * (PATIENCE - 1), 1.0, *[20.0] * (PATIENCE - 1)).side == START


def test_below_the_smallest_side_it_starts_again() -> None:
    halvings = int(np.floor(np.log2(START / NARROWEST)))
    assert after(*[20.0] * (PATIENCE * halvings)).side == pytest.approx(START * 2.0**-halvings)
    assert after(*[20.0] * (PATIENCE * (halvings + 1))).side == START


def test_trials_that_run_at_once_have_more_patience() -> None:
    failures = [20.0] * (2 * PATIENCE)
    assert after(*failures, at_once=2) == (START / 2, True)
    assert after(*failures[:-1], at_once=2).side == START
    assert [after(*failures[:n], at_once=2).stalled for n in (3, 4)] == [False, True]


def test_a_gain_of_the_last_digits_is_no_success() -> None:
    assert after(10.0 - 1e-9, 10.0 - 2e-9).stalled
    assert not after(9.0, 8.0).stalled


def test_infeasible_and_huge_values_are_failures_or_successes_like_others() -> None:
    infeasible = progress_of(np.array([np.inf] * 4 + [1.0]), FIRST, PATIENCE)
    assert infeasible == (START, False)
    assert progress_of(np.array([1.7e308, 1.0, 1.0, 1.0, -1.7e308]), FIRST, PATIENCE) == (START, False)


def test_an_improvement_outside_the_region_makes_it_start_again() -> None:
    values = np.array([*DESIGN, *[20.0] * (2 * PATIENCE), 1.0])
    near, far = np.full((len(values), 2), 0.5), np.full((len(values), 2), 0.5)
    far[-1] = 0.9
    assert progress_of(values, FIRST, PATIENCE, units=near).side == START / 4
    assert progress_of(values, FIRST, PATIENCE, units=far).side == START


def test_the_smallest_side_can_be_chosen() -> None:
    values = np.array([*DESIGN, *[20.0] * (10 * PATIENCE)])
    assert progress_of(values, FIRST, PATIENCE, narrowest=2.0**-20).side == START * 2.0**-10
