"""Fits the parameters of a kernel by marginal likelihood, along a growing history.

As in ``exact.warm_starts``, parameters are a pure function of the data: they are fitted at the checkpoints of
``refits``, each time from the result of the fit to half as many observations and from the given parameters. The output
scale (see ``outputs``) is chosen at checkpoints too, by marginal likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sonde.surrogates.gradient.fitting import GradientFit, Observations, fit, fit_at_checkpoint, score
from sonde.surrogates.kernel.covariance import KernelCovariance
from sonde.surrogates.kernel.family import Family
from sonde.surrogates.outputs import KAPPAS
from sonde.surrogates.recent import Recent

KernelFit = GradientFit[KernelCovariance]

COMPARED, FITTED = 128, 300  # rows of the matrix, to compare output scales and to fit
KEPT = 64  # fits in the cache
NOISY = np.log(0.3)  # log noise variance of a start from much noise


@dataclass
class KernelFits:
    """Fits at the checkpoints of a history, with a cache keyed by the data."""

    kappas: tuple[float | None, ...] = KAPPAS
    _fits: Recent[KernelFit] = field(default_factory=lambda: Recent(KEPT))

    def fit(self, family: Family, observations: Observations) -> KernelFit:
        """Return the fit at the last checkpoint of a history; before the first checkpoint, of the whole history."""
        best = partial(self._best, family)
        return fit_at_checkpoint(self._fits, observations, family.key, best, start=lambda count: count // 2)

    def _best(self, family: Family, observations: Observations, start: KernelFit | None) -> KernelFit:
        """Return the best fit of all output scales and starts: a few iterations for each, more for the best ones.

        Fits start from the given parameters and from ``start``, without one from much noise: whether variation is noise
        or signal makes separate local optima.
        """
        few, many = thinned(observations, COMPARED), thinned(observations, FITTED)
        given = KernelCovariance(family, family.start)
        noisy = np.where(np.arange(len(given.theta)) == given.noise_entry, NOISY, given.theta)
        other = start.covariance if start else KernelCovariance(family, noisy)
        prior, kappa = family.prior, self.kappas[0]
        best = max((fit(few, kappa, each, prior, iterations=8) for each in (given, other)), key=score)
        coarse = [best, *(fit(few, each, best.covariance, prior, iterations=4) for each in self.kappas[1:])]
        close = sorted(coarse, key=score)[-2:]
        return max((fit(many, each.kappa, each.covariance, prior, iterations=10) for each in close), key=score)


def thinned(observations: Observations, rows: int) -> Observations:
    """Return an evenly spaced subset whose matrix has about so many rows, also if all gradients were complete."""
    few = observations.thinned(rows)
    count, width = len(few.values), 1 + few.x.shape[1]
    most = max(4, rows // width)
    known = np.flatnonzero(np.isfinite(few.gradients).any(axis=1))
    if few.width == 1 or len(known) <= 2 * most:
        return few
    kept = known[np.unique(np.linspace(0, len(known) - 1, most).astype(np.intp))]
    return few.trusting(np.isin(np.arange(count), kept))
