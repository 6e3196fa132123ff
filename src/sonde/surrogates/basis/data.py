"""Observations as rows of a table: sums over blocks of rows, the rows held out for validation, and the score."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sonde.arrays import Array, Index, Mask

BLOCK = 1024  # rows summed at a time; blocks are the same in every process, and so are the sums
HOLD_OUT_EVERY, HOLD_OUT_FROM = 5, 16  # every fifth row is held out for validation, from 16 rows on
LOWEST_LOG_DENSITY = -10.0  # log densities are clipped from below, so that one outlier does not decide a score


Sums = TypeVar("Sums", bound=Any)  # anything with a sum


class Table(NamedTuple):
    """Observations: features x (n, p), values y (n,), higher is better, and reported noise variances (n,).

    ``targets`` (n, K) are the values of all objectives, on which networks are trained together; None: they are y.
    """

    x: Array
    y: Array
    noise: Array
    targets: Array | None = None

    def rows(self, chosen: slice | Index | Mask) -> Table:
        """Return some of the rows."""
        return Table(*(None if column is None else column[chosen] for column in self))  # type: ignore[arg-type]

    @property
    def trained_on(self) -> Array:
        """The targets, or y."""
        return self.y if self.targets is None else self.targets

    def summed(self, known: dict[bytes, Sums], of: Callable[[Table], Sums]) -> Sums:
        """Return the sum of ``of`` over blocks of rows; ``known`` caches the results of whole blocks."""
        whole = len(self.y) // BLOCK
        total = of(self.rows(slice(whole * BLOCK, None)))
        for i in range(whole):
            block = self.rows(slice(i * BLOCK, (i + 1) * BLOCK))
            name = block.digest()
            if name not in known:
                known[name] = of(block)
            total = total + known[name]
        return total

    def digest(self) -> bytes:
        """Return a hash of the data."""
        columns = [column for column in self if column is not None]
        return blake2b(b"".join(np.ascontiguousarray(column).tobytes() for column in columns)).digest()


def held_out(count: int) -> Mask:
    """Return the mask (n,) of the rows held out for validation."""
    return (np.arange(count) % HOLD_OUT_EVERY == HOLD_OUT_EVERY - 1) & (count >= HOLD_OUT_FROM)


def log_score(errors: Array, variances: Array) -> float:
    """Return the mean log density of prediction errors under N(0, variance), each clipped from below."""
    logs = -0.5 * (np.log(2 * np.pi * variances) + errors**2 / variances)
    return float(np.mean(np.maximum(logs, LOWEST_LOG_DENSITY)))
