"""From a history to a model of it: what is believed about the objective, and about what works."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.sampling import base_samples
from sonde.sampling import Key
from sonde.space import Space
from sonde.surrogates.chain import FOLLOWED, Chain, Data
from sonde.surrogates.feasibility import Feasibility, Passing, combine, learn_constraint, learn_success
from sonde.surrogates.features import Features
from sonde.surrogates.fitting import sample
from sonde.surrogates.gp import Posterior
from sonde.surrogates.outputs import Scale
from sonde.trials import History

Array = NDArray[np.float64]

FANTASIES = 32
SURE = 1e-9  # noise variance of a fantasy
DRAWS = {"draw": 1, "slice": 10}  # how many hyperparameters are drawn
WHOLE = 100  # up to so many values a draw is of all hyperparameters; beyond, where it is dearer, of a share of them
DRAWN = 16  # and of at most so many
ANY = Key(0, 0)
_DRAW = 12  # purpose of the key's stream


@dataclass(frozen=True)
class Belief:
    """A model of the objective (several, where hyperparameters are marginalised), and of what works."""

    features: Features
    scale: Scale
    posteriors: tuple[Posterior, ...]
    values: Array  # (n,), on the model's scale: higher is better
    best: float | None  # the best feasible value so far, on that scale; None: there is none
    incumbents: Array  # (m, d): the best points, best first
    feasibility: Feasibility | None


def features_of(space: Space) -> Features:
    """Return the features of a space: how many choices a parameter without order has."""
    return Features(tuple(0 if each.ordered else int(each.axis.size) for each in space.parameters.values()))


def believe(space: Space, history: History, chain: Chain, *, hyperparameters: str = "map", key: Key = ANY) -> Belief:
    """Return the belief after a history with at least one completed trial."""
    features = features_of(space)
    done = history.completed
    values, deviations = history.values[done.numbers], history.noise[done.numbers]
    draw = hyperparameters in DRAWS and len(done) <= FOLLOWED  # beyond, the posterior is narrow and a draw is dear
    fitted = chain.fit(features, Data(done.units, values, deviations), follow=not draw)
    scale = Scale.of(values, fitted.kappa)
    x, y, noise = features(done.units), scale(values), scale.noise(values, deviations)
    covariances = [fitted.covariance]
    if draw:
        share = min(1.0, WHOLE / len(y), DRAWN / len(fitted.covariance.theta))
        thetas = sample(fitted.covariance, x, y, noise, count=DRAWS[hyperparameters], rng=key.rng(_DRAW), share=share)
        covariances = [replace(fitted.covariance, theta=theta) for theta in thetas]
    posteriors = tuple(Posterior.of(each, x, y, noise) for each in covariances)
    usable = history.violations[done.numbers] <= 0
    return Belief(
        features, scale, posteriors, y,
        best=_best(posteriors[0], y, usable),
        incumbents=done.units[np.argsort(-np.where(usable, y, y - 1e6), kind="stable")[:3]],
        feasibility=_feasibility(features, history),
    )  # fmt: skip


def _best(posterior: Posterior, y: Array, usable: NDArray[np.bool_]) -> float | None:
    """Return the best value seen; where there is noise, the best of what the model makes of the values."""
    if not usable.any():
        return None
    noisy = posterior.covariance.noise > 1e-4
    return float(np.max((posterior.marginals(posterior.x).mean[:, 0] if noisy else y)[usable]))


def _feasibility(features: Features, history: History) -> Feasibility | None:
    done, failed = history.completed, history.failed
    conditions: list[Passing] = []
    if len(failed):
        units = np.concatenate([done.units, failed.units])
        conditions.append(learn_success(features, units, np.arange(len(units)) < len(done)))
    told = {number: history.constraints[number] for number in done.numbers.tolist() if number in history.constraints}
    for name in sorted({name for levels in told.values() for name in levels}):
        rows = [i for i, number in enumerate(done.numbers.tolist()) if name in told.get(number, {})]
        levels = np.array([told[int(done.numbers[i])][name] for i in rows])
        conditions.append(learn_constraint(features, done.units[rows], levels))
    return combine(conditions)


@dataclass
class Fantasies:
    """The belief with points under way: S outcomes of each, sampled jointly, one point after the other."""

    posterior: Posterior
    best: Array  # (S,)
    base: Array  # (S, f), a column for each point under way
    _used: int = field(default=0)

    @classmethod
    def of(cls, posterior: Posterior, best: float, room: int, seed: int) -> Fantasies:
        """Return the belief with nothing under way yet and room for so many points."""
        return cls(posterior, np.array([best]), base_samples(FANTASIES, room, seed) if room else np.empty((1, 0)))

    def add(self, x: Array) -> None:
        """Condition on the outcomes of a point with features (p,), the next row of L z.

        They are values of the function itself, without noise: improvement is a question of those.
        """
        belief = self.posterior.marginals(x[None])
        outcomes = belief.mean[0] + np.sqrt(belief.variance) * self.base[:, self._used]
        self.posterior = self.posterior.condition(x[None], outcomes[None], SURE - self.posterior.covariance.noise)
        self.best = np.maximum(self.best, outcomes)
        self._used += 1


@dataclass(frozen=True)
class BelievedValues:
    """The belief as predictions of values, in their own units; of values that will be seen, noise included."""

    space: Space
    history: History
    belief: Belief

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (m,) at rows (m, d)."""
        posterior = self.belief.posteriors[0]
        marginals = posterior.marginals(self.belief.features(self.space.codec.encode(rows)[0]))
        return self.belief.scale.restore(marginals.mean[:, 0], marginals.variance + posterior.covariance.noise)

    def leave_one_out(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Return numbers, means, standard deviations and scores of the completed trials."""
        means, variances = self.belief.posteriors[0].leave_one_out(self.belief.values)
        scores = -(self.belief.values - means) / np.sqrt(variances)
        return self.history.completed.numbers, *self.belief.scale.restore(means, variances), scores
