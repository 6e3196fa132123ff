"""Algorithm 1 of the paper: BO, BO-Q, FOBO and FOBO-Q.

The first point is random. Every further point is the local maximum of expected improvement that L-BFGS finds from the
point before, or a random point if that is within 1e-4 of a known one. The Gaussian process observes values, or values
and gradients; its kernel is Matern-5/2, or ("Q") Matern-5/2 + (x.y + c)^2.

What the paper leaves open, and what is done here:

- c = d, with a variance of its own in front, and a constant mean with a prior; values are standardised.
- Length scale (one for all coordinates) and variances maximise the marginal likelihood: the best of three fits, from
  the last hyperparameters, from a long and from a short length scale. They are fitted at every step up to 8 values and
  then whenever these have grown by a quarter or less, to as many points as make a matrix of 300 rows. There is no noise
  but rounding.
- L-BFGS maximises the logarithm of expected improvement, which has the same maxima: at a known point that is not the
  best, the gradient of expected improvement itself is 0, and the algorithm would be a random search.

Only the arithmetic is Sonde's: covariances, marginal likelihood, posterior. The strategy "fobo" has other fits and
another search.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.fobo.objective import Objective
from sonde.acquisition.closed import log_expected_improvement
from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.marginal_likelihood import Evidence, noise_of
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]

NEAR = 1e-4
ROWS = 300  # of the matrix that hyperparameters are fitted with
NOISE = np.log(1e-8)  # of values, and of gradients as a share of their mean square
SMOOTH, ROUGH = np.log(1.0), np.log(0.1)  # initial length scales; the box has side 1
BOUNDS = {"lengthscale": (np.log(5e-3), np.log(50.0)), "variance": (-12.0, 12.0)}


def algorithm_1(objective: Objective, rng: np.random.Generator, *, gradients: bool, quadratic: bool) -> None:
    """Evaluate until the budget is spent."""
    model = Model(objective.d, gradients, quadratic)
    x = rng.uniform(-1, 1, objective.d)
    while True:
        model.add(x, *objective(x))
        x = local_maximum(*model.posterior(), x)
        if np.linalg.norm(model.x - x, axis=1).min() < NEAR:
            x = rng.uniform(-1, 1, objective.d)


@dataclass(frozen=True)
class Data:
    """Observations of the process: in coordinates x / 2, within [-1/2, 1/2]^d, standardised, higher is better."""

    layout: ObservationLayout
    y: Array
    mean_squares: Array  # mean squares of gradients, (d,)

    @classmethod
    def of(cls, x: Array, values: Array, gradients: Array | None) -> "Data":
        """Return standardised values, and gradients in the same unit if there are any."""
        n, d = x.shape
        deviation = float(values.std()) or 1.0
        y = (values.mean() - values) / deviation
        if gradients is None:
            return cls(ObservationLayout(x / 2), y, np.ones(d))
        gradients = -2 * gradients / deviation
        everywhere = np.stack([np.repeat(np.arange(n), d), np.tile(np.arange(d), n)])
        mean_squares = np.maximum(np.mean(gradients**2, axis=0), 1e-12)
        return cls(ObservationLayout(x / 2, everywhere), np.concatenate([y, gradients.ravel()]), mean_squares)


class Model:
    """The Gaussian process, and the observations so far."""

    def __init__(self, d: int, gradients: bool, quadratic: bool) -> None:
        self.with_gradients, self.quadratic = gradients, quadratic
        self.x, self.values, self.gradients = np.empty((0, d)), np.empty(0), np.empty((0, d))
        self.few = np.array([SMOOTH, 0.0, *[0.0] * quadratic])  # logarithms of lengthscale and variances

    def add(self, x: Array, value: float, gradient: Array) -> None:
        """Add an observation."""
        self.x, self.values = np.vstack([self.x, x]), np.append(self.values, value)
        self.gradients = np.vstack([self.gradients, gradient])

    def posterior(self) -> tuple[GradientPosterior, float]:
        """Return the posterior, higher is better, and the best value on its scale."""
        count = len(self.values)
        if (checkpoint(count) or count) == count:
            self.few = self._fitted()
        data, covariance = self._data(slice(None)), self._covariance(self.few)
        noise = noise_of(covariance, data.layout, np.zeros(count), data.mean_squares)
        return GradientPosterior.after(covariance, data.layout, data.y, noise), float(data.y[:count].max())

    def _fitted(self) -> Array:
        """Return the hyperparameters of the best fit."""
        n, d = self.x.shape
        count = min(n, ROWS // (1 + d * self.with_gradients))
        data = self._data(np.unique(np.linspace(0, n - 1, count).astype(np.intp)))
        evidence = Evidence(data.layout, data.y, np.zeros(len(data.layout.x)), data.mean_squares)

        def loss(few: Array) -> tuple[float, Array]:
            value, gradient = evidence(self._covariance(few))
            return -value, -np.delete(gradient, [2, len(gradient) - 1])

        bounds = [BOUNDS["lengthscale"], *[BOUNDS["variance"]] * (1 + self.quadratic)]
        starts = [self.few, *(np.array([length, 0.0, *[0.0] * self.quadratic]) for length in (SMOOTH, ROUGH))]
        options = {"maxiter": 20, "ftol": 1e-6, "gtol": 1e-3}
        fits = [minimize(loss, s, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for s in starts]
        return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)

    def _data(self, rows: slice | NDArray[np.intp]) -> Data:
        return Data.of(self.x[rows], self.values[rows], self.gradients[rows] if self.with_gradients else None)

    def _covariance(self, few: Array) -> GradientCovariance:
        theta = np.concatenate([few[:2], [NOISE], few[2:], [NOISE]])
        return GradientCovariance(np.zeros(self.x.shape[1], dtype=np.intp), theta, self.quadratic)


def local_maximum(posterior: GradientPosterior, best: float, x: Array) -> Array:
    """Return the maximum of log expected improvement that L-BFGS finds from x (d,)."""

    def loss(z: Array) -> tuple[float, Array]:
        marginals = posterior.marginals(z[None])
        deviation = np.sqrt(marginals.variance)
        value, by_mean, by_deviation = log_expected_improvement(marginals.mean[:, 0], deviation, np.array(best))
        return -float(value[0]), -marginals.vjp(by_mean[:, None], by_deviation / (2 * deviation))[0]

    found = minimize(loss, x / 2, jac=True, method="L-BFGS-B", bounds=[(-0.5, 0.5)] * len(x), options={"maxiter": 100})
    return np.asarray(2 * found.x)
