"""Products with second derivatives, values and gradients included (section 3.3, appendices C and D of the paper).

For weights w (on values), v (on gradients) and W (on Hessians, symmetric) of a column y, define

    h(x) = w k + v . grad_y k + W : hess_y k = w phi + sum_a phi_a d_a + sum_ab phi_ab o_ab + sum_a phi_a t_a,

where a, b are the scalars of the kernel, d_a = v . grad_y a, o_ab = (grad_y a)' W grad_y b and t_a = W : hess_y a.
Then h is again a function F of a few scalars: those of the kernel, and

    x.v,  x'Wx,  x'Wy   where inner products are needed,     r.v,  r'Wr   where the distance is.

Its gradient and Hessian in x are sum_a F_a grad a and sum_ab F_ab grad a grad b' + sum_a F_a hess a. The gradients are
multiples of x, y, r, v, Wx, Wy, Wr. The cost is O(d^2) for each pair, for any kernel of one linearly mapped pair of
inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sonde.kernels.kernel import Kernel
from sonde.kernels.maps import Identity, is_linear
from sonde.kernels.structure import Pair, Structure

_NAMES = ("xx", "xy", "yy", "rr")


class Jet(NamedTuple):
    """A value, a gradient and a symmetric Hessian: of a function at a point, or the weights on them."""

    value: Array
    gradient: Array
    hessian: Array


def is_second_order(structure: Structure | None) -> bool:
    """Whether the kernel is a function of the scalars of one linearly mapped pair of inputs."""
    return (
        structure is not None and len(structure.maps) == 1 and not structure.features and is_linear(structure.maps[0])
    )


def structured_jet(structure: Structure, rows: Array, columns: Array, weights: Jet) -> Jet:
    """Return h, its gradient and its Hessian at the rows."""
    mapping = structure.maps[0]
    if isinstance(mapping, Identity):
        return _unmapped(structure, rows, columns, weights)
    matrix = mapping.jacobians(columns[:1])[0]  # U (r, d), the same everywhere
    mapped = Jet(weights.value, weights.gradient @ matrix.T, matrix @ weights.hessian @ matrix.T)
    h = _unmapped(structure, mapping.rows(rows), mapping.rows(columns), mapped)
    return Jet(h.value, h.gradient @ matrix, matrix.T @ h.hessian @ matrix)


def _unmapped(structure: Structure, rows: Array, columns: Array, weights: Jet) -> Jet:
    needs = structure.needs[0]

    def profile(z: dict[str, Array]) -> Array:
        zero = jnp.zeros_like(next(iter(z.values())))
        return jnp.asarray(structure.phi([Pair(*(z.get(name, zero) for name in _NAMES))], []))

    def row(x: Array) -> Jet:
        return _row(profile, needs, x, columns, weights)

    return jax.vmap(row)(rows)


def _row(profile: Callable[[dict[str, Array]], Array], needs: frozenset[str], x: Array, y: Array, w: Jet) -> Jet:
    """Sum over the columns for one row; (m, ...) arrays run over the columns."""
    scalars, vectors, curved = _row_scalars(needs, x, y, w)
    fixed = {
        "yy": jnp.sum(y * y, axis=1),
        "yv": jnp.sum(y * w.gradient, axis=1),
        "yWy": jnp.einsum("mr,mrs,ms->m", y, w.hessian, y),
        "trW": jnp.trace(w.hessian, axis1=1, axis2=2),
        "w": w.value,
    }

    def column(scalars: dict[str, Array], fixed: dict[str, Array]) -> Array:
        return _column(profile, needs, scalars, fixed)

    value = jax.vmap(column)(scalars, fixed)
    first = jax.vmap(jax.grad(column))(scalars, fixed)
    second = jax.vmap(jax.hessian(column))(scalars, fixed)
    names = list(scalars)
    basis = jnp.stack([vectors[name] for name in names], axis=1)  # (m, a, r)
    gradients = jnp.stack([first[name] for name in names], axis=1)  # (m, a)
    hessians = jnp.stack([jnp.stack([second[a][b] for b in names], axis=1) for a in names], axis=1)  # (m, a, b)
    gradient = jnp.einsum("ma,mar->r", gradients, basis)
    hessian = jnp.einsum("mar,mas->rs", basis, jnp.einsum("mab,mbs->mas", hessians, basis))
    for name, curvature in curved.items():
        scale = 2 * first[name]
        identity = curvature is None
        hessian += (
            jnp.sum(scale) * jnp.eye(len(x), dtype=x.dtype) if identity else jnp.einsum("m,mrs->rs", scale, curvature)
        )
    return Jet(jnp.sum(value), gradient, hessian)


def _row_scalars(
    needs: frozenset[str], x: Array, y: Array, w: Jet
) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array | None]]:
    """Return the scalars that vary with x, their gradients, and half their Hessians (None: the identity)."""
    scalars: dict[str, Array] = {}
    vectors: dict[str, Array] = {}
    curved: dict[str, Array | None] = {}
    m = len(y)
    wide = jnp.broadcast_to(x, y.shape)
    if "xx" in needs:
        scalars["xx"], vectors["xx"], curved["xx"] = jnp.full(m, x @ x), 2 * wide, None
    if needs & {"xy", "yy"}:
        w_x, w_y = w.hessian @ x, jnp.einsum("mrs,ms->mr", w.hessian, y)
        scalars |= {"xy": y @ x, "xv": w.gradient @ x, "xWx": w_x @ x, "xWy": w_y @ x}
        vectors |= {"xy": y, "xv": w.gradient, "xWx": 2 * w_x, "xWy": w_y}
        curved["xWx"] = w.hessian
    if "rr" in needs:
        r = x - y  # the difference itself: exact for points that nearly coincide
        w_r = jnp.einsum("mrs,ms->mr", w.hessian, r)
        scalars |= {
            "rr": jnp.sum(r * r, axis=1),
            "rv": jnp.sum(r * w.gradient, axis=1),
            "rWr": jnp.sum(r * w_r, axis=1),
        }
        vectors |= {"rr": 2 * r, "rv": w.gradient, "rWr": 2 * w_r}
        curved |= {"rr": None, "rWr": w.hessian}
    return scalars, vectors, curved


def _column(
    profile: Callable[[dict[str, Array]], Array], needs: frozenset[str], s: dict[str, Array], c: dict[str, Array]
) -> Array:
    """Return h of one column at one row, F in the module's docstring."""
    z = {name: s[name] if name in s else c[name] for name in _NAMES if name in needs}
    along = {"xy": s.get("xv", 0.0), "yy": 2 * c["yv"], "rr": -2 * s.get("rv", 0.0)}
    twice = {"yy": 2 * c["trW"], "rr": 2 * c["trW"]}
    active = [name for name in ("xy", "yy", "rr") if name in needs]
    g, hess = jax.grad(profile)(z), jax.hessian(profile)(z)
    total = c["w"] * profile(z)
    for a in active:
        total += g[a] * (along[a] + twice.get(a, 0.0))
        for b in active:
            total += hess[a][b] * _between(a, b, s, c)
    return total


