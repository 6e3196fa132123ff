"""First hitting times: the number of calls of a function over bits until a search first draws the optimum.

Functions are losses of many rows of bits at once, 0 at the optimum, which is all ones. Algorithms are those of the
paper's figure 1, and PBIL-lambda at the levels alpha of its figure 4.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.igo import PBIL, cga

Bits = NDArray[np.bool_]
Losses = NDArray[np.int64]


def onemax(bits: Bits) -> Losses:
    """Return how many bits are zero."""
    return bits.shape[1] - np.count_nonzero(bits, axis=1)


def leadingones(bits: Bits) -> Losses:
    """Return n minus the number of leading ones."""
    n = bits.shape[1]
    front = bits.argmin(axis=1)  # 0 for a row of ones
    whole = bits[np.arange(len(bits)), front]
    return np.where(whole, 0, n - front)


FUNCTIONS: dict[str, Callable[[Bits], Losses]] = {"onemax": onemax, "leadingones": leadingones}

FIRST = "pbil-lambda"  # its median limits the calls of the others
ALPHAS = {1.1: "pbil-lambda-1.1", 1.25: "pbil-lambda-1.25", 1.5: FIRST, 1.75: "pbil-lambda-1.75",
          2.0: "pbil-lambda-2", 3.0: "pbil-lambda-3"}  # fmt: skip
COMPARED = (FIRST, "pbil-epsilon", "cga-n", "cga-root-n")
ALGORITHMS: dict[str, Callable[[int, int], PBIL]] = {  # of n and a seed
    FIRST: lambda n, seed: PBIL(n, seed=seed),
    "pbil-epsilon": lambda n, seed: PBIL(n, adapt="epsilon", seed=seed),
    "cga-n": lambda n, seed: cga(n, seed=seed),
    "cga-root-n": lambda n, seed: cga(n, step_size=n**-0.5, seed=seed),
    **{
        name: lambda n, seed, alpha=alpha: PBIL(n, alpha=alpha, seed=seed)
        for alpha, name in ALPHAS.items()
        if name != FIRST
    },
}


class Hit(NamedTuple):
    """The end of a run."""

    calls: int
    found: bool
    samples: int  # of the largest generation
    seconds: float


def hit(search: PBIL, function: Callable[[Bits], Losses], limit: float = math.inf) -> Hit:
    """Search until a sample is the optimum, or until ``limit`` calls."""
    started, calls, largest = time.perf_counter(), 0, 0
    while calls < limit:
        bits = search.ask()
        losses = function(bits)
        largest = max(largest, len(bits))
        if not losses.all():
            calls += int(losses.argmin()) + 1
            break
        search.tell(bits, losses)
        calls += len(bits)
    else:
        return Hit(int(limit), False, largest, time.perf_counter() - started)
    return Hit(int(min(calls, limit)), calls <= limit, largest, time.perf_counter() - started)
