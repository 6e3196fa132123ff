"""Algorithm 1 of the paper: BO, BO-Q, FOBO and FOBO-Q, by the model and the search of ``sonde.FOBO.paper()``.

The loop is written out here because runs of one seed begin at the same random point, as the paper's other methods do.
"""

import numpy as np

from benchmarks.fobo.objective import Objective
from sonde.strategies.first_order.algorithm1 import NEAR, Model, local_maximum
from sonde.surrogates.gradient.fitting import Observations


def algorithm_1(objective: Objective, rng: np.random.Generator, *, gradients: bool, quadratic: bool) -> None:
    """Evaluate until the budget is spent; points of the model are those of the box [-1, 1]^d, halved."""
    d = objective.d
    model, free = Model(quadratic), np.ones(d, dtype=bool)
    x, values, slopes = np.empty((0, d)), np.empty(0), np.empty((0, d))
    point = rng.uniform(-1, 1, d)
    while True:
        value, gradient = objective(point)
        x, values = np.vstack([x, point / 2]), np.append(values, value)
        slopes = np.vstack([slopes, 2 * gradient if gradients else np.full(d, np.nan)])
        posterior, best = model.posterior(Observations(x, values, np.full(len(values), np.nan), slopes))
        point = 2 * local_maximum(posterior, best, x[-1], free)
        if np.linalg.norm(x - point / 2, axis=1).min() < NEAR:
            point = rng.uniform(-1, 1, d)
