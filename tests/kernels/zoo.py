"""Every kernel of the library, and random compositions of them."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from sonde.kernels import (
    ARD,
    RBF,
    Constant,
    Cosine,
    DirectProduct,
    DirectSum,
    Dot,
    DotProduct,
    ExponentiatedDot,
    Function,
    InnerProducts,
    Isotropic,
    Kernel,
    Linear,
    Matern,
    Matern52,
    NeuralNetwork,
    Polynomial,
    RationalQuadratic,
    RBFNetwork,
    SpectralMixture,
    VariableLinearRegression,
    VerticalScaling,
    Warp,
)

D = 3
_RNG = np.random.default_rng(7)
_MATRIX = _RNG.normal(size=(2, D))
_MEANS = 0.3 * _RNG.normal(size=(2, D))
_FACTOR = _RNG.normal(size=(2, 2 * D))


def nonlinear_map(x):
    return jnp.sin(x) + x[0] * x


def output_scale(x):
    return jnp.exp(-0.5 * jnp.sum(x**2) + 0.3 * x[0])


# Kernel, path of products with its gradients, path of products with its Hessians.
SMOOTH: dict[str, tuple[Callable[[], Kernel], str, str]] = {
    "rbf": (lambda: RBF(0.7), "structured", "structured"),
    "rational quadratic": (lambda: RationalQuadratic(1.3, 0.8), "structured", "structured"),
    "matern 7/2": (lambda: Matern(3, 0.9), "structured", "structured"),
    "matern 9/2": (lambda: Matern(4), "structured", "structured"),
    "constant": (lambda: Constant(2.0), "structured", "autodiff"),
    "dot": (lambda: Dot(), "structured", "structured"),
    "polynomial": (lambda: Polynomial(3, 0.5), "structured", "structured"),
    "exponentiated dot": (lambda: ExponentiatedDot(), "structured", "structured"),
    "neural network": (lambda: NeuralNetwork(1.5), "structured", "structured"),
    "rbf network": (lambda: RBFNetwork(), "structured", "structured"),
    "cosine": (lambda: Cosine([0.1, -0.2, 0.3]), "structured", "autodiff"),
    "spectral mixture": (
        lambda: SpectralMixture([1.0, 0.5], _MEANS, [[0.1, 0.2, 0.3], [0.2, 0.1, 0.1]]),
        "structured",
        "autodiff",
    ),
    "sum": (lambda: RBF() + Polynomial(2) + 0.5 * NeuralNetwork(), "structured", "structured"),
    "product": (lambda: RationalQuadratic() * Polynomial(2), "structured", "structured"),
    "power": (lambda: RBF() ** 3, "structured", "structured"),
    "multiple": (lambda: 2.5 * RBF(0.4), "structured", "structured"),
    "ard": (lambda: ARD(RBF(), [0.5, 1.0, 2.0]), "structured", "structured"),
    "ard of a sum": (lambda: ARD(RBF() + Dot(), [0.5, 1.0, 2.0]), "structured", "structured"),
    "low rank": (lambda: Linear(RBF(), _MATRIX), "structured", "structured"),
    "warped": (lambda: Warp(RBF(), nonlinear_map), "structured", "autodiff"),
    "vertical scaling": (lambda: VerticalScaling(RBF(), output_scale), "structured", "autodiff"),
    "scaled cosine": (lambda: VerticalScaling(Cosine([0.1, -0.2, 0.3]), output_scale), "structured", "autodiff"),
    "variable linear regression": (
        lambda: VariableLinearRegression(lambda x: jnp.concatenate([x, x**2]), _FACTOR, RBF()),
        "structured",
        "autodiff",
    ),
    "two maps": (lambda: ARD(RBF(), [0.5, 1.0, 2.0]) * Linear(RBF(), _MATRIX), "structured", "autodiff"),
    "direct sum": (lambda: DirectSum([RBF(0.5), RBF(1.0), RBF(2.0)]), "separable", "autodiff"),
    "direct product": (lambda: DirectProduct([RBF(0.5), RationalQuadratic(), Polynomial(2)]), "separable", "autodiff"),
    "direct product of one type": (
        lambda: DirectProduct([Polynomial(2, c) for c in (0.1, 1.0, 2.0)]),
        "separable",
        "autodiff",
    ),
    "direct product of blocks": (
        lambda: DirectProduct([RBF(0.5), Polynomial(2)], [[0, 2], [1]]),
        "structured",
        "autodiff",
    ),
    "user: distance": (lambda: Isotropic(lambda rr: jnp.exp(-rr) / (1 + rr)), "structured", "structured"),
    "user: inner product": (lambda: DotProduct(lambda xy: jnp.cosh(xy)), "structured", "structured"),
    "user: inner products": (
        lambda: InnerProducts(lambda xx, xy, yy: jnp.exp(xy - 0.5 * xx - 0.5 * yy)),
        "structured",
        "structured",
    ),
    "user: function": (lambda: Function(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 4))), "autodiff", "autodiff"),
}

ROUGH: dict[str, Callable[[], Kernel]] = {"matern 5/2": lambda: Matern52(0.9)}  # gradients, no Hessians


def without_structure(kernel: Kernel) -> Kernel:
    """Return the kernel as a function of unknown structure: products use plain automatic differentiation."""
    return Function(lambda x, y: kernel(x, y), kernel.smoothness)


def points(n: int, seed: int = 0, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def compositions() -> st.SearchStrategy[Kernel]:
    """Random trees of sums, products, powers, scalings and maps over random leaves."""
    scales = st.floats(0.3, 3.0)
    leaves = st.one_of(
        st.builds(RBF, scales), st.builds(RationalQuadratic, scales, scales), st.builds(Matern52, scales),
        st.builds(Matern, st.integers(2, 4), scales), st.just(Dot()), st.builds(Polynomial, st.integers(1, 3), scales),
        st.builds(NeuralNetwork, scales), st.just(RBFNetwork()), st.builds(Constant, scales),
        st.lists(st.floats(-0.5, 0.5), min_size=D, max_size=D).map(Cosine),
    )  # fmt: skip

    def grow(inner: st.SearchStrategy[Kernel]) -> st.SearchStrategy[Kernel]:
        return st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a * b, inner, inner),
            st.builds(lambda a, p: a**p, inner, st.integers(1, 2)),
            st.builds(lambda a, c: c * a, inner, scales),
            st.builds(lambda a, s: ARD(a, s), inner, st.lists(scales, min_size=D, max_size=D)),
            st.builds(lambda a: VerticalScaling(a, output_scale), inner),
            st.builds(lambda a: Warp(a, nonlinear_map), inner),
        )

    return st.recursive(leaves, grow, max_leaves=4)
