"""Problems with gradients that are not all quadratics with ripples: five groups, from 2 to 100 parameters.

A problem is a function on the unit cube. Textbook functions are rotated and shifted anew for every seed: z = Q (10 (u -
1/2) - c), c uniform in [-3, 3]^d, so that the minimum is where z is that of the textbook; those whose minima lie in a
box of their own (Schwefel, Shekel, Hartmann) are shifted only. Gradients are exact to rounding by the complex step,
df/du_k = Im f(u + i h e_k) / h, for which a function must be analytic; COCO's are central differences, of an error
about 1e-9 of the function's scale. The evaluations that differences take are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[Any]
Formula = Callable[[Complex], Complex]  # of points (m, d): values (m,)

STEP = 1e-20  # of the complex step: nothing is subtracted, so no digit is lost
DIFFERENCE = 1e-6  # of central differences on the unit cube


@dataclass(frozen=True)
class Problem:
    """A function on the unit cube and its lowest value, where it is known."""

    group: str
    name: str
    d: int
    seed: int

    def objective(self) -> Callable[[Array], tuple[float, Array]]:
        """Return the function of a point (d,): its value and gradient."""
        if self.group == "bbob":
            return _differences(_coco(int(self.name[1:]), self.d, self.seed))
        formula = FORMULAS[self.group][self.name](self.d, np.random.default_rng([self.seed, self.d, 17]))
        return _complex_step(formula)


def _complex_step(formula: Formula) -> Callable[[Array], tuple[float, Array]]:
    def evaluate(u: Array) -> tuple[float, Array]:
        values = formula(u + 1j * STEP * np.eye(len(u)))
        return float(values[0].real), values.imag / STEP

    return evaluate


def _differences(function: Callable[[Array], float]) -> Callable[[Array], tuple[float, Array]]:
    def evaluate(u: Array) -> tuple[float, Array]:
        steps = DIFFERENCE * np.eye(len(u))
        gradient = [(function(u + step) - function(u - step)) / (2 * DIFFERENCE) for step in steps]
        return function(u), np.array(gradient)

    return evaluate


def hessian(objective: Callable[[Array], tuple[float, Array]], u: Array) -> Array:
    """Return the second derivatives of an objective (d, d), by central differences of its gradient."""
    steps = DIFFERENCE * np.eye(len(u))
    rows = np.array([(objective(u + step)[1] - objective(u - step)[1]) / (2 * DIFFERENCE) for step in steps])
    return (rows + rows.T) / 2


def _coco(number: int, d: int, seed: int) -> Callable[[Array], float]:
    import cocoex

    problem = cocoex.Suite("bbob", f"instances: {seed + 1}", f"function_indices: {number} dimensions: {d}")[0]
    return lambda u: float(problem(10 * u - 5))


# Textbook functions, of z (m, d).


def ellipsoid(condition: float) -> Formula:
    """Return the quadratic whose curvatures go from 1 to ``condition``."""
    return lambda z: np.sum(condition ** np.linspace(0, 1, z.shape[1]) * z * z, axis=1)


def rosenbrock(z: Complex) -> Complex:
    """A narrow curved valley."""
    z = z + 1
    return np.sum(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (z[:, :-1] - 1) ** 2, axis=1)


def dixon_price(z: Complex) -> Complex:
    """A valley of growing steepness."""
    d = z.shape[1]
    z = z + 2.0 ** (2.0 ** (1 - np.arange(1, d + 1)) - 1)
    return (z[:, 0] - 1) ** 2 + np.sum(np.arange(2, d + 1) * (2 * z[:, 1:] ** 2 - z[:, :-1]) ** 2, axis=1)


def powell(z: Complex) -> Complex:
    """Powell's singular function: the Hessian at the minimum has half the rank."""
    a, b, c, e = (z[:, k::4][:, : z.shape[1] // 4] for k in range(4))
    terms = (a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4
    return np.sum(terms, axis=1)


def trid(z: Complex) -> Complex:
    """A quadratic with a tridiagonal Hessian, moved to its minimum."""
    return np.sum(z * z, axis=1) - np.sum(z[:, 1:] * z[:, :-1], axis=1)


def powers(z: Complex) -> Complex:
    """Even powers from 2 to 6: flat in most directions near the minimum."""
    return np.sum(z ** (2 * np.round(np.linspace(1, 3, z.shape[1]))), axis=1)


def levy(z: Complex) -> Complex:
    """A quadratic with ripples along the first coordinates."""
    w = 1 + z / 4
    middle = (w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:, :-1] + 1) ** 2)
    last = (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[:, -1]) ** 2)
    return np.sin(np.pi * w[:, 0]) ** 2 + np.sum(middle, axis=1) + last


