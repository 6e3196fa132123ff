"""Observations by configuration, in the order of their arrival."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples
from tests.strategies.runs import Observed, Run, bits

from sonde.strategies.natural_gradient.observation_log import ObservationLog, ObservedLoss, row_fingerprint
from sonde.trials import Evaluation, Outcome, State, failure

Array = NDArray[np.float64]

SPACE = bits(3)
ROWS = np.array(list(SPACE.rows()))


def found(log: ObservationLog, row: Array) -> ObservedLoss | None:
    return log.find(row_fingerprint(row))


def log_of(*losses: float) -> ObservationLog:
    observed = Observed(SPACE)
    for row, loss in zip(ROWS, losses, strict=False):
        observed.add(row, loss)
    return observed.log


def test_an_empty_history_has_no_observations() -> None:
    log = ObservationLog()
    log.update(Run(SPACE).history)
    assert len(log) == 0
    assert found(log, ROWS[0]) is None


def test_observations_have_the_indices_of_their_arrival() -> None:
    run, log = Run(SPACE), ObservationLog()
    first, second, third = (run.add(row) for row in ROWS[:3])
    for number, loss in ((third, 3.0), (first, 1.0)):
        run.tell(number, loss)
    log.update(run.history)
    assert found(log, ROWS[2]) == (3.0, 0)
    assert found(log, ROWS[0]) == (1.0, 1)
    assert found(log, ROWS[1]) is None
    assert log.pending == {row_fingerprint(ROWS[1])}
    run.tell(second, 2.0)
    log.update(run.history)
    assert found(log, ROWS[1]) == (2.0, 2)
    assert log.pending == set()
    np.testing.assert_array_equal(log.rows, ROWS[[2, 0, 1]])


def mean_loss(log: ObservationLog, row: Array, until: int) -> float | None:
    return log.mean_loss(row_fingerprint(row), until)


def test_the_loss_of_a_row_is_the_mean_of_its_losses_up_to_then() -> None:
    observed = Observed(SPACE)
    for which, value in ((0, 2.0), (1, 9.0), (0, 1.0), (0, 6.0)):
        observed.add(ROWS[which], value)
    assert found(observed.log, ROWS[0]) == (2.0, 0)  # the first one
    assert [mean_loss(observed.log, ROWS[0], arrival) for arrival in range(4)] == [2.0, 2.0, 1.5, 3.0]
    assert [mean_loss(observed.log, ROWS[1], arrival) for arrival in range(2)] == [None, 9.0]
    assert mean_loss(observed.log, ROWS[2], 3) is None


def test_failures_count_only_where_a_row_never_completed() -> None:
    observed = Observed(SPACE)
    for outcome in (failure("why"), 3.0, failure("why"), 5.0):
        observed.add(ROWS[0], outcome)
    assert [mean_loss(observed.log, ROWS[0], arrival) for arrival in range(4)] == [math.inf, 3.0, 3.0, 4.0]


def test_equal_losses_have_exactly_that_mean() -> None:
    observed = Observed(SPACE)
    for _ in range(7):
        observed.add(ROWS[0], 0.1)
    assert mean_loss(observed.log, ROWS[0], 6) == 0.1
    assert observed.log.best == list(range(7))  # the latest of equals


def test_the_incumbent_has_the_lowest_mean() -> None:
    observed = Observed(SPACE)
    for which, value in ((0, 3.0), (1, -2.0), (2, 2.0), (1, 10.0), (2, 1.0), (1, -11.0)):
        observed.add(ROWS[which], value)
    assert observed.log.best == [0, 1, 1, 2, 4, 5]
    assert observed.log.lowest == [3.0, -2.0, -2.0, 2.0, 1.5, -1.0]
    assert [observed.log.improved(arrival) for arrival in range(6)] == [True, True, False, False, True, True]


def test_a_late_loss_counts_where_its_row_has_one_already() -> None:
    run, first = lost_twice(State.LOST)
    steady, at_once = ObservationLog(), ObservationLog()
    run.add(ROWS[0], 2.0)  # another trial of the same row
    steady.update(run.history)
    run.tell(first, 4.0)
    steady.update(run.history)
    at_once.update(run.again().history)
    assert mean_loss(steady, ROWS[0], 1) == mean_loss(at_once, ROWS[0], 1) == 3.0


def test_failures_and_violated_constraints_have_infinite_loss() -> None:
    observed = Observed(SPACE)
    never = Outcome(State.COMPLETED, value=math.nan)  # no storage reports this, but a history could
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
        observed.add(row, outcome)
    assert observed.log.losses == [math.inf, math.inf, -4.0, math.inf, math.inf, math.inf]


def test_the_incumbent_is_the_latest_of_equals() -> None:
    log = log_of(3.0, 5.0, 2.0, 2.0, 9.0)
    assert log.best == [0, 0, 2, 3, 3]
    assert [log.improved(arrival) for arrival in range(5)] == [True, False, True, False, False]


def test_losses_follow_the_sign() -> None:
    run, log = Run(SPACE, sign=-1.0), ObservationLog()
    run.add(ROWS[0], 7.0)
    log.update(run.history)
    assert log.losses == [-7.0]


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from([0.0, 1.0, 2.0, math.nan])), max_size=20), st.data())
def test_many_updates_give_the_same_log_as_one(trials: list[tuple[int, float]], data: st.DataObject) -> None:
    run, steady = Run(SPACE), ObservationLog()
    numbers = [run.add(ROWS[which]) for which, _ in trials]
    for number in data.draw(st.permutations(numbers)):
        run.tell(number, trials[number][1])
        if data.draw(st.booleans()):
            steady.update(run.history)
    steady.update(run.history)
    at_once = ObservationLog()
    at_once.update(run.again().history)
    assert (steady.losses, steady.best, steady.pending) == (at_once.losses, at_once.best, at_once.pending)
    assert all(found(steady, row) == found(at_once, row) for row in ROWS)
    assert steady.lowest == at_once.lowest
    assert all(mean_loss(steady, row, i) == mean_loss(at_once, row, i) for row in ROWS for i in range(len(steady)))
    np.testing.assert_array_equal(np.array(steady.rows), np.array(at_once.rows))


# losses that arrive after their trial was given up


def lost_twice(second: State) -> tuple[Run, int]:
    """A lost trial whose retry is lost or cancelled too."""
    run = Run(SPACE)
    first = run.add(ROWS[0])
    run.tell(first, State.LOST)
    run.tell(run.add(ROWS[0]), second)
    return run, first


@pytest.mark.parametrize("second", [State.LOST, State.CANCELLED])
def test_a_loss_after_a_lost_retry_changes_no_step(second: State) -> None:
    run, first = lost_twice(second)
    steady, at_once = ObservationLog(), ObservationLog()
    steady.update(run.history)
    assert steady.abandoned == {row_fingerprint(ROWS[0])}
    run.tell(first, -5.0)
    steady.update(run.history)
    at_once.update(run.again().history)
    for log in (steady, at_once):
        assert found(log, ROWS[0]) is None
        assert log.abandoned == {row_fingerprint(ROWS[0])}
        assert (log.losses, log.best) == ([-5.0], [0])


def test_a_late_loss_counts_while_its_retry_is_pending() -> None:
    run = Run(SPACE)
    first = run.add(ROWS[0])
    run.tell(first, State.LOST)
    retry = run.add(ROWS[0])
    run.tell(first, 2.0)
    waiting = ObservationLog()
    waiting.update(run.history)
    assert found(waiting, ROWS[0]) == (2.0, 0)
    run.tell(retry, State.LOST)
    for log in (waiting, ObservationLog()):
        log.update(run.again().history)
        assert found(log, ROWS[0]) == (2.0, 0)
        assert log.abandoned == set()


def test_a_retry_that_ends_counts() -> None:
    run = Run(SPACE)
    run.tell(run.add(ROWS[0]), State.LOST)
    run.add(ROWS[0], 3.0)
    log = ObservationLog()
    log.update(run.history)
    assert found(log, ROWS[0]) == (3.0, 0)


def test_a_late_loss_counts_while_one_of_two_retries_is_pending() -> None:
    run, first = lost_twice(State.LOST)
    third = run.add(ROWS[0])
    run.tell(first, 1.0)
    waiting = ObservationLog()
    waiting.update(run.history)
    run.tell(third, 4.0)
    later = ObservationLog()
    later.update(run.history)
    assert found(waiting, ROWS[0]) == found(later, ROWS[0]) == (1.0, 0)


def test_no_step_waits_for_a_trial_that_was_stopped_without_a_value() -> None:
    run = Run(SPACE)
    run.tell(run.add(ROWS[0]), Outcome(State.STOPPED))
    run.tell(run.add(ROWS[1]), Outcome(State.STOPPED, 2.0, 0.5))
    log = ObservationLog()
    log.update(run.history)
    assert log.abandoned == {row_fingerprint(ROWS[0])}
    assert found(log, ROWS[1]) == (2.0, 0)  # the predicted value
