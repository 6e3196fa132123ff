"""User-defined kernels: a plain Python function, and what it is a function of, where that is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel, PairKernel
from sonde.kernels.structure import DISTANCE, DOT, INNER, Pair


class Function(Kernel):
    """k(x, y) from any function of one pair of vectors; its derivatives come from automatic differentiation."""

    function: Callable[[Array, Array], Array]
    differentiable: float = eqx.field(static=True, default=math.inf)

    @property
    def smoothness(self) -> float:
        """The number of times that ``differentiable`` declares."""
        return self.differentiable

    def __call__(self, x: Array, y: Array) -> Array:
        return jnp.asarray(self.function(x, y))


class Isotropic(PairKernel):
    """f(r.r): an isotropic kernel from a function of the squared distance."""

    function: Callable[[Array], Array]
    differentiable: float = eqx.field(static=True, default=math.inf)
    need = DISTANCE

    @property
    def smoothness(self) -> float:
        """The number of times that ``differentiable`` declares."""
        return self.differentiable

    def profile(self, pair: Pair) -> Array:
        return jnp.asarray(self.function(pair.rr))


class DotProduct(PairKernel):
    """f(x.y): a dot-product kernel from a function of the inner product."""

    function: Callable[[Array], Array]
    need = DOT

    def profile(self, pair: Pair) -> Array:
        return jnp.asarray(self.function(pair.xy))


class InnerProducts(PairKernel):
    """f(x.x, x.y, y.y): a kernel from a function of the three inner products."""

    function: Callable[[Array, Array, Array], Array]
    need = INNER

    def profile(self, pair: Pair) -> Array:
        return jnp.asarray(self.function(pair.xx, pair.xy, pair.yy))
