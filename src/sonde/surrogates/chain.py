"""Fits along a growing history: a pure function of the data, with warm starts.

Hyperparameters are fitted at checkpoints, the first 8, 12, 16, 24, 32, 48, ... values, each from where the one before
ended; between checkpoints a short climb from the last one follows the data. So a process that opens a study sees
the same hyperparameters as the one that ran it, at the cost of a few fits, and a long-running one pays for a full fit
only when the history has grown by half (by an eighth, beyond 256).

What the model is made of, the output scale and whether the mean is quadratic, is chosen at checkpoints too, by
evidence.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.covariance import Covariance
from sonde.surrogates.features import Features
from sonde.surrogates.fitting import first_guess, fit
from sonde.surrogates.outputs import KAPPAS, Scale

Array = NDArray[np.float64]

FIRST = 8
FOLLOWED = 256  # up to here the hyperparameters follow every value
COMPARED = 256  # models are compared on at most so many points, evenly chosen
FITTED = 1024  # and hyperparameters fitted to at most so many
KEPT = 64  # fits remembered


class Form(NamedTuple):
    """What a model is made of."""

    kappa: float | None  # the output scale, see ``outputs``
    quadratic: bool  # whether the prior mean is a quadratic


FORMS = tuple(Form(*each) for each in product(KAPPAS, (False, True)))


@dataclass(frozen=True)
class Fit:
    """The covariance and output scale of some first values."""

    covariance: Covariance
    kappa: float | None

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
class Chain:
    """Remembers fits by the data they belong to."""

    forms: tuple[Form, ...] = FORMS
    _known: OrderedDict[bytes, Fit] = field(default_factory=OrderedDict)

    def fit(self, features: Features, data: Data) -> Fit:
        """Return the fit of a history."""
        count = len(data.values)
        last = checkpoint(count)
        if not last:
            return self._best(features, data, self.forms[:1], None, iterations=20)
        fitted = self._at(features, data, last)
        if count == last or count > FOLLOWED:
            return fitted
        return self._best(features, data, (fitted.form,), fitted, iterations=10)

    def _at(self, features: Features, data: Data, count: int) -> Fit:
        data = data.first(count)
        key = data.digest()
        if key not in self._known:
            before = checkpoint(count - 1)
            start = self._at(features, data, before) if before else None
            form = self._best(features, data.thinned(COMPARED), self.forms, start, iterations=30)
            if count > COMPARED:
                form = self._best(features, data.thinned(FITTED), (form.form,), form, iterations=10)
            self._known[key] = form
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def _best(
        self, features: Features, data: Data, forms: tuple[Form, ...], start: Fit | None, *, iterations: int
    ) -> Fit:
        x, found = features(data.units), []
        for form in forms:
            scale = Scale.of(data.values, form.kappa)
            y, noise = scale(data.values), scale.noise(data.values, data.deviations)
            begin = None if start is None else _adapted(start.covariance, form.quadratic)
            covariance, score = fit(
                features.groups, x, y, noise, start=begin, quadratic=form.quadratic, iterations=iterations
            )
            found.append((score + scale.log_jacobian(data.values), Fit(covariance, form.kappa)))
        return max(found, key=lambda pair: pair[0])[1]


def _adapted(covariance: Covariance, quadratic: bool) -> Array:
    """Return theta with or without the last entry, which only a quadratic mean has."""
    common = covariance.theta[: covariance.size + 2]
    guess = first_guess(covariance.groups, quadratic=quadratic)
    if quadratic:
        return covariance.theta if covariance.quadratic else np.concatenate([common, guess[-1:]])
    return common


def checkpoint(count: int) -> int:
    """Return the last checkpoint up to ``count`` values; 0 before the first."""
    if count < FIRST:
        return 0
    octave = 2 ** (int(count).bit_length() - 1)
    parts = 2 if octave < FOLLOWED else 8
    return int(octave + (count - octave) * parts // octave * octave // parts)
