"""Adaptive basis regression on a growing history (Snoek et al. 2015): an ensemble of networks, refitted on a schedule.

Networks are trained at the checkpoints of ``refits``: from random weights when the number of observations has doubled,
and from the last trained weights at fractions of the way to the next doubling. Between checkpoints the basis is fixed
and every new observation enters the regressions exactly. So an observation costs O(D^2), and the cost of training is
shared by the many observations between two checkpoints. A process that opens a study trains at most twice and gets the
same posterior; with a cache it does not train at all.

Networks are overconfident, so their predictive variance is calibrated. Training from random weights first leaves out
every fifth observation. The result is kept as the validation networks: their errors on the held-out observations give
the factor by which the ensemble's variance is inflated. Training then continues from them with all observations.

Symbols: n observations, p features, M networks, D basis functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.activity import doing
from sonde.arrays import Array, Index
from sonde.surrogates.basis.data import Table, held_out, log_score
from sonde.surrogates.basis.networks import WIDTH, Layer, Network
from sonde.surrogates.basis.posterior import LinearPosterior, mixture
from sonde.surrogates.basis.regression import Hyperparameters, Regression, regress
from sonde.surrogates.basis.training import train
from sonde.surrogates.cached_arrays import Cache, name_of, packed, unpacked
from sonde.surrogates.recent import Recent
from sonde.surrogates.refits import checkpoint, octave


class Schedule(NamedTuple):
    """Numbers of training steps from random weights and from trained ones."""

    from_scratch: int
    warm_start: int


SCHEDULES = {"soap": Schedule(260, 30), "adam": Schedule(2000, 600), "sgd": Schedule(2000, 600)}
WARM_START_RATE = 0.3  # factor of the learning rate for networks that were trained before
BIASES = {"soap": 1.0}  # standard deviation of the initial biases, so that units saturate at different points
CACHED = 8  # ensembles kept in memory
NOISE_FLOOR = 1e-3  # variance relative to which reported noise is weighted
# Calibration: 80% of the squared standardised errors should lie below this quantile of the chi-squared distribution.
QUANTILE, EXPECTED = 0.8, 1.6424


@dataclass(frozen=True)
class Recipe:
    """The form of the networks, how they are trained, and how many samples of the hyperparameters are drawn."""

    members: int = 3
    activation: str = "tanh"
    width: int = WIDTH
    loss: str = "evidence"
    optimizer: str = "soap"
    draws: int = 1
    quadratic: bool = False
    effort: float = 1.0  # multiplies the number of training steps
    device: str = "cpu"  # "cpu": NumPy; "gpu": JAX

    @property
    def calibrated(self) -> bool:
        """Whether validation networks calibrate the variance; a single network is not calibrated, as in the paper."""
        return self.members > 1


class Regressions(list[Regression]):
    """The regressions of all networks; a sum adds them network by network."""

    def __add__(self, other: Regressions) -> Regressions:  # type: ignore[override]
        return Regressions([one + another for one, another in zip(self, other, strict=True)])


class Networks(NamedTuple):
    """Trained networks, and those trained without the held-out observations, for validation."""

    network: Network
    validation: Network | None = None


@dataclass
class Trained:
    """Trained networks, the inflation of their variance, and their mean log density on held-out observations.

    The last two are of one objective, also where the networks were trained on several.
    """

    network: Network
    inflation: float = 1.0
    score: float = -np.inf
    validation: Network | None = None
    sums: dict[bytes, Regressions] = field(default_factory=dict)  # statistics of whole blocks of rows


@dataclass
class AdaptiveBasis:
    """Fits posteriors, and caches networks by the data they were trained on."""

    recipe: Recipe = field(default_factory=Recipe)
    _known: Recent[Trained] = field(default_factory=lambda: Recent(CACHED))
    _networks: Recent[Networks] = field(default_factory=lambda: Recent(CACHED))
    cache: Cache | None = None  # a cache that outlives the process

    def learn(self, data: Table, count: int, rng: np.random.Generator) -> tuple[LinearPosterior, ...]:
        """Return a posterior given all data for each hyperparameter sample, on networks of the first ``count`` rows."""
        trained = self.network(data, count)
        regressions = _regressions(trained, data)
        drawn = [regression.draws(self.recipe.draws, rng) for regression in regressions]
        return tuple(_posterior(trained, regressions, list(given)) for given in zip(*drawn, strict=True))

    def leave_one_out(self, data: Table, count: int) -> tuple[Array, Array]:
        """Return leave-one-out means and variances of all values, on a fixed basis."""
        trained = self.network(data, count)
        basis = trained.network.basis(data.x).values
        parts, _ = _split(trained.network, basis)
        means, variances, noises = [], [], []
        for own, regression in zip(parts, _regressions(trained, data), strict=True):
            given = regression.most_probable()
            mean, variance = regression.leave_one_out(given, own, data.y, _weights(data))
            means.append(mean)
            variances.append(variance)
            noises.append(1 / given.beta + data.noise)
        spread = np.mean(variances, axis=0) + np.var(means, axis=0)
        return np.mean(means, axis=0), trained.inflation * spread + np.mean(noises, axis=0)

    def network(self, data: Table, count: int) -> Trained:
        """Return the networks trained on the first ``count`` rows."""
        data = data.rows(slice(count))
        return self._known.get_or_compute(data.digest(), lambda: self._calibrated(data))

    def _calibrated(self, data: Table) -> Trained:
        """Return the networks for the values y."""
        networks = self._trained_on(data)
        if networks.validation is None or self.recipe.loss == "logistic":
            return Trained(networks.network, validation=networks.validation)
        return _calibrated(networks.network, networks.validation, data)

    def _trained_on(self, data: Table) -> Networks:
        """Return the networks trained on the targets: in memory, from the cache, or trained now."""
        key = Table(data.x, data.trained_on, np.empty(0)).digest()
        return self._networks.get_or_compute(key, lambda: self._loaded_or_trained(data, key))

    def _loaded_or_trained(self, data: Table, key: bytes) -> Networks:
        """Return the cached networks of these data, or train and cache them."""
        if not checkpoint(len(data.y)):
            return Networks(self._random(data))
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
        """Return networks with random weights, which depend on the shape of the data only."""
        recipe, (count, inputs) = self.recipe, data.x.shape
        return Network.untrained(
            inputs, recipe.members, np.random.default_rng([count, inputs]), activation=recipe.activation,
            width=recipe.width, quadratic=recipe.quadratic, biases=BIASES.get(recipe.optimizer, 0.0),
        )  # fmt: skip

    def _train(self, data: Table) -> Networks:
        """Train networks, from those of the last doubling if this is not one."""
        recipe, count = self.recipe, len(data.y)
        before = None if octave(count) == count else self._trained_on(data.rows(slice(octave(count))))
        held = held_out(count) & recipe.calibrated
        rng = np.random.default_rng([count, data.x.shape[1], 1])
        with doing(f"training networks on {count:,} results"):
            validation = before.validation if before else None
            if held.any() and validation is None:
                validation = self._trained(None, data, np.flatnonzero(~held), rng)
            network = self._trained(before.network if before else validation, data, np.arange(count), rng)
        return Networks(network, validation)

    def _trained(self, initial: Network | None, data: Table, rows: Index, rng: np.random.Generator) -> Network:
        """Return networks after training on these rows, started at ``initial`` or at random weights."""
        recipe, schedule = self.recipe, SCHEDULES[self.recipe.optimizer]
        steps, speed = (schedule.warm_start, WARM_START_RATE) if initial else (schedule.from_scratch, 1.0)
        return trainer(recipe)(
            initial or self._random(data), data.x, data.trained_on, [rows] * recipe.members, rng=rng,
            steps=max(1, round(recipe.effort * steps)), speed=speed, loss=recipe.loss, optimizer=recipe.optimizer,
        )[0]  # fmt: skip


def trainer(recipe: Recipe) -> Callable[..., tuple[Network, list[float]]]:
    """Return the training function for the device of a recipe."""
    if recipe.device == "cpu":
        return train
    from sonde.surrogates.basis import gpu

    return gpu.train


def _packed(trained: Networks) -> bytes:
    """Return trained networks as bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, network in trained._asdict().items():
        for i, layer in enumerate(network.layers if network else ()):
            arrays |= {f"{name}-{i}-{part}": each.astype(np.float32) for part, each in layer._asdict().items()}
    return packed(arrays)


