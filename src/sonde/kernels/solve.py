"""Linear solves (K + noise) z = b and log-determinants log |K + noise|, by Cholesky for small matrices.

Large systems are solved by preconditioned conjugate gradients. What is done once, the Cholesky factor included, is done
by NumPy and SciPy: JAX would compile a program for every operation, which takes longer than the operation.

The preconditioner of the gradients is the part of the matrix that does not mix inputs: (P + noise) (x) I_d with
P = g_xy - 2 g_rr, so one n by n Cholesky serves all d inputs. The preconditioner of the values is their own n by n
matrix. If the kernel has no such part (several input maps, or no known structure) it is the diagonal.

Log-determinants of large matrices A of size N come from stochastic Lanczos quadrature (Ubaru, Chen, Saad 2017):
log |A| = tr log A = N E[u' log(A) u], with u a random sign vector of unit length. The tridiagonal matrix of a Lanczos
run from u gives u' log(A) u.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
from jax import Array
from scipy.linalg import cho_factor, cho_solve

from sonde.errors import KernelError, NotPositiveDefinite
from sonde.kernels.maps import Identity
from sonde.kernels.multiply import split
from sonde.kernels.parameters import in_precision_of, keep_precision
from sonde.kernels.products import coefficients

if TYPE_CHECKING:
    from sonde.kernels.gram import DerivativeGram

NumPyArray = np.ndarray[Any, Any]
Factor = tuple[NumPyArray, bool]

DENSE_SIZE = 3000  # up to this many entries Cholesky is faster than conjugate gradients
KEPT_MEMORY = 2**30  # bytes of coefficients that an iterative solve may keep
_JITTERS = (0.875, 0.75, 0.625, 0.5)  # powers of the precision: 2e-14 to 1e-8 of the mean diagonal in float64


class Solution(NamedTuple):
    """A solution and how it was found. ``residual`` is |b - (K + noise) z| / |b|."""

    value: Array
    converged: bool
    residual: float
    steps: int
    method: str


class LogDeterminant(NamedTuple):
    """A log-determinant and its standard error (0 if it is exact)."""

    value: float
    error: float
    method: str


def solve(operator: DerivativeGram, vector: Any, *, noise: Any, tolerance: float, max_steps: int | None) -> Solution:
    """Solve (K + noise) z = b."""
    given = np.asarray(vector, operator.X.dtype)
    b, variances = given.reshape(-1), noise_vector(operator, noise)
    if b.size != variances.size:
        raise KernelError(f"the right-hand side has shape {given.shape}, expected {variances.size} entries")
    if not np.isfinite(b).all():
        raise KernelError("the right-hand side has a value that is not finite")
    method = _dense if b.size <= DENSE_SIZE else _iterative
    value, steps, name = method(operator, b, variances, tolerance, max_steps)
    rest, precision = b - _noisy_product(operator, value, variances), np.finfo(b.dtype)
    residual = float(np.linalg.norm(rest) / max(np.linalg.norm(b), precision.tiny))
    converged = residual <= max(tolerance * 10, 1e4 * precision.eps)
    return Solution(keep_precision(value.reshape(given.shape)), converged, residual, steps, name)


def _noisy_product(operator: DerivativeGram, vector: NumPyArray, variances: NumPyArray) -> NumPyArray:
    return np.asarray(operator.mv(vector)) + variances * vector


def noise_vector(operator: DerivativeGram, noise: Any) -> NumPyArray:
    """Return the noise variance of every entry; given are one for all, for each entry of a point, or for each."""
    if operator.Y is not None:
        raise KernelError("only a square operator, made without Y, can be solved with")
    n, p = len(operator.X), operator.entries
    given = np.asarray(noise, operator.X.dtype)
    if given.shape not in ((), (p,), (n, p), (n * p,)):
        raise KernelError(f"noise has shape {given.shape}, expected a number, ({p},), ({n}, {p}) or ({n * p},)")
    if not np.all((given >= 0) & np.isfinite(given)):
        raise KernelError("noise is a variance: zero or more, and finite")
    return np.broadcast_to(given.reshape(n, p) if given.shape == (n * p,) else given, (n, p)).reshape(-1)


def factorise(operator: DerivativeGram, variances: NumPyArray) -> Factor:
    """Return the Cholesky factor of K + noise, with the smallest jitter that succeeds, as ``cho_solve`` takes it."""
    matrix = np.array(operator.as_matrix())
    diagonal = matrix.diagonal() + variances
    jitters = [0.0, *(float(np.finfo(matrix.dtype).eps) ** power for power in _JITTERS)]
    for jitter in jitters:
        np.fill_diagonal(matrix, diagonal + jitter * diagonal.mean())
        with contextlib.suppress(np.linalg.LinAlgError):
            factor = cho_factor(matrix.T, lower=True, check_finite=False)  # symmetric: in LAPACK's order
            if np.isfinite(factor[0].diagonal()).all():
                return factor
    raise NotPositiveDefinite(
        f"the {len(matrix)} by {len(matrix)} matrix of {type(operator.kernel).__name__} is not positive definite, even "
        f"with jitter {jitters[-1]:.0e}; check for repeated points without noise, very long length scales, and that "
        "the kernel is a covariance function; or add noise"
    )


def _dense(operator: DerivativeGram, b: NumPyArray, variances: NumPyArray, *_: Any) -> tuple[NumPyArray, int, str]:
    factor = factorise(operator, variances)
    value = cho_solve(factor, b, check_finite=False)
    rest = b - _noisy_product(operator, value, variances)
    return value + cho_solve(factor, rest, check_finite=False), 1, "cholesky"  # one step of refinement


def _iterative(
    operator: DerivativeGram, b: NumPyArray, variances: NumPyArray, tolerance: float, max_steps: int | None
) -> tuple[NumPyArray, int, str]:
    with in_precision_of(operator.X):
        given = with_coefficients(operator), jnp.asarray(b), jnp.asarray(variances)
        value, steps = _conjugate_gradients(*given, tolerance, max_steps or 2000)
    return np.asarray(value), int(steps), "conjugate gradients"


def with_coefficients(operator: DerivativeGram) -> DerivativeGram:
    """Return the operator with its pairwise coefficients kept for many products, unless they need too much memory."""
    fits = len(operator.X) ** 2 * operator.X.dtype.itemsize * 8 <= KEPT_MEMORY
    if operator.kept is not None or not fits or operator.observed.hessian:
        return operator
    return type(operator)(operator.kernel, operator.X, keep=True, memory=operator.memory)


@eqx.filter_jit
def _conjugate_gradients(
    operator: DerivativeGram, b: Array, variances: Array, tolerance: float, max_steps: int
) -> tuple[Array, Array]:
    shape = jax.ShapeDtypeStruct(b.shape, b.dtype)
    noisy = lx.FunctionLinearOperator(lambda z: operator.mv(z) + variances * z, shape, lx.positive_semidefinite_tag)
    inverse = lx.FunctionLinearOperator(_preconditioner(operator, variances), shape, lx.positive_semidefinite_tag)
    scale = jnp.linalg.norm(b)
    solver = lx.CG(rtol=tolerance, atol=tolerance * scale / np.sqrt(b.size), max_steps=max_steps)
    found = lx.linear_solve(noisy, b, solver, options={"preconditioner": inverse}, throw=False)
    return found.value, found.stats["num_steps"]


def _preconditioner(operator: DerivativeGram, variances: Array) -> Any:
    n, p = len(operator.X), operator.entries
    noise = jnp.maximum(jnp.mean(variances.reshape(n, p), axis=1), 1e-10)
    first, *others = split(operator.kernel)
    structure = first.structure
    simple = structure is not None and len(structure.maps) == 1 and isinstance(structure.maps[0], Identity)
    if structure is None or not simple or others or operator.observed.hessian:
        scale = operator.diagonal() + variances
        return lambda z: z / scale
    kept = operator.kept if operator.kept is not None else coefficients(structure, operator.X, operator.X)
    gradient = {scalar.name: each for scalar, each in zip(structure.scalars, kept.gradient, strict=True)}
    diagonal_part = gradient.get("xy", 0.0) - 2 * gradient.get("rr", 0.0)
    gradients = _safe_factor(jnp.asarray(diagonal_part), noise)
    values = _safe_factor(kept.phi, noise) if operator.observed.value else None

    def apply(z: Array) -> Array:
        z = z.reshape(n, p)
        split_at = int(operator.observed.value)
        solved = [jax.scipy.linalg.cho_solve((values, True), z[:, :split_at])] if values is not None else []
        if operator.observed.gradient:
            solved.append(jax.scipy.linalg.cho_solve((gradients, True), z[:, split_at:]))
        return jnp.concatenate(solved, axis=1).reshape(-1)

    return apply


def _safe_factor(matrix: Array, noise: Array) -> Array:
    """Return the Cholesky factor of the matrix plus noise, or of its diagonal if that is not positive definite."""
    scale = jnp.mean(jnp.abs(jnp.diagonal(matrix)))
    jittered = matrix + jnp.diag(noise + 1e-6 * scale)
    factor = jnp.linalg.cholesky(jittered)
    plain = jnp.diag(jnp.sqrt(jnp.abs(jnp.diagonal(matrix)) + noise + 1e-6 * scale))
    return jnp.where(jnp.all(jnp.isfinite(factor)), factor, plain)


def log_determinant(operator: DerivativeGram, *, noise: Any, probes: int, steps: int, seed: int) -> LogDeterminant:
    """Return log |K + noise|."""
    if min(probes, steps) < 2:
        raise KernelError(f"probes and steps must be 2 or more, got {probes} and {steps}")
    variances = noise_vector(operator, noise)
    if variances.size <= DENSE_SIZE:
        factor, _ = factorise(operator, variances)
        return LogDeterminant(2 * float(np.log(factor.diagonal()).sum()), 0.0, "cholesky")
    with in_precision_of(operator.X):
        keys, steps = jax.random.split(jax.random.key(seed), probes), min(steps, variances.size)
        found = np.asarray(_quadratures(with_coefficients(operator), jnp.asarray(variances), keys, steps))
    return LogDeterminant(float(found.mean()), float(found.std(ddof=1)) / probes**0.5, "stochastic Lanczos")


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
