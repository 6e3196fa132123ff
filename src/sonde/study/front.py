"""The trials of several objectives that no other trial dominates, their hypervolume, and one of them for a preference.

Symbols: n trials, K objectives; values are signed so that lower is better, and hypervolumes are of their negatives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.errors import NoResult, OptionError
from sonde.pareto.fronts import non_dominated
from sonde.pareto.hypervolume import hypervolume, reference_point
from sonde.space.parameters import as_float
from sonde.trials import History, State

SUM = 0.05  # share of the sum in the augmented Chebyshev distance: of equals in the worst objective it prefers the best


def front(history: History, among: Integers | None = None) -> Integers:
    """Return the numbers of the usable trials that no other one dominates; of equal ones the first.

    A trial is usable if it has completed and meets its measured constraints. ``among`` are the numbers considered; the
    default is all.
    """
    done = (history.states == list(State).index(State.COMPLETED)) & history.feasible
    numbers = np.flatnonzero(done) if among is None else np.sort(among[done[among]])
    numbers = numbers[non_dominated(-history.outcomes[numbers])]
    outcomes = history.outcomes[numbers]
    return np.sort(numbers[np.unique(outcomes, axis=0, return_index=True)[1]])


class Front:
    """The front of a growing history. A new result is compared with the front only, not with all results."""

    def __init__(self) -> None:
        self._numbers: Integers = np.zeros(0, dtype=np.int64)
        self._seen = 0

    def numbers(self, history: History) -> Integers:
        """Return the front of all results so far."""
        new = history.arrivals[self._seen :]
        if len(new):
            self._numbers = front(history, np.concatenate([self._numbers, new]))
            self._seen += len(new)
        return self._numbers


def hypervolume_of(history: History, reference: Any = None) -> float:
    """Return the hypervolume of the front above a reference point in the units of the objectives."""
    outcomes = history.outcomes[front(history)]
    if not len(outcomes):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        volume = hypervolume(-outcomes, reference_of(history, reference))
    return math.inf if math.isnan(volume) else volume  # differences of huge values are infinite


def reference_of(history: History, reference: Any = None) -> Array:
    """Return a reference point (K,), higher is better: as given, else the thresholds, else a little below the front."""
    if reference is not None:
        return np.asarray(-history.objectives.signs * _one_for_each(reference, history))
    limits = -history.objectives.thresholds
    outcomes = -history.outcomes[front(history)]
    return np.where(np.isnan(limits), reference_point(outcomes) if len(outcomes) else limits, limits)


def preferred(history: History, weights: Mapping[str, float]) -> int:
    """Return the number of the trial on the front that is nearest to the best values, each in weighted ranges.

    The distance is the augmented Chebyshev distance (Steuer and Choo 1983) in ranges of the front, so weights say how
    much an objective matters, whatever its units. If trials of the front are within all thresholds, the others do not
    count.
    """
    shares = _shares(weights, history)
    numbers = front(history)
    if not len(numbers):
        raise NoResult("the front is empty: no trial that meets its constraints has completed")
    within = ~np.any(history.outcomes[numbers] > history.objectives.thresholds, axis=1)  # a threshold may be NaN
    numbers = numbers[within] if within.any() else numbers
    outcomes = history.outcomes[numbers] / 2  # the range of huge values is finite
    low, ranges = outcomes.min(axis=0), np.ptp(outcomes, axis=0)
    distances = shares * (outcomes - low) / np.where(ranges > 0, ranges, 1.0)
    return int(numbers[np.argmin(distances.max(axis=1) + SUM * distances.sum(axis=1))])


def _shares(weights: Any, history: History) -> Array:
    names = history.objectives.names
    if not history.objectives.several:
        raise OptionError("weights= is for several objectives; this study has one: leave it out")
    if not isinstance(weights, Mapping) or not weights:
        raise OptionError(f"weights must be a dict of numbers by objective ({', '.join(names)}), got {weights!r}")
    shares = np.zeros(len(names))
    for name, weight in weights.items():
        number = as_float(weight)
        if number is None or not math.isfinite(number) or number < 0:
            raise OptionError(f"the weight of {name!r} must be a number, zero or more, got {weight!r}")
        shares[history.objectives.index(name)] = number
    if not shares.any():
        raise OptionError(f"weights must have a positive number at least, got {dict(weights)!r}")
    return np.asarray(shares / shares.sum())


def _one_for_each(reference: Any, history: History) -> Array:
    names = history.objectives.names
    if isinstance(reference, Mapping):
        unknown = [name for name in reference if name not in names]
        missing = [name for name in names if name not in reference]
        if unknown or missing:
            raise OptionError(f"reference needs a number for each of {', '.join(names)}, got {reference!r}")
        reference = [reference[name] for name in names]
    numbers = [as_float(each) for each in reference] if isinstance(reference, Sequence | np.ndarray) else []
    if len(numbers) != len(names) or any(number is None or not math.isfinite(number) for number in numbers):
        raise OptionError(f"reference needs a finite number for each of {', '.join(names)}, got {reference!r}")
    return np.array(numbers, dtype=float)
