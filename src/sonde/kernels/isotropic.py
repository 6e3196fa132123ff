"""Isotropic kernels: k = f(r.r), r = x - y. Each is written in the squared distance r.r, where f is smooth."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.kernel import PairKernel
from sonde.kernels.parameters import positive
from sonde.kernels.structure import DISTANCE, Pair


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def bessel(p: int, w: Array) -> Array:
    """Return b_p(w) = theta_p(s) exp(-s), s = sqrt(w), for w >= 0 and any integer p: what Matern kernels are made of.

    theta_p is the reverse Bessel polynomial: theta_0 = 1, theta_1 = s + 1, theta_2 = s^2 + 3 s + 3, ... b_p is
    s^v K_v(s) up to a constant, v = p + 1/2, hence

        d b_p / d w = -b_{p-1} / 2,      b_{-p-1} = b_p / s^(2p+1),

    so no square root is differentiated. Negative orders are infinite at w = 0. They only occur multiplied by powers of
    r that vanish faster, so they are set to 0 there.
    """
    if p < 0:
        safe = jnp.where(w > 0, w, 1.0)
        return jnp.where(w > 0, bessel(-p - 1, safe) * safe ** (p + 0.5), 0.0)
    s = jnp.sqrt(w)
    polynomial = jnp.zeros_like(s)
    for k in range(p + 1):  # Horner, from the highest power of s
        polynomial = polynomial * s + math.factorial(p + k) / (math.factorial(p - k) * math.factorial(k) * 2**k)
    return polynomial * jnp.exp(-s)


@bessel.defjvp
def _derivative(p: int, primals: Any, tangents: Any) -> Any:
    (w,), (dw,) = primals, tangents
    return bessel(p, w), -0.5 * bessel(p - 1, w) * dw


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
