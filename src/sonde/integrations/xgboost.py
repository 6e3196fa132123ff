"""XGBoost: ``xgboost.train(..., evals=[(held_out, "validation")], callbacks=[SondeCallback(trial)])``."""

from __future__ import annotations

from typing import Any

from sonde.extras import require
from sonde.integrations.reporting import checked, chosen, report
from sonde.trials import Trial

require("xgboost", extra="xgboost")

from xgboost.callback import TrainingCallback  # noqa: E402


class SondeCallback(TrainingCallback):  # type: ignore[misc]
    """Reports a metric after each round of boosting, and ends a training that is not worth going on.

    Parameters
    ----------
    trial
        The trial of the objective.
    metric
        As XGBoost prints it, such as ``"validation-logloss"``; by default the last one of the last data, as in
        XGBoost's own early stopping. Of a cross-validation it is the mean.
    """

    def __init__(self, trial: Trial, metric: str | None = None) -> None:
        super().__init__()
        self._trial, self._metric = checked(trial), metric

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Report the metric."""
        metrics = {f"{data}-{name}": values[-1] for data, own in evals_log.items() for name, values in own.items()}
        value = chosen(metrics, self._metric)
        report(self._trial, epoch + 1, value[0] if isinstance(value, tuple) else value)
        return False
