"""Input maps u: R^d -> R^r, with the products J v (``jvp``) and J^T w (``vjp``) of their Jacobians, for many points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sonde.errors import KernelError


class Map(eqx.Module):
    """A differentiable function of one point."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """Map one point."""

    def rows(self, points: Array) -> Array:
        """Map (n, d) points to (n, r)."""
        return jax.vmap(self)(points)

    def jvp(self, points: Array, vectors: Array) -> Array:
        """Return J(x_i) v_i, (n, r)."""
        return jax.vmap(lambda x, v: jax.jvp(self, (x,), (v,))[1])(points, vectors)

    def vjp(self, points: Array, covectors: Array) -> Array:
        """Return J(x_i)^T w_i, (n, d)."""
        return jax.vmap(lambda x, w: jax.vjp(self, x)[1](w)[0])(points, covectors)

    def jacobians(self, points: Array) -> Array:
        """Return the Jacobians, (n, r, d)."""
        return jax.vmap(jax.jacfwd(self))(points)


class LinearMap(Map):
    """u(x) = U x; ``matrix`` is U (r, d), or its diagonal (d,)."""

    matrix: Array

    def _check(self, points: Array) -> None:
        taken, columns = self.matrix.shape[-1], points.shape[-1]
        if taken != columns:
            what = f"{taken} lengthscales" if self.matrix.ndim == 1 else f"a matrix for {taken} columns"
            raise KernelError(f"the kernel has {what}, and the points have {columns}; give one for each column")

    def __call__(self, x: Array) -> Array:
        self._check(x)
        return self.matrix * x if self.matrix.ndim == 1 else self.matrix @ x

    def rows(self, points: Array) -> Array:
        self._check(points)
        return points * self.matrix if self.matrix.ndim == 1 else points @ self.matrix.T

    def jvp(self, points: Array, vectors: Array) -> Array:
        """Return U v_i."""
        return self.rows(vectors)

    def vjp(self, points: Array, covectors: Array) -> Array:
        """Return U^T w_i."""
        return covectors * self.matrix if self.matrix.ndim == 1 else covectors @ self.matrix

    def jacobians(self, points: Array) -> Array:
        """Return U for every point."""
        matrix = jnp.diag(self.matrix) if self.matrix.ndim == 1 else self.matrix
        return jnp.broadcast_to(matrix, (len(points), *matrix.shape))


class Identity(Map):
    """u(x) = x."""

    def __call__(self, x: Array) -> Array:
        return x

    def rows(self, points: Array) -> Array:
        return points

    def jvp(self, points: Array, vectors: Array) -> Array:
        return vectors

    def vjp(self, points: Array, covectors: Array) -> Array:
        return covectors


class Select(Map):
    """u(x) = some entries of x."""

    columns: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        return x[jnp.array(self.columns)]


class FunctionMap(Map):
    """Any differentiable function, a module with parameters of its own included."""

    function: Callable[[Array], Array]

    def __call__(self, x: Array) -> Array:
        return jnp.atleast_1d(self.function(x))


class Composed(Map):
    """u(x) = outer(inner(x))."""

    outer: Map
    inner: Map

    def __call__(self, x: Array) -> Array:
        return self.outer(self.inner(x))


def is_linear(mapping: Map) -> bool:
    """Whether a map is linear."""
    if isinstance(mapping, Composed):
        return is_linear(mapping.outer) and is_linear(mapping.inner)
    return isinstance(mapping, LinearMap | Identity | Select)
