"""The states of a trial and the allowed transitions.

::

    waiting ──ask──> running ──tell──> completed | failed
       │                │ └─ lease ended ──> lost ──late tell──> completed | failed
       └──── cancel ────┴──> cancelled

The configuration of a lost trial is queued again once, as a new waiting trial.
"""

from __future__ import annotations

import enum


class State(enum.StrEnum):
    """The state of a trial; compares equal to its lower-case name."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        """Whether the trial has a result."""
        return self in (State.COMPLETED, State.FAILED)

    def may_become(self, other: State) -> bool:
        """Whether the transition is allowed."""
        return other in _ALLOWED.get(self, ())


_ALLOWED: dict[State, frozenset[State]] = {
    State.WAITING: frozenset({State.RUNNING, State.CANCELLED}),
    State.RUNNING: frozenset({State.COMPLETED, State.FAILED, State.LOST, State.CANCELLED}),
    State.LOST: frozenset({State.COMPLETED, State.FAILED}),
}
