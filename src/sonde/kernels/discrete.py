"""Kernels that do not vary smoothly, or not at all."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel, positive
from sonde.kernels.structure import Structure, constant


class Constant(Kernel):
    """c."""

    value: Any = eqx.field(default=1.0, converter=positive)

    @property
    def smoothness(self) -> float:
        """Smooth."""
        return math.inf

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the constant."""
        return jnp.asarray(self.value)

    def structure(self) -> Structure:
        """Depends on nothing."""
        return constant(lambda: jnp.asarray(self.value))


class White(Kernel):
    """v [x = y]: independent noise at every point."""

    variance: Any = eqx.field(default=1.0, converter=positive)

    @property
    def smoothness(self) -> float:
        """Not differentiable."""
        return 0

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the variance where the points are the same."""
        return jnp.where(jnp.all(jnp.asarray(x) == jnp.asarray(y)), self.variance, 0.0)


class Categorical(Kernel):
    """exp(-sum_i [x_i != y_i] / l_i): Hamming distance, a lengthscale for all or one for each entry."""

    lengthscale: Any = eqx.field(default=1.0, converter=positive)

    @property
    def smoothness(self) -> float:
        """Not differentiable."""
        return 0

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the covariance of one pair of rows of categories."""
        return jnp.exp(-jnp.sum((jnp.asarray(x) != jnp.asarray(y)) / self.lengthscale))
