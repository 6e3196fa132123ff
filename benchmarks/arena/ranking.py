"""Who was best: ranks on the cases all have run, and paired tests against one contender.

A case is a function in one dimension with one seed. Excesses below ``SOLVED`` count as solved, and as equal. As long as
nothing feasible is found, the excess is the largest one that a contender has on the case.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.arena.records import Record

SOLVED = 1e-8
FAR = 1e3  # the gain of who finds something feasible over who does not
DRAWS = 2000  # bootstrap samples of the functions
FEWEST = 5  # functions that an interval is made of
SHARES = 100  # of a budget, after which budgets of several sizes are compared
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
    half: str = ""
    budget: float = 1  # mean number of evaluations of a run
    dates: dict[str, str] = field(default_factory=dict)  # by contender: of the first and the last run

    @cached_property
    def cases(self) -> list[Case]:
        """The cases that all contenders have run."""
        return sorted(set.intersection(*(set(curves) for curves in self.curves.values())))

    @cached_property
    def excess(self) -> np.ndarray:
        """Best excess so far, (cases, contenders, evaluations)."""
        found = np.array([[curves[case] for curves in self.curves.values()] for case in self.cases], dtype=float)
        largest = np.where(np.isinf(found), -np.inf, found).max(axis=(1, 2), keepdims=True)
        return np.where(np.isinf(found), np.maximum(largest, SOLVED), found)  # all equal where nobody finds anything

    @cached_property
    def ranks(self) -> np.ndarray:
        """Average rank after each evaluation, (contenders, evaluations); equal ones share theirs."""
        return np.asarray(rankdata(self.excess, axis=1).mean(axis=0))

    @cached_property
    def interval(self) -> np.ndarray:
        """95% intervals of the last average ranks, functions drawn with all of their cases, (contenders, 2).

        They are NaN where functions are too few to draw from.
        """
        ranks = rankdata(self.excess[:, :, -1], axis=1)
        _, function = np.unique([case[1] for case in self.cases], return_inverse=True)
        if function.max() + 1 < FEWEST:
            return np.full((ranks.shape[1], 2), np.nan)
        sums, counts = np.zeros((function.max() + 1, ranks.shape[1])), np.bincount(function)
        np.add.at(sums, function, ranks)
        drawn = np.random.default_rng(0).integers(len(counts), size=(DRAWS, len(counts)))
        means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)[:, None]
        return np.quantile(means, (0.025, 0.975), axis=0).T

    @cached_property
    def regret(self) -> np.ndarray:
        """Mean log10 of the excess after each evaluation, (contenders, evaluations); NaN without an optimum."""
        return np.log10(self.excess).mean(axis=0) if self.known else np.full(self.excess.shape[1:], np.nan)

    def duel(self, name: str, other: str) -> Duel:
        """Compare two by a signed-rank test on log excesses; without an optimum, on who was better only."""
        mine, theirs = self.curves[name], self.curves[other]
        pairs = np.array([(mine[case][-1], theirs[case][-1]) for case in sorted(mine.keys() & theirs.keys())])
        with np.errstate(invalid="ignore"):  # both found nothing feasible
            gain = np.log10(pairs[:, 1] / pairs[:, 0]) if self.known else np.sign(pairs[:, 1] - pairs[:, 0])
        gain = np.nan_to_num(gain, nan=0.0, posinf=FAR, neginf=-FAR)
        p = float(wilcoxon(gain).pvalue) if gain.any() else 1.0
        return Duel(int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum()), p)


def groups(records: Iterable[Record], names: Sequence[str] = ()) -> list[Group]:
    """Sort records: every suite of a half in each dimension, and over its dimensions if there are several."""
    chosen = [record for record in named(records) if not names or record.contender in names]
    made = []
    for half, suite in dict.fromkeys((record.half, record.suite) for record in chosen):
        own = [record for record in chosen if (record.half, record.suite) == (half, suite)]
        dimensions = sorted({record.dimension for record in own})
        made += [_group(half, suite, size, [each for each in own if each.dimension == size]) for size in dimensions]
        if len(dimensions) > 1:
            made.append(_group(half, suite, None, own))
    return [group for group in made if group.cases]


def named(records: Iterable[Record]) -> list[Record]:
    """Return records by the names they are shown with: versions of Sonde before the newest have theirs in it."""
    every = list(records)
    versions = {record.version for record in every if record.version[:1].isdigit()}
    newest = max(versions, key=_order, default="")
    return [
        record if record.version in ("", newest) else replace(record, contender=f"{record.contender}-{record.version}")
        for record in every
    ]


def _order(version: str) -> tuple[list[int], str]:
    return [int(number) for number in version.rstrip("+").split(".")], version


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values corrected for being several."""
    order = np.argsort(p)
    raised = np.asarray(p, dtype=float)[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return corrected.tolist()


def _group(half: str, suite: str, dimension: int | None, records: Sequence[Record]) -> Group:
    known = all(record.optimum is not None for record in records)
    budgets = {record.budget for record in records}
    curves: dict[str, dict[Case, np.ndarray]] = {}
    for record in records:
        excess = np.maximum(record.excess, SOLVED) if known else record.excess
        if len(budgets) > 1:
            excess = excess[np.ceil(np.arange(1, SHARES + 1) / SHARES * record.budget).astype(int) - 1]
        curves.setdefault(record.contender, {})[record.dimension, record.function, record.seed] = excess
    most = max(len(runs) for runs in curves.values())
    kept = {name: runs for name, runs in curves.items() if len(runs) >= ENOUGH * most}
    of = {name: [record for record in records if record.contender == name] for name in kept}
    seconds = {name: statistics.median(record.seconds for record in own) for name, own in of.items()}
    dates = {name: _span([record.date for record in own]) for name, own in of.items()}
    mean = statistics.mean(record.budget for record in records)
    return Group(suite, dimension, kept, known, seconds, tuple(curves.keys() - kept.keys()), half, mean, dates)


def _span(dates: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((min(dates), max(dates))))
