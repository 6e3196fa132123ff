"""When to give up: trials that fail alike, one after the other, before any has completed, are most likely a mistake.

A mistyped parameter fails in every configuration; two hundred trials of it teach nothing that ten do not.
"""

from __future__ import annotations

import re

from sonde.trials import State, Trial
from sonde.trials.reason import one_line

FAILURES = 10  # in a row


class FailuresAlike:
    """Counts how many trials of a run have failed in a row for one reason, numbers in it aside."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._kind = ""
        self._count = 0
        self.reason = ""

    def note(self, told: Trial) -> None:
        """Take notice of a result, in the order in which they come."""
        self.reason = one_line(told.error or "")
        kind = re.sub(r"[0-9]+", "#", self.reason)
        alike = told.state is State.FAILED and kind == self._kind
        self._count = self._count + 1 if alike else int(told.state is State.FAILED)
        self._kind = kind

    @property
    def too_many(self) -> bool:
        """Whether it is time to give up, if nothing has completed."""
        return self._most is not None and self._count >= self._most

    def __str__(self) -> str:
        return f"{self._count} trials in a row failed alike and none has completed: {self.reason}"
