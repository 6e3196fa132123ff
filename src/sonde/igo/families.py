"""Exponential families: sampling, natural gradients, and the margins that keep every value possible.

A family has no state: the caller holds theta, one flat array. Symbols: samples x (lambda, columns); weights w
(lambda,); n free parameters of the whole search, which set the margins.

The natural gradient is mean_i w_i (T(x_i) - theta), with sufficient statistics T and theta = E T. For bits T(x) = x,
for categories T has their indicators. A Gaussian has its mean and the logarithm of its standard deviation as
parameters: to first order the same step, and the standard deviation stays positive. NaN in a sample marks an entry that
was not used (an inactive parameter); it adds nothing to the gradient.

``whitened`` is G(theta)^1/2 times a gradient, with G the Fisher matrix: pure noise then has the same variance along
every free parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonde.arrays import Array, Mask
from sonde.errors import OptionError

Samples: TypeAlias = NDArray[Any]

BLOCK = 2**22  # most random numbers drawn at once


class Family(ABC):
    """An exponential family of distributions over samples."""

    width: int  # columns of a sample
    free: int  # free parameters

    @abstractmethod
    def start(self) -> Array:
        """Return the parameters of the most uniform distribution."""

    @abstractmethod
    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Samples:
        """Return independent samples (count, width)."""

    @abstractmethod
    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return the stochastic natural gradient, of the same shape as theta."""

    @abstractmethod
    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Return G(theta)^1/2 times a gradient."""

    @abstractmethod
    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Return theta after a step, within the margins of n free parameters."""

    @abstractmethod
    def settled(self, theta: Array, n: int) -> bool:
        """Whether the distribution has converged: theta is within twice the margins, so all samples are much alike."""

    @abstractmethod
    def check(self, samples: Samples) -> None:
        """Raise if the samples are not of this family."""


class Bernoulli(Family):
    """Independent bits; theta has the probability of each to be one."""

    def __init__(self, count: int) -> None:
        self.width = self.free = whole_number("the number of bits", count, 1)

    def start(self) -> Array:
        return np.full(self.width, 0.5)

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Mask:
        below = theta.astype(np.float32)  # probabilities are exact to 6e-8, and drawing takes half the time
        if count * self.width <= BLOCK:
            return rng.random((count, self.width), dtype=np.float32) < below
        bits = np.empty((count, self.width), dtype=bool)
        for row in bits:  # so that floats take the memory of one row
            np.less(rng.random(self.width, dtype=np.float32), below, out=row)
        return bits

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return mean_i w_i (x_i - theta)."""
        if samples.dtype == bool:
            mean = _mean_product(weights, samples)
            total = weights.sum()  # zero for a centred preference
            return mean - (total / len(weights)) * theta if total else mean
        return weights @ np.where(np.isnan(samples), 0.0, samples - theta) / len(weights)

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Divide by the standard deviations of the bits."""
        return gradient / np.sqrt(theta * (1 - theta))

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Keep probabilities in [1/n, 1 - 1/n]; for n < 4, in [1/4, 3/4]."""
        margin = self._margin(n)
        return np.minimum(np.maximum(theta + step, margin), 1 - margin)

    def settled(self, theta: Array, n: int) -> bool:
        """Whether every probability is close to zero or one."""
        return bool(np.minimum(theta, 1 - theta).max() <= 2 * self._margin(n))

    def _margin(self, n: int) -> float:
        return min(1 / n, 1 / 4)

    def check(self, samples: Samples) -> None:
        if samples.dtype != bool and not np.isin(samples[~np.isnan(samples)], (0, 1)).all():
            raise OptionError("bits must be 0 or 1")


class Categorical(Family):
    """Independent choices among K categories; samples are indices, theta the probabilities (count, K), flattened."""

    def __init__(self, count: int, categories: int) -> None:
        self.width = whole_number("the number of choices", count, 1)
        self.categories = whole_number("the number of categories", categories, 2)
        self.free = self.width * (self.categories - 1)

    def start(self) -> Array:
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
        entries = np.arange(self.width) * self.categories + np.where(used, samples, 0).astype(np.int64)
        each = np.where(used, weights[:, None], 0.0)
        counted = np.bincount(entries.ravel(), each.ravel(), minlength=len(theta))
        return (counted - np.repeat(each.sum(axis=0), self.categories) * theta) / len(weights)

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Divide by the square roots of the probabilities: the Fisher norm, as each choice's entries sum to zero."""
        return gradient / np.sqrt(theta)

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Keep each probability at least 1 / (n (K - 1)), and their sum one."""
        k, margin = self.categories, self._margin(n)
        above = np.maximum((theta + step).reshape(-1, k) - margin, 0.0)
        return (margin + above * ((1 - k * margin) / above.sum(axis=1, keepdims=True))).ravel()

    def settled(self, theta: Array, n: int) -> bool:
        """Whether one category of each choice has nearly all probability."""
        others = 1 - theta.reshape(self.width, -1).max(axis=1)
        return bool(others.max() <= 2 * (self.categories - 1) * self._margin(n))

    def _margin(self, n: int) -> float:
        return min(1 / (n * (self.categories - 1)), 1 / (2 * self.categories))

    def check(self, samples: Samples) -> None:
        given = samples[~np.isnan(samples)]
        if not np.all((given >= 0) & (given < self.categories) & (given == np.floor(given))):
            raise OptionError(f"categories must be whole numbers from 0 to {self.categories - 1}")


class Gaussian(Family):
    """Independent numbers in [0, 1]; theta has the means, then the logarithms of the standard deviations ("widths").

    ``cells`` is the number of equal cells of each column, infinity for a continuous one. Samples of a column with cells
    are the centres of the cells. Its width has a floor, at which the neighbouring cells still have a probability of 1/n
    (1/(2n) from the first or last cell, which has one neighbour): otherwise integers would freeze.
    """

    WIDTH = 0.39  # at the start: each third of [0, 1] has a third of the draws
    NARROW, WIDE = 1e-6, 1.0  # the bounds of a width; the lower one for continuous columns only
    CHANGE = np.log(2.0)  # most change of a log-width in one step

    def __init__(self, cells: ArrayLike) -> None:
        self.cells = np.atleast_1d(np.asarray(cells, dtype=float))
        whole = (self.cells >= 2) & (self.cells == np.rint(self.cells))
        if self.cells.ndim != 1 or not self.cells.size or not whole.all():
            raise OptionError(f"cells must be whole numbers from 2 on, or infinite, one a column, got {cells!r}")
        self.width, self.free = len(self.cells), 2 * len(self.cells)

    def start(self) -> Array:
        """Return means of one half, and a width that covers the interval."""
        return np.repeat([0.5, np.log(self.WIDTH)], self.width)

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Array:
        """Return numbers in [0, 1]; draws outside are clipped."""
        mean, log_width = np.split(theta, 2)
        samples = np.clip(mean + np.exp(log_width) * rng.standard_normal((count, self.width)), 0.0, 1.0)
        lattice = np.isfinite(self.cells)
        cells = self.cells[lattice]
        samples[:, lattice] = (np.minimum(np.floor(samples[:, lattice] * cells), cells - 1) + 0.5) / cells
        return samples

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        """Return mean_i w_i (x_i - mean) and mean_i w_i (z_i^2 - 1) / 2, with z = (x - mean) / width."""
        mean, log_width = np.split(theta, 2)
        away = np.where(np.isnan(samples), 0.0, samples - mean)
        spread = np.where(np.isnan(samples), 0.0, (away / np.exp(log_width)) ** 2 - 1)
        return np.concatenate([weights @ away, weights @ spread / 2]) / len(weights)

    def whitened(self, theta: Array, gradient: Array) -> Array:
        """Divide by the standard deviations of the two statistics: width, and 1 / sqrt(2)."""
        towards, wider = np.split(gradient, 2)
        return np.concatenate([towards / np.exp(theta[self.width :]), np.sqrt(2) * wider])

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        """Keep means in [0, 1] and widths above their floor."""
        mean, log_width = np.split(theta, 2)
        towards, wider = np.split(step, 2)
        log_width = log_width + np.clip(wider, -self.CHANGE, self.CHANGE)
        # A mean past the last centre is too far from the next cell.
        edge = np.where(np.isfinite(self.cells), 0.5 / self.cells, 0.0)
        return np.concatenate(
            [np.clip(mean + towards, edge, 1 - edge), np.clip(log_width, np.log(self._floor(n)), np.log(self.WIDE))]
        )

    def settled(self, theta: Array, n: int) -> bool:
        """Whether no width is more than twice its floor."""
        return bool((np.exp(theta[self.width :]) <= 2 * self._floor(n)).all())

    def _floor(self, n: int) -> Array:
        """Return the least widths: a draw around a cell's centre leaves the cell with probability 1/n."""
        tail = NormalDist().inv_cdf(1 - 1 / (2 * max(n, 2)))
        return np.where(np.isfinite(self.cells), 0.5 / (self.cells * tail), self.NARROW)

    def check(self, samples: Samples) -> None:
        given = samples[~np.isnan(samples)]
        if not np.all((given >= 0) & (given <= 1)):
            raise OptionError("numbers must lie in [0, 1]")


