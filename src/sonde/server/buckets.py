"""A limit on how often something may happen."""

from __future__ import annotations

import time


class Bucket:
    """So many per second, and as many at once after a second of silence."""

    def __init__(self, rate: float) -> None:
        self._rate, self._left, self._at = rate, rate, time.monotonic()

    def wait(self) -> float:
        """Return the seconds until there is one to take; 0 if there is one now."""
        now = time.monotonic()
        self._left = min(self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (1 - self._left) / self._rate)

    def take(self) -> float:
        """Take one; return 0, or the seconds to wait if there is none."""
        wait = self.wait()
        if wait == 0:
            self._left -= 1
        return wait
