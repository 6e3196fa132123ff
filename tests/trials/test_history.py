from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.space.spaces import examples
from tests.trials.histories import Row, changed, history_of

from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.trials import Changes, Evaluation, History, Outcome, State, failure, to_outcome

SPACE = Space(
    x=Float(-1, 3),
    rate=Float(1e-3, 1, log=True),
    kind=Categorical(["a", "b"]),
    n=Int(1, 8, when={"kind": "b"}),
)
LATTICE = Space(n=Int(0, 9), f=Float(0, 1, step=0.25), on=Bool(), c=Int(0, 2, when={"on": True}))
A = {"x": 0.0, "rate": 0.1, "kind": "a"}
B = {"x": 1.0, "rate": 0.01, "kind": "b", "n": 4}


def told(value: Any, **extras: Any) -> Outcome:
    return to_outcome(Evaluation(value, **extras), SPACE)


def test_an_empty_history() -> None:
    history = History(SPACE)
    history.update(Changes(0, []))
    assert len(history) == 0
    assert history.best() is None
    assert not history.noisy
    assert [len(points) for points in (history.completed, history.pending, history.failed)] == [0, 0, 0]
    assert history.completed.units.shape == (0, 4)
    assert history.unit_gradients(np.array([], dtype=int)).shape == (0, 4)
    assert history.unit_hessians(np.array([], dtype=int)).shape == (0, 4, 4)


def test_trials_are_grouped_by_state() -> None:
    outcomes = [State.WAITING, told(1.0), State.RUNNING, failure("x"), State.LOST, State.CANCELLED, told(2.0)]
    history = history_of(SPACE, [(A if i % 2 else B, outcome) for i, outcome in enumerate(outcomes)])
    assert history.completed.numbers.tolist() == [1, 6]
    assert history.pending.numbers.tolist() == [0, 2]
    assert history.failed.numbers.tolist() == [3]
    assert history.count(State.LOST, State.CANCELLED) == 2
    assert [list(State)[code] for code in history.states] == [
        State.WAITING, State.COMPLETED, State.RUNNING, State.FAILED, State.LOST, State.CANCELLED, State.COMPLETED,
    ]  # fmt: skip
    assert np.isnan(history.values).tolist() == [True, False, True, True, True, True, False]


def test_points_are_rows_units_and_activity() -> None:
    completed = history_of(SPACE, [(A, told(1.0)), (A, State.RUNNING), (B, told(2.0))]).completed
    rows = np.array([SPACE.row(A), SPACE.row(B)])
    units, active = SPACE.codec.encode(rows)
    np.testing.assert_array_equal(completed.rows, rows)
    np.testing.assert_array_equal(completed.units, units)
    np.testing.assert_array_equal(completed.active, active)
    assert active.tolist() == [[True, True, True, False], [True] * 4]


def test_lower_is_better_whatever_the_direction() -> None:
    trials = [(A, told(1.0)), (A, told(3.0)), (A, told(2.0))]
    low, high = history_of(SPACE, trials), history_of(SPACE, trials, sign=-1.0)
    assert low.values.tolist() == [1.0, 3.0, 2.0]
    assert high.values.tolist() == [-1.0, -3.0, -2.0]
    assert (low.best(), high.best()) == (0, 1)


def test_the_best_trial_completed_is_feasible_and_comes_first_among_equals() -> None:
    trials = [
        (A, failure("broken")),
        (A, told(-5.0, constraints={"memory": 0.1, "time": -9.0})),
        (A, told(2.0, constraints={"memory": 0.0})),
        (A, told(1.0, constraints={"memory": -1.0, "time": -1e-9})),
        (A, told(1.0)),
        (A, told(9.0, constraints={})),
        (A, State.RUNNING),
    ]
    history = history_of(SPACE, trials)
    assert history.best() == 3
    assert history.violations.tolist() == [0.0, 0.1, 0.0, -1e-9, 0.0, 0.0, 0.0]
    assert history_of(SPACE, trials, sign=-1.0).best() == 5
    assert history_of(SPACE, trials[:2]).best() is None


def test_noise_is_found_where_a_configuration_has_another_value() -> None:
    history = history_of(
        SPACE, [(A, told(1.0)), (B, told(2.0)), (A, told(1.0)), (B, failure("why")), (B, State.RUNNING)]
    )
    assert not history.noise_found
    assert not history.noise_found
    history.update(Changes(9, [changed(4, SPACE.row(B), told(2.5), 9)]))
    assert history.noise_found
    history.update(Changes(10, [changed(5, SPACE.row(B), told(2.5), 10)]))
    assert history.noise_found  # it does not go away
    assert not history.noisy


