"""Points of the measurements."""

import numpy as np


def points(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return n points whose distances stay near 1 in any dimension."""
    return np.random.default_rng(seed).normal(size=(n, d)) / np.sqrt(d)
