"""Seconds of a function of arrays, and how they grow. Needs JAX and NumPy only.

Seconds are processor time: on one core that is wall-clock time without the time of other processes.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np


def seconds(function: Callable[[], Any], *, budget: float = 0.2, most: int = 25) -> float:
    """Return the median time of a call once compiled: at least 3 calls, then as many as the budget allows."""
    times = [_one(function) for _ in range(2)][1:]
    while len(times) < 3 or (len(times) < most and sum(times) < budget):
        times.append(_one(function))
    return statistics.median(times)


def side_by_side(functions: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return each function's times, one call of each per round, so that disturbances of the machine affect all."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(rounds + 1):
        for name, function in functions.items():
            taken = _one(function)
            if number:  # the first round compiles
                times[name].append(taken)
    return times


def _one(function: Callable[[], Any]) -> float:
    started = time.process_time()
    jax.block_until_ready(function())
    return time.process_time() - started


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of log value over log size, fitted on the upper half: below, the cost of a call dominates."""
    first = len(sizes) // 2
    if len(sizes) - first < 2:
        return math.nan
    return float(np.polyfit(np.log(sizes[first:]), np.log(values[first:]), 1)[0])