def _unpacked(state: bytes, like: Network) -> Networks | None:
    """Return trained networks of the same shape as ``like``; None if the bytes hold something else."""
    arrays = unpacked(state)
    if arrays is None:
        return None
    try:
        validation = _network_of(arrays, "validation", like) if "validation-0-weights" in arrays else None
        return Networks(_network_of(arrays, "network", like), validation)
    except (KeyError, ValueError):
        return None


def _network_of(arrays: Mapping[str, NDArray[Any]], name: str, like: Network) -> Network:
    layers = []
    for i, layer in enumerate(like.layers):
        parts = [arrays[f"{name}-{i}-{part}"].astype(float) for part in layer._fields]
        if [each.shape for each in parts] != [each.shape for each in layer]:
            raise ValueError("the stored layers have other shapes")
        layers.append(Layer(*parts))
    return replace(like, layers=tuple(layers))


def _calibrated(network: Network, validation: Network, data: Table) -> Trained:
    """Return the networks with the inflation that calibrates the validation networks on the held-out rows."""
    held = held_out(len(data.y))
    known, unseen = data.rows(~held), data.rows(held)
    validated = Trained(validation)
    regressions = _regressions(validated, known)
    posterior = _posterior(validated, regressions, [each.most_probable() for each in regressions])
    at = posterior.marginals(unseen.x)
    errors, noise = unseen.y - at.mean[:, 0], posterior.noise + unseen.noise
    ratio = np.quantile(errors**2 / (at.variance + noise), QUANTILE) / EXPECTED
    inflation = float(np.clip(ratio, 0.25, 1e6))
    return Trained(network, inflation, log_score(errors, inflation * at.variance + noise), validation)


def _split(network: Network, basis: Array) -> tuple[list[Array], Array]:
    """Return the columns of each network, and those of the quadratic mean function."""
    size = network.count * network.units
    return np.split(basis[:, :size], network.count, axis=1), basis[:, size:]


def _regressions(trained: Trained, data: Table) -> Regressions:
    """Return the regression of each network on all rows; statistics of whole blocks are cached."""

    def statistics(block: Table) -> Regressions:
        parts, extra = _split(trained.network, trained.network.basis(block.x).values)
        return Regressions([regress(own, extra, block.y, _weights(block)) for own in parts])

    return data.summed(trained.sums, statistics)


def _weights(data: Table) -> Array:
    """Return weights of the rows (n,), smaller where noise was reported."""
    return NOISE_FLOOR / (NOISE_FLOOR + data.noise)


def _posterior(
    trained: Trained, regressions: Sequence[Regression], given: Sequence[Hyperparameters]
) -> LinearPosterior:
    """Return the posterior of the ensemble: the moments of the mixture of its networks."""
    parts = [each.weights(hyperparameters) for each, hyperparameters in zip(regressions, given, strict=True)]
    noise = float(np.mean([1 / each.beta for each in given]))
    eta = np.array([each.eta for each in given])
    return mixture(trained.network, parts, eta=eta, inflation=trained.inflation, noise=noise)
