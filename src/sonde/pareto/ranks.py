"""Ranks of points by what they add to a front: for methods that need nothing but an order of their samples."""

from __future__ import annotations

import numpy as np

from sonde.arrays import Array
from sonde.pareto.fronts import non_domination_ranks
from sonde.pareto.hypervolume import contributions, reference_point


def front_by_front(y: Array) -> Array:
    """Return the rank of each point (n,), 0 is the best: front by front, in each by contribution to its hypervolume.

    Non-dominated sorting decides first; of one front, the points that alone dominate the largest volume come first
    (Beume et al. 2007). Equal points have equal ranks.
    """
    fronts, reference = non_domination_ranks(y), reference_point(y, 1.0)
    added = np.zeros(len(y))
    for front in range(int(fronts.max()) + 1):
        members = np.flatnonzero(fronts == front)
        distinct, index = np.unique(y[members], axis=0, return_inverse=True)
        added[members] = contributions(distinct, reference)[index.ravel()]
    order = np.lexsort((-added, fronts))
    new = (np.diff(fronts[order]) != 0) | (np.diff(added[order]) != 0)
    ranks = np.empty(len(y))
    ranks[order] = np.concatenate([[0], np.cumsum(new)])
    return ranks
