"""Problems with two to four objectives, all to be minimized, some with constraints.

- ``bbob-biobj``: pairs of COCO's bbob functions in 5-D; the seed chooses the instance. The box is [-5, 5], where the
  optima of both functions are, and not COCO's [-100, 100], of which a hundred evaluations would see the slope only.
- ``engineering``: BoTorch's test problems with the reference points they come with. The seed changes the methods only.
- ``models``: classifiers of scikit-learn, error against size; see ``models``. The seed changes how the data are split.

Hypervolumes are of values that are 0 at an ideal point and 1 at the reference point. For bbob-biobj these are COCO's
ideal and nadir points; for ``engineering`` the ideal point is the least value of each objective on a fixed design,
and where BoTorch knows the largest hypervolume, so does the problem.

References
----------
Tusar, Brockhoff, Hansen, Auger: COCO: the bi-objective black-box optimization benchmarking test suite, 2016.
Tanabe, Ishibuchi: An easy-to-use real-world multi-objective optimization problem suite, 2020.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.objectives.variables import Value, Variable, box

if TYPE_CHECKING:
    import sonde

Array = NDArray[np.float64]
Measured = tuple[Array, Array]  # objectives, and constraints that are at most zero where they are met

DIMENSION = 5  # of bbob-biobj
DESIGN = 4096  # Sobol points whose least values are the ideal point of ``engineering``
PAIRS = (1, 5, 8, 12, 28, 30, 33, 37, 40, 41, 50, 55)  # of bbob-biobj, at most one of two classes of functions
ENGINEERING: dict[str, dict[str, Any]] = {
    "WeldedBeam": {}, "DiscBrake": {}, "VehicleSafety": {}, "CarSideImpact": {}, "Penicillin": {}, "BraninCurrin": {},
    "DTLZ2": {"dim": 6, "num_objectives": 2}, "ZDT1": {"dim": 6},
}  # fmt: skip
MODELS = ("forest", "perceptron")
SUITE = {"bbob-biobj": tuple(f"f{i}" for i in range(1, 56)), "engineering": tuple(ENGINEERING), "models": MODELS}
SHORT = SUITE | {"bbob-biobj": tuple(f"f{i}" for i in PAIRS)}


@dataclass(frozen=True)
class Problem:
    """Functions to minimize on a box. Calling it evaluates it."""

    group: str
    name: str
    seed: int
    variables: tuple[Variable, ...]
    evaluate: Callable[[Sequence[Value]], Measured] = field(repr=False)
    ideal: Array = field(repr=False)
    reference: Array = field(repr=False)
    constraints: int = 0
    known: float | None = None  # the largest hypervolume

    def __call__(self, x: Sequence[Value]) -> Measured:
        """Return objectives and constraints at a point."""
        return self.evaluate(x)

    def scaled(self, y: Array) -> Array:
        """Return values of objectives in units of the distance from the ideal to the reference point."""
        return (y - self.ideal) / (self.reference - self.ideal)

    @property
    def objectives(self) -> int:
        """The number of objectives."""
        return len(self.ideal)

    @property
    def key(self) -> int:
        """A seed for methods: another on every problem, so that no lucky first design serves a whole suite."""
        return zlib.crc32(f"{self.group} {self.name} {self.seed}".encode()) >> 1

    @property
    def space(self) -> sonde.Space:
        """The box as Sonde states it."""
        import sonde

        parameters: dict[str, sonde.Float | sonde.Int | sonde.Categorical] = {}
        for name, kind, low, high, log, choices in self.variables:
            if kind == "choice":
                parameters[name] = sonde.Categorical(choices)
            else:
                whole = kind == "int"
                parameters[name] = sonde.Int(int(low), int(high), log=log) if whole else sonde.Float(low, high, log=log)
        return sonde.Space(parameters)


def problem(group: str, name: str, seed: int) -> Problem:
    """Return a problem of ``SUITE``."""
    if group == "bbob-biobj":
        return _pair(int(name[1:]), seed)
    if group == "engineering":
        return _engineering(name, seed)
    from benchmarks.objectives import models

    variables, evaluate, ideal, reference = getattr(models, name)(seed)
    return Problem(group, name, seed, variables, evaluate, ideal, reference)


def instance(group: str, seed: int) -> int:
    """Return what tells problems of one name apart: runs of one instance have one largest hypervolume."""
    return 0 if group == "engineering" else seed


def _pair(number: int, seed: int) -> Problem:
    import cocoex

    from benchmarks.arena.problems import coco

    options = f"dimensions: {DIMENSION} function_indices: {number}"
    source = cocoex.Suite("bbob-biobj", f"instances: {seed + 1}", options)[0]
    halves = re.findall(r"bbob_f(\d+)_i(\d+)", source.name)
    ideal = np.array([coco("bbob", int(function), DIMENSION, int(i) - 1).optimum for function, i in halves])
    nadir = np.array(source.largest_fvalues_of_interest)
    variables = box([(-5.0, 5.0)] * DIMENSION)
    return Problem("bbob-biobj", f"f{number}", seed, variables, lambda x: (source(x), np.empty(0)), ideal, nadir)


def _engineering(name: str, seed: int) -> Problem:
    import torch

    source, ideal, reference = _from_botorch(name)
    constraints = int(getattr(source, "num_constraints", 0))

    def evaluate(x: Sequence[Value]) -> Measured:
        with torch.no_grad():
            point = torch.tensor([x], dtype=torch.double)
            slack = source.evaluate_slack_true(point)[0] if constraints else torch.empty(0)
            return source.evaluate_true(point)[0].numpy(), -slack.numpy()

    known = None
    if getattr(source, "_max_hv", None) is not None:
        known = float(source._max_hv / np.prod(reference - ideal))
    variables = box(source._bounds)
    return Problem("engineering", name, seed, variables, evaluate, ideal, reference, constraints, known)


@cache
def _from_botorch(name: str) -> tuple[Any, Array, Array]:
    import torch
    from botorch.test_functions import multi_objective

    source = getattr(multi_objective, name)(**ENGINEERING[name]).to(torch.double)
    design = torch.quasirandom.SobolEngine(source.dim).draw(DESIGN, dtype=torch.double)
    low, high = source.bounds
    with torch.no_grad():
        least = source.evaluate_true(low + (high - low) * design).min(dim=0).values
    return source, least.numpy(), np.array(source._ref_point, dtype=np.float64)
