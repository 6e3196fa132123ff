"""The initial design: how many space-filling trials come before the first surrogate."""

from __future__ import annotations

from sonde.space import Space
from sonde.trials import History


def ready(history: History, first: int) -> bool:
    """Whether a surrogate can be fitted: the ``first`` trials are made and at least two completed."""
    return len(history.completed) >= 2 and len(history) >= first


def first_count(space: Space) -> int:
    """Return the size of the initial design: two trials for each parameter, at least 4 and at most 10."""
    return max(4, min(10, 2 * len(space)))


def explain_initial_design(first: int) -> str:
    """Say what a strategy does before the first surrogate."""
    return f"spreads the first {first} configurations evenly: too few results to fit a model"
