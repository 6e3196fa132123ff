"""Log-determinants log |K + noise|: by Cholesky for small matrices, by stochastic Lanczos quadrature for large ones.

log |A| = tr log A = N E[u' log(A) u], with N the size of A and u a random sign vector of unit length. The tridiagonal
matrix of a Lanczos run from u gives u' log(A) u (Ubaru, Chen, Saad 2017).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError
from sonde.kernels.gram import DerivativeGram
from sonde.kernels.precision import in_precision_of
from sonde.kernels.solve import DENSE_SIZE, factorise, noise_vector, with_coefficients


class LogDeterminant(NamedTuple):
    """A log-determinant and its standard error (0 if it is exact)."""

    value: float
    error: float
    method: str


def log_determinant(operator: DerivativeGram, *, noise: Any, probes: int, steps: int, seed: int) -> LogDeterminant:
    """Return log |K + noise|."""
    if min(probes, steps) < 2:
        raise KernelError(f"probes and steps must be 2 or more, got {probes} and {steps}")
    with in_precision_of(operator.X):
        variances = noise_vector(operator, noise)
        if variances.size <= DENSE_SIZE:
            factor = factorise(operator, variances)
            return LogDeterminant(2 * float(jnp.sum(jnp.log(jnp.diagonal(factor)))), 0.0, "cholesky")
        keys = jax.random.split(jax.random.key(seed), probes)
        quadratures = _quadratures(with_coefficients(operator), variances, keys, min(steps, variances.size))
        error = float(jnp.std(quadratures, ddof=1)) / probes**0.5
        return LogDeterminant(float(jnp.mean(quadratures)), error, "stochastic Lanczos")


@eqx.filter_jit
def _quadratures(operator: DerivativeGram, variances: Array, keys: Array, steps: int) -> Array:
    size = variances.size

    def one(key: Array) -> Array:
        start = jax.random.rademacher(key, (size,), variances.dtype) / jnp.sqrt(jnp.asarray(size, variances.dtype))
        alphas, betas = _lanczos(lambda z: operator.mv(z) + variances * z, start, steps)
        nodes, vectors = jnp.linalg.eigh(jnp.diag(alphas) + jnp.diag(betas, 1) + jnp.diag(betas, -1))
        floor = jnp.finfo(nodes.dtype).eps * jnp.max(jnp.abs(nodes))
        return size * jnp.sum(vectors[0] ** 2 * jnp.log(jnp.maximum(nodes, floor)))

    return jax.lax.map(one, keys)


def _lanczos(multiply: Any, start: Array, steps: int) -> tuple[Array, Array]:
    """Return the diagonal (steps,) and off-diagonal (steps - 1,) of the tridiagonal matrix, fully reorthogonalised."""
    basis = jnp.zeros((steps, start.size), start.dtype).at[0].set(start)

    def step(state: tuple[Array, Array, Array], i: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        basis, vector, _ = state
        product = multiply(vector)
        alpha = vector @ product
        rest = product - basis.T @ (basis @ product)
        rest = rest - basis.T @ (basis @ rest)  # a second time: once leaves rounding errors
        beta = jnp.linalg.norm(rest)
        following = rest / jnp.where(beta > 0, beta, 1.0)
        basis = basis.at[jnp.minimum(i + 1, steps - 1)].set(jnp.where(i + 1 < steps, following, basis[-1]))
        return (basis, following, beta), (alpha, beta)

    _, (alphas, betas) = jax.lax.scan(step, (basis, start, jnp.zeros((), start.dtype)), jnp.arange(steps))
    return alphas, betas[:-1]
