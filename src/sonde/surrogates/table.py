"""Rows of data as the linear models take them: in blocks that are summed once, and a part to be judged by."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 1024  # rows summed at a time: always the same ones, so that sums are the same in any process
HELD, FEW = 5, 20  # every fifth row is held out to judge a model, if there are so many
WORST = -10.0  # the logarithm of a density below which an error is as bad as another


class Table(NamedTuple):
    """Inputs (n, p), values (n,), higher is better, and variances (n,) told of them."""

    x: Array
    y: Array
    noise: Array

    def rows(self, chosen: slice | NDArray[np.intp]) -> Table:
        """Return some of the rows."""
        return Table(*(column[chosen] for column in self))

    def blocks(self) -> Iterator[tuple[int, Table]]:
        """Return the whole blocks of rows, numbered."""
        return ((i, self.rows(slice(i * BLOCK, (i + 1) * BLOCK))) for i in range(len(self.y) // BLOCK))

    def rest(self) -> Table:
        """Return the rows after the last whole block."""
        return self.rows(slice(len(self.y) // BLOCK * BLOCK, None))

    def digest(self) -> bytes:
        """Return a name of these data."""
        return blake2b(b"".join(np.ascontiguousarray(column).tobytes() for column in self)).digest()


def held_out(count: int) -> NDArray[np.bool_]:
    """Return which rows judge."""
    return (np.arange(count) % HELD == HELD - 1) & (count >= FEW)


def log_score(errors: Array, variances: Array) -> float:
    """Return the mean logarithm of the density of errors, a few of which may be wild."""
    logs = -0.5 * (np.log(2 * np.pi * variances) + errors**2 / variances)
    return float(np.mean(np.maximum(logs, WORST)))
