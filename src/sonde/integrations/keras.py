"""Keras: ``model.fit(..., validation_data=held_out, callbacks=[SondeCallback(trial)])``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from sonde.integrations.reporting import checked, chosen, report
from sonde.trials import Trial


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
        self._trial, self._metric = checked(trial), metric

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Report the metric."""
        report(self._trial, epoch + 1, chosen(logs or {}, self._metric))
