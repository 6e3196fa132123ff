"""The refit schedule: models are refitted at checkpoints, which depend on the number of observations alone.

Checkpoints are 8, 10, 12, 14, 16, 20, ... observations: each octave, from one power of two to the next, is divided into
four parts, beyond 256 into eight. So a process that opens a study makes the same fits as the process that ran it, and a
long-running process pays for a full fit only when the history has grown by a quarter (by an eighth, beyond 256).
"""

from __future__ import annotations

FIRST = 8  # the first checkpoint
REFINED = 256  # up to so many observations, hyperparameters are also refined between checkpoints


def checkpoint(count: int) -> int:
    """Return the last checkpoint at or before ``count`` observations; 0 before the first."""
    if count < FIRST:
        return 0
    before, parts = octave(count), divisions(count)
    return before + (count - before) * parts // before * before // parts


def octave(count: int) -> int:
    """Return the power of two at or below ``count``; 0 for 0."""
    return 1 << int(count).bit_length() - 1 if count else 0


def divisions(count: int) -> int:
    """Return into how many parts checkpoints divide the octave of ``count``."""
    return 4 if count < REFINED else 8
