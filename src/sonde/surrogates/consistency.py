"""Whether slopes and values are of one function.

Values are believed, slopes are checked. All of them at once: if values are foretold much worse with the slopes than
without (log density of each value given the others), the slopes are of something else, such as the function with the
other sign or in other units. And one by one: a gradient that lies far outside of what all else says about it is
left out, the worst one first, because a wrong one makes its neighbours look wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.gp import ExactPosterior
from sonde.surrogates.slope_gp import SlopePosterior

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

WORSE = 1.0  # nats for each value by which slopes may spoil the prediction of values
SURPRISE = 25.0  # squared deviations for each slope of a gradient from what is expected of it
UNUSUAL = 9.0  # and how many times more than those of the median gradient


def value_scores(posterior: ExactPosterior, y: Array, count: int) -> Array:
    """Return the log density of each of the first ``count`` observations y, given all others."""
    means, variances = posterior.leave_one_out(y)
    means, variances = means[:count], variances[:count]
    return np.asarray(-0.5 * np.log(2 * np.pi * variances) - 0.5 * (y[:count] - means) ** 2 / variances)


def spoiled(joint: Array, alone: Array) -> bool:
    """Whether values are foretold much worse with slopes (scores ``joint``) than without (``alone``)."""
    return bool(np.mean(alone) - np.mean(joint) > WORSE)


def contradicted(posterior: SlopePosterior) -> Mask:
    """Return the points (n,) whose slopes contradict the rest.

    For a block B of observations, what is left of it given all else is r = (K^-1)_BB^-1 (K^-1 y)_B with covariance
    (K^-1)_BB^-1, so r.C^-1 r = a_B.(K^-1)_BB^-1 a_B with a = K^-1 y. To leave the block out is a step of elimination.
    """
    sites = posterior.sites
    bad = np.zeros(len(sites.x), dtype=bool)
    points = sites.slopes[0]
    blocks = {int(i): len(sites.x) + np.flatnonzero(points == i) for i in np.unique(points)}
    precision = posterior.inverse.T @ posterior.inverse
    weights = posterior.weights[:, 0].copy()
    while len(blocks) > 2:
        surprise = {
            i: float(weights[block] @ np.linalg.solve(precision[np.ix_(block, block)], weights[block])) / len(block)
            for i, block in blocks.items()
        }
        worst = max(surprise, key=surprise.__getitem__)
        if surprise[worst] < max(SURPRISE, UNUSUAL * float(np.median(list(surprise.values())))):
            break
        block = blocks.pop(worst)
        bad[worst] = True
        gone = np.linalg.solve(precision[np.ix_(block, block)], precision[block])
        weights -= gone.T @ weights[block]
        precision -= precision[:, block] @ gone
    return bad
