"""Natural-gradient search over a history: generations of samples that any process can draw again.

Generation g has its own random stream. A process that has the observations of the generations before g draws the same
samples and finds which of them were evaluated. A step is taken when all samples of a generation have ended. Failures
rank last. A sample that violates a ``where`` ranks last too, without an evaluation. A sample that is already observed
needs no trial; its loss is the mean of its losses up to then.

While a generation has pending samples, idle workers get extra samples of the same distribution. An extra sample whose
loss arrives before the generation's last one takes part in the step, so many workers make large generations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from sonde.arrays import Array
from sonde.igo import IGO, Family
from sonde.pareto.ranks import front_by_front
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.observation_log import ObservationLog, ObservedLoss, row_fingerprint
from sonde.strategies.natural_gradient.success_rate import SuccessRate

RANKED_LAST = ObservedLoss(np.inf, -1)  # of a sample that violates a ``where``, or was lost or cancelled
MAX_IDLE_GENERATIONS = 50  # generations without a new observation, after which the distribution restarts
EXTRA_BLOCK = 32  # extra samples that are drawn together
MAX_EXTRAS = 5000  # extra samples of a generation
EXTRAS_PER_OBSERVATION = 2  # a step looks at so many extra samples for each observation since the last step
MAX_IDLE_RESTARTS = 3  # restarts in a row without a new observation, after which the space counts as exhausted


class Track(Protocol):
    """Keeps the distributions of a search."""

    def add(self, generation: int, results: int, theta: Array) -> None:
        """Keep the parameters with which a generation begins, and how many results had arrived."""


class Sample:
    """A drawn sample: its row as suggested, the row's fingerprint, and whether it meets every ``where``."""

    def __init__(self, row: Array, feasible: bool) -> None:
        self.row, self.fingerprint, self.feasible = row, row_fingerprint(row), feasible

    def observed(self, log: ObservationLog) -> ObservedLoss | None:
        """Return its first loss; ``RANKED_LAST`` where none will come; None while it is missing."""
        if not self.feasible or self.fingerprint in log.abandoned:
            return RANKED_LAST
        return log.find(self.fingerprint)

    def mean_loss(self, log: ObservationLog, until: int) -> float:
        """Return its mean loss up to an arrival; inf where it has none."""
        loss = log.mean_loss(self.fingerprint, until) if self.feasible else None
        return RANKED_LAST.loss if loss is None else loss


class Generations:
    """A natural-gradient search that is replayed as far as losses are observed."""

    def __init__(
        self, space: Space, families: Families, family: Family, seed: int, settings: Mapping[str, Any]
    ) -> None:
        self._space, self._families, self._family, self._seed, self._settings = space, families, family, seed, settings
        self.number = self.starts = 0
        self.success_rate = SuccessRate(family.free)
        self.track: Track | None = None  # of the distributions, where somebody wants to see them
        self._latest = -1  # the latest arrival that a step has used
        self._idle_restarts = -1  # the first start is none
        self._start()

    def advance(self, log: ObservationLog) -> None:
        """Take a step for every generation that has ended."""
        while not self.exhausted and (ended := self._ended(log)):
            until = max(self._latest, *(observed.arrival for _, observed in ended))
            losses = self._losses(ended, until, log)
            self.search.tell(self._families.samples(np.array([sample.row for sample, _ in ended])), losses)
            self._count({observed.arrival for _, observed in ended if observed.arrival > self._latest}, log)
            if self.track is not None:
                self.track.add(self.number, self._latest + 1, self.search.theta)
            if self.search.settled or self._idle_generations > MAX_IDLE_GENERATIONS:
                self._start()
            else:
                self._draw()

    def _losses(self, ended: list[tuple[Sample, ObservedLoss]], until: int, log: ObservationLog) -> list[float]:
        """Return what the samples of a step are ranked by: of several objectives, front by front (``pareto``)."""
        losses = [sample.mean_loss(log, until) for sample, _ in ended]
        if log.outcomes:
            works, ranked = np.isfinite(losses), np.array(losses)
            outcomes = [log.mean_outcomes(ended[i][0].fingerprint, until) for i in np.flatnonzero(works)]
            ranked[works] = front_by_front(-np.array(outcomes)) if outcomes else 0.0
            losses = ranked.tolist()
        return losses

    @property
    def exhausted(self) -> bool:
        """Whether several restarts in a row have drawn nothing new."""
        return self._idle_restarts > MAX_IDLE_RESTARTS

    def proposals(self) -> Iterator[Sample]:
        """Yield the samples of the generation, then extra ones of the same distribution."""
        if self.exhausted:
            return
        yield from self._generation
        for index in range(MAX_EXTRAS):
            yield self._extra(index)

    def _start(self) -> None:
        """Start, or restart, from the initial distribution."""
        self.search = IGO(self._family, seed=0, **self._settings)
        self.starts, self._idle_restarts, self._idle_generations = self.starts + 1, self._idle_restarts + 1, 0
        self._draw()

    def _draw(self) -> None:
        rng = Key(self._seed, self.number).rng(Stream.GENERATION)
        self._generation = self._sampled(rng, self.search.sample_size)
        self._extras: list[Sample] = []

    def _extra(self, index: int) -> Sample:
        while len(self._extras) <= index:
            rng = np.random.default_rng([self._seed, self.number, Stream.EXTRA_SAMPLES, len(self._extras)])
            self._extras += self._sampled(rng, EXTRA_BLOCK)
        return self._extras[index]

    def _sampled(self, rng: np.random.Generator, count: int) -> list[Sample]:
        samples = np.asarray(self._family.draw(self.search.theta, rng, count), dtype=float)
        rows = self._space.codec.deactivate(self._families.complete_rows(samples))
        return [Sample(row, feasible) for row, feasible in zip(rows, self._space.feasible_rows(rows), strict=True)]

    def _ended(self, log: ObservationLog) -> list[tuple[Sample, ObservedLoss]]:
        """Return the samples of the step with their losses; an empty list while one of the generation is pending.

        An extra sample takes part by its time of arrival, never by whether it was pending: a process that opens the
        study later cannot know the latter.
        """
        ended = [(sample, observed) for sample in self._generation if (observed := sample.observed(log)) is not None]
        if len(ended) < len(self._generation):
            return []
        last = max(observed.arrival for _, observed in ended)
        for index in range(min(EXTRAS_PER_OBSERVATION * (last - self._latest), MAX_EXTRAS)):
            extra = self._extra(index)
            observed = log.find(extra.fingerprint) if extra.feasible else None
            if observed is not None and self._latest < observed.arrival < last:
                ended.append((extra, observed))
        return ended

    def _count(self, new: set[int], log: ObservationLog) -> None:
        """Count a step, and the arrivals that it used and no step before it."""
        for arrival in sorted(new):
            self.success_rate.add(arrival, better=log.improved(arrival))
        self._latest = max(new, default=self._latest)
        self._idle_generations = 0 if new else self._idle_generations + 1
        self._idle_restarts = 0 if new else self._idle_restarts
        self.number += 1
