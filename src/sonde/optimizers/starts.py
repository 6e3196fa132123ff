"""Where to begin: the best candidate, and others in proportion to what they promise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def choose_starts(values: Array, count: int, rng: np.random.Generator, *, log: bool = False) -> NDArray[np.intp]:
    """Return indices of ``count`` candidates: the best, and others drawn in proportion to what they promise.

    That is the value itself where ``log`` says that its logarithm is given. Other values may be negative, and are taken
    in proportion to the exponential of their standard score.
    """
    scores = np.where(np.isfinite(values), values, -np.inf)
    best = int(np.argmax(scores))
    if not log:
        finite = scores[np.isfinite(scores)]
        spread = finite.std() if len(finite) else 0.0
        scores = (scores - (finite.max() if len(finite) else 0.0)) / (spread or 1.0)
    keys = scores + rng.gumbel(size=len(scores))  # the largest of these are draws without replacement
    keys[best] = np.inf
    return np.argsort(-keys, kind="stable")[:count]
