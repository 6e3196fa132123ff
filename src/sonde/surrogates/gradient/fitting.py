"""Hyperparameters of the Gaussian process with gradients: a fit along a growing history.

``WarmStartedGradientFits`` fits the global model. It works like ``exact.warm_starts``: a pure function of the data that
fits at checkpoints, each fit warm-started from the one before. Every fit chooses the output scale and the trend by
marginal likelihood (see ``trends``; the quadratic one makes the kernel "Q" of Ament & Gomes 2022, section 4.3). Fits
use as many points as make a matrix of ``FITTED`` rows; forms are compared on ``COMPARED`` rows. Hessians are not used.

Every fit has a start from the gradients: Var(df / dx_c) = -2 f'(0) s / l_c^2, so their mean squares give the length
scales. From long length scales alone a fit ends where rough functions are explained as noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.surrogates.exact.fitting import first_guess
from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior, Mean
from sonde.surrogates.gradient.marginal_likelihood import Evidence, noise_of
from sonde.surrogates.gradient.observations import ObservationLayout
from sonde.surrogates.gradient.profiles import PROFILES
from sonde.surrogates.gradient.trends import TRENDS
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.priors import default_prior
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]
Groups = NDArray[np.intp]
Mask = NDArray[np.bool_]

COMPARED, FITTED = 150, 300  # rows of the matrix, to compare forms and to fit
KEPT = 64  # fits remembered
STEEP = 1e6  # a steeper derivative on the model's scale is not used


class ModelForm(NamedTuple):
    """The discrete choices of a model."""

    kappa: float | None  # of the output scale, see ``outputs``
    trend: str | None  # name of the prior of the mean function, see ``trends``


TREND_NAMES = (None, *TRENDS)
FORMS = tuple(ModelForm(*each) for each in product(KAPPAS, TREND_NAMES))


class Observations(NamedTuple):
    """Features x (n, p), values (n,), lower is better, noise deviations (n,), gradients (n, p), Hessians (n, p, p).

    Unknown entries are NaN; without any Hessian it is None.
    """

    x: Array
    values: Array
    deviations: Array
    gradients: Array
    hessians: Array | None = None

    def rows(self, chosen: NDArray[np.intp] | slice) -> Observations:
        """Return a subset."""
        return Observations(*(None if column is None else column[chosen] for column in self))  # type: ignore[arg-type]

    def trusting(self, trusted: Mask) -> Observations:
        """Return the observations without the derivatives of points (n,) that are not trusted."""
        hessians = None if self.hessians is None else np.where(trusted[:, None, None], self.hessians, np.nan)
        return self._replace(gradients=np.where(trusted[:, None], self.gradients, np.nan), hessians=hessians)

    def thinned(self, rows: int) -> Observations:
        """Return an evenly spaced subset, with the last one, that makes a matrix of about so many rows."""
        count = min(len(self.values), max(4, int(rows / self.width)))
        return self.rows(np.unique(np.linspace(0, len(self.values) - 1, count).astype(np.intp)))

    @property
    def width(self) -> float:
        """The mean number of matrix rows of a point: its value and its partial derivatives."""
        return 1 + float(np.isfinite(self.gradients).sum()) / len(self.values)

    def digest(self) -> bytes:
        """Return a hash of the data."""
        return blake2b(b"".join(column.tobytes() for column in self if column is not None)).digest()


class ScaledObservations(NamedTuple):
    """Observations y (N,) on the model's scale, known noise of values (n,) and mean squares of gradients (p,)."""

    layout: ObservationLayout
    y: Array
    known_noise: Array
    mean_squares: Array