def test_rounding_errors_are_no_noise() -> None:
    assert not history_of(SPACE, [(A, told(0.3)), (A, told(0.1 + 0.2))]).noise_found
    assert history_of(SPACE, [(A, told(0.3)), (A, told(0.3 + 1e-6))]).noise_found


def test_failures_are_no_noise() -> None:
    assert not history_of(SPACE, [(A, failure("why")), (A, told(0.3)), (A, failure("why"))]).noise_found


def test_noise_is_declared_or_not() -> None:
    history = history_of(SPACE, [(A, told(1.0, noise=0.5)), (A, told(1.0, noise=0.0)), (A, told(1.0))])
    np.testing.assert_array_equal(history.noise, [0.5, 0.0, math.nan])
    assert history.noisy
    assert not history_of(SPACE, [(A, told(1.0, noise=0.0)), (A, told(1.0))]).noisy


def test_a_lattice_point_is_known_in_whatever_state_its_trial_is() -> None:
    first = {"n": 3, "f": 0.75, "on": False}
    second = {"n": 3, "f": 0.75, "on": True, "c": 0}
    history = history_of(LATTICE, [(first, State.LOST)])
    assert history.contains(LATTICE.row(first))
    assert not history.contains(LATTICE.row(second))
    history.update(Changes(2, [changed(1, LATTICE.row(second), failure("x"))]))
    assert history.contains(LATTICE.row(second))
    assert history.contains(LATTICE.row({"n": 3.0, "f": 0.5 + 0.25, "on": 0}))
    assert not history.contains(LATTICE.row({"n": 4, "f": 0.75, "on": False}))


def test_a_point_with_a_continuous_entry_is_never_known() -> None:
    space = Space(x=Float(0, 1, when={"on": True}), on=Bool(), fixed=Float(2, 2))
    history = history_of(
        space, [({"x": 0.5, "on": True, "fixed": 2}, State.RUNNING), ({"on": False, "fixed": 2}, told(1.0))]
    )
    assert not history.contains(space.row({"x": 0.5, "on": True, "fixed": 2}))
    assert history.contains(space.row({"on": False, "fixed": 2}))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_derivatives_are_in_units_of_the_cube_and_lower_is_better(sign: float) -> None:
    gradient, hessian = (
        {"x": 2.0, "rate": 3.0, "n": 5.0},
        {"x": {"x": 7.0, "rate": 11.0, "n": 1.0}, "rate": {"rate": 13.0}},
    )
    history = history_of(
        SPACE, [(A, State.RUNNING), (B, told(1.0, gradient=gradient, hessian=hessian)), (B, told(1.0))], sign=sign
    )
    wide, log, steps = 4.0, 0.01 * math.log(1e3), 8.0  # dx/du of x, rate, n at B
    gradients = history.unit_gradients(np.array([1, 2]))
    np.testing.assert_allclose(gradients[0], [sign * 2 * wide, sign * 3 * log, math.nan, sign * 5 * steps])
    assert np.isnan(gradients[1]).all()
    hessians = history.unit_hessians(np.array([1, 2]))
    nan = math.nan
    curved = 13 * log**2 + 3 * 0.01 * math.log(1e3) ** 2
    np.testing.assert_allclose(
        sign * hessians[0],
        [
            [7 * wide**2, 11 * wide * log, nan, wide * steps],
            [11 * wide * log, curved, nan, nan],
            [nan, nan, nan, nan],
            [wide * steps, nan, nan, nan],
        ],
    )
    assert np.isnan(hessians[1]).all()


def test_derivatives_of_inactive_parameters_are_dropped() -> None:
    history = history_of(SPACE, [(A, told(1.0, gradient=[1, 1, 0, 9], hessian=np.ones((4, 4))))])
    assert np.isnan(history.unit_gradients(np.array([0]))[0]).tolist() == [False, False, True, True]
    assert np.isnan(history.unit_hessians(np.array([0]))[0]).tolist() == [
        [False, False, True, True], [False, False, True, True], [True] * 4, [True] * 4,
    ]  # fmt: skip


