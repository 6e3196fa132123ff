"""Algorithm 1 of the paper: BO, BO-Q, FOBO and FOBO-Q.

One random point; then each is the local maximum of expected improvement next to the point before, by L-BFGS, or a
random point where that is within 1e-4 of a known one. The process is told values, or values and gradients; its kernel
is Matern-5/2, or ("Q") Matern-5/2 + (x.y + c)^2.

What the paper leaves open, and what stands here:

- c = d, with a variance of its own in front, and a constant mean with a prior; values are standardised.
- Lengthscale (one for all coordinates) and variances maximise the marginal likelihood: the best of three climbs, from
  the last ones, from a smooth function and from a rough one, at every step up to 8 values and then whenever these have
  grown by a quarter or less, given as many of them as make a matrix of 300 rows. There is no noise but rounding.
- The logarithm of expected improvement is climbed, which has the same maxima: at a point that is known and not the
  best, the gradient of expected improvement itself is 0, and the algorithm would be a random search.

Only the arithmetic is Sonde's: covariances, evidence, posterior. The strategy "fobo" has other fits and another search.
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
SMOOTH, ROUGH = np.log(1.0), np.log(0.1)  # lengthscales that climbs begin with; the box has side 1
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
    """What the process sees: in coordinates x / 2, within [-1/2, 1/2]^d, and standardised with higher better."""

    sites: ObservationLayout
    y: Array
    power: Array  # mean squares of gradients, (d,)

    @classmethod
    def of(cls, x: Array, values: Array, gradients: Array | None) -> "Data":
        """Return values, and gradients where there are gradients, less the mean and over the deviation of values."""
        n, d = x.shape
        deviation = float(values.std()) or 1.0
        y = (values.mean() - values) / deviation
        if gradients is None:
            return cls(ObservationLayout(x / 2), y, np.ones(d))
        gradients = -2 * gradients / deviation
        everywhere = np.stack([np.repeat(np.arange(n), d), np.tile(np.arange(d), n)])
        power = np.maximum(np.mean(gradients**2, axis=0), 1e-12)
        return cls(ObservationLayout(x / 2, everywhere), np.concatenate([y, gradients.ravel()]), power)


class Model:
    """The process, and what was seen so far."""

    def __init__(self, d: int, gradients: bool, quadratic: bool) -> None:
        self.gradients, self.quadratic = gradients, quadratic
        self.x, self.values, self.gradients = np.empty((0, d)), np.empty(0), np.empty((0, d))
        self.few = np.array([SMOOTH, 0.0, *[0.0] * quadratic])  # logarithms of lengthscale and variances

    def add(self, x: Array, value: float, gradient: Array) -> None:
        """Take a result."""
        self.x, self.values = np.vstack([self.x, x]), np.append(self.values, value)
        self.gradients = np.vstack([self.gradients, gradient])

    def posterior(self) -> tuple[GradientPosterior, float]:
        """Return the belief, higher is better, and the best value on its scale."""
        count = len(self.values)
        if (checkpoint(count) or count) == count:
            self.few = self._fitted()
        data, covariance = self._data(slice(None)), self._covariance(self.few)
        noise = noise_of(covariance, data.sites, np.zeros(count), data.power)
        return GradientPosterior.after(covariance, data.sites, data.y, noise), float(data.y[:count].max())

    def _fitted(self) -> Array:
        """Return the best hyperparameters that are found."""
        n, d = self.x.shape
        count = min(n, ROWS // (1 + d * self.gradients))
        data = self._data(np.unique(np.linspace(0, n - 1, count).astype(np.intp)))
        evidence = Evidence(data.sites, data.y, np.zeros(len(data.sites.x)), data.power)

        def loss(few: Array) -> tuple[float, Array]:
            value, gradient = evidence(self._covariance(few))
            return -value, -np.delete(gradient, [2, len(gradient) - 1])

        bounds = [BOUNDS["lengthscale"], *[BOUNDS["variance"]] * (1 + self.quadratic)]
        starts = [self.few, *(np.array([length, 0.0, *[0.0] * self.quadratic]) for length in (SMOOTH, ROUGH))]
        options = {"maxiter": 20, "ftol": 1e-6, "gtol": 1e-3}
        climbs = [minimize(loss, s, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for s in starts]
        return np.asarray(min(climbs, key=lambda climb: float(climb.fun)).x)

    def _data(self, rows: slice | NDArray[np.intp]) -> Data:
        return Data.of(self.x[rows], self.values[rows], self.gradients[rows] if self.gradients else None)

    def _covariance(self, few: Array) -> GradientCovariance:
        theta = np.concatenate([few[:2], [NOISE], few[2:], [NOISE]])
        return GradientCovariance(np.zeros(self.x.shape[1], dtype=np.intp), theta, self.quadratic)


def local_maximum(posterior: GradientPosterior, best: float, x: Array) -> Array:
    """Return the maximum of log expected improvement that L-BFGS finds from x (d,)."""

    def loss(z: Array) -> tuple[float, Array]:
        belief = posterior.marginals(z[None])
        deviation = np.sqrt(belief.variance)
        value, rise, widen = log_expected_improvement(belief.mean[:, 0], deviation, np.array(best))
        return -float(value[0]), -belief.vjp(rise[:, None], widen / (2 * deviation))[0]

    found = minimize(loss, x / 2, jac=True, method="L-BFGS-B", bounds=[(-0.5, 0.5)] * len(x), options={"maxiter": 100})
    return np.asarray(2 * found.x)
