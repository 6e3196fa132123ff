"""What the callbacks of training libraries do with a metric after each step: report it, and end a hopeless training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from sonde.errors import OptionError, Stopped
from sonde.trials import Trial


def checked(trial: Any) -> Trial:
    """Return the trial that a callback was given."""
    if not isinstance(trial, Trial):
        raise OptionError(f"SondeCallback takes the trial of the objective first, got {type(trial).__name__}")
    return trial


def chosen(metrics: Mapping[str, Any], wanted: str | None) -> Any:
    """Return the value of a metric, of the last one if none is named."""
    if not metrics:
        raise OptionError("there is no metric to report: give the training data to validate on")
    name = list(metrics)[-1] if wanted is None else wanted
    if name not in metrics:
        raise OptionError(f"no metric is called {name!r}; there are {', '.join(metrics)}")
    return metrics[name]


def report(trial: Trial, step: float, value: float, same: Callable[[bool], bool] = bool) -> None:
    """Report; raise ``Stopped`` if the training is not worth going on, as ``same`` says to all its processes."""
    trial.report(step, float(value))
    if same(trial.should_stop()):
        raise Stopped(f"not worth going on after step {step:g}")


def warn_of_nothing(trial: Trial, metric: str) -> None:
    """Warn of a training that has ended without a validation."""
    warnings.warn(
        f"trial {trial.number} has reported nothing: its training had no validation, and so no {metric}",
        stacklevel=3,
    )
