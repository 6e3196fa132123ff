"""Drawings of a history as SVG, for notebooks: the best so far, or the plane of the first two objectives."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.html import chart, escaped, sparkline
from sonde.trials import History, State

LARGE = (640, 200)
SMALL = (150, 110)  # of a plane


def small(history: History) -> str:
    """Return the best value so far as a line; of several objectives, the trials in the plane of the first two."""
    if not history.objectives.several:
        return sparkline(best_so_far(history))
    first, second = _plane(history)
    return chart(first, points=second, size=SMALL, what=_axes(history))


def large(history: History) -> str:
    """Return the value of each trial and the best so far, or the plane, with its range in words."""
    if history.objectives.several:
        first, second = _plane(history)
        return _labelled(chart(first, points=second, size=LARGE, what=_axes(history)), _axes(history), second)
    values, what = history.sign * history.values, "value of each trial, and the best so far"
    drawn = chart(np.arange(len(values)), line=best_so_far(history), points=values, size=LARGE, what=what)
    return _labelled(drawn, what, values)


def best_so_far(history: History) -> Array:
    """Return the best usable value up to each trial, NaN before the first."""
    usable = history.feasible & (history.states == list(State).index(State.COMPLETED))
    best = np.minimum.accumulate(np.where(usable, history.values, np.inf)) if len(history) else np.zeros(0)
    return history.sign * np.where(np.isfinite(best), best, np.nan)


def _plane(history: History) -> tuple[Array, Array]:
    """Return the values of the first two objectives, by the first."""
    first, second = (history.objectives.signs * history.outcomes)[:, :2].T
    order = np.argsort(first, kind="stable")
    return first[order], second[order]


def _axes(history: History) -> str:
    first, second = history.objectives.names[:2]
    return f"{second} (up) over {first} (right)"


def _labelled(drawn: str, what: str, values: Any) -> str:
    finite = values[np.isfinite(values)]
    if not drawn:
        return "<i>no result yet</i>"
    ends = f"; from {finite.min():.6g} to {finite.max():.6g}"
    return (
        f'<div style="font-family:system-ui,sans-serif">{drawn}'
        f'<div style="opacity:.7;font-size:12px" dir="auto">{escaped(what + ends)}</div></div>'
    )
