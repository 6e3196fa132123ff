"""The function that all half-integer Matern kernels are made of, with exact derivatives at zero distance.

b_p(w) = theta_p(s) exp(-s), s = sqrt(w), theta_p the reverse Bessel polynomial: theta_0 = 1, theta_1 = s + 1,
theta_2 = s^2 + 3 s + 3, ... It is s^v K_v(s) up to a constant, v = p + 1/2, hence

    d b_p / d w = -b_{p-1} / 2,      b_{-p-1} = b_p / s^(2p+1),

so no square root is differentiated. Negative orders are infinite at w = 0. They only occur multiplied by powers of
r that vanish faster, so they are set to 0 there.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def bessel(p: int, w: Array) -> Array:
    """Return theta_p(sqrt(w)) exp(-sqrt(w)) for w >= 0 and any integer p."""
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
