"""Bounds of the space that hold the best trials back: it should be wider there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.arrays import Integers, Mask
from sonde.html import cut
from sonde.space import Space
from sonde.space.axis import Axis
from sonde.trials import History

BEST_SHARE = 0.1  # of the usable trials that count as the best ones
FEWEST, MOST = 5, 20  # of them
EDGE = 0.02  # of a continuous scale that counts as its end
SHARE = 0.5  # of the best trials that must lie there
LITTLE = 0.01  # of the distance from the median to the best value: a gain that counts
LATTICE = 3  # values that a lattice must have for its end to say something


def usable(history: History) -> Integers:
    """Return the numbers of the measured trials that meet their constraints."""
    done = history.measured.numbers
    return np.asarray(done[history.feasible[done]])


def best_ones(history: History) -> Integers:
    """Return the numbers of the best trials of one objective, the best first."""
    known = usable(history)
    count = int(np.clip(BEST_SHARE * len(known), FEWEST, MOST))
    return np.asarray(known[np.argsort(history.values[known], kind="stable")[:count]])


def at_bounds(space: Space, history: History, top: Integers) -> Iterator[str]:
    """Name the bounds at which the best trial and half of the best ones lie, seldom the others, and no others as good.

    Where trials far from a bound are as good, values do not depend on that parameter there.
    """
    known = usable(history)
    if len(known) < 2 * len(top):
        return
    others = np.setdiff1d(known, top)
    for column, (name, axis) in enumerate(zip(space.names, space.codec.axes, strict=True)):
        if not space[name].ordered or axis.size < LATTICE:
            continue
        for upper in (False, True):
            held = _at_end(history, top, column, axis, upper)
            rest = _at_end(history, others, column, axis, upper)
            if len(held) < 3 or not held[0] or held.mean() < max(SHARE, rest.mean()) or held.mean() == rest.mean():
                continue
            if history.objectives.several or _pays(history, known, top[0], column, axis, upper):
                yield _sentence(history, name, axis, held, upper)


def _pays(history: History, known: Integers, best: int, column: int, axis: Axis, upper: bool) -> bool:
    """Whether the best trial is better than those that are not at a bound."""
    active = known[~np.isnan(history.rows[known, column])]
    away = history.values[active[~_at_end(history, active, column, axis, upper)]]
    gain = float(np.min(away, initial=np.inf)) - float(history.values[best])
    return gain > LITTLE * (float(np.median(history.values[known])) - float(history.values[best]))


def _at_end(history: History, numbers: Integers, column: int, axis: Axis, upper: bool) -> Mask:
    """Return which of these trials, those where the parameter is active, have it at one end of its range."""
    values = history.rows[numbers, column]
    values = values[~np.isnan(values)]
    if not axis.continuous:
        return np.asarray(values == axis.point(axis.size - 1 if upper else 0))
    units = axis.to_unit(values)
    return np.asarray(units >= 1 - EDGE if upper else units <= EDGE)


def _sentence(history: History, name: str, axis: Axis, held: Mask, upper: bool) -> str:
    bound = axis.point(axis.size - 1) if upper and not axis.continuous else axis.high if upper else axis.low
    side, beyond = ("upper", "larger") if upper else ("lower", "smaller")
    scale = "logarithmic scale" if axis.log else "range"
    near = f", or within {EDGE:.0%} of its {scale} from it" if axis.continuous else ""
    those = "trials of the front" if history.objectives.several else "best trials"
    return (
        f"{int(held.sum())} of the {len(held)} {those} have {cut(name)} at its {side} bound {bound:.6g}{near}: "
        f"widen it, if {beyond} values are possible."
    )
