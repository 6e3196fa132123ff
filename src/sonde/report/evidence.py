"""What advice is drawn from: the trials, the best of them, and what the model expects. All of it at first use.

Symbols: n trials, m candidates, d parameters; values are signed so that lower is better.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from sonde.acquisition.closed import h
from sonde.arrays import Array, Integers
from sonde.errors import SondeError
from sonde.report.source import Reported
from sonde.sampling import sobol
from sonde.space import Space
from sonde.strategies.at_bounds import MOST, best_ones, usable
from sonde.strategies.port import Model
from sonde.trials import History

CANDIDATES = 1024  # where the gain left is looked for: over the whole space, and as many near the best
NEAR = 0.05  # standard deviation of a candidate near the best, in sides of the unit cube


class Outlook(NamedTuple):
    """What the model expects: the largest expected improvement, and the standard deviation of the noise."""

    gain: float
    noise: float


class Evidence:
    """A study as advice sees it: as a whole, or for one of its objectives."""

    def __init__(self, study: Reported, objective: str | None = None) -> None:
        self.study = study
        self.objective = objective
        history = study.history
        self.history: History = history if objective is None else history.of(history.objectives.index(objective))

    @property
    def space(self) -> Space:
        """The space."""
        return self.study.space

    @cached_property
    def each(self) -> list[Evidence]:
        """The evidence for each objective."""
        objectives = self.study.objectives
        return [Evidence(self.study, name) for name in objectives.names] if objectives.several else [self]

    @property
    def named(self) -> str:
        """`` of 'loss'`` where there are several objectives."""
        return "" if self.objective is None else f" of {self.objective!r}"

    @cached_property
    def usable(self) -> Integers:
        """Numbers of the measured trials that meet their constraints."""
        return usable(self.history)

    @cached_property
    def top(self) -> Integers:
        """Numbers of the best trials, the best first; of several objectives, those of the front."""
        if self.history.objectives.several:
            return np.array([trial.number for trial in self.study.pareto_front], dtype=np.int64)
        return best_ones(self.history)

    @property
    def best(self) -> int:
        """Number of the usable trial with the best value."""
        return int(self.usable[np.argmin(self.history.values[self.usable])])

    @property
    def spread(self) -> float:
        """Distance from the median of the usable values to the best one."""
        values = self.history.values[self.usable]
        return float(np.median(values) - values.min())

    @cached_property
    def model(self) -> Model | None:
        """The surrogate; None where there is none."""
        try:
            return self.study.model(self.objective)
        except SondeError:
            return None

    @property
    def noisy(self) -> bool:
        """Whether noise was declared, or a configuration had different values."""
        return self.history.noisy or self.history.noise_found

    @cached_property
    def outlook(self) -> Outlook | None:
        """What the model expects; None where there is no model or no result."""
        if self.model is None or not len(self.usable):
            return None
        mean, std, noise = self._function(self._candidates())
        best = self._best_value()
        improvement = std * h(np.clip((best - mean) / np.maximum(std, 1e-300), -30.0, 30.0))
        return Outlook(float(np.max(np.maximum(improvement, 0.0))), float(np.median(noise)))

    def _best_value(self) -> float:
        """Return the best value; of noisy ones, the best posterior mean of the best trials."""
        values = self.history.values[self.usable]
        if not self.noisy:
            return float(values.min())
        first = self.usable[np.argsort(values, kind="stable")[: 10 * MOST]]
        return float(self._function(self.history.rows[first])[0].min())

    def _function(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return means and deviations (m,) of the objective's function, and the noise beside it, as far as known."""
        latent = getattr(self.model, "latent", None)
        if self.noisy and latent is not None:
            mean, std, noise = latent(rows)
            return mean, std, noise
        assert self.model is not None
        mean, std = self.model.predict(rows)
        return mean, std, np.zeros_like(std)

    def _candidates(self) -> Array:
        """Return feasible rows (m, d) over the whole space and near the best trials."""
        codec, size = self.space.codec, len(self.space)
        near = self.history.units[self.best] + NEAR * np.random.default_rng(0).standard_normal((CANDIDATES, size))
        rows = codec.decode(np.concatenate([sobol(0, CANDIDATES, size, seed=0), np.clip(near, 0.0, 1.0)]))
        feasible = rows[self.space.feasible_rows(rows)]
        return feasible if len(feasible) else self.history.rows[self.usable]
