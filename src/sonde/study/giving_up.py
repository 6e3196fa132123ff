"""When a run gives up: many trials in a row fail for the same reason, and none has completed.

That is most likely a mistake in the objective, such as a mistyped name, which fails in every configuration.
"""

from __future__ import annotations

import re

from sonde.trials import State, Trial
from sonde.trials.reason import one_line

FAILURES = 10  # in a row


class RepeatedFailures:
    """Counts how many trials in a row have failed for the same reason; numbers in the reason do not count."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._kind = ""
        self._count = 0
        self.reason = ""

    def note(self, told: Trial) -> None:
        """Count a result; call it in the order in which results arrive."""
        self.reason = one_line(told.error or "")
        kind = re.sub(r"[0-9]+", "#", self.reason)
        same = told.state is State.FAILED and kind == self._kind
        self._count = self._count + 1 if same else int(told.state is State.FAILED)
        self._kind = kind

    @property
    def too_many(self) -> bool:
        """Whether to give up, if no trial has completed."""
        return self._most is not None and self._count >= self._most

    def __str__(self) -> str:
        return f"{self._count} trials in a row failed for the same reason and none has completed: {self.reason}"
