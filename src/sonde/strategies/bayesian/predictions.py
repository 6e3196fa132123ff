"""Predictions of a surrogate, in the units of the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.arrays import Array, Integers
from sonde.sampling.sobol import sobol
from sonde.space import Space
from sonde.strategies.bayesian.surrogate import Surrogate
from sonde.strategies.threads import one_thread
from sonde.surrogates.port import Posterior

SUPPORTS = 256  # points of the space at which a function is drawn
BLOCK = 4096  # points at which drawn functions are evaluated at once
RESIDUE = 1e-6  # noise variance of a drawn value, so that it is interpolated in a stable way


@dataclass(frozen=True)
class Predictions:
    """Predictions of future values, noise included, and of the function without noise."""

    space: Space
    surrogate: Surrogate
    numbers: Integers  # of the trials whose values the surrogate has seen
    left_out: Callable[[], tuple[Array, Array]]  # means and variances of each value, given all others
    averaged: Callable[[], Surrogate] | None = None  # with draws of the hyperparameters, for ``latent``

    @one_thread()
    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (m,) at rows (m, d)."""
        return self._moments(self.surrogate, rows)

    @one_thread()
    def latent(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return means and standard deviations (m,) of the function itself, and those of what is left over as noise.

        Where few values are noisy, the most probable hyperparameters can be certain of a plane; draws are not.
        """
        surrogate = self.averaged() if self.averaged else self.surrogate
        means, deviations = self._moments(surrogate, rows, noisy=False)
        whole = self._moments(surrogate, rows)[1]
        return means, deviations, np.sqrt(np.maximum(whole**2 - deviations**2, 0.0))

    def _moments(self, surrogate: Surrogate, rows: Array, *, noisy: bool = True) -> tuple[Array, Array]:
        x = surrogate.features(self.space.codec.encode(rows)[0])
        parts = [(posterior.marginals(x), noisy * posterior.noise) for posterior in surrogate.posteriors]
        means = np.array([at.mean[:, 0] for at, _ in parts])
        variances = np.array([at.variance + noise for at, noise in parts])
        return surrogate.scale.restore(means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0))

    def leave_one_out(self) -> tuple[Integers, Array, Array, Array]:
        """Return numbers, means, standard deviations and scores of the completed trials."""
        means, variances = self.left_out()
        scores = -(self.surrogate.values - means) / np.sqrt(variances)
        return self.numbers, *self.surrogate.scale.restore(means, variances), scores

    @one_thread()
    def functions(self, count: int, rng: np.random.Generator) -> Callable[[Array], Array]:
        """Return functions drawn from the posterior: they take rows (m, d) to values (m, count).

        A function is drawn jointly at ``SUPPORTS`` points of a Sobol sequence; between them and the observations it is
        the model's mean given both. Where hyperparameters were drawn, each draw of them has its share of the functions.
        """
        surrogate = self.averaged() if self.averaged else self.surrogate
        codec = self.space.codec
        points = np.unique(codec.project(sobol(0, SUPPORTS, len(self.space), seed=0))[0], axis=0)
        x = surrogate.features(points)
        shares = np.bincount(np.arange(count) % len(surrogate.posteriors))
        drawn = [
            _drawn(posterior, x, rng, int(share))
            for posterior, share in zip(surrogate.posteriors, shares, strict=False)
        ]

        @one_thread()
        def evaluated(rows: Array) -> Array:
            at = surrogate.features(codec.encode(rows)[0])
            blocks = [at[start : start + BLOCK] for start in range(0, len(at), BLOCK)]
            means = [[posterior.means(block) for posterior in drawn] for block in blocks]
            whole = np.concatenate([np.concatenate(parts, axis=1) for parts in means])
            return surrogate.scale.restore(whole, np.zeros(whole.shape))[0]

        return evaluated

    @one_thread()
    def success(self, rows: Array) -> Array:
        """Return the probabilities (m,) that trials at rows (m, d) complete and meet the measured constraints."""
        if self.surrogate.feasibility is None:
            return np.ones(len(rows))
        units = self.space.codec.encode(rows)[0]
        logs = [self.surrogate.feasibility(units[start : start + BLOCK])[0] for start in range(0, len(units), BLOCK)]
        return np.exp(np.concatenate(logs))


def _drawn(posterior: Posterior, x: Array, rng: np.random.Generator, count: int) -> Posterior:
    """Return the posterior given values (p, count) that are drawn from it at x (p, f): its means are the functions."""
    values = posterior.pool(x).draw(rng, count)
    return posterior.condition(x, values, RESIDUE - posterior.noise)  # without the noise that it adds itself
