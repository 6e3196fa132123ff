"""Starting points of a search: the best candidate, and others drawn in proportion to their acquisition value."""

from __future__ import annotations

import numpy as np

from sonde.arrays import Array, Index


def choose_starts(values: Array, count: int, rng: np.random.Generator, *, log: bool = False) -> Index:
    """Return indices of ``count`` candidates: the best, and others drawn at random without replacement.

    With ``log``, values are logarithms, and candidates are drawn in proportion to exp(value). Otherwise values may be
    negative, and candidates are drawn in proportion to the exponential of their standard score.
    """
    scores = np.where(np.isfinite(values), values, -np.inf)
    best = int(np.argmax(scores))
    if not log:
        finite = scores[np.isfinite(scores)]
        spread = finite.std() if len(finite) else 0.0
        scores = (scores - (finite.max() if len(finite) else 0.0)) / (spread or 1.0)
    keys = scores + rng.gumbel(size=len(scores))  # Gumbel trick: the largest keys are draws without replacement
    keys[best] = np.inf
    return np.argsort(-keys, kind="stable")[:count]
