"""Exponential families: how samples are drawn, and which way their weights move the parameters.

A family has no state: theta, one flat array, is the caller's. Symbols: m samples x of some columns; weights w of the
samples; n free parameters of the whole search, which set the margins that keep every value possible.

The natural gradient is mean_i w_i (T(x_i) - theta), with T the sufficient statistics and theta = E T: of bits T(x) = x,
of categories their indicators. A Gaussian's parameters are its mean and the logarithm of its width: a step of the same
first order in which the width stays positive. NaN in a sample says that this entry was not used: it teaches nothing.

``whitened`` is G(theta)^1/2 times a gradient, with G the Fisher matrix: in it, pure noise has the same size along
every free parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonde.errors import OptionError

Array: TypeAlias = NDArray[np.float64]
Samples: TypeAlias = NDArray[Any]

BLOCK = 2**22  # random numbers drawn at once


class Family(ABC):
    """A kind of distribution."""

    width: int  # columns of a sample
    free: int  # free parameters

    @abstractmethod
    def start(self) -> Array:
        """Return the parameters that assume least."""

    @abstractmethod
    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Samples:
        """Return independent samples (count, width)."""

    @abstractmethod
    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return the stochastic natural gradient, in the shape of theta."""

    @abstractmethod
    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Return G(theta)^1/2 times a gradient."""

    @abstractmethod
    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Return theta after a step, within the margins of n free parameters."""

    @abstractmethod
    def settled(self, theta: Array, n: int) -> bool:
        """Whether theta has come within twice the margins: what is drawn is one sample and its neighbours."""

    @abstractmethod
    def check(self, samples: Samples) -> None:
        """Raise if the samples are none of this family."""


class Bernoulli(Family):
    """Bits; theta are their probabilities of being one."""

    def __init__(self, count: int) -> None:
        self.width = self.free = _count(count, "bits")

    def start(self) -> Array:
        """Return a half for every bit."""
        return np.full(self.width, 0.5)

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> NDArray[np.bool_]:
        """Return booleans."""
        below = theta.astype(np.float32)  # 24 random bits: a probability is right to 6e-8, at half the time
        if count * self.width <= BLOCK:
            return rng.random((count, self.width), dtype=np.float32) < below
        bits = np.empty((count, self.width), dtype=bool)
        for row in bits:  # memory for one row of floats
            np.less(rng.random(self.width, dtype=np.float32), below, out=row)
        return bits

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return mean_i w_i (x_i - theta)."""
        if samples.dtype == bool:
            mean = _mean_product(weights, samples)
            total = weights.sum()  # zero where the preference is centred
            return mean - (total / len(weights)) * theta if total else mean
        return weights @ _deviations(samples, theta) / len(weights)

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Divide by the standard deviations of the bits."""
        return gradient / np.sqrt(theta * (1 - theta))

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Keep probabilities in [1/n, 1 - 1/n]; of fewer than four parameters, in [1/4, 3/4]."""
        margin = self._margin(n)
        return np.minimum(np.maximum(theta + step, margin), 1 - margin)

    def settled(self, theta: Array, n: int) -> bool:
        """Whether every probability is close to zero or one."""
        return bool(np.minimum(theta, 1 - theta).max() <= 2 * self._margin(n))

    def _margin(self, n: int) -> float:
        return min(1 / n, 1 / 4)

    def check(self, samples: Samples) -> None:
        """Zeros and ones only."""
        if samples.dtype != bool and not np.isin(samples[~np.isnan(samples)], (0, 1)).all():
            raise OptionError("bits must be 0 or 1")


class Categorical(Family):
    """Choices between K categories each; samples are their indices, theta the probabilities, (count, K) row by row."""

    def __init__(self, count: int, categories: int) -> None:
        self.width, self.categories = _count(count, "choices"), _count(categories, "categories", least=2)
        self.free = self.width * (self.categories - 1)

    def start(self) -> Array:
        """Return equal probabilities."""
        return np.full(self.width * self.categories, 1 / self.categories)

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Array:
        """Return indices, as floats."""
        edges = np.cumsum(theta.reshape(self.width, -1), axis=1)[:, :-1]
        samples = np.empty((count, self.width))
        for row in samples:
            row[:] = (rng.random(self.width)[:, None] >= edges).sum(axis=1)
        return samples

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return mean_i w_i (indicators of x_i - theta)."""
        used = ~np.isnan(samples)
        places = np.arange(self.width) * self.categories + np.where(used, samples, 0).astype(np.int64)
        each = np.where(used, weights[:, None], 0.0)
        counted = np.bincount(places.ravel(), each.ravel(), minlength=len(theta))
        return (counted - np.repeat(each.sum(axis=0), self.categories) * theta) / len(weights)

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Divide by the roots of the probabilities: of a gradient whose entries sum to zero, the Fisher norm."""
        return gradient / np.sqrt(theta)

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Keep each probability at a margin of 1 / (n (K - 1)) at least, and their sum at one."""
        k, margin = self.categories, self._margin(n)
        above = np.maximum((theta + step).reshape(-1, k) - margin, 0.0)
        return (margin + above * ((1 - k * margin) / above.sum(axis=1, keepdims=True))).ravel()

    def settled(self, theta: Array, n: int) -> bool:
        """Whether one category of each has nearly all probability."""
        others = 1 - theta.reshape(self.width, -1).max(axis=1)
        return bool(others.max() <= 2 * (self.categories - 1) * self._margin(n))

    def _margin(self, n: int) -> float:
        return min(1 / (n * (self.categories - 1)), 1 / (2 * self.categories))

    def check(self, samples: Samples) -> None:
        """Whole numbers from 0 to K - 1."""
        given = samples[~np.isnan(samples)]
        if not np.all((given >= 0) & (given < self.categories) & (given == np.floor(given))):
            raise OptionError(f"categories must be whole numbers from 0 to {self.categories - 1}")


