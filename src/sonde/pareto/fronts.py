"""Pareto fronts: which points no other dominates, and the order of all points by repeated removal of the front.

A point dominates another one if it is no worse in every objective and better in one. So equal points do not dominate
each other.

Symbols: n points, K objectives, y (n, K), higher is better.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from sonde.arrays import Array, Index, Integers, Mask


def non_dominated(y: Array) -> Mask:
    """Return which points no other point dominates, (n,). Of equal points, all are or none is."""
    rows, inverse = _distinct(y)
    return _front(rows)[inverse]


def non_domination_ranks(y: Array) -> Integers:
    """Return the ranks (n,): 0 on the front, 1 on the front of the other points, and so on (Deb et al. 2002)."""
    rows, inverse = _distinct(y)
    return (_ranks_by_search(rows) if y.shape[1] <= 2 else _ranks_by_removal(rows))[inverse]


def _distinct(y: Array) -> tuple[Array, Index]:
    """Return the distinct points, and the index of each point among them.

    They are sorted by the first objective, the best first, then by the second, and so on. So none dominates an earlier
    one.
    """
    order = np.lexsort(-y.T[::-1])
    ordered = y[order]
    first = np.ones(len(y), dtype=bool)
    first[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    inverse = np.empty(len(y), dtype=np.intp)
    inverse[order] = np.cumsum(first) - 1
    return ordered[first], inverse


def _front(rows: Array) -> Mask:
    """Return which of distinct sorted points are non-dominated."""
    if rows.shape[1] > 2 and len(rows) > 1:
        return _front_by_elimination(rows)
    last = rows[:, -1]
    kept = np.ones(len(rows), dtype=bool)
    kept[1:] = last[1:] > np.maximum.accumulate(last)[:-1]
    return kept


def _front_by_elimination(rows: Array) -> Mask:
    """Return the same in any number of objectives: remove what each point of the front dominates, one after another."""
    scale = np.ptp(rows, axis=0)
    # A good point in all objectives dominates many. Equal sums stay sorted, so still none dominates an earlier one.
    left = np.argsort(-np.sum(rows / np.where(scale > 0, scale, 1.0), axis=1), kind="stable")
    columns = np.ascontiguousarray(rows[left].T)
    i = 0
    while i < len(left):
        kept = np.any(columns > columns[:, i : i + 1], axis=0)
        kept[i] = True
        left, columns = left[kept], columns[:, kept]
        i += 1
    mask = np.zeros(len(rows), dtype=bool)
    mask[left] = True
    return mask


def _ranks_by_search(rows: Array) -> Integers:
    """Return the ranks of distinct sorted points in at most two objectives.

    In this order, a front dominates the next point if the best last objective in it is as good. These bests decrease
    from front to front, so the first front that does not dominate the point is found by bisection.
    """
    ranks, bests = [], list[float]()  # bests with the opposite sign: ascending
    for value in (-rows[:, -1]).tolist():
        rank = bisect_right(bests, value)
        bests[rank : rank + 1] = [value]
        ranks.append(rank)
    return np.array(ranks, dtype=np.int64)


def _ranks_by_removal(rows: Array) -> Integers:
    """Return the ranks of distinct sorted points: find the front, remove it, and repeat."""
    ranks, left, rank = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows)), 0
    while len(left):
        front = _front(rows[left])
        ranks[left[front]] = rank
        left, rank = left[~front], rank + 1
    return ranks
