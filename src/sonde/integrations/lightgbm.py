"""LightGBM: ``lightgbm.train(..., valid_sets=[held_out], callbacks=[SondeCallback(trial)])``."""

from __future__ import annotations

from typing import Any

from sonde.integrations.reporting import checked, chosen, report
from sonde.trials import Trial


class SondeCallback:
    """Reports a metric after each round of boosting, and ends a training that is not worth going on.

    Parameters
    ----------
    trial
        The trial of the objective.
    metric
        With the name of its data, such as ``"valid_0 l2"``; by default the last one. Of a cross-validation it is the
        mean.
    """

    order = 25  # after LightGBM has printed and recorded the metrics, and before it stops early itself

    def __init__(self, trial: Trial, metric: str | None = None) -> None:
        self._trial, self._metric = checked(trial), metric

    def __call__(self, step: Any) -> None:
        """Report the metric."""
        metrics = {f"{data} {name}": value for data, name, value, *_ in step.evaluation_result_list or ()}
        report(self._trial, step.iteration - step.begin_iteration + 1, chosen(metrics, self._metric))
