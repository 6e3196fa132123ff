"""Rows of data as the linear models take them: in blocks that are summed once, and a part to be judged by."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 1024  # rows summed at a time: always the same ones, so that sums are the same in any process
HELD, FEW = 5, 16  # every fifth row is held out to judge a model, if there are so many
WORST = -10.0  # the logarithm of a density below which an error is as bad as another


class Summable(Protocol):
    """What can be added."""

    def __add__(self, other: Self) -> Self:
        """Return the sum."""
        ...


Sums = TypeVar("Sums", bound=Summable)


class Table(NamedTuple):
    """Inputs (n, p), values (n,), higher is better, and variances (n,) told of them."""

    x: Array
    y: Array
    noise: Array

    def rows(self, chosen: slice | NDArray[np.intp]) -> Table:
        """Return some of the rows."""
        return Table(*(column[chosen] for column in self))

    def summed(self, known: dict[bytes, Sums], of: Callable[[Table], Sums]) -> Sums:
        """Return the sum of ``of`` over blocks of rows; what is ``known`` of whole blocks is not computed again."""
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
        """Return a name of these data."""
        return blake2b(b"".join(np.ascontiguousarray(column).tobytes() for column in self)).digest()


def held_out(count: int) -> NDArray[np.bool_]:
    """Return which rows judge."""
    return (np.arange(count) % HELD == HELD - 1) & (count >= FEW)


def log_score(errors: Array, variances: Array) -> float:
    """Return the mean logarithm of the density of errors, a few of which may be wild."""
    logs = -0.5 * (np.log(2 * np.pi * variances) + errors**2 / variances)
    return float(np.mean(np.maximum(logs, WORST)))
