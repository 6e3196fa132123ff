"""Tasks: learning curves (1000, 51) of validation loss, lower is better, inf where training diverged.

Real ones are from TaskSet (Metz et al. 2020). The method was developed on every second of its tasks in
alphabetical order, and on the synthetic ones; the others were kept apart for the report.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TRIALS, POINTS = 1000, 51
DEVELOPMENT = (
    "patch128_LSTM128_avg_bs64", "patch32_GRU128_bs128", "patch32_LSTM128_E128_bs128", "patch32_VRNN128_tanh_bs128",
)  # fmt: skip
REPORT = (
    "patch128_LSTM128_embed128_bs64", "patch32_IRNN64_relu_avg_bs128", "patch32_LSTM128_bs128",
    "patch32_VRNN64_relu_avg_bs128",
)  # fmt: skip


def _power_laws(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return steps (51,) from 1 on and ends (1000, 1) of curves."""
    return np.arange(1.0, POINTS + 1), np.exp(0.5 * rng.standard_normal((TRIALS, 1)))


def crossing(rng: np.random.Generator) -> Array:
    """Return curves of which those that fall slowly end lower."""
    steps, ends = _power_laws(rng)
    speed = 0.3 * ends * np.exp(0.2 * rng.standard_normal(ends.shape))
    return ends + 3 * steps**-speed


def noisy(rng: np.random.Generator) -> Array:
    """Return curves with noise as large as the differences between their ends."""
    steps, ends = _power_laws(rng)
    return ends + 3 / steps + 0.5 * rng.standard_normal((TRIALS, POINTS))


def diverging(rng: np.random.Generator) -> Array:
    """Return curves of which a third rises after its minimum, and a quarter diverges, most often of the lowest."""
    steps, ends = _power_laws(rng)
    turn = rng.uniform(5, 40, ends.shape)
    rises = (rng.random(ends.shape) < 1 / 3) * 0.05 * np.maximum(steps - turn, 0)
    fails = (rng.random(ends.shape) < 0.15 + 0.2 * (ends < np.median(ends))) & (steps > turn)
    return np.where(fails, np.inf, ends + 3 / steps + rises + 0.02 * rng.standard_normal((TRIALS, POINTS)))


def uninformative(rng: np.random.Generator) -> Array:
    """Return curves that fall and differ, and say nothing about their ends."""
    steps, ends = _power_laws(rng)
    level = np.exp(0.5 * rng.standard_normal(ends.shape))
    curves = level + 3 / steps + 0.1 * rng.standard_normal((TRIALS, POINTS))
    curves[:, -1:] = ends
    return curves


SYNTHETIC = {each.__name__: each for each in (crossing, noisy, diverging, uninformative)}
GROUPS = {"development": DEVELOPMENT, "report": REPORT, "synthetic": tuple(SYNTHETIC)}


@cache
def curves_of(task: str) -> Array:
    """Return the curves of a task."""
    if task in SYNTHETIC:
        return SYNTHETIC[task](np.random.default_rng(0))
    values = np.load(data("curves", "taskset_8x1000.npz"))[f"valid_{task}"].astype(float)
    return np.where(np.isfinite(values), values, np.inf)


def data(*parts: str) -> Path:
    """Return the path of a data file: under ``SONDE_DATA`` if that is set, else in ``../shared/data``."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("SONDE_DATA", beside)).joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; set SONDE_DATA to the folder that holds {Path(*parts)}")
    return path
