"""Many trials as groups of consecutive ones: nothing is left out, and a browser has little to draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Integers

MANY = 5_000  # points above which a figure shows groups
GROUPS = 500


class Groups(NamedTuple):
    """The lowest, median and highest value of each group, NaN where it has none; the index of its middle."""

    middle: Integers
    low: Array
    median: Array
    high: Array


def grouped(values: Array, groups: int = GROUPS) -> Groups:
    """Return consecutive values in groups of about equal size."""
    edges = np.linspace(0, len(values), groups + 1).astype(np.int64)
    parts = [part[~np.isnan(part)] for part in np.split(values, edges[1:-1])]
    full = [i for i, part in enumerate(parts) if len(part)]
    kept = [parts[i] for i in full]
    middle = (edges[:-1] + edges[1:])[full] // 2
    low, median, high = (np.array([function(part) for part in kept]) for function in (np.min, np.median, np.max))
    return Groups(middle, low, median, high)
