"""Isotropic kernels: k = f(r.r), r = x - y. Each is written in the squared distance r.r, where f is smooth."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.bessel import bessel
from sonde.kernels.pairkernel import PairKernel
from sonde.kernels.parameters import positive
from sonde.kernels.structure import DISTANCE, Pair


class RBF(PairKernel):
    """exp(-r.r / (2 l^2))."""

    lengthscale: Any = eqx.field(default=1.0, converter=positive)
    need = DISTANCE

    def profile(self, pair: Pair) -> Array:
        return jnp.exp(-0.5 * pair.rr / self.lengthscale**2)


class RationalQuadratic(PairKernel):
    """(1 + r.r / (2 a l^2))^(-a)."""

    alpha: Any = eqx.field(default=1.0, converter=positive)
    lengthscale: Any = eqx.field(default=1.0, converter=positive)
    need = DISTANCE

    def profile(self, pair: Pair) -> Array:
        return (1.0 + pair.rr / (2.0 * self.alpha * self.lengthscale**2)) ** (-self.alpha)


class Matern(PairKernel):
    """Matern of smoothness p + 1/2: theta_p(s) exp(-s) / theta_p(0), s^2 = (2p + 1) r.r / l^2."""

    p: int = eqx.field(static=True)
    lengthscale: Any = eqx.field(default=1.0, converter=positive)
    need = DISTANCE

    def __check_init__(self) -> None:
        if not isinstance(self.p, int) or isinstance(self.p, bool) or self.p < 0:
            raise KernelError(f"p must be an integer, 0 or more (Matern-5/2 is p = 2), got {self.p!r}")

    @property
    def smoothness(self) -> float:
        """Sample paths of Matern-(p + 1/2) have p - 1 derivatives by the criterion of Paciorek (2003)."""
        return max(self.p - 1, 0)

    def profile(self, pair: Pair) -> Array:
        at_zero = math.factorial(2 * self.p) / (math.factorial(self.p) * 2**self.p)  # theta_p(0)
        return bessel(self.p, (2 * self.p + 1) * pair.rr / self.lengthscale**2) / at_zero


def Matern12(lengthscale: Any = 1.0) -> Matern:  # noqa: N802
    """exp(-s), s^2 = r.r / l^2: the Ornstein-Uhlenbeck process."""
    return Matern(0, lengthscale)


def Matern32(lengthscale: Any = 1.0) -> Matern:  # noqa: N802
    """(1 + s) exp(-s), s^2 = 3 r.r / l^2."""
    return Matern(1, lengthscale)


def Matern52(lengthscale: Any = 1.0) -> Matern:  # noqa: N802
    """(1 + s + s^2 / 3) exp(-s), s^2 = 5 r.r / l^2."""
    return Matern(2, lengthscale)


def Exponential(lengthscale: Any = 1.0) -> Matern:  # noqa: N802
    """exp(-s), s^2 = r.r / l^2: another name for Matern-1/2."""
    return Matern(0, lengthscale)
