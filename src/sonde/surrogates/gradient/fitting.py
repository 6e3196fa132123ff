"""Hyperparameters of the Gaussian process with gradients: a fit along a growing history.

``WarmStartedGradientFits`` fits the global model. It works like ``exact.warm_starts``: a pure function of the data that
fits at checkpoints, each fit warm-started from the one before. Every fit chooses the output scale and the trend by
marginal likelihood (see ``trends``; the quadratic one makes the kernel "Q" of Ament & Gomes 2022, section 4.3). Fits
use as many points as make a matrix of ``FITTED`` rows; forms are compared on ``COMPARED`` rows. Hessians are not used.

Every fit has a start from the gradients: Var(df / dx_c) = -2 f'(0) s / l_c^2, so their mean squares give the length
scales. From long length scales alone a fit ends where rough functions are explained as noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import product
from typing import Any, Generic, NamedTuple

import numpy as np

from sonde.arrays import Array, Index, Mask
from sonde.surrogates.gaussian_process import estimates
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import ModelForm, Of, first_guess, prior_of, with_trend
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gaussian_process.profiles import PROFILES
from sonde.surrogates.gaussian_process.trends import TRENDS
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.priors import Prior
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint

Groups = Index

COMPARED, FITTED = 150, 300  # rows of the matrix, to compare forms and to fit
KEPT = 64  # fits remembered
STEEP = 1e6  # a steeper derivative on the model's scale is not used


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

    def rows(self, chosen: Index | slice) -> Observations:
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


def scale_observations(observations: Observations, scale: Scale, *, with_hessians: bool = False) -> Evidence:
    """Return values, gradients and, on request, curvatures on the model's scale."""
    slope = scale.slope(observations.values)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        gradients = slope * observations.gradients
        usable = np.abs(gradients) < STEEP  # False for NaN
    squares = np.sum(np.square(gradients, where=usable, out=np.zeros_like(gradients)), axis=0)
    mean_squares = np.maximum(squares / np.maximum(usable.sum(axis=0), 1), 1e-12)
    entries, curvatures = np.empty((3, 0), dtype=np.intp), np.empty(0)
    if with_hessians and observations.hessians is not None:
        entries, curvatures = _curvatures(observations.hessians, slope, gradients, scale.curvature, usable)
    layout = ObservationLayout(observations.x, np.stack(np.nonzero(usable)), entries)
    y = np.concatenate([scale(observations.values), gradients[usable], curvatures])
    return Evidence(layout, y, scale.noise(observations.values, observations.deviations), mean_squares)


