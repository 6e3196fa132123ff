"""The states of a trial and the allowed transitions.

::

    waiting ──ask──> running ──tell──> completed | failed | stopped
       │                │ └─ lease ended ──> lost ──late tell──> completed | failed | stopped
       └──── cancel ────┴──> cancelled

A stopped trial ended early because of its learning curve. The configuration of a lost trial is queued again once, as a
new waiting trial.
"""

from __future__ import annotations

import enum


class State(enum.StrEnum):
    """The state of a trial; compares equal to its lower-case name."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        """Whether the trial has a result."""
        return self in ENDED

    def may_become(self, other: State) -> bool:
        """Whether the transition is allowed."""
        return other in _ALLOWED.get(self, ())


ENDED = (State.COMPLETED, State.FAILED, State.STOPPED)

_ALLOWED: dict[State, frozenset[State]] = {
    State.WAITING: frozenset({State.RUNNING, State.CANCELLED}),
    State.RUNNING: frozenset({*ENDED, State.LOST, State.CANCELLED}),
    State.LOST: frozenset(ENDED),
}
