"""Kernels with discontinuous sample paths: white noise, and categories."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel
from sonde.kernels.parameters import positive


class White(Kernel):
    """v [x = y]: independent noise at every point."""

    variance: Any = eqx.field(default=1.0, converter=positive)
    smoothness = 0.0  # sample paths are not differentiable

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.where(jnp.all(jnp.asarray(x) == jnp.asarray(y)), self.variance, 0.0)


class Categorical(Kernel):
    """exp(-sum_i [x_i != y_i] / l_i): Hamming distance, one length scale for all entries or one for each."""

    lengthscale: Any = eqx.field(default=1.0, converter=positive)
    smoothness = 0.0  # sample paths are not differentiable

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.exp(-jnp.sum((jnp.asarray(x) != jnp.asarray(y)) / self.lengthscale))
