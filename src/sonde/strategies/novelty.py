"""From proposed points to suggestions that are feasible and new.

A proposal that violates a ``where`` or repeats a lattice point is replaced by a random feasible one. Where random draws
find no new configuration in a finite space, its configurations are enumerated, so it is used up to the last one. After
that, if the observations have noise, the most promising configuration is evaluated again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from sonde.arrays import Array
from sonde.errors import InfeasibleSpace
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.repeating import most_promising
from sonde.trials import History

MAX_DRAWS = 20_000
ENUMERATED_FIRST = 2**12  # a space of at most this size is enumerated instead of random draws
ENUMERATED_LAST = 2**20  # a space of at most this size is enumerated after random draws fail


def novel_rows(space: Space, history: History, units: Array, key: Key, taken: Collection[bytes] = ()) -> Array:
    """Return feasible new rows for proposed points of the unit cube; fewer only where the space is used up.

    ``taken`` are packed rows of the same batch, to be avoided too.
    """
    rows: list[Array] = []
    chosen = Counter(taken)
    for offset, proposal in enumerate(space.codec.decode(units)):
        row: Array | None = proposal
        if not _acceptable(proposal, space, history, chosen):
            row = _replacement(space, history, chosen, key.at(offset))
        if row is None:
            break
        chosen[row.tobytes()] += 1
        rows.append(row)
    return np.array(rows).reshape(-1, len(space))


def _acceptable(row: Array, space: Space, history: History, taken: Counter[bytes]) -> bool:
    if history.contains(row) or row.tobytes() in taken:
        return False
    return not space.constraints or space.feasible(space.codec.configuration(row))


def _replacement(space: Space, history: History, taken: Counter[bytes], key: Key) -> Array | None:
    """Return a random feasible new row; None if every configuration was evaluated."""
    if space.size > ENUMERATED_FIRST:
        found = _redraw(space, history, taken, key)
        if found is not None:
            return found
    if space.size <= ENUMERATED_LAST:
        return _pick_enumerated(space, history, taken, key)
    raise InfeasibleSpace(
        f"no new configuration that meets the constraints was found in {MAX_DRAWS} draws; loosen "
        f"{', '.join(constraint.name for constraint in space.constraints) or 'the space'}, or narrow the ranges to "
        "where the constraints hold"
    )


def _redraw(space: Space, history: History, taken: Counter[bytes], key: Key) -> Array | None:
    rng, drawn, block = key.rng(Stream.REDRAW), 0, 16
    while drawn < MAX_DRAWS:
        for row in space.codec.decode(rng.random((block, len(space)))):
            if _acceptable(row, space, history, taken):
                return np.asarray(row)
        drawn, block = drawn + block, min(4 * block, 4096)
    return None


def _pick_enumerated(space: Space, history: History, taken: Counter[bytes], key: Key) -> Array | None:
    feasible = [row for row in space.rows() if not space.constraints or space.feasible(space.codec.configuration(row))]
    if not feasible:
        raise InfeasibleSpace(
            f"none of the {space.size:.0f} configurations meets {', '.join(rule.name for rule in space.constraints)}; "
            "loosen it, or widen the ranges"
        )
    left = [row for row in feasible if not history.contains(row) and row.tobytes() not in taken]
    if not left and history.noisy:  # with noise a repetition is informative
        return most_promising(history, feasible, taken, key.rng(Stream.PICK))
    return left[int(key.rng(Stream.PICK).integers(len(left)))] if left else None
