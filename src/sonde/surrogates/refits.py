"""When models are refitted: at checkpoints of a growing history, which depend on its length alone.

Checkpoints are 8, 10, 12, 14, 16, 20, ... results: each octave, from one power of two to the next, is divided into four
parts, beyond 256 into eight. So a process that opens a study fits what the process that ran it has fitted, and a
long-running one pays for a full fit only when the history has grown by a quarter (by an eighth, beyond 256).
"""

from __future__ import annotations

FIRST = 8
FOLLOWED = 256  # up to here the hyperparameters follow every value


def checkpoint(count: int) -> int:
    """Return the last checkpoint up to ``count`` values; 0 before the first."""
    if count < FIRST:
        return 0
    before, parts = octave(count), divisions(count)
    return before + (count - before) * parts // before * before // parts


def octave(count: int) -> int:
    """Return the power of two at or below ``count``; 0 for 0."""
    return 1 << int(count).bit_length() - 1 if count else 0


def divisions(count: int) -> int:
    """Return into how many parts checkpoints divide the way from one power of two to the next."""
    return 4 if count < FOLLOWED else 8
