"""What a report says, read from the study once: each part of the page takes its facts from here."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from sonde.errors import NoResult, SondeError
from sonde.report.advice import advice
from sonde.report.drawn import Drawn, figures_of
from sonde.report.failures import Reason, reasons_of
from sonde.report.source import Reported
from sonde.storage import StudyHeader
from sonde.trials import History, State, Trial
from sonde.version import __version__

TEN = 10  # best trials


@dataclass(frozen=True)
class Content:
    """A study as a report shows it."""

    study: Reported
    history: History
    header: StudyHeader
    trials: list[Trial]
    best: Trial | str  # or why there is none; of several objectives, the first of the front
    front: int  # trials of the front of several objectives
    top: list[Trial]
    failures: list[Reason]
    strategy: str
    diagnosis: Any  # or why there is none
    advice: list[str]
    figures: list[Drawn]
    made: datetime

    @classmethod
    def of(cls, study: Reported) -> Content:
        """Read a study."""
        history, trials = study.history, study.trials
        front = _front(study) if history.objectives.several else []
        top = _spread(front) if history.objectives.several else _best(history, trials)
        best = (top[0] if top else "no trial has completed") if history.objectives.several else _or_why(study.best)
        return cls(
            study, history, study.storage.find_study(study.name), trials, best, len(front), top, reasons_of(trials),
            str(_or_why(study.explain)), _or_why(study.diagnose), advice(study), figures_of(study), datetime.now(UTC),
        )  # fmt: skip

    def count(self, state: State) -> int:
        """Return how many trials are in a state."""
        return self.history.count(state)


def _or_why(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the text of an error of Sonde."""
    try:
        return call()
    except SondeError as error:
        return str(error)


def _best(history: History, trials: list[Trial]) -> list[Trial]:
    """Return the ten usable trials with the best values, the best first."""
    done = history.measured.numbers
    done = done[history.feasible[done]]
    chosen = done[np.argsort(history.values[done], kind="stable")[:TEN]]
    return [trials[number] for number in chosen.tolist()]


def _front(study: Reported) -> list[Trial]:
    """Return the trials of the front, in the order of the first objective."""
    first = study.objectives.names[0]
    try:
        return sorted(study.pareto_front, key=lambda trial: float(trial.value[first]))
    except NoResult:
        return []


def _spread(front: list[Trial]) -> list[Trial]:
    """Return ten trials, evenly spaced."""
    chosen = np.unique(np.linspace(0, len(front) - 1, min(TEN, len(front))).astype(int))
    return [front[place] for place in chosen.tolist()]


def versions() -> dict[str, str]:
    """Return the versions of what computed the report."""
    return {
        "sonde": __version__, "numpy": np.__version__, "scipy": scipy.__version__,
        "python": platform.python_version(), "platform": platform.platform(),
    }  # fmt: skip