class Gaussian(Family):
    """Numbers in [0, 1]; theta are the means, then the logarithms of the widths.

    ``cells`` says of each column into how many equal cells it is divided, infinity of a continuous one: samples of a
    column with cells are their centres, and its width never falls so low that the next cells have a probability of less
    than 1/n (1/(2n) in the first and last cell, which have one neighbour), or integers would freeze.
    """

    WIDTH, NARROW, WIDE = (
        0.39,
        1e-6,
        1.0,
    )  # at the start, so that each third has a third of the draws; at least, of a continuous column; at most
    CHANGE = np.log(2.0)  # of a width in one step, at most

    def __init__(self, cells: ArrayLike) -> None:
        self.cells = np.atleast_1d(np.asarray(cells, dtype=float))
        whole = (self.cells >= 2) & (self.cells == np.rint(self.cells))
        if self.cells.ndim != 1 or not self.cells.size or not whole.all():
            raise OptionError(f"cells must be whole numbers from 2 on, or infinite, one a column, got {cells!r}")
        self.width, self.free = len(self.cells), 2 * len(self.cells)

    def start(self) -> Array:
        """Return the middle, and a width that covers the interval."""
        return np.repeat([0.5, np.log(self.WIDTH)], self.width)

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Array:
        """Return numbers of [0, 1]: what falls outside is moved to the bound."""
        mean, log_width = np.split(theta, 2)
        samples = np.clip(mean + np.exp(log_width) * rng.standard_normal((count, self.width)), 0.0, 1.0)
        lattice = np.isfinite(self.cells)
        cells = self.cells[lattice]
        samples[:, lattice] = (np.minimum(np.floor(samples[:, lattice] * cells), cells - 1) + 0.5) / cells
        return samples

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return mean_i w_i (x_i - mean), and mean_i w_i (z_i^2 - 1) / 2 for z = (x - mean) / width."""
        mean, log_width = np.split(theta, 2)
        away = np.where(np.isnan(samples), 0.0, samples - mean)
        spread = np.where(np.isnan(samples), 0.0, (away / np.exp(log_width)) ** 2 - 1)
        return np.concatenate([weights @ away, weights @ spread / 2]) / len(weights)

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Divide by the standard deviations of the two statistics, width and 1 / sqrt(2)."""
        towards, wider = np.split(gradient, 2)
        return np.concatenate([towards / np.exp(theta[self.width :]), np.sqrt(2) * wider])

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Keep means in [0, 1] and widths above their floor."""
        mean, log_width = np.split(theta, 2)
        towards, wider = np.split(step, 2)
        log_width = log_width + np.clip(wider, -self.CHANGE, self.CHANGE)
        edge = np.where(np.isfinite(self.cells), 0.5 / self.cells, 0.0)  # beyond a centre the next cell is too far
        return np.concatenate(
            [np.clip(mean + towards, edge, 1 - edge), np.clip(log_width, np.log(self._floor(n)), np.log(self.WIDE))]
        )

    def settled(self, theta: Array, n: int) -> bool:
        """Whether no width is more than twice its floor."""
        return bool((np.exp(theta[self.width :]) <= 2 * self._floor(n)).all())

    def _floor(self, n: int) -> Array:
        """Return the least widths: half a cell over the tail that leaves the cell with a probability of 1/n."""
        tail = NormalDist().inv_cdf(1 - 1 / (2 * max(n, 2)))
        return np.where(np.isfinite(self.cells), 0.5 / (self.cells * tail), self.NARROW)

    def check(self, samples: Samples) -> None:
        """Numbers of [0, 1]."""
        given = samples[~np.isnan(samples)]
        if not np.all((given >= 0) & (given <= 1)):
            raise OptionError("numbers must lie in [0, 1]")


class Product(Family):
    """Families side by side, independent of each other: columns and parameters in their order."""

    def __init__(self, families: Sequence[Family]) -> None:
        if not families or not all(isinstance(family, Family) for family in families):
            raise OptionError("a product needs at least one family, and families only")
        self.families = tuple(families)
        self.width, self.free = (sum(getattr(family, name) for family in families) for name in ("width", "free"))
        self._columns = _slices([family.width for family in families])
        self._entries = _slices([len(family.start()) for family in families])

    def start(self) -> Array:
        """Join the families' starts."""
        return np.concatenate([family.start() for family in self.families])

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Array:
        """Join the families' draws."""
        parts = [family.draw(theta[at], rng, count) for family, at in zip(self.families, self._entries, strict=True)]
        return np.concatenate(parts, axis=1, dtype=float)

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Join the families' gradients."""
        places = zip(self.families, self._entries, self._columns, strict=True)
        return np.concatenate([family.gradient(theta[at], samples[:, own], weights) for family, at, own in places])

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Join what the families make of it."""
        places = zip(self.families, self._entries, strict=True)
        return np.concatenate([family.whitened(theta[at], gradient[at]) for family, at in places])

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Join the families' moves."""
        places = zip(self.families, self._entries, strict=True)
        return np.concatenate([family.moved(theta[at], step[at], n) for family, at in places])

    def settled(self, theta: Array, n: int) -> bool:
        """Whether all families have settled."""
        return all(family.settled(theta[at], n) for family, at in zip(self.families, self._entries, strict=True))

    def check(self, samples: Samples) -> None:
        """Let every family look at its columns."""
        for family, own in zip(self.families, self._columns, strict=True):
            family.check(samples[:, own])


def _deviations(samples: Samples, theta: Array) -> Array:
    return np.where(np.isnan(samples), 0.0, samples - theta)


def _mean_product(weights: Array, bits: NDArray[np.bool_]) -> Array:
    """Return mean_i w_i x_i, in memory linear in n also for large generations."""
    count = len(weights)
    if bits.size <= BLOCK:
        return weights @ bits.astype(float) / count
    rows = max(1, BLOCK // bits.shape[1])
    parts = (weights[i : i + rows] @ bits[i : i + rows].astype(float) for i in range(0, count, rows))
    total: Array = sum(parts, np.zeros(bits.shape[1]))
    return total / count


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _count(given: int, what: str, least: int = 1) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise OptionError(f"the number of {what} must be a whole number of at least {least}, got {given!r}")
    return int(given)
