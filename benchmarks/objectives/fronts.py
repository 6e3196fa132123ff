"""Fronts of values to be minimized, in units in which the reference point is 1: their hypervolume, and as text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def front(y: Array) -> Array:
    """Return the non-dominated points inside the reference point, each once, sorted."""
    inside = np.unique(y[np.all(y < 1, axis=1)], axis=0)
    kept: list[Array] = []
    for point in inside:  # sorted: no later point dominates an earlier one
        if not any(np.all(other <= point) for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, y.shape[1])


def hypervolume(y: Array) -> float:
    """Return the volume that points dominate up to the reference point."""
    from sonde.pareto.hypervolume import hypervolume

    own = front(y)
    return float(hypervolume(-own, np.full(y.shape[1], -1.0))) if len(own) else 0.0


def pack(y: Array) -> str:
    """Return points as one cell."""
    return "/".join(" ".join(f"{value:.9g}" for value in point) for point in y)


def unpack(text: str) -> Array:
    """Return the points of a cell."""
    return np.array([[float(value) for value in point.split()] for point in text.split("/") if point])


def union(texts: Iterable[str]) -> Array:
    """Return the front of several cells."""
    parts = [unpack(text) for text in texts if text]
    return front(np.concatenate(parts)) if parts else np.empty((0, 1))
