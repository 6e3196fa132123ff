"""Kernels of inner products: k = f(x.x, x.y, y.y)."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.kernel import PairKernel
from sonde.kernels.parameters import parameter, positive
from sonde.kernels.structure import DOT, INNER, Pair


class Dot(PairKernel):
    """x.y."""

    need = DOT

    def profile(self, pair: Pair) -> Array:
        return jnp.asarray(pair.xy)


class Polynomial(PairKernel):
    """(x.y + c)^p."""

    degree: int = eqx.field(static=True, default=2)
    offset: Any = eqx.field(default=1.0, converter=parameter)
    need = DOT

    def __check_init__(self) -> None:
        if not isinstance(self.degree, int) or isinstance(self.degree, bool) or self.degree < 1:
            raise KernelError(f"degree must be an integer, 1 or more, got {self.degree!r}")

    def profile(self, pair: Pair) -> Array:
        return jnp.asarray((pair.xy + self.offset) ** self.degree)


class ExponentiatedDot(PairKernel):
    """exp(x.y)."""

    need = DOT

    def profile(self, pair: Pair) -> Array:
        return jnp.exp(pair.xy)


class NeuralNetwork(PairKernel):
    """arcsin(x.y / sqrt((b + x.x) (b + y.y))): the limit of a wide network with one hidden layer."""

    bias: Any = eqx.field(default=1.0, converter=positive)
    need = INNER

    def profile(self, pair: Pair) -> Array:
        return jnp.arcsin(pair.xy / jnp.sqrt((self.bias + pair.xx) * (self.bias + pair.yy)))


class RBFNetwork(PairKernel):
    """exp(-x.x) exp(-r.r / 2) exp(-y.y): the limit of a wide network of radial units."""

    need = frozenset({"xx", "yy", "rr"})

    def profile(self, pair: Pair) -> Array:
        return jnp.exp(-pair.xx - 0.5 * pair.rr - pair.yy)
