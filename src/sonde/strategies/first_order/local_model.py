"""A step of a local search: the minimizer of the posterior mean plus some standard deviations, in its trust region.

The standard deviation keeps a step where the model knows the function; how many of them count, the search's *caution*,
grows with poor steps and shrinks with good ones. So the posterior shapes the trust region: it is narrow in directions
of which little is known, and a box only bounds it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from sonde.arrays import Array, Index
from sonde.strategies.bayesian.domain import SAME, Domain
from sonde.strategies.bayesian.point_search import back_inside
from sonde.strategies.bayesian.surrogate import features_of
from sonde.strategies.first_order.active_searches import ActiveSearch
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.surrogates.exact.feasibility import Feasibility
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.gradient.region import RegionModel, fit_region, nearest

STEPS = 100  # of L-BFGS
BEGIN = 0.01  # its start, in units of the trust region: at the centre itself the deviation has a kink


def local_step(model: GradientModel, domain: Domain, search: ActiveSearch, success: Feasibility | None) -> Array | None:
    """Return the next point (d,) of a local search; None where it cannot leave the points that were tried.

    Parameters that are not continuous keep their values.
    """
    features, radius = features_of(domain.space), search.side / 2
    # the columns of continuous parameters, whose features are their units less a constant
    columns = np.flatnonzero(features.ordered & domain.continuous[features.groups])
    moving = features.groups[columns]
    local, own = local_observations(model, domain, search, columns)
    region = fit_region(local, own, radius)
    low, high = (np.clip((edge - search.centre[moving]) / radius, -1.0, 1.0) for edge in (np.zeros(len(moving)), 1.0))

    def loss(u: Array) -> tuple[float, Array]:
        mean, in_mean, deviation, in_deviation = region(u)
        value, gradient = mean + search.caution * deviation, in_mean + search.caution * in_deviation
        if success is not None:
            unit = search.centre.copy()
            unit[moving] += radius * u
            log_probability, its_gradient = success(unit[None])
            value, gradient = value - float(log_probability[0]), gradient - radius * its_gradient[0][moving]
        return value, gradient

    start = np.clip(_downhill(region, len(moving)), low, high)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
                     options={"maxiter": STEPS, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 30})  # fmt: skip
    point = search.centre.copy()
    point[moving] = np.clip(point[moving] + radius * found.x, 0.0, 1.0)
    reached = back_inside(domain, search.centre[None], domain.project(point[None])[0])[0]
    return reached if domain.novel(reached) else None


def _downhill(region: RegionModel, p: int) -> Array:
    slope = region(np.zeros(p))[1]
    return -BEGIN * slope / max(float(np.abs(slope).max()), 1e-300)


def local_observations(
    model: GradientModel, domain: Domain, search: ActiveSearch, columns: Index
) -> tuple[Observations, int]:
    """Return the observations of a search's local model in some columns, and which of them is its best.

    They have the same values of parameters that are not continuous. An observation nearer to another local minimum
    belongs to that basin.
    """
    observations, units = model.observations(domain.space, domain.history), domain.history.completed.units
    own = int(np.searchsorted(domain.history.completed.numbers, search.number))
    apart = np.abs(units - units[own])[:, ~domain.continuous].max(axis=1, initial=0.0)
    squares = np.sum((units - units[own])[:, domain.continuous] ** 2, axis=1)
    squares[own] = -1.0  # before others at the same point
    chosen = apart <= SAME
    for minimum in search.other_minima:
        chosen &= squares <= np.sum((units - minimum)[:, domain.continuous] ** 2, axis=1)
    rows = np.flatnonzero(chosen)
    rows = rows[nearest(squares[rows], len(columns))]
    hessians = None if observations.hessians is None else observations.hessians[np.ix_(rows, columns, columns)]
    local = observations.rows(rows)._replace(hessians=hessians)
    local = local._replace(x=local.x[:, columns], gradients=local.gradients[:, columns])
    return local, int(np.searchsorted(rows, own))
