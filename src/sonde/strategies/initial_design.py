"""When a model has enough to learn from; until then trials are spread evenly."""

from __future__ import annotations

from sonde.space import Space
from sonde.trials import History


def ready(history: History, first: int) -> bool:
    """Whether there is enough to learn from, after so many first trials."""
    return len(history.completed) >= 2 and len(history) >= first


def first_count(space: Space) -> int:
    """Return how many first trials are spread evenly."""
    return max(4, min(10, 2 * len(space)))
