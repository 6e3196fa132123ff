"""Adaptive basis regression on a growing history (Snoek et al. 2015): networks at checkpoints, regressions at once.

Networks are trained at the checkpoints of ``chain``: from random weights when the number of results has doubled, and
from there on at each fraction of the way to the next doubling. Between checkpoints every new result enters the
regressions on the basis as it is, exactly. So a result costs O(D^2), training is paid for by the many results between
two checkpoints, and a process that opens a study trains twice at most and believes the same. Where there is a cache,
it does not train at all.

Several networks are several opinions. From scratch they are first trained without every fifth result, and kept as
judges: how far off these are there tells by how much the belief has to be widened, because networks are surer than they
should be. From the judges the networks go on with all results.

Symbols: n rows, p inputs, M networks, D basis functions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.activity import doing
from sonde.surrogates.basis.data import Table, held_out, log_score
from sonde.surrogates.basis.networks import WIDTH, Layer, Network
from sonde.surrogates.basis.posterior import LinearPosterior, mixture
from sonde.surrogates.basis.regression import Hyperparameters, Regression, regress
from sonde.surrogates.basis.training import train
from sonde.surrogates.cached_arrays import Cache, name_of, packed, unpacked
from sonde.surrogates.refits import checkpoint, octave

Array = NDArray[np.float64]


class Schedule(NamedTuple):
    """Steps from random weights and from trained ones."""

    from_scratch: int
    going_on: int


SCHEDULES = {"soap": Schedule(260, 30), "adam": Schedule(2000, 600), "sgd": Schedule(2000, 600)}
SLOW = 0.3  # what multiplies the learning rate where the networks were trained before
BIASES = {"soap": 1.0}  # deviation of the first ones: units that bend in different places
KEPT = 8  # networks remembered
NOISE_FLOOR = 1e-3  # variance against which told noise is weighed
# The share of squared errors, in units of their predicted size, that should lie below the number beside it.
QUANTILE, EXPECTED = 0.8, 1.6424


@dataclass(frozen=True)
class Recipe:
    """What the networks are, how they are trained, and how many hyperparameters of the regressions are drawn."""

    members: int = 3
    activation: str = "tanh"
    width: int = WIDTH
    loss: str = "evidence"
    optimizer: str = "soap"
    draws: int = 1
    quadratic: bool = False
    effort: float = 1.0  # multiplies the steps of training
    device: str = "cpu"  # NumPy's; or "gpu", by JAX

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
    judge: Network | None = None  # networks like them that have not seen every fifth row
    sums: dict[bytes, Regressions] = field(default_factory=dict)  # over whole blocks of rows


@dataclass
class AdaptiveBasis:
    """Learns beliefs, and remembers networks by the data they were trained on."""

    recipe: Recipe = field(default_factory=Recipe)
    _known: OrderedDict[bytes, Trained] = field(default_factory=OrderedDict)
    cache: Cache | None = None  # where networks outlive the process

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
            self._known[key] = self._recalled(data, key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def _recalled(self, data: Table, key: bytes) -> Trained:
        """Return what the cache has of these data, else train and put it there."""
        if not checkpoint(len(data.y)):
            return Trained(self._random(data))
        if self.cache is None:
            return self._train(data)
        name = name_of("networks", key, self.recipe)
        state = self.cache.get(name)
        trained = None if state is None else _unpacked(state, self._random(data))
        if trained is None:
            trained = self._train(data)
            self.cache.put(name, _packed(trained))
        return trained

    def _random(self, data: Table) -> Network:
        recipe, (count, inputs) = self.recipe, data.x.shape
        return Network.untrained(
            inputs, recipe.members, np.random.default_rng([count, inputs]), activation=recipe.activation,
            width=recipe.width, quadratic=recipe.quadratic, biases=BIASES.get(recipe.optimizer, 0.0),
        )  # fmt: skip

    def _train(self, data: Table) -> Trained:
        """Train networks, from those of the last doubling if there are any."""
        recipe, count = self.recipe, len(data.y)
        before = None if octave(count) == count else self.network(data, octave(count))
        held = held_out(count) & recipe.judged
        rng = np.random.default_rng([count, data.x.shape[1], 1])
        with doing(f"training networks on {count:,} results"):
            judge = before.judge if before else None
            if held.any() and judge is None:
                judge = self._trained(None, data, np.flatnonzero(~held), rng)
            network = self._trained(before.network if before else judge, data, np.arange(count), rng)
        if judge is None or recipe.loss == "logistic":
            return Trained(network, judge=judge)
        return _judged(network, judge, data, held)

    def _trained(self, begun: Network | None, data: Table, rows: NDArray[np.intp], rng: np.random.Generator) -> Network:
        """Return the networks after training on these rows, from random ones where none are given."""
        recipe, schedule = self.recipe, SCHEDULES[self.recipe.optimizer]
        steps, speed = (schedule.going_on, SLOW) if begun else (schedule.from_scratch, 1.0)
        return trainer(recipe)(
            begun or self._random(data), data.x, data.y, [rows] * recipe.members, rng=rng,
            steps=max(1, round(recipe.effort * steps)), speed=speed, loss=recipe.loss, optimizer=recipe.optimizer,
        )[0]  # fmt: skip


def trainer(recipe: Recipe) -> Callable[..., tuple[Network, list[float]]]:
    """Return what trains on the device of a recipe."""
    if recipe.device == "cpu":
        return train
    from sonde.surrogates.basis import gpu

    return gpu.train


def _packed(trained: Trained) -> bytes:
    """Return networks as bytes; their weights are float32 already."""
    arrays = {"numbers": np.array([trained.widening, trained.score])}
    for name, network in (("network", trained.network), ("judge", trained.judge)):
        for place, layer in enumerate(network.layers if network else ()):
            arrays |= {f"{name}-{place}-{part}": each.astype(np.float32) for part, each in layer._asdict().items()}
    return packed(arrays)


def _unpacked(state: bytes, like: Network) -> Trained | None:
    """Return networks of the same form as others; None where that is not what the bytes are."""
    arrays = unpacked(state)
    if arrays is None:
        return None
    try:
        widening, score = arrays["numbers"].tolist()
        network = _found(arrays, "network", like)
        return Trained(network, widening, score, _found(arrays, "judge", like) if "judge-0-weights" in arrays else None)
    except (KeyError, ValueError):
        return None


def _found(arrays: Mapping[str, NDArray[Any]], name: str, like: Network) -> Network:
    layers = []
    for place, layer in enumerate(like.layers):
        parts = [arrays[f"{name}-{place}-{part}"].astype(float) for part in layer._fields]
        if [each.shape for each in parts] != [each.shape for each in layer]:
            raise ValueError("these are other layers")
        layers.append(Layer(*parts))
    return replace(like, layers=tuple(layers))


def _judged(network: Network, judge: Network, data: Table, held: NDArray[np.bool_]) -> Trained:
    """Return the networks with the widening under which those like them are as far off as they should be."""
    seen, unseen = data.rows(np.flatnonzero(~held)), data.rows(np.flatnonzero(held))
    alike = Trained(judge)
    regressions = _regressions(alike, seen)
    belief = _merged(alike, regressions, [each.most_probable() for each in regressions])
    at = belief.marginals(unseen.x)
    errors, noise = unseen.y - at.mean[:, 0], belief.noise + unseen.noise
    ratio = np.quantile(errors**2 / (at.variance + noise), QUANTILE) / EXPECTED
    widening = float(np.clip(ratio, 0.25, 1e6))
    return Trained(network, widening, log_score(errors, widening * at.variance + noise), judge)


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
