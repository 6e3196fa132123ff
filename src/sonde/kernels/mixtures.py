"""Composite kernels of the paper's figure 1: vertical scaling, cosine, spectral mixture, variable linear regression."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.dot import Dot
from sonde.kernels.inputs import ARD, Linear, Warp
from sonde.kernels.isotropic import RBF
from sonde.kernels.kernel import Assembled, Derived, Kernel
from sonde.kernels.maps import FunctionMap, LinearMap
from sonde.kernels.parameters import parameter, positive
from sonde.kernels.structure import Structure, join


class VerticalScaling(Derived):
    """f(x) k(x, y) f(y), f a smooth scalar function of a point."""

    kernel: Kernel
    function: Callable[[Array], Array]

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.asarray(self.function(x) * self.kernel(x, y) * self.function(y))

    def structure(self) -> Structure | None:
        """The scalars of k, and f(x) and f(y)."""
        scale = FunctionMap(self.function)
        factor = Structure((), (), (scale,), lambda pairs, values: values[0].x * values[0].y)
        return join(operator.mul, self.kernel.structure(), factor)


class Cosine(Kernel):
    """cos(2 pi c.r), r = x - y: a periodic kernel with frequency vector c."""

    frequency: Any = eqx.field(converter=parameter)
    smoothness = math.inf

    def __check_init__(self) -> None:
        if np.ndim(self.frequency) != 1:
            raise KernelError(f"frequency must be a vector, one number for each input, got {np.shape(self.frequency)}")

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.cos(2 * jnp.pi * jnp.asarray(self.frequency) @ (jnp.asarray(x) - jnp.asarray(y)))

    def structure(self) -> Structure:
        """The scalars c.x and c.y."""
        functional = LinearMap(jnp.asarray(self.frequency)[None, :])
        return Structure((), (), (functional,), lambda pairs, values: jnp.cos(2 * jnp.pi * (values[0].x - values[0].y)))


class SpectralMixture(Assembled):
    """sum_q w_q exp(-2 pi^2 sum_i v_qi r_i^2) cos(2 pi m_q.r) (Wilson and Adams 2013)."""

    weights: Any = eqx.field(converter=positive)
    means: Any = eqx.field(converter=parameter)
    variances: Any = eqx.field(converter=positive)

    def __check_init__(self) -> None:
        shapes = np.shape(self.weights), np.shape(self.means), np.shape(self.variances)
        if len(shapes[0]) != 1 or len(shapes[1]) != 2 or shapes[1] != shapes[2] or shapes[1][0] != shapes[0][0]:
            raise KernelError(f"weights (q,), means (q, d) and variances (q, d) are expected, got shapes {shapes}")

    def assembled(self) -> Kernel:
        """Return the composition."""
        weights, means = jnp.asarray(self.weights), jnp.asarray(self.means)
        scales = 1.0 / (2 * jnp.pi * jnp.sqrt(jnp.asarray(self.variances)))
        parts = [ARD(RBF(), scales[q]) * Cosine(means[q]) * weights[q] for q in range(len(weights))]
        return functools.reduce(operator.add, parts)


class VariableLinearRegression(Assembled):
    """phi(x)^T W phi(y) h(x, y): linear regression on features phi whose weights are a Gaussian process with kernel h.

    ``factor`` is a square root of W: W = factor^T factor.
    """

    features: Callable[[Array], Array]
    factor: Any = eqx.field(converter=parameter)
    kernel: Kernel

    def __check_init__(self) -> None:
        if np.ndim(self.factor) != 2:
            raise KernelError(f"factor must be a matrix with W = factor^T factor, got shape {np.shape(self.factor)}")

    def assembled(self) -> Kernel:
        """Return the composition."""
        return Warp(Linear(Dot(), self.factor), self.features) * self.kernel
