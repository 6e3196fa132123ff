"""The functions of the comparison by dimension, on the unit cube.

They are those of ``benchmarks.fobo.problems``, rotated and shifted anew for every seed; minima lie within 3/5 of the
way from the centre to the edge. Groups that change them:

- ``edges``: minima at up to 19/20 of the way;
- ``few``: four parameters matter;
- ``noise``: normal noise on every value;
- ``steps``: every parameter is rounded to 32 steps, so the function is constant on small boxes;
- ``scales``: every other parameter should have been declared logarithmic, over three decades, and was not;
- ``plateaus``: values above the lowest fifth of random ones are cut off: most of the cube tells nothing.
- ``failing``: a half-space beyond the minimum and the centre fails; only Sonde is run, because most of the others have
  no failures.

``bbob`` is COCO's suite, less the optimum, in the dimensions that it has. ``development`` has the functions on which
changes are tried.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.dimensions.development import FUNCTIONS, development_function

Array = NDArray[np.float64]
Objective = Callable[[Array], float]

CHANGED = ("condition 1e2", "rosenbrock", "ackley")
SUITE = {
    "quadratics": ("condition 1e2", "condition 1e4", "condition 1e6"),
    "valleys": ("rosenbrock", "dixon-price", "powell", "powers"),
    "multimodal": ("levy", "styblinski-tang", "rastrigin", "griewank", "ackley"),
    **dict.fromkeys(("edges", "few", "noise", "steps", "plateaus", "scales", "failing"), CHANGED),
    "bbob": tuple(f"f{number}" for number in range(1, 25)),
    "development": tuple(FUNCTIONS),
}
TEXTBOOK = tuple(name for name in SUITE if name not in ("bbob", "development"))
COCO_DIMENSIONS = (2, 3, 5, 10, 20, 40)
SHORT = {"quadratics": ("condition 1e4",), "valleys": ("rosenbrock",), "multimodal": ("ackley",)}
GROUP_OF = {name: group for group in ("quadratics", "valleys", "multimodal") for name in SUITE[group]}
FEW = 4  # parameters that matter in ``few``
OUT = 0.475  # distance of a minimum from the centre, in the coordinate where it is largest, in ``edges``
STEPS = 32
NOISE = 0.01  # standard deviation of ``noise``, as a share of the value at the centre
DECADES = 1000.0  # ratio of the ends of a range that should have been logarithmic
LOWEST = 0.2  # share of random values that a plateau leaves
BEYOND = 0.1  # distance of the failing half-space from the nearer of the minimum and the centre


def function_of(group: str, name: str, d: int, seed: int) -> Objective:
    """Return a function without its noise; it is NaN where it fails."""
    from benchmarks.fobo.problems import Problem

    if group == "bbob":
        return _coco(int(name[1:]), d, seed)
    if group == "development":
        return development_function(name, d, seed)

    width = min(FEW, d) if group == "few" else d
    function = Problem(GROUP_OF[name], name, width, seed).objective()
    rng = np.random.default_rng([seed, d, 23])
    if group == "few":
        chosen = rng.permutation(d)[:width]
        return lambda u: function(u[chosen])[0]
    if group == "edges":  # the cube moves, and the minimum with it: away from the centre
        direction = rng.uniform(-1, 1, d)
        shift = (OUT - 0.3) * direction / np.abs(direction).max()
        return lambda u: function(u - shift)[0]
    if group == "steps":
        return lambda u: function(np.round(STEPS * u) / STEPS)[0]
    if group == "failing":  # of 2,000 random points the best is where the minimum is, up to the width of the edge
        direction, points = rng.standard_normal(d), rng.random((2000, d))
        direction /= np.linalg.norm(direction)
        works = [min(points, key=lambda u: function(u)[0]), np.full(d, 0.5)]
        edge = max(float(direction @ u) for u in works) + BEYOND
        return lambda u: function(u)[0] if direction @ u < edge else np.nan
    if group == "scales":
        logarithmic = np.arange(d) % 2 == 0
        return lambda u: function(np.where(logarithmic, np.log1p((DECADES - 1) * u) / np.log(DECADES), u))[0]
    if group == "plateaus":
        level = float(np.quantile([function(each)[0] for each in rng.random((500, d))], LOWEST))
        return lambda u: min(function(u)[0], level)
    return lambda u: function(u)[0]


def _coco(number: int, d: int, seed: int) -> Objective:
    from benchmarks.arena.problems import coco

    problem = coco("bbob", number, d, seed)
    return lambda u: problem((10 * u - 5).tolist()) - (problem.optimum or 0.0)


def noise_of(group: str, function: Objective, d: int, seed: int) -> Callable[[], float]:
    """Return what draws the noise of a value: zero but in ``noise``."""
    if group != "noise":
        return lambda: 0.0
    rng, deviation = np.random.default_rng([seed, d, 24]), NOISE * abs(function(np.full(d, 0.5)))
    return lambda: float(rng.normal(0.0, deviation))
