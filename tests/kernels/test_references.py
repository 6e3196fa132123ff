"""Independent references: formulas of the paper's appendices, SciPy's Matern, and each kernel's formula in NumPy."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gamma, kv
from tests.kernels.zoo import points

import sonde.kernels as kernels
from sonde.kernels import (
    RBF,
    Categorical,
    Dot,
    ExponentiatedDot,
    GradientGram,
    Gram,
    HessianGram,
    Matern,
    NeuralNetwork,
    Polynomial,
    RationalQuadratic,
    RBFNetwork,
    White,
)
from sonde.kernels.isotropic import bessel


def distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.linalg.norm(x - y))


def matern(coefficients: list[float], s: float) -> float:
    return float(np.polynomial.Polynomial(coefficients)(s) * np.exp(-s))


def test_neural_network_gradient_of_appendix_b() -> None:
    x, y = points(2)
    n_x, n_y, xy = 1 + x @ x, 1 + y @ y, x @ y
    root = np.sqrt(n_x * n_y)
    ratio = xy / root  # r of appendix B is x.y, scaled by the norms
    first = 1 / np.sqrt(1 - ratio**2)  # derivatives of arcsin
    second = ratio / (1 - ratio**2) ** 1.5
    d_x, d_y = (y - xy / n_x * x) / root, (x - xy / n_y * y) / root
    mixed = (np.eye(3) - np.outer(x, x) / n_x - np.outer(y, y) / n_y + xy / (n_x * n_y) * np.outer(x, y)) / root
    expected = second * np.outer(d_x, d_y) + first * mixed
    got = GradientGram(NeuralNetwork(), x[None], y[None]).as_matrix()
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        GradientGram(NeuralNetwork(), x[None], y[None]).mv(np.ones(3)), expected @ np.ones(3), rtol=1e-12
    )


def packed(full: np.ndarray, d: int) -> np.ndarray:
    """Reduce a d^2 by d^2 covariance of vec(H) to the upper triangle."""
    rows, columns = np.triu_indices(d)
    index = rows * d + columns
    return full[np.ix_(index, index)]


def shuffle(d: int) -> np.ndarray:
    return np.eye(d * d).reshape(d, d, d, d).transpose(1, 0, 2, 3).reshape(d * d, d * d)


def kronecker_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.kron(a, np.eye(len(b))) + np.kron(np.eye(len(a)), b)


def test_isotropic_hessian_of_appendix_c() -> None:
    """Appendix C, for exp(-r.r / 2) and f a function of r.r: derivatives in r.r bring a factor of two each."""
    d = 3
    x, y = points(2)
    r = x - y
    k = np.exp(-0.5 * r @ r)
    second, third, fourth = k, -k, k  # 2^n f^(n)(r.r): each derivative of r.r brings a factor of two
    outer, eye = np.outer(r, r), np.eye(d)
    v = np.stack([eye.reshape(-1), outer.reshape(-1)], axis=1)
    expected = (np.eye(d * d) + shuffle(d)) @ (second * np.eye(d * d) + third * kronecker_sum(outer, outer))
    expected = expected + v @ np.array([[second, third], [third, fourth]]) @ v.T
    got = HessianGram(RBF(), x[None], y[None]).as_matrix()
    np.testing.assert_allclose(got, packed(expected, d), rtol=1e-12, atol=1e-14)


def test_dot_product_hessian_of_appendix_c() -> None:
    d = 3
    x, y = points(2)
    f = np.exp(x @ y)  # all derivatives of exp are itself
    outer = np.outer(y, x)
    expected = (np.eye(d * d) + shuffle(d)) @ (f * np.eye(d * d) + f * kronecker_sum(outer, outer))
    expected = expected + f * np.outer(np.outer(y, y).reshape(-1), np.outer(x, x).reshape(-1))
    got = HessianGram(ExponentiatedDot(), x[None], y[None]).as_matrix()
    np.testing.assert_allclose(got, packed(expected, d), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("p", [0, 1, 2, 3, 4])
def test_matern_against_scipy(p: int) -> None:
    nu, distance = p + 0.5, np.array([1e-3, 0.1, 1.0, 3.0])
    s = np.sqrt(2 * nu) * distance
    expected = 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s)
    with jax.enable_x64(True):
        got = [Matern(p)(jnp.array([0.0]), jnp.array([t])) for t in distance]
    np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.parametrize("p", [0, 1, 2, 3])
def test_derivatives_and_negative_orders_of_the_bessel_function(p: int) -> None:
    with jax.enable_x64(True):
        w, step = jnp.asarray(0.7), 1e-5
        difference = (bessel(p, w + step) - bessel(p, w - step)) / (2 * step)
        np.testing.assert_allclose(jax.grad(lambda w: bessel(p, w))(w), difference, rtol=1e-8)
        np.testing.assert_allclose(bessel(-p - 1, w), bessel(p, w) / jnp.sqrt(w) ** (2 * p + 1), rtol=1e-12)
        assert bessel(-p - 1, jnp.asarray(0.0)) == 0


FORMULAS = {
    "RBF": (RBF(0.5), lambda x, y: np.exp(-((x - y) @ (x - y)) / (2 * 0.5**2))),
    "RationalQuadratic": (RationalQuadratic(2.0, 0.5), lambda x, y: (1 + (x - y) @ (x - y) / (2 * 2.0 * 0.25)) ** -2.0),
    "Dot": (Dot(), lambda x, y: x @ y),
    "Polynomial": (Polynomial(3, 0.5), lambda x, y: (x @ y + 0.5) ** 3),
    "ExponentiatedDot": (ExponentiatedDot(), lambda x, y: np.exp(x @ y)),
    "NeuralNetwork": (NeuralNetwork(1.5), lambda x, y: np.arcsin(x @ y / np.sqrt((1.5 + x @ x) * (1.5 + y @ y)))),
    "RBFNetwork": (RBFNetwork(), lambda x, y: np.exp(-x @ x) * np.exp(-(x - y) @ (x - y) / 2) * np.exp(-y @ y)),
    "Matern52": (
        kernels.Matern52(0.7),
        lambda x, y: matern([1, 1, 1 / 3], np.sqrt(5) * distance(x, y) / 0.7),
    ),
    "Matern32": (
        kernels.Matern32(0.7),
        lambda x, y: matern([1, 1], np.sqrt(3) * distance(x, y) / 0.7),
    ),
    "Matern12": (kernels.Matern12(0.7), lambda x, y: np.exp(-np.linalg.norm(x - y) / 0.7)),
    "Exponential": (kernels.Exponential(0.7), lambda x, y: np.exp(-np.linalg.norm(x - y) / 0.7)),
    "Constant": (kernels.Constant(2.0), lambda x, y: 2.0),
    "Cosine": (kernels.Cosine([1.0, 2.0, 3.0]), lambda x, y: np.cos(2 * np.pi * np.array([1.0, 2.0, 3.0]) @ (x - y))),
    "SpectralMixture": (
        kernels.SpectralMixture([2.0], [[0.1, 0.2, 0.3]], [[0.1, 0.2, 0.3]]),
        lambda x, y: (
            2
            * np.exp(-2 * np.pi**2 * np.array([0.1, 0.2, 0.3]) @ (x - y) ** 2)
            * np.cos(2 * np.pi * np.array([0.1, 0.2, 0.3]) @ (x - y))
        ),
    ),
    "VariableLinearRegression": (
        kernels.VariableLinearRegression(lambda x: x**2, np.diag([1.0, 2.0, 3.0]), RBF()),
        lambda x, y: (x**2) @ np.diag([1.0, 4.0, 9.0]) @ (y**2) * np.exp(-0.5 * (x - y) @ (x - y)),
    ),
    "White": (White(0.3), lambda x, y: 0.3 * float(np.all(x == y))),
    "Categorical": (Categorical([1.0, 2.0, 4.0]), lambda x, y: np.exp(-((x != y) / np.array([1.0, 2.0, 4.0])).sum())),
    "ARD": (kernels.ARD(RBF(), [0.5, 1.0, 2.0]), lambda x, y: np.exp(-0.5 * np.sum(((x - y) / [0.5, 1.0, 2.0]) ** 2))),
    "Linear": (kernels.Linear(Dot(), np.ones((1, 3))), lambda x, y: x.sum() * y.sum()),
    "Warp": (kernels.Warp(Dot(), jnp.sin), lambda x, y: np.sin(x) @ np.sin(y)),
    "VerticalScaling": (kernels.VerticalScaling(Dot(), jnp.sum), lambda x, y: x.sum() * (x @ y) * y.sum()),
    "Sum": (RBF() + Dot(), lambda x, y: np.exp(-0.5 * (x - y) @ (x - y)) + x @ y),
    "Product": (RBF() * Dot(), lambda x, y: np.exp(-0.5 * (x - y) @ (x - y)) * (x @ y)),
    "Power": (Dot() ** 2, lambda x, y: (x @ y) ** 2),
    "Scaled": (3 * Dot(), lambda x, y: 3 * (x @ y)),
    "DirectSum": (
        kernels.DirectSum([RBF(), Dot(), Dot()]),
        lambda x, y: np.exp(-0.5 * (x[0] - y[0]) ** 2) + x[1] * y[1] + x[2] * y[2],
    ),
    "DirectProduct": (
        kernels.DirectProduct([RBF(), Dot(), Dot()]),
        lambda x, y: np.exp(-0.5 * (x[0] - y[0]) ** 2) * x[1] * y[1] * x[2] * y[2],
    ),
    "Matern": (
        Matern(3),
        lambda x, y: matern([1, 1, 2 / 5, 1 / 15], np.sqrt(7) * distance(x, y)),
    ),
    "Function": (kernels.Function(lambda x, y: x @ y), lambda x, y: x @ y),
    "Isotropic": (kernels.Isotropic(jnp.exp), lambda x, y: np.exp((x - y) @ (x - y))),
    "DotProduct": (kernels.DotProduct(jnp.exp), lambda x, y: np.exp(x @ y)),
    "InnerProducts": (kernels.InnerProducts(lambda a, b, c: a + b * c), lambda x, y: x @ x + (x @ y) * (y @ y)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_equal_the_formula_of_the_docstring(name: str) -> None:
    kernel, formula = FORMULAS[name]
    x, y = points(2)
    with jax.enable_x64(True):
        for a, b in ((x, y), (x, x)):
            assert math.isclose(float(kernel(jnp.asarray(a), jnp.asarray(b))), formula(a, b), rel_tol=1e-12)
    np.testing.assert_allclose(Gram(kernel, x[None], y[None]).as_matrix(), [[formula(x, y)]], rtol=1e-12)
    np.testing.assert_allclose(Gram(kernel, x[None], y[None]).mv(np.ones(1)), [formula(x, y)], rtol=1e-12)


def test_every_kernel_has_its_formula_checked() -> None:
    operators = {"Kernel", "Gram", "GradientGram", "ValueGradientGram", "HessianGram", "ValueGradientHessianGram"}
    assert set(kernels.__all__) - operators == set(FORMULAS)
    for name in FORMULAS:
        assert (getattr(kernels, name).__doc__ or "").strip()
