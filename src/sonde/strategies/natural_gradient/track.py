"""How the distribution has moved: the natural gradient replayed over a history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.space import Space
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.generations import Generations
from sonde.strategies.natural_gradient.observation_log import ObservationLog
from sonde.strategies.port import Distributions
from sonde.trials import History

MOST = 400  # kept generations: of more, every second one is kept, then every fourth


class Track:
    """Some of the generations, in equal distances, and always the last one."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, int, Array]] = []
        self._last: tuple[int, int, Array] | None = None
        self._distance = 1

    def add(self, generation: int, results: int, theta: Array) -> None:
        """Keep a generation, or replace the last one."""
        self._last = (generation, results, theta.copy())
        if generation % self._distance == 0:
            self._kept.append(self._last)
        if len(self._kept) > MOST:
            self._distance *= 2
            self._kept = [each for each in self._kept if each[0] % self._distance == 0]

    def entries(self) -> list[tuple[int, int, Array]]:
        """Return number, results and parameters of the kept generations."""
        ends_with_last = self._last is None or (self._kept and self._kept[-1] is self._last)
        return self._kept if ends_with_last or self._last is None else [*self._kept, self._last]


def distributions(space: Space, history: History, seed: int, settings: Mapping[str, Any]) -> Distributions | None:
    """Return the distribution of each kept generation; None where there is one configuration only."""
    families = Families(space)
    if families.family is None:
        return None
    track, log = Track(), ObservationLog()
    track.add(0, 0, families.family.start())
    generations = Generations(space, families, families.family, seed, settings)
    generations.track = track
    log.update(history)
    generations.advance(log)
    numbers, results, thetas = zip(*track.entries(), strict=True)
    parts = families.marginals(np.array(thetas))
    return Distributions(np.array(numbers), np.array(results), *parts)
