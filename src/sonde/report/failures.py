"""Failed trials by reason, and the part of the space where most of them are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Integers, Mask
from sonde.html import cut
from sonde.plots.axes import axis_of
from sonde.space import Space
from sonde.space.choices import label
from sonde.trials import State, Trial
from sonde.trials.reason import kind, one_line

CHI_SQUARED = 20.0  # of a region beyond which it is no chance: one in 10^5, for the best of many thresholds
MOST = 2000  # trials on which a region is looked for, evenly spaced


class Reason(NamedTuple):
    """Failures whose reasons differ in numbers only: the first of them in one line, and all of the trials."""

    text: str
    trials: list[Trial]


class Region(NamedTuple):
    """A half of one parameter's range, or one of its choices; how many of its trials failed, and how many there are."""

    where: str
    failed: int
    trials: int


def reasons_of(trials: Sequence[Trial]) -> list[Reason]:
    """Return the reasons of failures, the most frequent first."""
    groups: dict[str, Reason] = {}
    for trial in trials:
        if trial.state is State.FAILED:
            text = one_line(trial.error or "") or "no reason was given"
            groups.setdefault(kind(text), Reason(text, [])).trials.append(trial)
    return sorted(groups.values(), key=lambda reason: -len(reason.trials))


def region_of(space: Space, rows: Array, failed: Mask) -> Region | None:
    """Return where trials fail more often than elsewhere: the best split by one parameter; None where it is chance."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST)).astype(int))
    best, found = CHI_SQUARED, None
    for column, name in enumerate(space.names):
        for where, inside in _splits(space, name, rows[chosen, column]):
            worth = _chi_squared(inside, failed[chosen])
            if worth > best:
                best, found = worth, (column, where, inside)
    if found is None:
        return None
    column, where, inside = found
    return Region(where, int(np.sum(inside & failed[chosen])), int(np.sum(inside)))


def _splits(space: Space, name: str, values: Array) -> list[tuple[str, Mask]]:
    """Return the parts of a parameter's range: beyond each value, or each choice."""
    known = np.unique(values[~np.isnan(values)])
    if not space[name].ordered:
        return [(f"{cut(name)} = {label(space[name].value(number))}", values == number) for number in known.tolist()]
    between = _between(known, log=axis_of(space, name).log).tolist()
    above = [(f"{cut(name)} above {value:.4g}", values > value) for value in between]
    return above + [(f"{cut(name)} below {value:.4g}", values < value) for value in between]


def _between(known: Array, *, log: bool) -> Array:
    """Return the middles between neighbouring values."""
    scaled = np.log(known) if log else known
    middles = (scaled[1:] + scaled[:-1]) / 2
    return np.asarray(np.exp(middles) if log else middles)


def _chi_squared(inside: Mask, failed: Mask) -> float:
    """Return chi-squared of a part of the trials in which more fail than elsewhere; 0 where fewer do."""
    count, within, failures = len(failed), int(inside.sum()), int(failed.sum())
    both = int(np.sum(inside & failed))
    spread = within * (count - within) * failures * (count - failures)
    excess = both * count - within * failures
    return count * excess**2 / spread if spread and excess > 0 else 0.0


def ended(states: Integers) -> Mask:
    """Return which trials have completed or failed."""
    order = list(State)
    return np.isin(states, [order.index(State.COMPLETED), order.index(State.FAILED)])
