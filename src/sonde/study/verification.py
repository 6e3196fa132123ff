"""What ``Study.verify`` has found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-6  # of the unit cube: another processor rounds otherwise


@dataclass(frozen=True)
class Verification:
    """What a replay of a study has found.

    ``checked`` suggestions are those of the strategy, and ``unchecked`` could not be checked. ``others`` are the
    trials that have no record of a suggestion. ``deviates`` is the number of the first trial whose suggestion is not
    the strategy's, or None; nothing after it was checked. ``distance`` is the largest between a stored configuration
    and the computed one, in units of the cube: rounding, or how far the trial that deviates is away; it is infinite if
    a choice differs.
    """

    strategy: str
    checked: int = 0
    unchecked: int = 0
    others: int = 0
    deviates: int | None = None
    distance: float = 0.0
    reasons: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every suggestion was checked and is the strategy's."""
        return self.deviates is None and not self.unchecked and (self.checked > 0 or not self.others)

    def document(self) -> dict[str, Any]:
        """Return it as JSON-able data; an infinite distance is None."""
        distance = self.distance if math.isfinite(self.distance) else None
        return {**vars(self), "ok": self.ok, "distance": distance, "reasons": list(self.reasons)}

    def __str__(self) -> str:
        return "\n".join([self._verdict(), *self.reasons, *self._rest()])

    def _verdict(self) -> str:
        if self.deviates is not None:
            before = f"; the {_suggestions(self.checked)} before it agree" if self.checked else ""
            return f"DEVIATES: from trial {self.deviates} on, the study is not what {self.strategy} suggests{before}."
        if not self.checked and (self.unchecked or self.others):
            return "NOT CHECKED: no suggestion of this study can be checked."
        verdict = "VERIFIED" if self.ok else "NOT FULLY CHECKED"
        return (
            f"{verdict}: {_suggestions(self.checked)} replayed, each is what {self.strategy} suggests{self._close()}."
        )

    def _close(self) -> str:
        return f" (to {self.distance:.1g} of the unit cube)" if self.distance else ""

    def _rest(self) -> list[str]:
        if not self.others:
            return []
        kinds = "enqueued, added, retried or told without an ask, or are of a version that kept no record"
        return [f"{self.others} other trials have no record of a suggestion: they were {kinds}."]


def _suggestions(number: int) -> str:
    return "1 suggestion" if number == 1 else f"{number:,} suggestions"