def rastrigin(z: Complex) -> Complex:
    """A quadratic with ten local minima along each axis."""
    return np.sum(z * z + 20 * np.sin(np.pi * z) ** 2, axis=1)


def griewank(z: Complex) -> Complex:
    """A quadratic with ripples that vanish in many dimensions."""
    z = 20 * z
    return np.sum(z * z, axis=1) / 4000 - np.prod(np.cos(z / np.sqrt(np.arange(1, z.shape[1] + 1))), axis=1) + 1


def ackley(z: Complex) -> Complex:
    """A cone with ripples, rounded at its tip."""
    radius = np.sqrt(np.mean(z * z, axis=1) + 1e-6)
    return 20 + np.e - 20 * np.exp(-0.2 * radius) - np.exp(np.mean(np.cos(2 * np.pi * z), axis=1))


def drop_wave(z: Complex) -> Complex:
    """Concentric waves that die away."""
    square = np.sum(z * z, axis=1)
    return 1 - (1 + np.cos(12 * np.sqrt(square + 1e-6))) / (square / 2 + 2)


def styblinski_tang(x: Complex) -> Complex:
    """2^d local minima, one of them the lowest."""
    return np.sum(x**4 - 16 * x**2 + 5 * x, axis=1) / 2 + 39.16616570377142 * x.shape[1]


def _rotated(formula: Formula) -> Callable[[int, np.random.Generator], Formula]:
    def make(d: int, rng: np.random.Generator) -> Formula:
        rotation, centre = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.uniform(-3, 3, d)
        return lambda u: formula((10 * (u - 0.5) - centre) @ rotation.T)

    return make


def _schwefel(d: int, rng: np.random.Generator) -> Formula:
    """Deceptive: the best local minima are far apart. Mirrored along random axes."""
    signs = rng.choice([-1.0, 1.0], d)

    def schwefel(u: Complex) -> Complex:
        x = 1000 * (u - 0.5) * signs
        root = np.sqrt(x * np.where(x.real < 0, -1, 1))
        return 418.9828872724339 * d - np.sum(x * np.sin(root), axis=1)

    return schwefel


def _shifted_styblinski(d: int, rng: np.random.Generator) -> Formula:
    signs, shift = rng.choice([-1.0, 1.0], d), rng.uniform(-0.1, 0.1, d)
    return lambda u: styblinski_tang(10 * (u - 0.5 - shift) * signs)


def _shekel(d: int, rng: np.random.Generator) -> Formula:
    """Ten narrow holes of different depths at random places."""
    centres, widths = rng.uniform(1, 9, (10, d)), np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10

    def shekel(u: Complex) -> Complex:
        squares = np.sum((10 * u[:, None, :] - centres) ** 2, axis=2)
        return -np.sum(1 / (squares + widths), axis=1)

    return shekel


def _hartmann(d: int, rng: np.random.Generator) -> Formula:
    """Four holes, with the published depths and random places and widths."""
    places, widths = rng.uniform(0.1, 0.9, (4, d)), rng.choice([0.1, 3.0, 10.0, 17.0], (4, d))

    def hartmann(u: Complex) -> Complex:
        squares = np.sum(widths * (u[:, None, :] - places) ** 2, axis=2)
        return -np.sum(np.array([1.0, 1.2, 3.0, 3.2]) * np.exp(-squares), axis=1)

    return hartmann


# Likelihoods of real data, of which every seed has a random half.


@lru_cache
def _data(name: str) -> tuple[Array, Array]:
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    x = np.asarray(loaded.data, dtype=float)
    x = x[:, x.std(axis=0) > 0]
    return (x - x.mean(axis=0)) / x.std(axis=0), np.asarray(loaded.target, dtype=float)


