"""What the callbacks that log trials share. Whatever goes wrong there is a warning: results are in the study."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from sonde.study import Study
from sonde.trials import Trial


class Logged(ABC):
    """A callback for ``callbacks=[...]`` of ``optimize`` and ``minimize``."""

    def __call__(self, study: Study, trial: Trial) -> None:
        """Log a trial that has ended; also for trials of the past: ``for trial in study.trials: log(study, trial)``."""
        try:
            self._log(study, trial)
        except Exception as error:
            warnings.warn(f"trial {trial.number} was not logged, its result is in the study: {error}", stacklevel=2)

    @abstractmethod
    def _log(self, study: Study, trial: Trial) -> None:
        """Log one trial."""


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