def scale_observations(
    observations: Observations, scale: Scale, *, with_hessians: bool = False, complement_dim: int = 0
) -> ScaledObservations:
    """Return values, gradients and, on request, curvatures on the model's scale."""
    slope = scale.slope(observations.values)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        gradients = slope * observations.gradients
        usable = np.abs(gradients) < STEEP  # False for NaN
    squares = np.sum(np.square(gradients, where=usable, out=np.zeros_like(gradients)), axis=0)
    mean_squares = np.maximum(squares / np.maximum(usable.sum(axis=0), 1), 1e-12)
    if complement_dim:  # rotated axes share one unit
        count = usable.any(axis=1).sum() * (usable.any(axis=0).sum() + complement_dim)
        mean_squares = np.full_like(mean_squares, max(float(squares.sum()) / max(int(count), 1), 1e-12))
    entries, curvatures = np.empty((3, 0), dtype=np.intp), np.empty(0)
    if with_hessians and observations.hessians is not None:
        entries, curvatures = _curvatures(observations.hessians, slope, gradients, scale.curvature, usable)
    layout = ObservationLayout(observations.x, np.stack(np.nonzero(usable)), entries)
    y = np.concatenate([scale(observations.values), gradients[usable], curvatures])
    return ScaledObservations(layout, y, scale.noise(observations.values, observations.deviations), mean_squares)


