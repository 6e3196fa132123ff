"""IOH's pseudo-Boolean problems (Doerr et al. 2020), their bits relabelled.

In instance 1 the best string of many problems is all ones, and of the Ising models all zeros as well. Nevergrad's
transitions begin at all zeros, so that Ising would be solved in the first call. Therefore every run exchanges zero and
one in about half of the bits, drawn at random. All contenders get the same exchange for a seed; it does
not affect searches that start at random and treat zero and one alike. Values are those of instance 1.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Problem = Callable[[Bits], float]

PROBLEMS = (
    "OneMax", "LeadingOnes", "Linear", "OneMaxDummy1", "OneMaxDummy2", "OneMaxNeutrality", "OneMaxEpistasis",
    "OneMaxRuggedness1", "OneMaxRuggedness2", "OneMaxRuggedness3", "LeadingOnesDummy1", "LeadingOnesDummy2",
    "LeadingOnesNeutrality", "LeadingOnesEpistasis", "LeadingOnesRuggedness1", "LeadingOnesRuggedness2",
    "LeadingOnesRuggedness3", "LABS", "IsingRing", "IsingTorus", "IsingTriangular", "MIS", "NQueens",
    "ConcatenatedTrap", "NKLandscapes",
)  # fmt: skip
NAMES = dict(enumerate(PROBLEMS, 1))  # by IOH's number


def problem(number: int, n: int, seed: int) -> Problem:
    """Return a problem of n bits, with the exchanged bits of a seed."""
    import ioh

    function = ioh.get_problem(number, instance=1, dimension=n, problem_class=ioh.ProblemClass.PBO)
    exchanged = np.random.default_rng([number, n, seed]).random(n) < 0.5

    def value(bits: Bits) -> float:
        return float(function((bits ^ exchanged).astype(int).tolist()))

    return value
