"""Fits along a growing history: a pure function of the data, with warm starts.

Hyperparameters are fitted at checkpoints, the first 8, 10, 12, 14, 16, 20, ... values, each from where the one of half
its size ended, or beyond 256 from that of 128 values (64, where few are fitted to); between checkpoints a short climb
from the last one follows the data. So a process that opens a study sees the same hyperparameters as the one that ran
it, at the cost of the fits to n, 128, 64, 32, ... values, and a long-running one pays for a full fit only when the
history has grown by a quarter (by an eighth, beyond 256).

What the model is made of, the output scale, whether the mean is quadratic and whether numbers are warped (see
``features``), is chosen at checkpoints too, by evidence: at each of them while there are few values, at every second
one later, when the answer seldom changes.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.exact.covariance import Covariance
from sonde.surrogates.exact.fitting import first_guess, fit, fit_warped, noisy_guess
from sonde.surrogates.features import Features
from sonde.surrogates.outputs import KAPPAS, Scale
from sonde.surrogates.refits import FOLLOWED, checkpoint, divisions, octave

Array = NDArray[np.float64]

SETTLED = 64  # from here on, forms are compared at every second checkpoint only
COMPARED = 128  # models are compared on at most so many points, evenly chosen
FITTED = 320  # and hyperparameters fitted to at most so many
WARPED = 16  # from so many values on there may be a warp
KEPT = 64  # fits remembered


class Form(NamedTuple):
    """What a model is made of."""

    kappa: float | None  # the output scale, see ``outputs``
    quadratic: bool  # whether the prior mean is a quadratic


FORMS = tuple(Form(*each) for each in product(KAPPAS, (False, True)))
PLAIN_FORMS = tuple(form for form in FORMS if form.kappa is None)


@dataclass(frozen=True)
class Fit:
    """The covariance, output scale and features of some first values."""

    covariance: Covariance
    kappa: float | None
    features: Features  # warped, where that pays
    plain: Covariance  # without a warp: where the next fit starts

    @property
    def form(self) -> Form:
        """What the model is made of."""
        return Form(self.kappa, self.covariance.quadratic)


class Data(NamedTuple):
    """Units (n, d), values (n,), lower is better, and told standard deviations (n,), NaN where none was told."""

    units: Array
    values: Array
    deviations: Array

    def first(self, count: int) -> Data:
        """Return the first ``count``."""
        return Data(*(column[:count] for column in self))

    def thinned(self, count: int) -> Data:
        """Return at most ``count`` of them, evenly chosen."""
        chosen = np.unique(np.linspace(0, len(self.values) - 1, min(len(self.values), count)).astype(int))
        return Data(*(column[chosen] for column in self))

    def digest(self) -> bytes:
        """Return a name of these data."""
        return blake2b(b"".join(column.tobytes() for column in self)).digest()


@dataclass
class WarmStartedFits:
    """Remembers fits by the data they belong to."""

    forms: tuple[Form, ...] = FORMS
    fitted: int = FITTED
    _known: OrderedDict[bytes, Fit] = field(default_factory=OrderedDict)

    def fit(self, features: Features, data: Data, *, follow: bool = True) -> Fit:
        """Return the fit of a history; without ``follow``, that of its last checkpoint."""
        count = len(data.values)
        last = checkpoint(count)
        if not last:
            return self._fitted(features, data, self.forms[0], None, iterations=20)[1]
        fitted = self._at(features, data, last)
        if count == last or count > FOLLOWED or not follow:
            return fitted
        return self._fitted(fitted.features, data, fitted.form, fitted.covariance, iterations=10)[1]

    def _at(self, features: Features, data: Data, count: int) -> Fit:
        data = data.first(count)
        key = data.digest() + repr(features).encode()
        if key not in self._known:
            self._known[key] = self._next(features, data) if _between(count) else self._compared(features, data)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def _next(self, features: Features, data: Data) -> Fit:
        """Return the fit that goes on from the checkpoint before."""
        last = self._at(features, data, checkpoint(len(data.values) - 1))
        fitted = self._fitted(last.features, data.thinned(self.fitted), last.form, last.covariance, iterations=15)[1]
        return replace(fitted, plain=last.plain)

    def _compared(self, features: Features, data: Data) -> Fit:
        """Return the best fit of all forms, each from where the best one to half the data ended."""
        half = len(data.values) // 2
        before = checkpoint(half if half <= COMPARED else min(COMPARED, self.fitted // 2))
        start = self._at(features, data, before) if before else None
        score, plain = self._afresh(features, data, start.plain if start else None)
        return self._warped(data, score, plain, start)

    def _afresh(self, features: Features, data: Data, start: Covariance | None) -> tuple[float, Fit]:
        """Return the best form's fit from ``start``, or from one of two other starts where that is better.

        What was noise and what was signal with fewer values is a local optimum that a climb alone does not leave.
        """
        few, many = data.thinned(COMPARED), data.thinned(self.fitted)
        rough = [self._fitted(features, few, form, start, iterations=6) for form in self.forms]
        close = [each for _, each in sorted(rough, key=_score)[-2:]]  # two go on, the others are beyond hope
        fine = [self._fitted(features, few, each.form, each.covariance, iterations=15) for each in close]
        best = max(fine, key=_score)[1]
        if len(few.values) < len(many.values):
            return self._fitted(features, many, best.form, best.covariance, iterations=20)
        others = (None, noisy_guess(features.groups, quadratic=best.form.quadratic))
        fine += [self._fitted(features, few, best.form, each, iterations=20) for each in others]
        return max(fine, key=_score)

    def _warped(self, data: Data, score: float, plain: Fit, start: Fit | None) -> Fit:
        """Return the fit with a warp where the evidence for it is clear, else ``plain``, whose log posterior is given.

        Clear is log n / 2 for each parameter of the warp (BIC). It climbs from no warp and from that of ``start``: a
        strong one is a local optimum that a climb does not always find. With many values that of ``start`` will do.
        """
        many = len(data.values) > self.fitted
        data, numbers = data.thinned(self.fitted), int(plain.features.ordered.sum())
        if len(data.values) < WARPED or not numbers:
            return plain
        scale = Scale.of(data.values, plain.kappa)
        y, noise = scale(data.values), scale.noise(data.values, data.deviations)
        begins = [(plain.features, plain.covariance.theta)]
        if start and start.features.warp:
            begins = begins * (not many) + [(start.features, _adapted(start.covariance, plain.form.quadratic))]
        covariance, warped, found = max(
            (fit_warped(*begin, plain.form.quadratic, data.units, y, noise, iterations=30) for begin in begins),
            key=lambda each: each[2],
        )
        gain = found + scale.log_jacobian(data.values) - score
        return Fit(covariance, plain.kappa, warped, plain.covariance) if gain > numbers * np.log(len(y)) else plain

    def _fitted(
        self, features: Features, data: Data, form: Form, start: Covariance | None, *, iterations: int
    ) -> tuple[float, Fit]:
        """Return one form's evidence and fit, climbing from ``start``."""
        scale = Scale.of(data.values, form.kappa)
        y, noise = scale(data.values), scale.noise(data.values, data.deviations)
        begin = None if start is None else _adapted(start, form.quadratic)
        covariance, score = fit(
            features.groups, features(data.units), y, noise, start=begin, quadratic=form.quadratic,
            iterations=iterations,
        )  # fmt: skip
        return score + scale.log_jacobian(data.values), Fit(covariance, form.kappa, features, covariance)


def _score(pair: tuple[float, Fit]) -> float:
    return pair[0]


def _adapted(covariance: Covariance, quadratic: bool) -> Array:
    """Return theta with or without the last entry, which only a quadratic mean has."""
    common = covariance.theta[: covariance.size + 2]
    guess = first_guess(covariance.groups, quadratic=quadratic)
    if quadratic:
        return covariance.theta if covariance.quadratic else np.concatenate([common, guess[-1:]])
    return common


def _between(count: int) -> bool:
    """Tell whether a checkpoint is one at which forms are not compared: each second one, from ``SETTLED`` on."""
    before = octave(count)
    return count >= SETTLED and (count - before) * divisions(count) // before % 2 == 1
