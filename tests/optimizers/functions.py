"""Functions to maximize, evaluated at many points at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]


def quadratic(dimension: int, seed: int, condition: float = 100.0) -> tuple[Function, Array, Array]:
    """A concave quadratic -(x - c)^T A (x - c) / 2 with c inside or outside of the unit cube; also A and c."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    matrix = rotation @ np.diag(np.geomspace(1, condition, dimension)) @ rotation.T
    centre = rng.uniform(-0.5, 1.5, dimension)

    def function(x: Array) -> tuple[Array, Array]:
        product = (x - centre) @ matrix
        return -0.5 * np.sum(product * (x - centre), axis=1), -product

    return function, matrix, centre


def rosenbrock(x: Array) -> tuple[Array, Array]:
    """Minus Rosenbrock's function, 0 at (1, ..., 1)."""
    a, b = x[:, :-1], x[:, 1:]
    gap = b - a**2
    gradient = np.zeros_like(x)
    gradient[:, :-1] += 400 * a * gap + 2 * (1 - a)
    gradient[:, 1:] -= 200 * gap
    return -np.sum(100 * gap**2 + (1 - a) ** 2, axis=1), gradient
