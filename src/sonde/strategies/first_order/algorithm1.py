"""Algorithm 1 of Ament & Gomes (2022) as printed: Bayesian optimization with restarts.

::

    3   initialize empty X, y
    4   while budget not exhausted do
    5     c <- p | X, y                                   condition the process
    6     x_t <- local arg min_z a(c, z)                  L-BFGS started at x_t
    7     if min_{z in X} |x_t - z| < epsilon then
    8       x_t <- random point in domain of f
    10    append x to X and f(x_t) to y

Read with three corrections. Line 6: the acquisition function a is expected improvement, which is maximized (a is minus
expected improvement). Line 10 appends x_t, not x. Before the first iteration X is empty and there is no x_t: the first
point is random.

What the paper leaves open, and what is done here:

- Values are standardized; the process has a constant mean with a prior. c = d in the kernel (x.y + c)^2 of "Q", with a
  variance of its own in front.
- Length scale (one for all coordinates) and variances maximise the marginal likelihood: the best of three fits, from
  the last hyperparameters, from a long and from a short length scale. They are fitted at every step up to 8 values and
  then at the checkpoints of ``surrogates.refits``, to as many points as make a matrix of 300 rows. There is no noise
  but rounding.
- L-BFGS maximises the logarithm of expected improvement, which has the same maxima: at a known point that is not the
  best, the gradient of expected improvement itself is 0, and the algorithm would be a random search.

The algorithm has one point at a time, without noise, failures, constraints or categories. Pending and failed points
count as known in line 7; so the further points of a batch are random. L-BFGS moves the continuous parameters.

Symbols: x points (n, d) in [-1/2, 1/2]^d, the features of the unit cube; epsilon is 1e-4 in the paper's [-1, 1]^d.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from sonde.acquisition.closed import log_expected_improvement
from sonde.arrays import Array, Mask
from sonde.errors import OptionError
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.surrogate import features_of
from sonde.strategies.first_order.observations import observations_of
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Strategy
from sonde.strategies.threads import one_thread
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import maximise
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gradient.fitting import Observations, scale_observations
from sonde.surrogates.outputs import Scale
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint
from sonde.trials import History

NEAR = 0.5e-4  # epsilon, in units of the cube
ROWS = 300  # of the matrix that hyperparameters are fitted with
KEPT = 64  # fits in the cache
NOISE = np.log(1e-8)  # of values, and of gradients as a share of their mean square
SMOOTH, ROUGH = np.log(1.0), np.log(0.1)  # initial length scales; the cube has side 1
BOUNDS = {"lengthscale": (np.log(5e-3), np.log(50.0)), "variance": (-12.0, 12.0)}


@dataclass
class Model:
    """The Gaussian process, with hyperparameters that are a function of the observations."""

    quadratic: bool
    _fits: Recent[Array] = field(default_factory=lambda: Recent(KEPT))

    def posterior(self, observations: Observations) -> tuple[ExactPosterior, float]:
        """Return the posterior, higher is better, and the best value on its scale (line 5)."""
        count = len(observations.values)
        covariance = self._covariance(self._at(observations, checkpoint(count) or count), observations)
        evidence = _evidence(observations)
        return evidence.posterior(covariance), float(evidence.y[:count].max())

    def _at(self, observations: Observations, count: int) -> Array:
        """Return the logarithms of length scale and variances, fitted to the first observations."""
        first = observations.rows(slice(count))

        def compute() -> Array:
            before = checkpoint(count - 1) or count - 1
            return self._fitted(first, self._at(observations, before) if before else self._start(SMOOTH))

        return self._fits.get_or_compute(first.digest(), compute)

    def _start(self, lengthscale: float) -> Array:
        return np.array([lengthscale, 0.0, *[0.0] * self.quadratic])

    def _fitted(self, observations: Observations, last: Array) -> Array:
        n = len(observations.values)
        count = min(n, int(ROWS // observations.width))
        thinned = observations.rows(np.unique(np.linspace(0, n - 1, count).astype(np.intp)))
        evidence = _evidence(thinned)

        def log_density(few: Array) -> tuple[float, Array]:
            value, gradient = evidence(self._covariance(few, observations))
            return value, np.delete(gradient, [2, len(gradient) - 1])

        bounds = np.array([BOUNDS["lengthscale"], *[BOUNDS["variance"]] * (1 + self.quadratic)])
        starts = (last, self._start(SMOOTH), self._start(ROUGH))
        fits = [maximise(log_density, start, *bounds.T, maxiter=20) for start in starts]
        return max(fits, key=lambda fit: fit[1])[0]

    def _covariance(self, few: Array, observations: Observations) -> Covariance:
        theta, groups = np.concatenate([few[:2], [NOISE], few[2:], [NOISE]]), np.zeros(observations.x.shape[1], np.intp)
        return Covariance(groups, theta, "quadratic" if self.quadratic else None)


def _evidence(observations: Observations) -> Evidence:
    """Return standardized values without noise, higher is better, and gradients on the same scale."""
    evidence = scale_observations(observations, Scale.of(observations.values))
    return replace(evidence, known_noise=np.zeros(len(observations.values)))


def local_maximum(posterior: ExactPosterior, best: float, x: Array, free: Mask) -> Array:
    """Return the maximum of log expected improvement that L-BFGS finds from x (p,) in its free columns (line 6)."""

    def loss(z: Array) -> tuple[float, Array]:
        marginals = posterior.marginals(z[None])
        deviation = np.sqrt(marginals.variance)
        value, by_mean, by_deviation = log_expected_improvement(marginals.mean[:, 0], deviation, np.array(best))
        return -float(value[0]), -marginals.vjp(by_mean[:, None], by_deviation / (2 * deviation))[0]

    bounds = [(-0.5, 0.5) if moves else (at, at) for moves, at in zip(free, x, strict=True)]
    found = minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return np.asarray(found.x)


class Algorithm1(Strategy):
    """Algorithm 1 of Ament & Gomes (2022): ``sonde.FOBO.paper()``, for comparison with the paper.

    Where no gradients are told it is the paper's BO, with gradients FOBO.

    Parameters
    ----------
    quadratic
        Whether the kernel is Matern-5/2 + (x.y + c)^2, the paper's BO-Q and FOBO-Q, or Matern-5/2 alone (default).
    """

    name = "fobo_paper"

    def __init__(self, *, quadratic: bool = False) -> None:
        self._model = Model(quadratic)

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the next point of the algorithm; further points of a batch are random."""
        if history.objectives.several:
            raise OptionError('sonde.FOBO.paper() is for one objective, as the paper; use strategy="fobo" for several')
        domain = Domain(space, history)
        known, points = domain.tried, []
        proposal = self._proposal(space, history, domain)
        for offset in range(count):
            point = proposal
            if point is None or np.linalg.norm(known - point, axis=1).min(initial=np.inf) < NEAR:
                point = key.at(offset).rng(Stream.UNIFORM).random(len(space))
            points.append(point)
            known = np.concatenate([known, point[None]])
        return novel_rows(space, history, np.array(points), key)

    def _proposal(self, space: Space, history: History, domain: Domain) -> Array | None:
        """Return lines 5 and 6: a point (d,) of the cube; None before the first value."""
        if not len(history.completed):
            return None
        features, observations = features_of(space), observations_of(space, history)._replace(hessians=None)
        posterior, best = self._model.posterior(observations)
        last = history.completed.units[-1]
        columns = domain.continuous[features.groups]
        x = local_maximum(posterior, best, features(last[None])[0], columns)
        point = last.copy()
        point[features.groups[columns]] = x[columns] + 0.5
        return np.asarray(domain.project(point[None])[0][0])

    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        return (
            f"follows Algorithm 1 of Ament and Gomes (2022) with {len(history.completed)} values: a local maximum of "
            "expected improvement, started from the last point, or a random point where that is known"
        )