def _curvatures(hessians: Array, slope: Array, gradients: Array, bend: float, usable: Mask) -> tuple[Index, Array]:
    """Return indices and entries of the upper triangles of Hessians, of points whose gradients are known.

    With t the model's scale, the Hessian of t(f) is t' H + t'' g g^T, and t'' = ``bend`` t'^2, see ``outputs.Scale``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = slope[:, :, None] * hessians + bend * gradients[:, :, None] * gradients[:, None, :]
        good = (np.abs(scaled) < STEEP**2) & usable[:, :, None] & usable[:, None, :]
    good &= np.triu(np.ones(hessians.shape[1:], dtype=bool))
    return np.stack(np.nonzero(good)), scaled[good]


@dataclass(frozen=True)
class GradientFit(Generic[Of]):
    """Fitted covariance and output scale, and their log posterior density."""

    covariance: Of
    kappa: float | None
    score: float

    def scaled(self, observations: Observations) -> tuple[Scale, Evidence]:
        """Return the output scale, and the observations on it."""
        scale = Scale.of(observations.values, self.kappa)
        return scale, scale_observations(observations, scale, with_hessians=self.covariance.smooth > 1)

    def posterior(self, observations: Observations) -> tuple[Scale, ExactPosterior]:
        """Return the output scale and the posterior given some observations."""
        scale, evidence = self.scaled(observations)
        return scale, evidence.posterior(self.covariance)

    def posterior_of_many(
        self, observations: Observations, rows: Index, few: Observations
    ) -> tuple[Scale, IterativePosterior]:
        """Return the posterior given observations without Hessians.

        Only the matrix of ``few``, a subset at these rows, is factorised.
        """
        scale, evidence = self.scaled(observations)
        subset, noise = scale_observations(few, scale).posterior(self.covariance), evidence.noise(self.covariance)
        return scale, IterativePosterior.after(subset, rows, evidence.layout, evidence.y, noise)


def fit(
    observations: Observations, kappa: float | None, start: Of, prior: Prior, *, iterations: int
) -> GradientFit[Of]:
    """Return the MAP estimate on one output scale, searched from the covariance ``start``."""
    scale = Scale.of(observations.values, kappa)
    evidence = scale_observations(observations, scale)
    covariance, score = estimates.fit(start, prior, evidence, iterations=iterations)
    # the Jacobian of the output scale, for each value and each derivative
    jacobian = float(np.log(np.abs(scale.slope(observations.values)))[evidence.layout.points].sum())
    return GradientFit(covariance, kappa, jacobian + score)


def steep_guess(groups: Groups, profile: str, form: ModelForm, observations: Observations) -> Covariance:
    """Return the start of a fit from the length scales of the gradients."""
    mean_squares = scale_observations(observations, Scale.of(observations.values, form.kappa)).mean_squares
    guess = first_guess(groups, form.trend, profile, gradients=True)
    largest = np.zeros(guess.size)
    np.maximum.at(largest, groups, mean_squares)
    known = largest > 1e-12
    guess.theta[: guess.size][known] = 0.5 * np.log(-2 * PROFILES[profile].slope / largest[known])
    return guess


def fit_at_checkpoint(
    known: Recent[GradientFit[Of]], observations: Observations, key: bytes,
    compute: Callable[[Observations, GradientFit[Of] | None], GradientFit[Of]], *, start: Callable[[int], int],
) -> GradientFit[Of]:  # fmt: skip
    """Return the fit at the last checkpoint of a history, or that of ``known``; before the first, of the whole history.

    ``compute`` starts from the fit at the last checkpoint of ``start(count)`` observations, where there is one.
    """

    def at(count: int) -> GradientFit[Of]:
        first, before = observations.rows(slice(count)), checkpoint(start(count))
        return known.get_or_compute(first.digest() + key, lambda: compute(first, at(before) if before else None))

    return at(checkpoint(len(observations.values)) or len(observations.values))


@dataclass
class WarmStartedGradientFits:
    """Global fits at the checkpoints of a history, remembered by their data."""

    profile: str = "matern52"
    forms: tuple[ModelForm, ...] = FORMS
    _known: Recent[GradientFit[Covariance]] = field(default_factory=lambda: Recent(KEPT))

    def fit(self, groups: Groups, observations: Observations) -> GradientFit[Covariance]:
        """Return the fit at the last checkpoint of a history; before the first checkpoint, of the whole history."""
        compare = partial(self._compared, groups)
        return fit_at_checkpoint(self._known, observations, groups.tobytes(), compare, start=lambda count: count - 1)

    def _compared(
        self, groups: Groups, observations: Observations, start: GradientFit[Covariance] | None
    ) -> GradientFit[Covariance]:
        """Return the best fit of all forms: a few iterations for each, more for the two best ones."""
        few, many = observations.thinned(COMPARED), observations.thinned(FITTED)
        initial = start.covariance if start else first_guess(groups, profile=self.profile, gradients=True)
        coarse = [_fit(few, form.kappa, with_trend(initial, form.trend), iterations=5) for form in self.forms]
        plain = dict.fromkeys(ModelForm(self.forms[0].kappa, form.trend) for form in self.forms)
        steep = {form: steep_guess(groups, self.profile, form, few) for form in plain}
        coarse += [_fit(few, form.kappa, guess, iterations=8) for form, guess in steep.items()]
        close = sorted(coarse, key=score)[-2:]
        return max((_fit(many, each.kappa, each.covariance, iterations=10) for each in close), key=score)


def _fit(
    observations: Observations, kappa: float | None, start: Covariance, *, iterations: int
) -> GradientFit[Covariance]:
    return fit(observations, kappa, start, prior_of(start), iterations=iterations)


def score(fitted: GradientFit[Any]) -> float:
    """Return the log posterior density of a fit."""
    return fitted.score
