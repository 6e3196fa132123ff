"""Keras: ``model.fit(..., validation_data=held_out, callbacks=[SondeCallback(trial)])``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.extras import require
from sonde.integrations.reporting import checked, chosen, report, warn_of_nothing
from sonde.trials import Trial

require("keras", extra="keras")

import keras  # noqa: E402


class SondeCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Reports a metric after each epoch, and ends a training that is not worth going on.

    Parameters
    ----------
    trial
        The trial of the objective.
    metric
        A name in Keras' logs.
    """

    def __init__(self, trial: Trial, metric: str = "val_loss") -> None:
        super().__init__()
        self._trial, self._metric, self._reported = checked(trial), metric, False

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Report the metric, unless it is of a validation and there was none, as with ``validation_freq=2``."""
        metrics = logs or {}
        if self._metric.startswith("val_") and not any(name.startswith("val_") for name in metrics):
            return
        self._reported = True
        report(self._trial, epoch + 1, chosen(metrics, self._metric))

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Warn if nothing was reported."""
        if not self._reported:
            warn_of_nothing(self._trial, self._metric)