class Product(Family):
    """The product of independent families: their columns and parameters are concatenated."""

    def __init__(self, families: Sequence[Family]) -> None:
        if not families or not all(isinstance(family, Family) for family in families):
            raise OptionError("a product needs a list of at least one family, such as [Bernoulli(10)]")
        self.families = tuple(families)
        self.width, self.free = (sum(getattr(family, name) for family in families) for name in ("width", "free"))
        self._columns = _slices([family.width for family in families])
        self._entries = _slices([len(family.start()) for family in families])

    def start(self) -> Array:
        return np.concatenate([family.start() for family in self.families])

    def draw(self, theta: Array, rng: np.random.Generator, count: int) -> Array:
        parts = [family.draw(theta[at], rng, count) for family, at in zip(self.families, self._entries, strict=True)]
        return np.concatenate(parts, axis=1, dtype=float)

    def gradient(self, theta: Array, samples: Samples, weights: Array) -> Array:
        parts = zip(self.families, self._entries, self._columns, strict=True)
        return np.concatenate([family.gradient(theta[at], samples[:, own], weights) for family, at, own in parts])

    def whitened(self, theta: Array, gradient: Array) -> Array:
        parts = zip(self.families, self._entries, strict=True)
        return np.concatenate([family.whitened(theta[at], gradient[at]) for family, at in parts])

    def moved(self, theta: Array, step: Array, n: int) -> Array:
        parts = zip(self.families, self._entries, strict=True)
        return np.concatenate([family.moved(theta[at], step[at], n) for family, at in parts])

    def settled(self, theta: Array, n: int) -> bool:
        return all(family.settled(theta[at], n) for family, at in zip(self.families, self._entries, strict=True))

    def check(self, samples: Samples) -> None:
        for family, own in zip(self.families, self._columns, strict=True):
            family.check(samples[:, own])


def _mean_product(weights: Array, bits: Mask) -> Array:
    """Return mean_i w_i x_i; the memory is linear in the number of bits for large generations too."""
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


def whole_number(name: str, given: Any, least: int) -> int:
    """Return a whole number of at least ``least``; raise OptionError for anything else."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise OptionError(f"{name} must be a whole number of at least {least}, got {given!r}")
    return int(given)
