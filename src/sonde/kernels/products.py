"""Products with the matrices of all derivatives of a kernel, never formed.

For weights w_j (on values) and v_j (on gradients) of the columns y_j, define

    h(x) = sum_j [ w_j k(x, y_j) + v_j . grad_y k(x, y_j) ],

The product is h and its gradient at the rows. With k = phi(z), z the scalars, s_j the derivative of z in y along v_j, g
the gradient and H the Hessian of phi in z:

    h      = sum_j [ w phi + g.s ]
    grad h = sum_j [ (g_xy - 2 g_rr) v_j + sum_z q_z grad_x z ],      q = w g + H s,

where grad_x of x.x, x.y, r.r, f(x) is 2 x, y_j, 2 (x - y_j), grad f(x). Summed over j these are matrix products: one
each for x.y, x.v, the term in v_j and the term in y_j, for every kernel. q is the gradient of w phi + g.s, a function
of a few scalars. (Section 3.2 of the paper derives the same rules one by one for each node of the expression.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel
from sonde.kernels.pairwise import CentredPoints, centred_points, directional_arrays, over_pairs, scalar_arrays
from sonde.kernels.separable import DirectKernel
from sonde.kernels.structure import Scalar, Structure


class Weights(NamedTuple):
    """Weights on values (m,) and on gradients (m, d); None where that order is not observed."""

    value: Array | None
    gradient: Array | None


class Coefficients(NamedTuple):
    """phi (n, m) and its derivatives in the scalars of each pair, computed once for many products.

    A product with them costs three matrix products; the rest is negligible.
    ``gradient`` has one (n, m) array for each scalar. ``hessian[a][b]`` is (n, m) where scalar a varies with x and
    scalar b with y, and None elsewhere.
    """

    phi: Array
    gradient: list[Array]
    hessian: list[list[Any]]


def structured_product(structure: Structure, rows: Array, columns: Array, weights: Weights) -> tuple[Array, Array]:
    """Return h (n,) and its gradient (n, d) at the rows, for a kernel of known structure.

    As in the other products, the gradient is zero where gradients are not observed.
    """
    if not structure.scalars:  # a constant
        total = structure.flat_phi() * (0.0 if weights.value is None else jnp.sum(weights.value))
        return jnp.full(len(rows), total, rows.dtype), jnp.zeros_like(rows)
    views = centred_points(structure, rows, columns)
    z = scalar_arrays(structure, views, rows, columns)
    shape = (len(rows), len(columns))
    w = None if weights.value is None else jnp.broadcast_to(weights.value[None, :], shape)
    s = None
    if weights.gradient is not None:
        along = directional_arrays(structure, views, columns, weights.gradient)
        s = [jnp.broadcast_to(one, shape) for one in along]
    h, q, g = over_pairs(lambda *one: _local(structure, *one))(z, s, w)
    value = jnp.sum(h, axis=1)
    if weights.gradient is None:
        return value, jnp.zeros_like(rows)
    return value, assemble_gradient(structure, views, rows, columns, weights.gradient, q, g)


def _local(structure: Structure, z: list[Array], s: list[Array] | None, w: Array | None) -> tuple[Any, ...]:
    """Return h, q and g of one pair."""
    phi = jax.value_and_grad(lambda z: structure.flat_phi(*z))
    if s is None:
        value, g = phi(z)
        return w * value, g, g
    (value, g), (h, q) = jax.jvp(phi, (z,), (s,))  # with g, along s: g.s and H s
    if w is not None:
        h, q = h + w * value, [w * first + second for first, second in zip(g, q, strict=True)]
    return h, q, g


def assemble_gradient(
    structure: Structure,
    views: list[CentredPoints],
    rows: Array,
    columns: Array,
    vectors: Array,
    q: list[Array],
    g: list[Array],
) -> Array:
    """Return the gradients (n, d) from the coefficients q of grad_x z and g of v_j, all (n, m)."""
    by_name = dict(zip(structure.scalars, zip(q, g, strict=True), strict=True))
    total = jnp.zeros_like(rows)
    for index, (mapping, view) in enumerate(zip(structure.maps, views, strict=True)):
        own = {scalar.name: pair for scalar, pair in by_name.items() if scalar.owner == index and scalar.name[0] != "f"}
        zero = jnp.zeros((), rows.dtype)
        (q_xx, _), (q_xy, g_xy), (q_rr, g_rr) = (own.get(name, (zero, zero)) for name in ("xx", "xy", "rr"))
        around = 2 * (_row_sums(q_xx, rows) + _row_sums(q_rr, rows)) * view.x  # 2 x, and 2 r without its y
        if "xx" in own or "xy" in own:  # add back the centre in 2 x and y
            around = around + (2 * _row_sums(q_xx, rows) + _row_sums(q_xy, rows)) * view.centre
        if "xy" in own or "rr" in own:
            around = around + (q_xy - 2 * q_rr) @ view.y
            around = around + (g_xy - 2 * g_rr) @ mapping.jvp(columns, vectors)
        total = total + mapping.vjp(rows, around)
    for index, feature in enumerate(structure.features):
        q_fx, _ = by_name[Scalar("fx", index)]
        total = total + feature.vjp(rows, _row_sums(q_fx, rows))
    return total


def _row_sums(coefficients: Array, rows: Array) -> Array:
    return jnp.sum(coefficients, axis=1, keepdims=True) if coefficients.ndim else jnp.zeros((len(rows), 1), rows.dtype)


def coefficients(structure: Structure, rows: Array, columns: Array) -> Coefficients:
    """Return the coefficients of all pairs."""
    if not structure.scalars:  # a constant
        return Coefficients(jnp.full((len(rows), len(columns)), structure.flat_phi(), rows.dtype), [], [])
    z = scalar_arrays(structure, centred_points(structure, rows, columns), rows, columns)

    def gradient(z: list[Array]) -> tuple[list[Array], tuple[Array, list[Array]]]:
        value, g = jax.value_and_grad(lambda z: structure.flat_phi(*z))(z)
        return g, (value, g)

    second, (phi, g) = over_pairs(jax.jacfwd(gradient, has_aux=True))(z)
    hessian = [
        [second[a][b] if one.of_x and other.of_y else None for b, other in enumerate(structure.scalars)]
        for a, one in enumerate(structure.scalars)
    ]
    return Coefficients(phi, g, hessian)


def kept_product(
    structure: Structure, kept: Coefficients, rows: Array, columns: Array, weights: Weights
) -> tuple[Array, Array]:
    """Return h and its gradient at the rows from kept coefficients."""
    views = centred_points(structure, rows, columns)
    value = jnp.zeros(len(rows), rows.dtype)
    q = [jnp.zeros((), rows.dtype)] * len(kept.gradient)
    if weights.value is not None:
        value = value + kept.phi @ weights.value
        q = [weights.value * each for each in kept.gradient]
    if weights.gradient is None:
        return value, jnp.zeros_like(rows)
    s = directional_arrays(structure, views, columns, weights.gradient)
    along = [(b, one) for b, one in enumerate(s) if structure.scalars[b].of_y]
    value = value + sum(jnp.sum(kept.gradient[b] * one, axis=1) for b, one in along)
    q = [q[a] + sum(line[b] * one for b, one in along if line[b] is not None) for a, line in enumerate(kept.hessian)]
    shape = (len(rows), len(columns))
    q = [jnp.broadcast_to(one, shape) for one in q]
    return value, assemble_gradient(structure, views, rows, columns, weights.gradient, q, kept.gradient)


def separable_product(kernel: DirectKernel, rows: Array, columns: Array, weights: Weights) -> tuple[Array, Array]:
    """Return h and its gradient for a direct sum or product of one-dimensional kernels: O(d) for each pair.

    Let S(k) be the sum or product of the k_a, and u_a = v_a dk_a/dy_a. Then h = F(k, u) = w S + grad S . u, and
    dh/dx_a = F_k_a dk_a/dx_a + F_u_a v_a d^2 k_a/dx_a dy_a: diagonal plus rank one for products, diagonal for sums.
    """
    order = jnp.array([columns[0] for columns in kernel.part_columns])

    def pair(x: Array, y: Array, w: Array, v: Array) -> tuple[Array, Array]:
        k, dx, dy, dxy = kernel.each_part(x, y, _one_dimensional)
        v = v[order]

        def total(k: Array, along: Array) -> Array:
            value, derivative = jax.jvp(kernel.combine, (k,), (along,))
            return w * value + derivative

        h, (by_k, by_along) = jax.value_and_grad(total, argnums=(0, 1))(k, v * dy)
        return h, jnp.zeros_like(x).at[order].set(by_k * dx + by_along * v * dxy)

    return _by_rows(pair, rows, columns, weights)


def _one_dimensional(kernel: Kernel, x: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    """Return the value, both first derivatives and the mixed derivative of a one-dimensional kernel."""

    def k(x: Array, y: Array) -> Array:
        return kernel(x[None], y[None])

    def derivative_y(x: Array, y: Array) -> Array:
        return jax.grad(k, argnums=1)(x, y)

    dx, dy = jax.grad(k, argnums=(0, 1))(x, y)
    return k(x, y), dx, dy, jax.grad(derivative_y)(x, y)


def autodiff_product(kernel: Kernel, rows: Array, columns: Array, weights: Weights) -> tuple[Array, Array]:
    """Return h and its gradient for any kernel, by automatic differentiation: O(d) for each pair."""

    def pair(x: Array, y: Array, w: Array, v: Array) -> tuple[Array, Array]:
        def column(x: Array) -> Array:
            value, derivative = jax.jvp(lambda y: kernel(x, y), (y,), (v,))
            return w * value + derivative

        if weights.gradient is None:
            return w * kernel(x, y), jnp.zeros_like(x)
        h, gradient = jax.value_and_grad(column)(x)
        return h, gradient

    return _by_rows(pair, rows, columns, weights)


def _by_rows(pair: Any, rows: Array, columns: Array, weights: Weights) -> tuple[Array, Array]:
    """Sum a function of one pair over the columns, for every row."""
    w = jnp.zeros(len(columns), rows.dtype) if weights.value is None else weights.value
    v = jnp.zeros_like(columns) if weights.gradient is None else weights.gradient
    over_columns = jax.vmap(pair, in_axes=(None, 0, 0, 0))

    def row(x: Array) -> tuple[Array, Array]:
        h, gradient = over_columns(x, columns, w, v)
        return jnp.sum(h), jnp.sum(gradient, axis=0)

    result: tuple[Array, Array] = jax.vmap(row)(rows)
    return result
