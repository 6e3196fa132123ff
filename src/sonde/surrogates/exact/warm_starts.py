"""Warm-started fits along a growing history: hyperparameters are a pure function of the data.

Hyperparameters are fitted at the checkpoints of ``refits``: the first 8, 10, 12, 14, 16, 20, ... observations. Each fit
starts from the result of the fit to half as many observations; beyond 256, from that of 128 (64 where ``fitted`` is
small). Between checkpoints, a few optimizer steps from the last checkpoint refine them. So a process that opens a study
gets the same hyperparameters as the process that ran it, at the cost of the fits to n, 128, 64, 32, ... observations. A
long-running process pays for a full fit only when the history has grown by a quarter (by an eighth, beyond 256).

The form of the model (the output scale, the trend, whether inputs are warped, see ``features``) is
chosen at checkpoints too, by marginal likelihood: at every checkpoint while there are few observations, at every second
one later, when the choice seldom changes.

Symbols: n observations, d parameters, y standardized values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array, Index
from sonde.surrogates.exact.warped import fit_warped
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.estimates import ModelForm, first_guess, fit, prior_of, with_trend
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import REFINED, checkpoint, divisions, octave

SETTLED = 64  # from so many observations on, forms are compared at every second checkpoint only
COMPARED = 128  # forms are compared on at most so many observations, evenly spaced
FITTED = 320  # hyperparameters are fitted to at most so many observations, evenly spaced
WARPED = 16  # from so many observations on, inputs may be warped
KEPT = 64  # fits in the cache


FORMS = tuple(ModelForm(*each) for each in product(KAPPAS, (None, "quadratic")))
PLAIN_FORMS = tuple(form for form in FORMS if form.kappa is None)


@dataclass(frozen=True)
class Fit:
    """The covariance, output scale and features that were fitted to the first observations of a history."""

    covariance: Covariance
    kappa: float | None
    features: Features  # warped, where the marginal likelihood says so
    plain: Covariance  # fitted without a warp: the start of the next fit

    @property
    def form(self) -> ModelForm:
        """The discrete choices of the model."""
        return ModelForm(self.kappa, self.covariance.trend)


class Data(NamedTuple):
    """Units (n, d), values (n,), lower is better, and standard deviations of the noise (n,), NaN where not given."""

    units: Array
    values: Array
    deviations: Array

    def first(self, count: int) -> Data:
        """Return the first ``count`` observations."""
        return Data(*(column[:count] for column in self))

    def thinned(self, count: int) -> Data:
        """Return at most ``count`` observations, evenly spaced."""
        chosen = np.unique(np.linspace(0, len(self.values) - 1, min(len(self.values), count)).astype(int))
        return Data(*(column[chosen] for column in self))

    def digest(self) -> bytes:
        """Return a hash of these data."""
        return blake2b(b"".join(column.tobytes() for column in self)).digest()


@dataclass
class WarmStartedFits:
    """Fits of hyperparameters, each started from an earlier one, with a cache keyed by the data."""

    forms: tuple[ModelForm, ...] = FORMS
    fitted: int = FITTED
    _fits: Recent[Fit] = field(default_factory=lambda: Recent(KEPT))

    def fit(self, features: Features, data: Data, *, refine: bool = True) -> Fit:
        """Return the fit to a history; without ``refine``, that of its last checkpoint, not refined on later values."""
        count = len(data.values)
        last = checkpoint(count)
        if not last:
            return self._fitted(features, data, self.forms[0], None, iterations=20)[1]
        fitted = self._at(features, data, last)
        if count == last or count > REFINED or not refine:
            return fitted
        return self._fitted(fitted.features, data, fitted.form, fitted.covariance, iterations=10)[1]

    def _at(self, features: Features, data: Data, count: int) -> Fit:
        """Return the fit of one checkpoint."""
        data = data.first(count)
        key = data.digest() + repr(features).encode()
        fit_form = self._same_form if _keeps_form(count) else self._best_form
        return self._fits.get_or_compute(key, lambda: fit_form(features, data))

    def _same_form(self, features: Features, data: Data) -> Fit:
        """Return the fit with the form of the checkpoint before, started from its result."""
        last = self._at(features, data, checkpoint(len(data.values) - 1))
        fitted = self._fitted(last.features, data.thinned(self.fitted), last.form, last.covariance, iterations=15)[1]
        return replace(fitted, plain=last.plain)

    def _best_form(self, features: Features, data: Data) -> Fit:
        """Return the best fit of all forms, each started from the best fit to half of the data."""
        half = len(data.values) // 2
        before = checkpoint(half if half <= COMPARED else min(COMPARED, self.fitted // 2))
        start = self._at(features, data, before) if before else None
        score, plain = self._unwarped(features, data, start.plain if start else None)
        return self._warped(data, score, plain, start)

    def _unwarped(self, features: Features, data: Data, start: Covariance | None) -> tuple[float, Fit]:
        """Return the log posterior and the fit of the best form, from ``start`` or a better one of two other starts.

        Whether variation is noise or signal makes separate local optima, so a single start may end in the wrong one.
        """
        few, many = data.thinned(COMPARED), data.thinned(self.fitted)
        rough = [self._fitted(features, few, form, start, iterations=6) for form in self.forms]
        close = [each for _, each in sorted(rough, key=_score)[-2:]]  # only the two best are optimized further
        fine = [self._fitted(features, few, each.form, each.covariance, iterations=15) for each in close]
        best = max(fine, key=_score)[1]
        if len(few.values) < len(many.values):
            return self._fitted(features, many, best.form, best.covariance, iterations=20)
        others = (None, noisy_guess(features.groups, best.form.trend))
        fine += [self._fitted(features, few, best.form, each, iterations=20) for each in others]
        return max(fine, key=_score)

    def _warped(self, data: Data, score: float, plain: Fit, start: Fit | None) -> Fit:
        """Return the fit with a warp where its evidence is clearly higher, else ``plain``.

        ``score`` is the log posterior of ``plain``. That of the warp must be higher by log n / 2 for each parameter of
        the warp (BIC). The search starts from no warp and from the warp of ``start``, because a strong warp is a local
        optimum that one start may miss; with many observations it starts only from the warp of ``start``.
        """
        many = len(data.values) > self.fitted
        data, numeric = data.thinned(self.fitted), int(plain.features.ordered.sum())
        if len(data.values) < WARPED or not numeric:
            return plain
        scale = Scale.of(data.values, plain.kappa)
        y, noise = scale(data.values), scale.noise(data.values, data.deviations)
        starts = [(plain.features, plain.covariance)]
        if start and start.features.warp:
            starts = starts * (not many) + [(start.features, with_trend(start.covariance, plain.form.trend))]
        covariance, warped, log_posterior = max(
            (fit_warped(*each, data.units, y, noise, iterations=30) for each in starts), key=lambda each: each[2]
        )
        gain = log_posterior + scale.log_jacobian(data.values) - score
        return Fit(covariance, plain.kappa, warped, plain.covariance) if gain > numeric * np.log(len(y)) else plain

    def _fitted(
        self, features: Features, data: Data, form: ModelForm, start: Covariance | None, *, iterations: int
    ) -> tuple[float, Fit]:
        """Return the log posterior and the fit of one form, by so many optimizer iterations from ``start``."""
        scale = Scale.of(data.values, form.kappa)
        begin = with_trend(start or first_guess(features.groups), form.trend)
        noise = scale.noise(data.values, data.deviations)
        evidence = Evidence.of_values(features(data.units), scale(data.values), noise)
        covariance, score = fit(begin, prior_of(begin), evidence, iterations=iterations)
        return score + scale.log_jacobian(data.values), Fit(covariance, form.kappa, features, covariance)


def noisy_guess(groups: Index, trend: str | None = None) -> Covariance:
    """Return a start where about a third of the variance of the values is noise."""
    guess = first_guess(groups, trend)
    guess.theta[guess.noise_entry] = np.log(0.3)
    return guess


def _score(pair: tuple[float, Fit]) -> float:
    return pair[0]


def _keeps_form(count: int) -> bool:
    """Tell whether forms are not compared at this checkpoint: every second one, from ``SETTLED`` on."""
    before = octave(count)
    return count >= SETTLED and (count - before) * divisions(count) // before % 2 == 1
