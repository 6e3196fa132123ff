"""Methods of stopping: none, Sonde's, and Optuna's pruners with their defaults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna

from benchmarks.curves.problems import POINTS
from benchmarks.curves.simulation import Method
from sonde.curves import Curve, CurveModel, PastTrial, should_stop
from sonde.sampling import Key

GROWTH = 1.02  # of the past between two fits: saves most of them, and a decision hardly depends on one trial in fifty
REJECTED = 1e30  # in place of inf, which Optuna's pruners take for a report that is missing


class Never:
    """Nothing is stopped."""

    def start(self, number: int) -> None:
        """Do nothing."""

    def stops(self, number: int, curve: list[float]) -> bool:
        """Return False."""
        return False

    def end(self, number: int, curve: list[float], *, complete: bool) -> None:
        """Do nothing."""


class Sonde:
    """Sonde's rule; the model is fitted again when the past has grown by a fiftieth."""

    def __init__(self, seed: int) -> None:
        self.past: list[PastTrial] = []
        self.model = CurveModel(self.past)
        self.seed = seed

    def start(self, number: int) -> None:
        """Do nothing."""

    def stops(self, number: int, curve: list[float]) -> bool:
        """Ask the rule."""
        if len(self.past) > GROWTH * len(self.model.complete):
            self.model = CurveModel(self.past)
        return should_stop(self.model, _curve(curve), Key(self.seed, number))

    def end(self, number: int, curve: list[float], *, complete: bool) -> None:
        """Learn the curve."""
        self.past.append(PastTrial(_curve(curve), curve[-1] if complete else None))


class Optuna:
    """A pruner of Optuna, asked at every step."""

    def __init__(self, pruner: optuna.pruners.BasePruner) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)
        self.trials: dict[int, optuna.Trial] = {}

    def start(self, number: int) -> None:
        """Ask for the trial."""
        self.trials[number] = self.study.ask()

    def stops(self, number: int, curve: list[float]) -> bool:
        """Ask the pruner."""
        self.trials[number].report(_finite(curve[-1]), len(curve))
        return self.trials[number].should_prune()

    def end(self, number: int, curve: list[float], *, complete: bool) -> None:
        """Tell the trial."""
        trial = self.trials.pop(number)
        if complete:
            self.study.tell(trial, _finite(curve[-1]))
        else:
            self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)


METHODS: dict[str, Callable[[int], Method]] = {
    "none": lambda seed: Never(),
    "sonde": Sonde,
    "median": lambda seed: Optuna(optuna.pruners.MedianPruner()),
    "halving": lambda seed: Optuna(optuna.pruners.SuccessiveHalvingPruner()),
    "hyperband": lambda seed: Optuna(optuna.pruners.HyperbandPruner(max_resource=POINTS)),
}


def _curve(values: list[float]) -> Curve:
    return Curve.of(enumerate(values, 1))


def _finite(value: float) -> float:
    return value if np.isfinite(value) else REJECTED