_ROWS = [SPACE.row(A), SPACE.row(B), SPACE.row(B | {"x": -0.5})]
_RESULTS = st.one_of(
    st.builds(failure, st.just("why")),
    st.floats(-9, 9).map(told),
    st.builds(
        lambda value, partial, level, noise: told(
            value, gradient={"x": partial}, hessian={"rate": {"x": partial}}, constraints={"m": level}, noise=noise
        ),
        st.floats(-9, 9), st.floats(-9, 9), st.floats(-1, 1), st.floats(0, 1),
    ),
)  # fmt: skip


@st.composite
def lives(draw: st.DrawFn) -> list[Row]:
    """What happens in a study, one change after the other: new trials, and legal transitions of old ones."""
    now: list[tuple[int, State]] = []  # row and state of every trial
    events: list[Row] = []
    for _ in range(draw(st.integers(0, 40))):
        number = draw(st.integers(0, len(now)))
        if number == len(now):
            now.append((draw(st.integers(0, len(_ROWS) - 1)), State.WAITING))
            outcome: State | Outcome = draw(st.sampled_from([State.WAITING, State.RUNNING]))
        else:
            legal = [state for state in State if now[number][1].may_become(state)]
            if not legal:
                continue
            outcome = draw(st.sampled_from(legal))
            if outcome.finished:
                outcome = draw(_RESULTS)
        state = outcome.state if isinstance(outcome, Outcome) else outcome
        now[number] = (now[number][0], state)
        events.append(changed(number, _ROWS[now[number][0]], outcome, len(events) + 1))
    return events


@examples(100)
@given(lives(), st.data(), st.sampled_from([1.0, -1.0]))
def test_many_small_updates_equal_one_large_update(events: list[Row], data: st.DataObject, sign: float) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=6)))
    gradual, once = History(SPACE, sign), History(SPACE, sign)
    for start, stop in zip([0, *cuts], [*cuts, len(events)], strict=True):
        latest = {event[0]: event for event in events[start:stop]}  # storage tells of each trial as it is now
        gradual.update(Changes(stop, list(latest.values())))
        summary(gradual)  # whatever is cached on the way must not survive a change
    once.update(Changes(len(events), list({event[0]: event for event in events}.values())))
    assert gradual.revision == once.revision == len(events)
    assert summary(gradual) == summary(once)


def summary(history: History) -> list[Any]:
    """Everything a strategy can see, in a form in which NaN equals NaN."""
    everything = np.arange(len(history))
    arrays = [
        history.states, history.values, history.noise, history.violations, history.unit_gradients(everything),
        history.unit_hessians(everything),
    ]  # fmt: skip
    for points in (history.completed, history.pending, history.failed):
        arrays += [points.numbers, points.rows, points.units, points.active]
    told_of = (history.gradients, history.hessians, history.constraints)
    seen = [history.contains(row) for row in _ROWS]
    return [
        *map(repr_of, arrays),
        *map(dict, told_of),
        seen,
        history.best(),
        history.noisy,
        history.noise_found,
        len(history),
    ]


def repr_of(array: Any) -> tuple[Any, ...]:
    return array.shape, repr(array.tolist())


def test_results_arrive_in_the_order_of_their_revisions() -> None:
    history = history_of(SPACE, [(A, State.RUNNING)] * 4)
    row = SPACE.row(A)
    history.update(Changes(6, [changed(2, row, told(1.0), 5), changed(3, row, failure("x"), 6)]))
    assert history.arrivals.tolist() == [2, 3]
    history.update(Changes(7, [changed(0, row, told(2.0), 7)]))
    assert history.arrivals.tolist() == [2, 3, 0]


def test_a_history_grows_beyond_its_first_allocation() -> None:
    history = History(SPACE)
    for start in range(0, 1000, 10):
        rows = [
            changed(number, SPACE.row(A | {"x": number / 1000}), told(number)) for number in range(start, start + 10)
        ]
        history.update(Changes(start, rows))
        assert len(history.completed) == start + 10
    assert history.values.tolist() == list(range(1000))
    assert history.completed.rows[:, 0].tolist() == [number / 1000 for number in range(1000)]
    assert history.best() == 0


def test_an_older_revision_does_not_lower_the_revision() -> None:
    history = history_of(SPACE, [(A, State.RUNNING)])
    history.update(Changes(7, []))
    history.update(Changes(3, [changed(0, SPACE.row(A), told(1.0))]))
    assert history.revision == 7
    assert history.best() == 0
