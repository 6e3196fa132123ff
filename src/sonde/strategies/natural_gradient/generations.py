"""The natural gradient over a history: generations of samples, each known by drawing it again.

Generation g is drawn from its own random stream, so any process that has the results of generations before it draws
the same samples, and finds which of them have been tried. The step is taken when all have ended; a failure ranks last,
and so does, without being tried, what breaks a ``where``. What is known needs no trial, and counts by the mean of all
its results up to then.

While a generation waits, further samples are drawn from the same distribution: workers are never idle. Those whose
results came before the generation's last count in its step, so many workers make large generations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.igo import IGO, Family
from sonde.space import Space
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.outcomes import Result, Results, fingerprint
from sonde.strategies.natural_gradient.success_rate import SuccessRate

Array = NDArray[np.float64]

_GENERATION, _EXTRA = 21, 22  # purposes of the streams
REFUSED = Result(np.inf, -1)  # what a sample is worth that breaks a ``where``, or that was lost or cancelled
IDLE = 50  # generations without a new sample, after which the distribution begins anew
AT_ONCE = 32  # further samples that are drawn together
MORE = 5000  # samples beyond the generation, at most
REACH = 2  # times the results since the last step: among so many further samples, those with a result are looked for
BEGINNINGS = 3  # such beginnings, after which nothing new is likely


class Sample:
    """A drawn sample: its row as it is suggested, and its fingerprint."""

    def __init__(self, row: Array, allowed: bool) -> None:
        self.row, self.mark, self.allowed = row, fingerprint(row), allowed

    def result(self, results: Results) -> Result | None:
        """Return what is known of it."""
        if not self.allowed or self.mark in results.gone:
            return REFUSED
        return results.find(self.mark)

    def loss(self, results: Results, by: int) -> float:
        """Return the mean of its results up to a place; inf where none is waited for."""
        loss = results.loss(self.mark, by) if self.allowed else None
        return REFUSED.loss if loss is None else loss


class Generations:
    """A search by natural gradient, as far as results allow."""

    def __init__(self, space: Space, layout: Families, family: Family, seed: int, settings: Mapping[str, Any]) -> None:
        self._space, self._layout, self._family, self._seed, self._settings = space, layout, family, seed, settings
        self.number = self.beginnings = 0
        self.luck = SuccessRate(family.free)
        self._latest, self._fruitless = -1, -1
        self._begin()

    def advance(self, results: Results) -> None:
        """Take every step whose generation has ended."""
        while not self.exhausted and (told := self._told(results)):
            by = max(self._latest, *(result.place for _, result in told))
            losses = [sample.loss(results, by) for sample, _ in told]
            self.search.tell(self._layout.samples(np.array([sample.row for sample, _ in told])), losses)
            self._count({result.place for _, result in told if result.place > self._latest}, results)
            if self.search.settled or self._idle > IDLE:
                self._begin()
            else:
                self._draw()

    @property
    def exhausted(self) -> bool:
        """Whether all that is drawn has been known for long."""
        return self._fruitless > BEGINNINGS

    def proposals(self) -> Iterator[Sample]:
        """Draw what could be tried next: the generation, then more of the same distribution."""
        if self.exhausted:
            return
        yield from self._generation
        for place in range(MORE):
            yield self._extra(place)

    def _begin(self) -> None:
        self.search = IGO(self._family, seed=0, **self._settings)
        self.beginnings, self._fruitless, self._idle = self.beginnings + 1, self._fruitless + 1, 0
        self._draw()

    def _draw(self) -> None:
        rng = np.random.default_rng([self._seed, self.number, _GENERATION])
        self._generation = self._sampled(rng, self.search.sample_size)
        self._extras: list[Sample] = []

    def _extra(self, place: int) -> Sample:
        while len(self._extras) <= place:
            rng = np.random.default_rng([self._seed, self.number, _EXTRA, len(self._extras)])
            self._extras += self._sampled(rng, AT_ONCE)
        return self._extras[place]

    def _sampled(self, rng: np.random.Generator, count: int) -> list[Sample]:
        complete = self._layout.complete_rows(np.asarray(self._family.draw(self.search.theta, rng, count), dtype=float))
        rows = self._space.codec.deactivate(complete)
        return [Sample(row, allowed) for row, allowed in zip(rows, self._space.feasible_rows(rows), strict=True)]

    def _told(self, results: Results) -> list[tuple[Sample, Result]]:
        """Return the samples of the generation with their results; nothing while one is missing.

        Further ones count by when they came, never by whether they were under way: nobody can tell that later.
        """
        ended = [(sample, result) for sample in self._generation if (result := sample.result(results)) is not None]
        if len(ended) < len(self._generation):
            return []
        last = max(result.place for _, result in ended)
        for place in range(min(REACH * (last - self._latest), MORE)):
            extra = self._extra(place)
            result = results.find(extra.mark) if extra.allowed else None
            if result is not None and self._latest < result.place < last:
                ended.append((extra, result))
        return ended

    def _count(self, new: set[int], results: Results) -> None:
        """Note the results that a step learned from and that are newer than those of the steps before."""
        for place in sorted(new):
            self.luck.add(place, better=results.improved(place))
        self._latest = max(new, default=self._latest)
        self._idle = 0 if new else self._idle + 1
        self._fruitless = 0 if new else self._fruitless
        self.number += 1
