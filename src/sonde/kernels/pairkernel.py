"""Base class of kernels that are a function of the inner products and the squared distance of their two inputs."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.kernel import Kernel
from sonde.kernels.structure import Pair, Structure, single


class PairKernel(Kernel):
    """k = profile(x.x, x.y, y.y, r.r): a subclass lists the scalars it uses in ``need`` and writes ``profile``."""

    need: ClassVar[frozenset[str]]

    @abstractmethod
    def profile(self, pair: Pair) -> Array:
        """Return the covariance from the scalars of one pair."""

    @property
    def smoothness(self) -> float:
        """Infinite, unless a subclass overrides it."""
        return math.inf

    def __call__(self, x: Array, y: Array) -> Array:
        return self.profile(pair_of(x, y))

    def structure(self) -> Structure:
        """The scalars in ``need``, of inputs that are not mapped."""
        return single(self.need, self.profile)


def pair_of(x: Array, y: Array) -> Pair:
    """Return the scalars of one pair of vectors."""
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim != 1 or x.shape != y.shape:
        raise KernelError(
            f"a kernel takes one pair of vectors of the same length, got shapes {x.shape} and {y.shape}; "
            "for many points use sonde.kernels.Gram(kernel, X, Y)"
        )
    return Pair(x @ x, x @ y, y @ y, (x - y) @ (x - y))
