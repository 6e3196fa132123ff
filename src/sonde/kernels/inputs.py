"""Kernels of mapped inputs: k(u(x), u(y)). The Jacobian of u is applied once per point, outside the loop over pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.kernel import Derived, Kernel
from sonde.kernels.maps import FunctionMap, LinearMap, Map
from sonde.kernels.parameters import parameter, positive
from sonde.kernels.structure import Structure


class MappedKernel(Derived):
    """Base class: k(u(x), u(y)), where ``_map`` returns u."""

    def _map(self) -> Map:
        raise NotImplementedError

    def __call__(self, x: Array, y: Array) -> Array:
        mapping = self._map()
        return self.kernel(mapping(jnp.asarray(x)), mapping(jnp.asarray(y)))

    def structure(self) -> Structure | None:
        """The scalars of k, of the mapped inputs."""
        own = self.kernel.structure()
        return None if own is None else own.after(self._map())


class ARD(MappedKernel):
    """k(x / l, y / l): automatic relevance determination, one length scale for each input."""

    kernel: Kernel
    lengthscales: Any = eqx.field(converter=positive)

    def __check_init__(self) -> None:
        if np.ndim(self.lengthscales) != 1:
            raise KernelError(
                f"lengthscales must be a vector, one for each input, got shape {np.shape(self.lengthscales)}"
            )

    def _map(self) -> Map:
        return LinearMap(1.0 / jnp.asarray(self.lengthscales))


class Linear(MappedKernel):
    """k(U x, U y): a linear map, possibly to fewer dimensions."""

    kernel: Kernel
    matrix: Any = eqx.field(converter=parameter)

    def __check_init__(self) -> None:
        if np.ndim(self.matrix) != 2:
            raise KernelError(f"matrix must be (r, d), got shape {np.shape(self.matrix)}; for a diagonal one use ARD")

    def _map(self) -> Map:
        return LinearMap(jnp.asarray(self.matrix))


class Warp(MappedKernel):
    """k(u(x), u(y)), u any differentiable function of a point, such as a neural network."""

    kernel: Kernel
    function: Callable[[Array], Array]

    def _map(self) -> Map:
        return FunctionMap(self.function)