def _between(a: str, b: str, s: dict[str, Array], c: dict[str, Array]) -> Array:
    """Return grad_y a' W grad_y b, with grad_y of x.y, y.y, r.r being x, 2 y, -2 r."""
    match tuple(sorted((a, b))):
        case ("xy", "xy"):
            return s["xWx"]
        case ("xy", "yy"):
            return 2 * s["xWy"]
        case ("yy", "yy"):
            return 4 * c["yWy"]
        case ("rr", "rr"):
            return 4 * s["rWr"]
        case ("rr", "xy"):
            return -2 * (s["xWx"] - s["xWy"])
        case _:
            return -4 * (s["xWy"] - c["yWy"])


def autodiff_jet(kernel: Kernel, rows: Array, columns: Array, weights: Jet) -> Jet:
    """Return h, its gradient and its Hessian for any kernel, by plain automatic differentiation."""

    def column(x: Array, y: Array, w: Array, v: Array, matrix: Array) -> Array:
        def of_y(y: Array) -> Array:
            return kernel(x, y)

        return w * of_y(y) + v @ jax.grad(of_y)(y) + jnp.sum(matrix * jax.hessian(of_y)(y))

    def row(x: Array) -> Jet:
        def h(x: Array) -> Array:
            each = jax.vmap(column, in_axes=(None, 0, 0, 0, 0))(x, columns, *weights)
            return jnp.sum(each)

        return Jet(h(x), jax.grad(h)(x), jax.hessian(h)(x))

    return jax.vmap(row)(rows)