def _half(name: str, rng: np.random.Generator, most: int = 10_000) -> tuple[Array, Array]:
    x, t = _data(name)
    rows = rng.permutation(len(t))[: min(len(t) // 2, most)]
    return x[rows], t[rows]


def _logistic(d: int, rng: np.random.Generator) -> Formula:
    """Logistic regression of breast cancer on the first d - 1 features, weights in [-5, 5], a weak penalty."""
    x, t = _half("breast_cancer", rng)
    x, signs = np.column_stack([x[:, : d - 1], np.ones(len(x))]), 2 * t - 1

    def loss(u: Complex) -> Complex:
        w = 10 * (u - 0.5)
        margins = signs * (w @ x.T)
        stable = np.where(margins.real > 0, margins, -margins)
        softplus = np.log1p(np.exp(-stable)) + np.where(margins.real > 0, 0, -margins)
        return np.mean(softplus, axis=1) + 1e-3 * np.sum(w * w, axis=1)

    return loss


def _poisson(d: int, rng: np.random.Generator) -> Formula:
    """Poisson regression of disease progression on the first d - 1 features of diabetes and their squares."""
    x, t = _half("diabetes", rng)
    x = np.column_stack([np.column_stack([x, x**2])[:, : d - 1], np.ones(len(x))])

    def loss(u: Complex) -> Complex:
        rate = (4 * (u - 0.5)) @ x.T
        return np.mean(np.exp(rate) - t / t.mean() * rate, axis=1)

    return loss


def _softmax(d: int, rng: np.random.Generator) -> Formula:
    """Multinomial regression of ten digits on d / 10 - 1 principal components, a weak penalty."""
    x, t = _half("digits", rng, 400)
    width = d // 10 - 1
    x = np.column_stack([np.linalg.svd(x, full_matrices=False)[0][:, :width] * np.sqrt(len(x)), np.ones(len(x))])
    one_hot = t[:, None] == np.arange(10)

    def loss(u: Complex) -> Complex:
        w = 8 * (u[:, : 10 * (width + 1)].reshape(len(u), width + 1, 10) - 0.5)
        scores = np.einsum("nf,mfc->mnc", x, w)
        scores = scores - scores.real.max(axis=2, keepdims=True)
        fit = np.log(np.exp(scores).sum(axis=2)) - np.sum(scores * one_hot, axis=2)
        return np.mean(fit, axis=1) + 1e-3 * np.sum(w * w, axis=(1, 2))

    return loss


def _gaussian_process(d: int, rng: np.random.Generator) -> Formula:
    """Negative log marginal likelihood of a Gaussian process on 60 diabetics: d - 2 length scales, variance, noise."""
    x, t = _half("diabetes", rng, 60)
    x, t = x[:, : d - 2], (t - t.mean()) / t.std()

    def loss(u: Complex) -> Complex:
        values = []
        for theta in 8 * (u - 0.5):
            z = x * np.exp(-theta[: d - 2])
            squares = np.sum((z[:, None] - z[None]) ** 2, axis=2)
            k = np.exp(theta[d - 2] - squares / 2) + (np.exp(2 * theta[d - 1] - 4) + 1e-4) * np.eye(len(t))
            sign, logdet = np.linalg.slogdet(k)
            values.append((t @ np.linalg.solve(k, t) + logdet + np.log(sign)) / 2 / len(t))
        return np.array(values)

    return loss


FORMULAS: dict[str, dict[str, Callable[[int, np.random.Generator], Formula]]] = {
    "quadratics": {f"condition 1e{k}": _rotated(ellipsoid(10.0**k)) for k in (2, 3, 4, 6)},
    "valleys": {
        "rosenbrock": _rotated(rosenbrock), "dixon-price": _rotated(dixon_price), "powell": _rotated(powell),
        "trid": _rotated(trid), "powers": _rotated(powers),
    },
    "multimodal": {
        "schwefel": _schwefel, "drop-wave": _rotated(drop_wave), "shekel": _shekel, "hartmann": _hartmann,
        "levy": _rotated(levy), "styblinski-tang": _shifted_styblinski, "rastrigin": _rotated(rastrigin),
        "griewank": _rotated(griewank), "ackley": _rotated(ackley),
    },
    "likelihoods": {
        "logistic": _logistic, "poisson": _poisson, "softmax": _softmax, "gaussian process": _gaussian_process,
    },
}  # fmt: skip
