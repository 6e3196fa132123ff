"""The life of a trial.

::

    waiting ──ask──> running ──tell──> completed | failed
       │                │ └─ lease ended ──> lost ──late tell──> completed | failed
       └──── cancel ────┴──> cancelled

A lost trial's configuration goes back to the queue as a new waiting trial, once.
"""

from __future__ import annotations

import enum


class State(enum.StrEnum):
    """Where a trial is; compares equal to its lower-case name."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        """Whether a result was told."""
        return self in (State.COMPLETED, State.FAILED)

    def may_become(self, other: State) -> bool:
        """Whether the transition is legal."""
        return other in _LEGAL[self]


_LEGAL: dict[State, frozenset[State]] = {
    State.WAITING: frozenset({State.RUNNING, State.CANCELLED}),
    State.RUNNING: frozenset({State.COMPLETED, State.FAILED, State.LOST, State.CANCELLED}),
    State.LOST: frozenset({State.COMPLETED, State.FAILED}),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
