"""What the callbacks that log trials share. Whatever goes wrong there is a warning: results are in the study."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from sonde.study import Study
from sonde.trials import Trial

PAUSE = 10  # times as long as it took to fail nothing is logged: a tracker may try for minutes to reach its server


class Logged(ABC):
    """A callback for ``callbacks=[...]`` of ``optimize`` and ``minimize``."""

    _failure, _paused_until = "", 0.0

    def __call__(self, study: Study, trial: Trial) -> None:
        """Log a trial that has ended; also for trials of the past: ``for trial in study.trials: log(study, trial)``."""
        began = time.monotonic()
        if began >= self._paused_until:
            try:
                return self._log(study, trial)
            except Exception as error:
                self._failure = str(error)
                self._paused_until = time.monotonic() + PAUSE * (time.monotonic() - began)
        warnings.warn(f"trial {trial.number} was not logged, its result is in the study: {self._failure}", stacklevel=2)

    @abstractmethod
    def _log(self, study: Study, trial: Trial) -> None:
        """Log one trial."""


def curve(trial: Trial) -> list[tuple[int, float]]:
    """Return the learning curve with whole steps, which trackers want; fractions of epochs are counted."""
    whole = all(step == round(step) for step, _ in trial.curve)
    return [(round(step) if whole else number, value) for number, (step, value) in enumerate(trial.curve, 1)]


def numbers(trial: Trial) -> dict[str, float]:
    """Return the value of a trial, or those of its objectives by name, and its measured constraints."""
    values = trial.value if isinstance(trial.value, Mapping) else {"value": trial.value}
    found: dict[str, Any] = {**values, **(trial.constraints or {}), "predicted": trial.mean}
    return {name: float(number) for name, number in found.items() if number is not None}


def words(trial: Trial) -> dict[str, str]:
    """Return what else there is to know, as text."""
    given = {name: str(value) for name, value in trial.attributes.items()}
    known = {"state": str(trial.state), "error": trial.error, "worker": trial.worker}
    return given | {name: word for name, word in known.items() if word}
