"""Functions to minimise that everybody knows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A = np.array([
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
])  # fmt: skip
_P = 1e-4 * np.array([
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
])  # fmt: skip

HARTMANN6_MINIMUM = -3.322368011


def hartmann6(x: Sequence[float] | NDArray[np.float64]) -> float:
    """Return Hartmann's function of six variables in [0, 1] (Dixon & Szego 1978)."""
    return -float(_ALPHA @ np.exp(-np.sum(_A * (np.asarray(x) - _P) ** 2, axis=1)))
