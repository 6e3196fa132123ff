"""Sobol' indices of functions of a space, such as those drawn from a model.

The inputs are the parameters, independent and uniform on their scales. A conditional parameter is measured where it is
active: its parents have the numbers that it needs, and are uniform among them. Parameters that need the same share a
design. All effects are shares of one variance, that of the whole space.

Symbols: n points, d parameters, s functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sonde.arrays import Array, Index
from sonde.plots.activity import Required, required, restricted
from sonde.plots.grids import varied
from sonde.sampling import Key, Stream
from sonde.sensitivity.sobol_indices import Design, effects, interactions, picked, resampled, variances
from sonde.space import Space

Function = Callable[[Array], Array]  # rows (m, d) to values (m, s)
EVALUATIONS, FOR_RANKS = 16_384, 4096  # rows at which functions are evaluated, about
Both = tuple[Array, Array]
FEWEST, MOST = 32, 512  # points of a design


@dataclass(frozen=True)
class Measured:
    """Effects (c, s) of parameters by name, where what they need holds, and interactions (p, s) of pairs.

    Each is (estimates on the whole design, estimates on bootstraps of it).
    """

    names: list[str]
    needed: list[Required]
    main: Both
    total: Both
    pairs: list[tuple[str, str]]
    interactions: Both
    count: int  # of points of a design


def measured(
    space: Space, names: Sequence[str], function: Function, pairs: int, seed: int, evaluations: int = EVALUATIONS
) -> Measured:
    """Return main and total effects of parameters with more than one value, and the strongest interactions."""
    whole = _Whole(space, function, _count(len(names), pairs, evaluations), seed)
    groups: dict[tuple[tuple[str, tuple[float, ...]], ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(sorted(required(space, name).items())), []).append(name)
    parts = [_Group(whole, dict(needed), own) for needed, own in groups.items()]
    strongest = _strongest(parts, pairs)
    inner = [part.interactions(chosen) for part, chosen in zip(parts, strongest, strict=True)]
    return Measured(
        [name for part in parts for name in part.names], [part.needed for part in parts for _ in part.names],
        _joined([(part.effects.main, part.bootstrap.main) for part in parts]),
        _joined([(part.effects.total, part.bootstrap.total) for part in parts]),
        [(part.names[i], part.names[j]) for part, own in zip(parts, strongest, strict=True) for i, j in own],
        _joined(inner), whole.count,
    )  # fmt: skip


def ranked(space: Space, function: Callable[[Array], Array], seed: int) -> list[str]:
    """Return the parameters by their total effects on a function (m,) of rows (m, d), the largest first."""
    found = measured(space, varied(space), lambda rows: function(rows)[:, None], 0, seed, FOR_RANKS)
    return [found.names[i] for i in np.argsort(-np.nan_to_num(found.total[0][:, 0]), kind="stable")]


def _joined(parts: Sequence[Both]) -> Both:
    return np.concatenate([first for first, _ in parts]), np.concatenate([second for _, second in parts])


class _Whole:
    """The functions, and their variances over the whole space."""

    def __init__(self, space: Space, function: Function, count: int, seed: int) -> None:
        self.space, self.count, self._function = space, count, function
        self.design = Design(count, len(space), seed=seed)
        self._size = np.ones(1)
        values = self.at(self.design.single([]), {})
        largest = np.max(np.abs(values), axis=(0, 1))
        self._size = np.where(largest > 0, largest, 1.0)  # shares do not depend on it, and squares may overflow
        self.rows: Index = resampled(count, values.shape[2], Key(seed, count).rng(Stream.SCRAMBLE))
        self.variance = variances(values / self._size)
        self.bootstrap = variances(picked(values / self._size, self.rows))

    def at(self, units: Array, needed: Required) -> Array:
        """Return the values (k, n, s) at units (k, n, d), moved to where the parents are as needed."""
        points = restricted(self.space, needed, units.reshape(-1, units.shape[2]))
        values = self._function(self.space.codec.decode(points))
        return np.asarray(values.reshape(*units.shape[:2], -1) / self._size)


class _Group:
    """Parameters that need the same, and the values of a design where it holds."""

    def __init__(self, whole: _Whole, needed: Required, names: list[str]) -> None:
        self.names, self.needed, self._whole = names, needed, whole
        self._columns = [whole.space.names.index(name) for name in names]
        self._values = whole.at(whole.design.single(self._columns), needed)
        self.effects = effects(self._values, whole.variance)
        self.bootstrap = effects(picked(self._values, whole.rows), whole.bootstrap)

    def interactions(self, places: list[tuple[int, int]]) -> Both:
        """Return the total interactions of pairs by their places among the names."""
        whole = self._whole
        if not places:
            return (np.empty((0, self._values.shape[2])),) * 2
        both = whole.at(whole.design.double([(self._columns[i], self._columns[j]) for i, j in places]), self.needed)
        again = picked(self._values, whole.rows), picked(both, whole.rows)
        return (
            interactions(self._values, both, places, whole.variance),
            interactions(*again, places, whole.bootstrap),
        )


def _strongest(parts: Sequence[_Group], count: int) -> list[list[tuple[int, int]]]:
    """Return the pairs of each group whose parameters interact most with any other, ``count`` in all."""
    found = []
    for group, part in enumerate(parts):
        rest = np.nan_to_num(np.mean(part.effects.total - part.effects.main, axis=1))
        pairs = combinations(range(len(part.names)), 2)
        found += [(min(rest[i], rest[j]), group, (i, j)) for i, j in pairs]
    chosen = sorted(found, key=lambda each: -each[0])[:count]
    return [[pair for _, own, pair in chosen if own == group] for group in range(len(parts))]


def _count(names: int, pairs: int, evaluations: int) -> int:
    """Return the points of a design: a power of two, as many as the evaluations allow."""
    allowed = evaluations // (2 + names + min(pairs, names * (names - 1) // 2))
    return int(min(max(1 << max(allowed.bit_length() - 1, 0), FEWEST), MOST))
