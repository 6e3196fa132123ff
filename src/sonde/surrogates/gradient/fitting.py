"""Hyperparameters of the Gaussian process with gradients: a global fit along a growing history, and a local fit.

``WarmStartedGradientFits`` fits the global model. It works like ``exact.warm_starts``: a pure function of the data that
fits at checkpoints, each fit warm-started from the one before. Every fit chooses the output scale and the trend by
marginal likelihood (see ``trends``; the quadratic one makes the kernel "Q" of Ament & Gomes 2022, section 4.3). Fits
use as many points as make a matrix of ``FITTED`` rows; forms are compared on ``COMPARED`` rows. Hessians are not used.

``fit_near`` fits a local model to a few points, at every step of a local search: one length scale for all parameters,
and no noise. If the points are farther apart than the length scale of a multimodal function, noise explains all of
their gradients, and a search with such a model would not follow them. In high dimension the unit of the values is the
change that the gradients predict, which is much larger than the differences of the few values.

Every fit has a start from the gradients: Var(df / dx_c) = -2 f'(0) s / l_c^2, so their mean squares give the length
scales. From long length scales alone a fit ends where rough functions are explained as noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
from sonde.surrogates.outputs import KAPPAS, LARGEST, Scale
from sonde.surrogates.priors import Prior, default_prior
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint

Array = NDArray[np.float64]
Groups = NDArray[np.intp]
Mask = NDArray[np.bool_]

COMPARED, FITTED = 150, 300  # rows of the matrix, to compare forms and to fit
KEPT = 64  # fits remembered
STEEP = 1e6  # a steeper derivative on the model's scale is not used
EXACT = np.log(1e-4)  # the upper bound of log noise in a local model: room for rounding


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
    def value_scale(self) -> float:
        """The change of the values over the distance between the points that the gradients predict."""
        largest = float(np.nanmax(np.abs(self.gradients), initial=0.0))
        if not 0 < largest < LARGEST:
            return 0.0
        lengths = np.sqrt(np.nansum((self.gradients / largest) ** 2, axis=1))
        distance = np.sqrt(np.mean(np.sum((self.x - self.x.mean(axis=0)) ** 2, axis=1)))
        return min(float(np.median(lengths) * distance), LARGEST / largest) * largest

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
    least: float = 0.0  # the least deviation of the output scale

    @property
    def form(self) -> ModelForm:
        """The discrete choices."""
        return ModelForm(self.kappa, self.covariance.shape if self.covariance.quadratic else None)

    def posterior(self, observations: Observations) -> tuple[Scale, GradientPosterior]:
        """Return the output scale and the posterior given some observations."""
        scale = Scale.of(observations.values, self.kappa, least=self.least)
        smooth = PROFILES[self.covariance.profile].smooth
        data = scale_observations(
            observations, scale, with_hessians=smooth > 1, complement_dim=self.covariance.complement_dim
        )
        return scale, GradientPosterior.after(self.covariance, data.layout, data.y, self._noise(data))

    def posterior_of_many(
        self, observations: Observations, rows: NDArray[np.intp], few: Observations
    ) -> tuple[Scale, IterativePosterior]:
        """Return the posterior given observations without Hessians.

        Only the matrix of ``few``, a subset at these rows, is factorised.
        """
        scale = Scale.of(observations.values, self.kappa, least=self.least)
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
    local: bool = False  # one length scale for all parameters, and no noise
    complement_dim: int = 0  # of the orthogonal complement, see ``subspace``
    least: float = 0.0  # the least deviation of the output scale

    def fit(self, form: ModelForm, start: GradientCovariance | None = None, *, iterations: int) -> GradientFit:
        """Return the fit of one form from ``start``; None starts from the length scales of the gradients."""
        scale = Scale.of(self.observations.values, form.kappa, least=self.least)
        data = scale_observations(self.observations, scale, complement_dim=self.complement_dim)
        evidence = Evidence(*data)
        trended = form.trend is not None
        prior = self._prior(trended)
        size = int(self.groups[-1]) + 1
        free = size if self.local else 1  # how many entries of theta share the first free value

        def covariance_at(free_values: Array) -> GradientCovariance:
            theta = np.concatenate([np.full(free, free_values[0]), free_values[1:]])
            return GradientCovariance(
                self.groups, theta, trended, self.profile, form.trend or "quadratic", self.complement_dim
            )

        def loss(free_values: Array) -> tuple[float, Array]:
            covariance = covariance_at(free_values)
            value, gradient = evidence(covariance)
            density, prior_gradient = prior.log_density(covariance.theta)
            total = gradient + prior_gradient
            return -value - density, -np.concatenate([[total[:free].sum()], total[free:]])

        initial = prior.clip(self._initial(trended, start, data.mean_squares))
        found = minimize(
            loss, np.concatenate([[initial[:free].mean()], initial[free:]]), jac=True, method="L-BFGS-B",
            bounds=list(zip(prior.low[free - 1 :], prior.high[free - 1 :], strict=True)),
            options={"maxiter": iterations, "ftol": 1e-6, "gtol": 1e-3},
        )  # fmt: skip
        # the Jacobian of the output scale, for each value and each derivative
        jacobian = float(np.log(np.abs(scale.slope(self.observations.values)))[data.layout.points].sum())
        return GradientFit(covariance_at(np.asarray(found.x)), form.kappa, jacobian - float(found.fun), self.least)

    def _prior(self, trended: bool) -> Prior:
        size = int(self.groups[-1]) + 1
        prior = default_prior(size, quadratic=trended, gradients=True)
        if self.complement_dim:
            location = prior.location.copy()
            location[:size] += 0.5 * np.log(self.complement_dim + len(self.groups) - 1)
            prior = replace(prior, location=location)
        if not self.local:
            return prior
        high = prior.high.copy()
        high[[size + 1, -1]] = EXACT
        return replace(prior, high=high)

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


def fit_near(
    groups: Groups, observations: Observations, profile: str, trends: tuple[str | None, ...], *, complement_dim: int = 0
) -> GradientFit:
    """Return the best local fit to a few points, of several trends and starts.

    Every trend is fitted from the length scales of the gradients, the first one also from long length scales. The model
    has no noise: a few points cannot distinguish noise from multimodality, and with noise a local search ends too soon.
    """
    fitter = _Fitter(
        groups,
        observations,
        profile,
        local=True,
        complement_dim=complement_dim,
        least=observations.value_scale if complement_dim else 0.0,
    )
    fits = [fitter.fit(ModelForm(None, trend), iterations=12) for trend in trends]
    fits.append(fitter.fit(ModelForm(None, trends[0]), smooth_start(groups, profile), iterations=12))
    return max(fits, key=_score)


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
