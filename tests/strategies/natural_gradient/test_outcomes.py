"""Results by row, in the order of their arrival."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples
from tests.strategies.runs import Run, Told, bits

from sonde.strategies.natural_gradient.outcomes import Result, Results, fingerprint
from sonde.trials import Evaluation, Outcome, State, failure

Array = NDArray[np.float64]

SPACE = bits(3)
ROWS = np.array(list(SPACE.rows()))


def found(results: Results, row: Array) -> Result | None:
    return results.find(fingerprint(row))


def results_of(*losses: float) -> Results:
    told = Told(SPACE)
    for row, loss in zip(ROWS, losses, strict=False):
        told.add(row, loss)
    return told.results


def test_nothing_is_known_of_an_empty_history() -> None:
    results = Results()
    results.update(Run(SPACE).history)
    assert len(results) == 0
    assert found(results, ROWS[0]) is None


def test_results_have_the_places_of_their_arrival() -> None:
    run, results = Run(SPACE), Results()
    first, second, third = (run.add(row) for row in ROWS[:3])
    for number, loss in ((third, 3.0), (first, 1.0)):
        run.tell(number, loss)
    results.update(run.history)
    assert found(results, ROWS[2]) == (3.0, 0)
    assert found(results, ROWS[0]) == (1.0, 1)
    assert found(results, ROWS[1]) is None
    assert results.pending == {fingerprint(ROWS[1])}
    run.tell(second, 2.0)
    results.update(run.history)
    assert found(results, ROWS[1]) == (2.0, 2)
    assert results.pending == set()
    np.testing.assert_array_equal(results.rows, ROWS[[2, 0, 1]])


def loss(results: Results, row: Array, by: int) -> float | None:
    return results.loss(fingerprint(row), by)


def test_a_row_is_worth_the_mean_of_its_results_up_to_then() -> None:
    told = Told(SPACE)
    for which, value in ((0, 2.0), (1, 9.0), (0, 1.0), (0, 6.0)):
        told.add(ROWS[which], value)
    assert found(told.results, ROWS[0]) == (2.0, 0)  # it was known from its first one on
    assert [loss(told.results, ROWS[0], place) for place in range(4)] == [2.0, 2.0, 1.5, 3.0]
    assert [loss(told.results, ROWS[1], place) for place in range(2)] == [None, 9.0]
    assert loss(told.results, ROWS[2], 3) is None


def test_failures_of_a_row_count_where_it_never_completed() -> None:
    told = Told(SPACE)
    for outcome in (failure("why"), 3.0, failure("why"), 5.0):
        told.add(ROWS[0], outcome)
    assert [loss(told.results, ROWS[0], place) for place in range(4)] == [math.inf, 3.0, 3.0, 4.0]


def test_equal_results_have_that_mean_to_the_last_digit() -> None:
    told = Told(SPACE)
    for _ in range(7):
        told.add(ROWS[0], 0.1)
    assert loss(told.results, ROWS[0], 6) == 0.1
    assert told.results.best == list(range(7))  # the latest of equals


def test_the_best_so_far_is_the_one_with_the_best_mean() -> None:
    told = Told(SPACE)
    for which, value in ((0, 3.0), (1, -2.0), (2, 2.0), (1, 10.0), (2, 1.0), (1, -11.0)):
        told.add(ROWS[which], value)
    assert told.results.best == [0, 1, 1, 2, 4, 5]
    assert told.results.lowest == [3.0, -2.0, -2.0, 2.0, 1.5, -1.0]
    assert [told.results.improved(place) for place in range(6)] == [True, True, False, False, True, True]


def test_a_late_result_counts_where_its_row_has_one_already() -> None:
    run, first = lost_twice(State.LOST)
    steady, at_once = Results(), Results()
    run.add(ROWS[0], 2.0)  # told by somebody who tried it of his own accord
    steady.update(run.history)
    run.tell(first, 4.0)
    steady.update(run.history)
    at_once.update(run.again().history)
    assert loss(steady, ROWS[0], 1) == loss(at_once, ROWS[0], 1) == 3.0


def test_failures_and_broken_constraints_are_infinitely_bad() -> None:
    told = Told(SPACE)
    never = Outcome(State.COMPLETED, value=math.nan)  # no storage reports it; a history could
    for row, outcome in zip(
        ROWS,
        [
            failure("why"),
            Evaluation(-5.0, constraints={"memory": 0.1}),
            Evaluation(-4.0, constraints={"memory": 0.0}),
            math.nan,
            -math.inf,
            never,
        ],
        strict=False,
    ):
        told.add(row, outcome)
    assert told.results.losses == [math.inf, math.inf, -4.0, math.inf, math.inf, math.inf]


def test_the_best_so_far_is_the_latest_of_equals() -> None:
    results = results_of(3.0, 5.0, 2.0, 2.0, 9.0)
    assert results.best == [0, 0, 2, 3, 3]
    assert [results.improved(place) for place in range(5)] == [True, False, True, False, False]


def test_losses_follow_the_sign() -> None:
    run, results = Run(SPACE, sign=-1.0), Results()
    run.add(ROWS[0], 7.0)
    results.update(run.history)
    assert results.losses == [-7.0]


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from([0.0, 1.0, 2.0, math.nan])), max_size=20), st.data())
def test_taking_in_bit_by_bit_is_taking_in_at_once(trials: list[tuple[int, float]], data: st.DataObject) -> None:
    run, steady = Run(SPACE), Results()
    numbers = [run.add(ROWS[which]) for which, _ in trials]
    for number in data.draw(st.permutations(numbers)):
        run.tell(number, trials[number][1])
        if data.draw(st.booleans()):
            steady.update(run.history)
    steady.update(run.history)
    at_once = Results()
    at_once.update(run.again().history)
    assert (steady.losses, steady.best, steady.pending) == (at_once.losses, at_once.best, at_once.pending)
    assert all(found(steady, row) == found(at_once, row) for row in ROWS)
    assert steady.lowest == at_once.lowest
    assert all(loss(steady, row, i) == loss(at_once, row, i) for row in ROWS for i in range(len(steady)))
    np.testing.assert_array_equal(np.array(steady.rows), np.array(at_once.rows))


# results that come after their trial was given up


def lost_twice(second: State) -> tuple[Run, int]:
    """A trial that was lost, and its retry, which was lost or cancelled."""
    run = Run(SPACE)
    first = run.add(ROWS[0])
    run.tell(first, State.LOST)
    run.tell(run.add(ROWS[0]), second)
    return run, first


@pytest.mark.parametrize("second", [State.LOST, State.CANCELLED])
def test_a_result_that_nobody_waited_for_any_more_changes_no_step(second: State) -> None:
    run, first = lost_twice(second)
    steady, at_once = Results(), Results()
    steady.update(run.history)
    assert steady.gone == {fingerprint(ROWS[0])}
    run.tell(first, -5.0)
    steady.update(run.history)
    at_once.update(run.again().history)
    for results in (steady, at_once):
        assert found(results, ROWS[0]) is None
        assert results.gone == {fingerprint(ROWS[0])}
        assert (results.losses, results.best) == ([-5.0], [0])


def test_a_late_result_counts_while_its_retry_is_waited_for() -> None:
    run = Run(SPACE)
    first = run.add(ROWS[0])
    run.tell(first, State.LOST)
    retry = run.add(ROWS[0])
    run.tell(first, 2.0)
    waiting = Results()
    waiting.update(run.history)
    assert found(waiting, ROWS[0]) == (2.0, 0)
    run.tell(retry, State.LOST)
    for results in (waiting, Results()):
        results.update(run.again().history)
        assert found(results, ROWS[0]) == (2.0, 0)
        assert results.gone == set()


def test_a_retry_that_ends_counts() -> None:
    run = Run(SPACE)
    run.tell(run.add(ROWS[0]), State.LOST)
    run.add(ROWS[0], 3.0)
    results = Results()
    results.update(run.history)
    assert found(results, ROWS[0]) == (3.0, 0)


def test_of_two_retries_the_one_under_way_is_waited_for() -> None:
    run, first = lost_twice(State.LOST)
    third = run.add(ROWS[0])
    run.tell(first, 1.0)
    waiting = Results()
    waiting.update(run.history)
    run.tell(third, 4.0)
    later = Results()
    later.update(run.history)
    assert found(waiting, ROWS[0]) == found(later, ROWS[0]) == (1.0, 0)
