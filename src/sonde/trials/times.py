"""When and where the trials of a study ran, as columns: quick to read, also of a hundred thousand trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sonde.arrays import Array, Integers

NONE = -1  # in a column of whole numbers


class Times(NamedTuple):
    """One entry for each trial; times are seconds since the epoch, NaN where there is none."""

    worker: Any  # (n,) of names or None
    created: Array
    started: Array
    finished: Array
    retry_of: Integers  # the number of the lost trial, or NONE
    suggested_in: Array  # seconds, the trial's share of its batch

    @classmethod
    def empty(cls) -> Times:
        """Return the columns of no trial."""
        none = np.zeros(0)
        return cls(none.astype(object), none, none, none, none.astype(np.int64), none)

    def with_rows(self, rows: Sequence[tuple[Any, ...]]) -> Times:
        """Return the columns with the trials that changed: rows of a number and one entry for each column."""
        if not rows:
            return self
        numbers, worker, created, started, finished, retry_of, suggested_in = zip(*rows, strict=True)
        index = np.array(numbers)
        size = max(len(self.worker), int(index.max()) + 1)
        retries = [NONE if lost is None else lost for lost in retry_of]
        new = (np.array([*worker, None], dtype=object)[:-1], *_floats(created, started, finished),
               np.array(retries, dtype=np.int64), *_floats(suggested_in))  # fmt: skip
        return Times(*(_put(old, index, column, size) for old, column in zip(self, new, strict=True)))


def _floats(*columns: Sequence[Any]) -> list[Array]:
    return [np.array(column, dtype=float) for column in columns]


def _put(old: Any, index: Integers, new: Any, size: int) -> Any:
    column = np.full(size, None if old.dtype == object else NONE if old.dtype == np.int64 else np.nan, dtype=old.dtype)
    column[: len(old)] = old
    column[index] = new
    return column