def _curvatures(
    hessians: Array, slope: Array, gradients: Array, bend: float, usable: Mask
) -> tuple[NDArray[np.intp], Array]:
    """Return indices and entries of the upper triangles of Hessians, of points whose gradients are known.

    With t the model's scale, the Hessian of t(f) is t' H + t'' g g^T, and t'' = ``bend`` t'^2, see ``outputs.Scale``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = slope[:, :, None] * hessians + bend * gradients[:, :, None] * gradients[:, None, :]
        good = (np.abs(scaled) < STEEP**2) & usable[:, :, None] & usable[:, None, :]
    good &= np.triu(np.ones(hessians.shape[1:], dtype=bool))
    return np.stack(np.nonzero(good)), scaled[good]


@dataclass(frozen=True)
class GradientFit:
    """Fitted covariance and output scale, and their log posterior density."""

    covariance: GradientCovariance
    kappa: float | None
    score: float

    @property
    def form(self) -> ModelForm:
        """The discrete choices."""
        return ModelForm(self.kappa, self.covariance.shape if self.covariance.quadratic else None)

    def posterior(self, observations: Observations) -> tuple[Scale, GradientPosterior]:
        """Return the output scale and the posterior given some observations."""
        scale = Scale.of(observations.values, self.kappa)
        smooth = PROFILES[self.covariance.profile].smooth
        data = scale_observations(observations, scale, with_hessians=smooth > 1)
        return scale, GradientPosterior.after(self.covariance, data.layout, data.y, self._noise(data))

    def posterior_of_many(
        self, observations: Observations, rows: NDArray[np.intp], few: Observations
    ) -> tuple[Scale, IterativePosterior]:
        """Return the posterior given observations without Hessians.

        Only the matrix of ``few``, a subset at these rows, is factorised.
        """
        scale = Scale.of(observations.values, self.kappa)
        small, data = scale_observations(few, scale), scale_observations(observations, scale)
        posterior = GradientPosterior.after(self.covariance, small.layout, small.y, self._noise(small))
        return scale, IterativePosterior.after(
            posterior, rows, data.layout, data.y, self._noise(data), partial(Mean.after, self.covariance)
        )

    def _noise(self, data: ScaledObservations) -> Array:
        return noise_of(self.covariance, data.layout, data.known_noise, data.mean_squares)


@dataclass(frozen=True)
class _Fitter:
    """Maximises the log posterior density of theta, given observations."""

    groups: Groups
    observations: Observations
    profile: str

    def fit(self, form: ModelForm, start: GradientCovariance | None = None, *, iterations: int) -> GradientFit:
        """Return the fit of one form from ``start``; None starts from the length scales of the gradients."""
        scale = Scale.of(self.observations.values, form.kappa)
        data = scale_observations(self.observations, scale)
        evidence = Evidence(*data)
        trended = form.trend is not None
        prior = default_prior(int(self.groups[-1]) + 1, quadratic=trended, gradients=True)

        def covariance_at(theta: Array) -> GradientCovariance:
            return GradientCovariance(self.groups, theta, trended, self.profile, form.trend or "quadratic")

        def loss(theta: Array) -> tuple[float, Array]:
            value, gradient = evidence(covariance_at(theta))
            density, prior_gradient = prior.log_density(theta)
            return -value - density, -gradient - prior_gradient

        found = minimize(
            loss, prior.clip(self._initial(trended, start, data.mean_squares)), jac=True, method="L-BFGS-B",
            bounds=list(zip(prior.low, prior.high, strict=True)),
            options={"maxiter": iterations, "ftol": 1e-6, "gtol": 1e-3},
        )  # fmt: skip
        # the Jacobian of the output scale, for each value and each derivative
        jacobian = float(np.log(np.abs(scale.slope(self.observations.values)))[data.layout.points].sum())
        return GradientFit(covariance_at(np.asarray(found.x)), form.kappa, jacobian - float(found.fun))

    def _initial(self, trended: bool, start: GradientCovariance | None, mean_squares: Array) -> Array:
        """Return the initial theta: that of ``start``, with or without the variance of a trend."""
        guess = np.append(first_guess(self.groups, quadratic=trended), np.log(1e-4))
        size = int(self.groups[-1]) + 1
        if start is None:
            largest = np.zeros(size)
            np.maximum.at(largest, self.groups, mean_squares)
            unit = -2 * float(PROFILES[self.profile].derivatives(np.zeros(()), 1)[1])
            known = largest > 1e-12
            guess[:size][known] = 0.5 * np.log(unit / largest[known])
            return guess
        guess[: size + 2], guess[-1] = start.theta[: size + 2], start.theta[-1]
        if trended and start.quadratic:
            guess[size + 2] = start.theta[size + 2]
        return guess


def smooth_start(groups: Groups, profile: str) -> GradientCovariance:
    """Return the default start of a fit, with long length scales."""
    return GradientCovariance(groups, np.append(first_guess(groups), np.log(1e-4)), False, profile)


@dataclass
class WarmStartedGradientFits:
    """Global fits at the checkpoints of a history, remembered by their data."""

    profile: str = "matern52"
    forms: tuple[ModelForm, ...] = FORMS
    _known: Recent[GradientFit] = field(default_factory=lambda: Recent(KEPT))

    def fit(self, groups: Groups, observations: Observations) -> GradientFit:
        """Return the fit at the last checkpoint of a history; before the first checkpoint, of the whole history."""
        return self._at(groups, observations, checkpoint(len(observations.values)) or len(observations.values))

    def _at(self, groups: Groups, observations: Observations, count: int) -> GradientFit:
        observations = observations.rows(slice(count))
        key = observations.digest() + groups.tobytes()
        before = checkpoint(count - 1)

        def compute() -> GradientFit:
            return self._compared(groups, observations, self._at(groups, observations, before) if before else None)

        return self._known.get_or_compute(key, compute)

    def _compared(self, groups: Groups, observations: Observations, start: GradientFit | None) -> GradientFit:
        """Return the best fit of all forms: a few iterations for each, more for the two best ones."""
        few = _Fitter(groups, observations.thinned(COMPARED), self.profile)
        many = _Fitter(groups, observations.thinned(FITTED), self.profile)
        initial = start.covariance if start else smooth_start(groups, self.profile)
        coarse = [few.fit(form, initial, iterations=5) for form in self.forms]
        plain = dict.fromkeys(ModelForm(self.forms[0].kappa, form.trend) for form in self.forms)
        coarse += [few.fit(form, iterations=8) for form in plain]  # from the length scales of the gradients
        fine = [many.fit(each.form, each.covariance, iterations=10) for each in sorted(coarse, key=_score)[-2:]]
        return max(fine, key=_score)


def _score(fitted: GradientFit) -> float:
    return fitted.score
