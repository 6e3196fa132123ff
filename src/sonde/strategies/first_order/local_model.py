"""The local model of ``fobo``: a Gaussian process on the observations around a local search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.surrogate import Surrogate, features_of
from sonde.strategies.bayesian.target import Box, Target
from sonde.strategies.first_order.active_searches import ActiveSearch
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.surrogates.exact.feasibility import Feasibility
from sonde.surrogates.gradient.fitting import Observations, fit_near
from sonde.surrogates.gradient.subspace import Subspace
from sonde.trials import History

Array = NDArray[np.float64]

NEAREST, LATEST = 12, 2  # observations of a local model: the nearest, and the last ones in its trust region
STEPS = 50  # of L-BFGS on the posterior mean in high dimension


def local_target(model: GradientModel, domain: Domain, search: ActiveSearch, success: Feasibility | None) -> Target:
    """Return the target of a step: the lowest posterior mean of the local model in the trust region."""
    features = features_of(domain.space)
    local, own = local_observations(model, domain.space, domain.history, search)
    fitted = fit_near(features.groups, local, model.fits_for(local).profile, model.trends)
    scale, posterior = fitted.posterior(local)
    y = scale(local.values)
    surrogate = Surrogate(
        features, scale, (posterior,), y, best=float(y[own]), incumbents=search.centre[None], feasibility=success
    )
    return Target(surrogate, Box.around(search.centre, search.side, domain.continuous), acquisition="sr")


def posterior_minimizer(
    model: GradientModel, domain: Domain, search: ActiveSearch, success: Feasibility | None
) -> Array:
    """Return the point (d,) of the lowest posterior mean in the trust region of a local search, by L-BFGS.

    The local model is that of the subspace of its observations. L-BFGS starts from the search's best point alone.
    """
    features = features_of(domain.space)
    local = local_observations(model, domain.space, domain.history, search)[0]._replace(hessians=None)
    subspace = Subspace.of(local)
    outside = subspace.complement_dim
    reduced = subspace.reduce(local) if outside else local
    groups = np.zeros(reduced.x.shape[1], dtype=np.intp) if outside else features.groups
    fitted = fit_near(groups, reduced, model.fits_for(reduced).profile, model.trends, complement_dim=outside)
    _, posterior = fitted.posterior(reduced)
    box = Box.around(search.centre, search.side, domain.continuous)
    low, high = (np.where(domain.continuous, edge, search.centre) for edge in (box.low, box.high))

    def loss(unit: Array) -> tuple[float, Array]:
        x = features(unit[None])
        marginals = posterior.marginals(subspace(x) if outside else x)
        gradient = marginals.vjp(np.ones((1, 1)), np.zeros(1))
        gradient = features.vjp(subspace.vjp(gradient, x) if outside else gradient, unit[None])[0]
        value = float(marginals.mean[0, 0])
        if success is not None:
            log_probability, its_gradient = success(unit[None])
            value, gradient = value + float(log_probability[0]), gradient + its_gradient[0]
        return -value, -gradient

    found = minimize(loss, search.centre, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
                     options={"maxiter": STEPS})  # fmt: skip
    return np.asarray(domain.project(np.clip(found.x, low, high)[None])[0][0])


def local_observations(
    model: GradientModel, space: Space, history: History, search: ActiveSearch
) -> tuple[Observations, int]:
    """Return the observations of a search's local model, and which of them is its best."""
    observations = model.observations(space, history)
    own = int(np.searchsorted(history.completed.numbers, search.number))
    near = np.argsort(np.sum((observations.x - observations.x[own]) ** 2, axis=1), kind="stable")
    if len(search.other_minima):  # an observation nearer to another minimum belongs to that basin
        x, minima = observations.x[near], features_of(space)(search.other_minima)
        squares = np.min([np.sum((x - minimum) ** 2, axis=1) for minimum in minima], axis=0)
        near = near[np.sum((x - observations.x[own]) ** 2, axis=1) <= squares]
    inside = np.abs(observations.x[near] - observations.x[own]).max(axis=1) <= search.side
    chosen = near[: max(2, min(NEAREST, int(inside.sum())))]
    latest = np.sort(near[inside])[-LATEST:]  # a failed step that is not among the nearest would be repeated
    chosen = np.union1d(chosen, latest)
    return observations.rows(chosen), int(np.searchsorted(chosen, own))
