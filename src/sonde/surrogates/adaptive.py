"""Adaptive basis regression on a growing history (Snoek et al. 2015): networks at checkpoints, regressions at once.

Networks are trained at the checkpoints of ``chain``: from random weights when the number of results has doubled, and
from there on at each fraction of the way to the next doubling. Between checkpoints every new result enters the
regressions on the basis as it is, exactly. So a result costs O(D^2), training is paid for by the many results between
two checkpoints, and a process that opens a study trains twice at most and believes the same.

Several networks are several opinions. As many more are trained beside them without every fifth result; how far off
these are there tells by how much the belief has to be widened: networks are surer than they should be.

Symbols: n rows, p inputs, M networks, D basis functions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sonde.surrogates.chain import checkpoint, octave
from sonde.surrogates.head import Hyperparameters, Regression, regress
from sonde.surrogates.linear import LinearPosterior, mixture
from sonde.surrogates.network import WIDTH, Network, side_by_side
from sonde.surrogates.table import Table, held_out, log_score

Array = NDArray[np.float64]

FROM_SCRATCH, GOING_ON = 2000, 600  # steps of training
SLOW = 0.3  # the learning rate of going on, in units of that from scratch
KEPT = 8  # networks remembered
NOISE_FLOOR = 1e-3  # variance against which told noise is weighed
# The share of squared errors, in units of their predicted size, that should lie below the number beside it.
QUANTILE, EXPECTED = 0.8, 1.6424


@dataclass(frozen=True)
class Recipe:
    """What the networks are, how they are trained, and how many hyperparameters of the regressions are drawn."""

    members: int = 5
    activation: str = "tanh"
    width: int = WIDTH
    loss: str = "evidence"
    optimizer: str = "adam"
    draws: int = 1
    quadratic: bool = False

    @property
    def judged(self) -> bool:
        """Whether there are networks that judge the others: one network is believed, as in the paper."""
        return self.members > 1


PAPER = Recipe(members=1, loss="squares", optimizer="sgd", draws=10, quadratic=True)


class Regressions(list[Regression]):
    """One for each network; the sum is that of each."""

    def __add__(self, other: Regressions) -> Regressions:  # type: ignore[override]
        return Regressions([one + another for one, another in zip(self, other, strict=True)])


@dataclass
class Trained:
    """Networks, by how much their belief is widened, and how well they foretold rows that they had not seen."""

    network: Network
    widening: float = 1.0
    score: float = -np.inf
    judge: Network | None = None  # the networks that were trained without every fifth row
    sums: dict[bytes, Regressions] = field(default_factory=dict)  # over whole blocks of rows


@dataclass
class AdaptiveBasis:
    """Learns beliefs, and remembers networks by the data they were trained on."""

    recipe: Recipe = field(default_factory=Recipe)
    _known: OrderedDict[bytes, Trained] = field(default_factory=OrderedDict)

    def learn(self, data: Table, count: int, rng: np.random.Generator) -> tuple[LinearPosterior, ...]:
        """Return beliefs after the data, one for each draw of hyperparameters, by networks of the first ``count``."""
        trained = self.network(data, count)
        regressions = _regressions(trained, data)
        drawn = [regression.draws(self.recipe.draws, rng) for regression in regressions]
        return tuple(_merged(trained, regressions, list(given)) for given in zip(*drawn, strict=True))

    def leave_one_out(self, data: Table, count: int) -> tuple[Array, Array]:
        """Return means and variances of each value given all others, on the basis as it is."""
        trained = self.network(data, count)
        basis = trained.network.basis(data.x).values
        parts, _ = _split(trained.network, basis)
        means, variances, noises = [], [], []
        for own, regression in zip(parts, _regressions(trained, data), strict=True):
            given = regression.most_probable()
            mean, root = regression.weights(given)
            lever = np.sum((own @ root) ** 2, axis=1)
            hat = np.minimum(given.beta * _weights(data) * lever, 1 - 1e-6)
            means.append(data.y - (data.y - own @ mean) / (1 - hat))
            variances.append(lever / (1 - hat))
            noises.append(1 / given.beta + data.noise)
        spread = np.mean(variances, axis=0) + np.var(means, axis=0)
        return np.mean(means, axis=0), trained.widening * spread + np.mean(noises, axis=0)

    def network(self, data: Table, count: int) -> Trained:
        """Return the networks of the first ``count`` rows."""
        data = data.rows(slice(count))
        key = data.digest()
        if key not in self._known:
            self._known[key] = self._train(data)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def _train(self, data: Table) -> Trained:
        recipe, count = self.recipe, len(data.y)
        rng = np.random.default_rng([count, data.x.shape[1]])
        random = Network.untrained(data.x.shape[1], recipe.members, rng, activation=recipe.activation,
                                   width=recipe.width, quadratic=recipe.quadratic)  # fmt: skip
        if not checkpoint(count):
            return Trained(random)
        from sonde.surrogates.training import train  # JAX is imported when there is something to train

        before = None if octave(count) == count else self.network(data, octave(count))
        held = held_out(count) & recipe.judged
        begun, rows = [before.network if before else random], [np.arange(count)]
        if held.any():
            begun.append((before.judge if before else None) or random)
            rows.append(np.flatnonzero(~held))
        network, _ = train(
            side_by_side(begun), data.x, data.y, [each for each in rows for _ in range(recipe.members)],
            steps=GOING_ON if before else FROM_SCRATCH, speed=SLOW if before else 1.0, rng=rng,
            loss=recipe.loss, optimizer=recipe.optimizer,
        )  # fmt: skip
        trained = Trained(network.members(slice(recipe.members)))
        if not held.any():
            return trained
        judge = network.members(slice(recipe.members, None))
        if recipe.loss == "logistic":
            return replace(trained, judge=judge)
        return _judged(trained, judge, data, held)


def _judged(trained: Trained, judge: Network, data: Table, held: NDArray[np.bool_]) -> Trained:
    """Return the networks with the widening under which those like them are as far off as they should be."""
    seen, unseen = data.rows(np.flatnonzero(~held)), data.rows(np.flatnonzero(held))
    alike = Trained(judge)
    regressions = _regressions(alike, seen)
    belief = _merged(alike, regressions, [each.most_probable() for each in regressions])
    at = belief.marginals(unseen.x)
    errors, noise = unseen.y - at.mean[:, 0], belief.noise + unseen.noise
    ratio = np.quantile(errors**2 / (at.variance + noise), QUANTILE) / EXPECTED
    widening = float(np.clip(ratio, 0.25, 1e6))
    return replace(trained, widening=widening, score=log_score(errors, widening * at.variance + noise), judge=judge)


def _split(network: Network, basis: Array) -> tuple[list[Array], Array]:
    """Return the columns of each network, and those of the quadratic mean."""
    size = network.count * network.units
    return np.split(basis[:, :size], network.count, axis=1), basis[:, size:]


def _regressions(trained: Trained, data: Table) -> Regressions:
    """Return each network's regression on all rows; whole blocks are summed once."""

    def on(block: Table) -> Regressions:
        parts, extra = _split(trained.network, trained.network.basis(block.x).values)
        return Regressions([regress(own, extra, block.y, _weights(block)) for own in parts])

    return data.summed(trained.sums, on)


def _weights(data: Table) -> Array:
    """Return how much rows count whose noise was told."""
    return NOISE_FLOOR / (NOISE_FLOOR + data.noise)


def _merged(trained: Trained, regressions: Sequence[Regression], given: Sequence[Hyperparameters]) -> LinearPosterior:
    """Return the belief of which those of the networks are samples."""
    parts = [each.weights(hyperparameters) for each, hyperparameters in zip(regressions, given, strict=True)]
    noise = float(np.mean([1 / each.beta for each in given]))
    eta = np.array([each.eta for each in given])
    return mixture(trained.network, parts, eta=eta, widening=trained.widening, noise=noise)
