"""The scrambled Sobol sequence, at any index without computing the earlier points.

SciPy has one, but importing ``scipy.stats`` takes about a second, which would be most of the time to a first
suggestion.

Direction numbers are those of Joe and Kuo (2008) for the first 1024 dimensions (``joe_kuo.npz``); further
dimensions are plain random numbers. Scrambling is a random lower-triangular matrix over the bits (Matousek 1998)
and a digital shift: every block of 2^k points starting at a multiple of 2^k keeps one point in each of 2^k equal
intervals of every dimension.

Symbols: d dimensions, B = 32 bits, most significant first.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from sonde.sampling.key import Key, Stream

BITS = 32
Words = NDArray[np.uint32]


def sobol(start: int, count: int, dimension: int, *, seed: int | None = None) -> NDArray[np.float64]:
    """Return points start, ..., start + count - 1 of the sequence, (count, dimension) in (0, 1).

    ``seed=None`` is the plain sequence, which starts at the origin.
    """
    directions, shift = _directions(dimension) if seed is None else _scrambled(dimension, seed)
    index = np.arange(start, start + count, dtype=np.uint64)
    gray = (index ^ (index >> np.uint64(1))).astype(np.uint32)
    words = np.broadcast_to(shift, (count, len(shift))).copy()
    for bit in range(int(gray.max(initial=0)).bit_length()):
        chosen = (gray >> np.uint32(bit)) & np.uint32(1)
        words ^= chosen[:, None] * directions[None, :, bit]
    half = 0.0 if seed is None else 0.5  # a scrambled point is in the middle of its cell: never 0, never 1
    points = np.asarray((words + half) / 2.0**BITS, dtype=np.float64)
    missing = dimension - points.shape[1]
    if missing:
        extra = [Key(seed or 0, number).rng(Stream.BEYOND_SOBOL).random(missing) for number in index.tolist()]
        points = np.hstack([points, np.array(extra).reshape(count, missing)])
    return points


@lru_cache(maxsize=16)
def _directions(dimension: int) -> tuple[Words, Words]:
    """Return direction numbers (d, B) and the zero shift (d,)."""
    with (files("sonde.sampling") / "joe_kuo.npz").open("rb") as file:
        table = np.load(file)
        polynomials, initial = (
            table["polynomials"][:dimension].tolist(),
            table["initial"][:dimension].tolist(),
        )
    words = [_direction_words(polynomial, start) for polynomial, start in zip(polynomials, initial, strict=True)]
    return np.array(words, dtype=np.uint32), np.zeros(len(words), dtype=np.uint32)


def _direction_words(polynomial: int, initial: list[int]) -> list[int]:
    """Return v_j = m_j 2^(B - j), with m_j by the recurrence of the primitive polynomial."""
    degree = polynomial.bit_length() - 1
    odd = initial[:degree] or [1] * BITS  # degree 0, the first dimension: van der Corput's sequence
    for j in range(len(odd), BITS):
        new = odd[j - degree] ^ (odd[j - degree] << degree)
        for k in range(1, degree):
            if polynomial >> (degree - k) & 1:
                new ^= odd[j - k] << k
        odd.append(new)
    return [number << (BITS - 1 - j) for j, number in enumerate(odd)]


@lru_cache(maxsize=16)
def _scrambled(dimension: int, seed: int) -> tuple[Words, Words]:
    """Return scrambled direction numbers (d, B) and the digital shift (d,)."""
    directions, _ = _directions(dimension)
    rng = Key(seed, dimension).rng(Stream.SCRAMBLE)
    random = rng.integers(0, 2**BITS, size=(len(directions), BITS), dtype=np.uint32)
    scrambled = np.zeros_like(directions)
    for bit in range(BITS):  # output bit = parity of the chosen more significant bits, and of the bit itself
        place = np.uint32(1 << (BITS - 1 - bit))
        above = np.uint32((2**BITS - 1) ^ (2 ** (BITS - bit) - 1))
        rows = (random[:, bit] & above) | place
        parity = np.bitwise_count(directions & rows[:, None]).astype(np.uint32) & np.uint32(1)
        scrambled |= parity * place
    return scrambled, rng.integers(0, 2**BITS, size=len(directions), dtype=np.uint32)
