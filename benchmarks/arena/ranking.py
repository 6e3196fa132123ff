"""Who was best: ranks on the cases all have run, and paired tests against one contender.

A case is a function in one dimension with one seed. Excesses below ``SOLVED`` count as solved, and as equal.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.arena.records import Record

SOLVED = 1e-8
ENOUGH = 0.25  # of the cases of the contender that has most: with fewer, one is not compared yet

Case = tuple[int, int, int]  # dimension, function, seed


@dataclass(frozen=True)
class Duel:
    """One contender against another on the cases both have run."""

    wins: int
    ties: int
    losses: int
    p: float  # two-sided


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of a suite in one dimension, or in all of them (``dimension`` is None)."""

    suite: str
    dimension: int | None
    curves: dict[str, dict[Case, np.ndarray]]  # by contender: the best excess after each evaluation
    known: bool  # whether excesses are above the optimum
    seconds: dict[str, float]  # by contender: median of a run
    absent: tuple[str, ...]  # contenders with too few cases

    @cached_property
    def cases(self) -> list[Case]:
        """The cases that all contenders have run."""
        return sorted(set.intersection(*(set(curves) for curves in self.curves.values())))

    @cached_property
    def excess(self) -> np.ndarray:
        """Best excess so far, (cases, contenders, evaluations)."""
        return np.array([[curves[case] for curves in self.curves.values()] for case in self.cases])

    @cached_property
    def ranks(self) -> np.ndarray:
        """Average rank after each evaluation, (contenders, evaluations); equal ones share theirs."""
        return np.asarray(rankdata(self.excess, axis=1).mean(axis=0))

    @cached_property
    def regret(self) -> np.ndarray:
        """Mean log10 of the excess after each evaluation, (contenders, evaluations); NaN without an optimum."""
        return np.log10(self.excess).mean(axis=0) if self.known else np.full(self.excess.shape[1:], np.nan)

    def duel(self, name: str, other: str) -> Duel:
        """Compare two by a signed-rank test on log excesses; without an optimum, on who was better only."""
        mine, theirs = self.curves[name], self.curves[other]
        pairs = np.array([(mine[case][-1], theirs[case][-1]) for case in sorted(mine.keys() & theirs.keys())])
        gain = np.log10(pairs[:, 1] / pairs[:, 0]) if self.known else np.sign(pairs[:, 1] - pairs[:, 0])
        p = float(wilcoxon(gain).pvalue) if gain.any() else 1.0
        return Duel(int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum()), p)


def groups(records: Iterable[Record], names: Sequence[str] = ()) -> list[Group]:
    """Sort records of one budget: every suite in each dimension, and over its dimensions if there are several."""
    chosen = [record for record in records if not names or record.contender in names]
    made = []
    for suite in dict.fromkeys(record.suite for record in chosen):
        own = [record for record in chosen if record.suite == suite]
        dimensions = sorted({record.dimension for record in own})
        made += [_group(suite, size, [record for record in own if record.dimension == size]) for size in dimensions]
        if len(dimensions) > 1:
            made.append(_group(suite, None, own))
    return [group for group in made if group.cases]


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values corrected for being several."""
    order = np.argsort(p)
    raised = np.asarray(p, dtype=float)[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return corrected.tolist()


def _group(suite: str, dimension: int | None, records: Sequence[Record]) -> Group:
    known = all(record.optimum is not None for record in records)
    curves: dict[str, dict[Case, np.ndarray]] = {}
    for record in records:
        excess = np.maximum(record.excess, SOLVED) if known else record.excess
        curves.setdefault(record.contender, {})[record.dimension, record.function, record.seed] = excess
    most = max(len(runs) for runs in curves.values())
    kept = {name: runs for name, runs in curves.items() if len(runs) >= ENOUGH * most}
    seconds = {name: statistics.median(r.seconds for r in records if r.contender == name) for name in kept}
    return Group(suite, dimension, kept, known, seconds, tuple(curves.keys() - kept.keys()))
