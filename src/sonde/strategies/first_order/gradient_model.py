"""The global model of ``fobo``: a Gaussian process on all values and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.arrays import Array, Index
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.exact_model import ExactModel
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.surrogate import Surrogate, best_points, best_value, features_of, fit_feasibility
from sonde.strategies.first_order.observations import observations_of
from sonde.surrogates.exact.region import Region
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gradient.fitting import FORMS, GradientFit, Observations, WarmStartedGradientFits
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.outputs import Scale
from sonde.trials import History

if TYPE_CHECKING:
    from sonde.surrogates.kernel.fitting import KernelFit


ROWS = 1000  # rows of the matrix that the global model factorises; beyond, the mean is solved iteratively
POINTS, PREDICTION_POINTS = 500, 1500  # observations of the iterative mean: to suggest, and to predict


class GradientModel:
    """Gaussian processes on values and gradients, with one kernel and some trends to choose from."""

    in_any_dimension = False  # with many parameters there are too many hyperparameters and observations to fit

    def __init__(self, kernel: str, trends: tuple[str | None, ...]) -> None:
        self._kernel, self.trends = kernel, trends
        self._fits: dict[tuple[str, bool], WarmStartedGradientFits] = {}
        self._last_observations: tuple[History, int, Observations] | None = None  # gradients are checked once

    def fit(self, space: Space, history: History) -> Surrogate:
        """Return the global model: the Gaussian process on all values and gradients."""
        features, observations = features_of(space), self.observations(space, history)
        fitted, done = self.fitted(space, history), history.completed
        usable = history.feasible[done.numbers]
        y = Scale.of(observations.values, fitted.kappa)(observations.values)
        incumbents = best_points(done.units, y, usable)
        rows, observations, scale, posterior = _posterior(observations, features(incumbents[0]), fitted, POINTS)
        y = scale(observations.values)
        return Surrogate(
            features, scale, (posterior,), y, best=best_value(posterior, observations.x, y, usable[rows]),
            incumbents=incumbents, feasibility=fit_feasibility(features, history),
        )  # fmt: skip

    def check(self, space: Space) -> None:
        """Do nothing: the kernel fits any space."""

    def fitted(self, space: Space, history: History, *, plain: bool = False) -> GradientFit[Covariance] | KernelFit:
        """Return the hyperparameters of the global model; ``plain`` ones are of the values without a logarithm."""
        observations = self.observations(space, history)
        return self.fits_for(observations, plain=plain).fit(features_of(space).groups, observations)

    def describe(self, space: Space, history: History) -> str:
        """Say which trend the global model has."""
        observations = self.observations(space, history)
        trend = self.fits_for(observations).fit(features_of(space).groups, observations).covariance.trend
        return f"with a {trend} trend" if trend else "without a trend"

    def predictions(self, space: Space, history: History) -> Predictions:
        """Return the predictions given the values and gradients so far."""
        features, observations = features_of(space), self.observations(space, history)
        fitted, best = self.fitted(space, history, plain=True), int(np.argmin(observations.values))
        centre = observations.x[best]
        rows, observations, scale, posterior = _posterior(observations, centre, fitted, PREDICTION_POINTS)
        y = scale(observations.values)
        surrogate = Surrogate(
            features, scale, (posterior,), y, float(y.max()), history.completed.units[[best]],
            fit_feasibility(features, history),
        )  # fmt: skip

        def left_out() -> tuple[Array, Array]:
            exact = posterior.factorised if isinstance(posterior, IterativePosterior) else posterior
            means, variances = exact.leave_one_out(exact.observations)
            return means[: len(y)], variances[: len(y)]

        return Predictions(space, surrogate, history.completed.numbers[rows], left_out)

    def observations(self, space: Space, history: History) -> Observations:
        """Return the observations of a history, with the gradients that agree with the values."""
        last = self._last_observations
        if last is None or last[0] is not history or last[1] != history.revision:
            self._last_observations = last = history, history.revision, observations_of(space, history)
        return last[2]

    def profile(self, observations: Observations) -> str:
        """Return the kernel to use: where Hessians are told, one whose sample paths have second derivatives."""
        return "matern72" if self._kernel == "matern52" and observations.hessians is not None else self._kernel

    def fits_for(self, observations: Observations, *, plain: bool = False) -> WarmStartedGradientFits:
        """Return the warm-started fits to use; ``plain`` ones are of the values without a logarithm."""
        kernel = self.profile(observations)
        if (kernel, plain) not in self._fits:
            forms = [form for form in FORMS if form.trend in self.trends and not (plain and form.kappa)]
            self._fits[kernel, plain] = WarmStartedGradientFits(kernel, tuple(forms))
        return self._fits[kernel, plain]


class ValuesOrGradients:
    """The global model of one of several objectives: of its gradients too, where they are told."""

    def __init__(self, gradients: GradientModel) -> None:
        self._gradients, self._values = gradients, ExactModel()

    def fit(self, space: Space, history: History, key: Key, region: Region | None) -> Surrogate:
        """Return the surrogate of a history with completed trials."""
        if history.has_gradients and np.isfinite(self._gradients.observations(space, history).gradients).any():
            return self._gradients.fit(space, history)
        return self._values.fit(space, history, key, None)


def _posterior(
    observations: Observations, centre: Array, fitted: GradientFit[Covariance] | KernelFit, most: int
) -> tuple[Index, Observations, Scale, ExactPosterior | IterativePosterior]:
    """Return the factorised observations with their indices, the output scale and the posterior.

    At most ``ROWS`` rows are factorised: values of the nearest and best observations take up to half of them, gradients
    the rest. The mean learns from all values and gradients of the ``most`` nearest and best observations.
    """
    near = _ranks(np.sum(((observations.x - centre) * fitted.covariance.roots) ** 2, axis=1))
    order = _ranks(np.minimum(near, _ranks(observations.values)))
    points = np.flatnonzero(order < most)
    many, order = observations.rows(points), order[points]
    rows = np.flatnonzero(order < ROWS // 2)
    few = many.rows(rows)
    count = int((ROWS - len(rows)) / max(1.0, few.width - 1))
    if count >= len(rows) == len(points) or observations.hessians is not None:
        few = few if count >= len(rows) else few.trusting(order[rows] < count)
        return points[rows], few, *fitted.posterior(few)
    few = few.trusting(order[rows] < count)
    return points[rows], few, *fitted.posterior_of_many(many, rows, few)


def _ranks(numbers: Array) -> Index:
    return np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
