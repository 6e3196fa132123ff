from __future__ import annotations

import itertools

from sonde.trials import State

LEGAL = {
    ("waiting", "running"), ("waiting", "cancelled"),
    ("running", "completed"), ("running", "failed"), ("running", "stopped"), ("running", "lost"),
    ("running", "cancelled"), ("lost", "completed"), ("lost", "failed"), ("lost", "stopped"),
}  # fmt: skip


def test_exactly_these_transitions_are_allowed() -> None:
    pairs = itertools.product(State, State)
    assert {(one.value, other.value) for one, other in pairs if one.may_become(other)} == LEGAL


def test_a_finished_trial_is_one_with_a_result_and_stays() -> None:
    assert {state for state in State if state.finished} == {State.COMPLETED, State.FAILED, State.STOPPED}
    assert not any(state.may_become(other) for state in State if state.finished for other in State)


def test_a_state_equals_its_name() -> None:
    names = ["waiting", "running", "completed", "failed", "stopped", "lost", "cancelled"]
    assert [str(state) for state in State] == names
    assert State("lost") is State.LOST
    assert State.LOST == "lost"
