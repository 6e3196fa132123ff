"""Functions to try changes on, in any number of dimensions: none of them is in COCO's bbob or in the other groups.

They are functions of z = R (x - o) on the cube -5 <= x <= 5, with a minimum o drawn from [-4, 4]^d and, but for those
that are sums over single coordinates or steps, a random rotation R; both change with the seed. Most have names of the
literature (Jamil & Yang 2013; the CEC competitions). "wide" ones range over many decades, "warped" ones have the
coordinates of COCO's oscillations, and ``peaks`` and ``funnel`` have several basins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Objective = Callable[[Array], float]
Make = Callable[[np.random.Generator, int], Objective]  # of x in [-5, 5]^d

FARTHEST = 4.0  # of a coordinate of the minimum


def development_function(name: str, d: int, seed: int) -> Objective:
    """Return a function on the unit cube."""
    function = FUNCTIONS[name](np.random.default_rng([seed, d, *name.encode()]), d)
    return lambda u: function(10 * u - 5)


def _moved(function: Callable[[Array], float], *, rotated: bool = True, zoom: float = 1.0) -> Make:
    """Return what moves the minimum of a function, which is at 0, and rotates it; ``zoom`` multiplies z."""

    def make(rng: np.random.Generator, d: int) -> Objective:
        place = rng.uniform(-FARTHEST, FARTHEST, d)
        rotation = _rotation(rng, d) if rotated else np.eye(d)
        return lambda x: float(function(zoom * (rotation @ (x - place))))

    return make


def _rotation(rng: np.random.Generator, d: int) -> Array:
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


def _peaks(rng: np.random.Generator, d: int) -> Objective:
    """Return the distance from the height of the highest of forty rotated bells."""
    count = 40
    centres = np.concatenate([rng.uniform(-FARTHEST, FARTHEST, (1, d)), rng.uniform(-5, 5, (count - 1, d))])
    heights = np.append(10.0, rng.uniform(1, 9, count - 1))
    weights, rotation = 10 ** rng.uniform(-1.5, 0.5, (count, d)) / d, _rotation(rng, d)
    return lambda x: 10 - float(np.max(heights * np.exp(-0.5 * np.sum(weights * ((x - centres) @ rotation.T) ** 2, 1))))


def _funnel(rng: np.random.Generator, d: int) -> Objective:
    """Return two bowls, of which the wider one is the worse, with ripples."""
    best, other = rng.uniform(-FARTHEST, FARTHEST, (2, d))
    rotation = _rotation(rng, d)

    def function(x: Array) -> float:
        bowls = min(np.sum((x - best) ** 2), d + 0.7 * np.sum((x - other) ** 2))
        return float(bowls + 5 * np.sum(1 - np.cos(2 * np.pi * (rotation @ (x - best)))))

    return function


def _powers_of(base: float, z: Array) -> Array:
    """Return 1 to ``base`` in equal ratios."""
    return np.asarray(base ** np.linspace(0, 1, len(z)))


def _oscillating(z: Array) -> Array:
    """Return the coordinates of COCO's oscillations (Hansen et al. 2009)."""
    log = np.log(np.maximum(np.abs(z), 1e-300))
    slow, fast = np.where(z > 0, 10.0, 5.5), np.where(z > 0, 7.9, 3.1)
    return np.asarray(np.sign(z) * np.exp(log + 0.049 * (np.sin(slow * log) + np.sin(fast * log))))


def _rosenbrock(z: Array) -> float:
    return float(np.sum(100 * ((z[:-1] + 1) ** 2 - z[1:] - 1) ** 2 + z[:-1] ** 2))


def _schaffer6(z: Array) -> float:
    squares = z**2 + np.roll(z, -1) ** 2
    return float(np.sum(0.5 + (np.sin(np.sqrt(squares)) ** 2 - 0.5) / (1 + 0.001 * squares) ** 2))


def _zakharov(z: Array) -> float:
    slope = 0.5 * np.arange(1, len(z) + 1) @ z
    return float(z @ z + slope**2 + slope**4)


def _bohachevsky(z: Array) -> float:
    left, right = z[:-1], z[1:]
    ripples = 0.3 * np.cos(3 * np.pi * left) + 0.4 * np.cos(4 * np.pi * right)
    return float(np.sum(left**2 + 2 * right**2 - ripples + 0.7))


def _cat(z: Array, ridge: float) -> float:
    return float(ridge + (0.5 * z @ z + z.sum()) / len(z) + 0.5)


FUNCTIONS: dict[str, Make] = {
    "peaks": _peaks,
    "funnel": _funnel,
    "salomon": _moved(lambda z: 1 - np.cos(np.pi * np.linalg.norm(z) / 2) + 0.5 * np.linalg.norm(z)),
    "happycat": _moved(lambda z: _cat(z, np.abs(z @ z - len(z)) ** 0.25), zoom=0.4),
    "hgbat": _moved(lambda z: _cat(z, np.sqrt(abs((z @ z) ** 2 - z.sum() ** 2))), zoom=0.4),
    "alpine": _moved(lambda z: np.sum(np.abs(z * np.sin(z) + 0.1 * z)), rotated=False, zoom=2.0),
    "zakharov": _moved(_zakharov),
    "schaffer6": _moved(_schaffer6),
    "schwefel12": _moved(lambda z: np.sum(np.cumsum(z) ** 2), rotated=False),
    "schwefel221": _moved(lambda z: np.max(np.abs(z))),
    "schwefel222": _moved(lambda z: np.sum(np.abs(z)) + np.prod(np.abs(z) / 3)),
    "qing": _moved(lambda z: np.sum((z * z - np.arange(1, len(z) + 1)) ** 2), rotated=False),
    "bohachevsky": _moved(_bohachevsky),
    "kinked": _moved(lambda z: np.sum(np.where(z > 0, 10 * z, -z) ** 2) ** 0.9),
    "maxquad": _moved(lambda z: np.max(_powers_of(30, z) * z * z)),
    "mixed powers": _moved(lambda z: np.sum(np.abs(z) ** np.linspace(1.5, 4.5, len(z)))),
    "root of powers": _moved(lambda z: np.sqrt(np.sum(np.abs(z) ** np.linspace(2, 6, len(z))))),
    "ripples": _moved(lambda z: np.sum(_powers_of(100, z) * z * z) + 10 * np.sum(1 - np.cos(2 * np.pi * z))),
    "step rastrigin": _moved(
        lambda z: np.sum(np.round(2 * z) ** 2 / 4 + 5 * (1 - np.cos(np.pi * np.round(2 * z)))), rotated=False
    ),
    "rosenbrock": _moved(_rosenbrock, rotated=False, zoom=0.5),
    "rosenbrock wide": _moved(_rosenbrock, rotated=False),
    "warped 1e4": _moved(lambda z: np.sum(_powers_of(1e4, z) * _oscillating(z) ** 2)),
    "warped 1e6": _moved(lambda z: np.sum(_powers_of(1e6, z) * _oscillating(z) ** 2)),
    "warped one": _moved(lambda z: np.sum(_oscillating(z) ** 2) + (1e6 - 1) * _oscillating(z)[0] ** 2),
}
