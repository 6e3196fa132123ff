"""The searches of ``hitting`` over bits, compiled by Numba: the same steps, a hundred million calls in minutes.

One generation of two samples of 1000 bits takes NumPy some 30 microseconds, most of it overhead. Here the loop of
``hit`` is one function. ``Compiled.tell`` is that of ``sonde.igo.PBIL``, step for step (tests compare them, and the
calls that both need); samples come from another stream of random numbers, so single runs differ.

Bits are drawn in pairs from the halves of one 64-bit number of xoshiro256++ (Blackman & Vigna 2019): probabilities are
exact to 2^-32.
"""

import math
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.igo.hitting import Hit
from sonde.igo import PBIL

Array = NDArray[np.float64]

LAMBDA, EPSILON, NEITHER = range(3)
ADAPTED = {"lambda": LAMBDA, "epsilon": EPSILON, None: NEITHER}
KINDS = {"onemax": 0, "leadingones": 1}
REFERENCE, GAMMA = range(2)  # indices in ``state``


class Compiled:
    """A search with the settings of a ``PBIL`` that has made no step yet."""

    def __init__(self, search: PBIL, seed: int) -> None:
        n, adaptation = search.family.free, search._adaptation
        self.theta, self.s = np.full(n, 0.5), np.zeros(n)
        self.state = np.array([adaptation.smallest, 0.0])
        self.adapt = ADAPTED[search.adapt]
        self.longest = search.step_size
        self.smallest, self.largest, self.alpha = adaptation.smallest, adaptation.largest, adaptation.alpha
        self.words = np.random.SeedSequence(seed).generate_state(4, np.uint64)

    @property
    def settings(self) -> tuple[int, float, float, float, float]:
        """The settings, which stay constant during a run."""
        return self.adapt, self.longest, float(self.smallest), float(self.largest), self.alpha

    def tell(self, bits: NDArray[np.bool_], losses: NDArray[np.int64]) -> None:
        """Take a step from a generation."""
        ones = np.ascontiguousarray(bits, dtype=np.uint8)
        _tell(self.theta, self.s, self.state, ones, np.asarray(losses, dtype=np.int64), *self.settings)

    @property
    def sample_size(self) -> int:
        """How many samples the next generation has."""
        return int(_size(self.state[REFERENCE], self.adapt, float(self.smallest)))

    def hit(self, function: str, limit: float = math.inf) -> Hit:
        """Search until a sample is the optimum, or until so many calls."""
        started = time.perf_counter()
        most = 2**62 if math.isinf(limit) else int(limit)
        found, calls, largest = _hit(
            self.theta, self.s, self.state, self.words, KINDS[function], most, *self.settings
        )  # fmt: skip
        return Hit(min(int(calls), most), bool(found) and calls <= most, int(largest), time.perf_counter() - started)


@njit(inline="always")
def _rotated(word, by):  # type: ignore[no-untyped-def]
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@njit
def draw(bits, theta, words):  # type: ignore[no-untyped-def]
    """Fill bits (m, n) with ones of probability theta (n,)."""
    a, b, c, d = words
    n = len(theta)
    below = np.empty(n, dtype=np.uint32)
    for j in range(n):
        below[j] = np.uint32(theta[j] * 4294967296.0)
    for i in range(len(bits)):
        for j in range(0, n, 2):
            word = _rotated(a + d, 23) + a
            shifted = b << np.uint64(17)
            c ^= a
            d ^= b
            b ^= c
            a ^= d
            c ^= shifted
            d = _rotated(d, 45)
            bits[i, j] = np.uint32(word) < below[j]
            if j + 1 < n:
                bits[i, j + 1] = np.uint32(word >> np.uint64(32)) < below[j + 1]
    words[0], words[1], words[2], words[3] = a, b, c, d


@njit
def _loss(row, kind):  # type: ignore[no-untyped-def]
    """Return how many bits are zero, or do not belong to the ones at the front."""
    n = len(row)
    if kind == 1:
        for j in range(n):
            if not row[j]:
                return n - j
        return 0
    ones = 0
    for j in range(n):
        ones += row[j]
    return n - ones


@njit
def _size(reference, adapt, smallest):  # type: ignore[no-untyped-def]
    return int(np.rint(reference)) if adapt == LAMBDA else int(np.rint(smallest))


@njit
def _weights(losses):  # type: ignore[no-untyped-def]
    """Return + for the best quarter and - for the worst, shared by samples with equal losses."""
    m = len(losses)
    chosen = -(-m // 4)
    by_rank = np.zeros(m)
    by_rank[:chosen] += m / chosen
    by_rank[m - chosen :] -= m / chosen
    order = np.argsort(losses, kind="mergesort")
    weights = np.empty(m)
    first = 0
    while first < m:
        last = first + 1
        while last < m and losses[order[last]] == losses[order[first]]:
            last += 1
        share = by_rank[first:last].mean()
        for k in range(first, last):
            weights[order[k]] = share
        first = last
    return weights


@njit
def _tell(theta, s, state, bits, losses, adapt, longest, smallest, largest, alpha):  # type: ignore[no-untyped-def]
    """Step along the natural gradient and adapt."""
    m, n = bits.shape
    weights = _weights(losses)
    if weights.min() == weights.max():
        return
    step = longest / (state[REFERENCE] / smallest) if adapt == EPSILON else longest
    gradient = np.zeros(n)
    for i in range(m):
        if weights[i]:
            for j in range(n):
                gradient[j] += weights[i] * bits[i, j]
    margin = min(1 / n, 0.25)
    variance = (weights * weights).sum() / m - (weights.sum() / m) ** 2
    keep, take = 1 - step, step * (2 - step)
    fresh = math.sqrt(take / (n * variance / m))  # eq. (10), with eq. (11) for the noise
    signal = 0.0
    for j in range(n):
        component = gradient[j] / m
        if adapt != NEITHER:
            s[j] = keep * s[j] + fresh * component / math.sqrt(theta[j] * (1 - theta[j]))
            signal += s[j] * s[j]
        theta[j] = min(max(theta[j] + step * component, margin), 1 - margin)
    if adapt != NEITHER:
        state[GAMMA] = keep**2 * state[GAMMA] + take
        grown = state[REFERENCE] * math.exp(step * (state[GAMMA] - signal / alpha))  # eq. (12)
        state[REFERENCE] = min(max(grown, smallest), largest)


@njit
def _hit(theta, s, state, words, kind, limit, adapt, longest, smallest, largest, alpha):  # type: ignore[no-untyped-def]
    """Return whether the optimum was drawn, after how many calls, and the size of the largest generation."""
    n, calls, most = len(theta), 0, 0
    bits = np.empty((2, n), dtype=np.uint8)
    while calls < limit:
        size = _size(state[REFERENCE], adapt, smallest)
        most = max(most, size)
        if size > len(bits):
            bits = np.empty((2 * size, n), dtype=np.uint8)
        generation = bits[:size]
        draw(generation, theta, words)
        losses = np.empty(size, dtype=np.int64)
        for i in range(size):
            losses[i] = _loss(generation[i], kind)
            if not losses[i]:
                return True, calls + i + 1, most
        _tell(theta, s, state, generation, losses, adapt, longest, smallest, largest, alpha)
        calls += size
    return False, limit, most
