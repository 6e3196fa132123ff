"""Lightning: ``Trainer(..., callbacks=[SondeCallback(trial)])``, with a metric that the module logs."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback

from sonde.integrations.reporting import checked, chosen, report
from sonde.trials import Trial


class SondeCallback(Callback):  # type: ignore[misc]
    """Reports a metric after each validation, and ends a training that is not worth going on.

    Steps are epochs; a validation within an epoch has a fraction. All processes of a distributed training end together.

    Parameters
    ----------
    trial
        The trial of the objective.
    metric
        A name that the module gives to ``self.log`` in its validation.
    """

    def __init__(self, trial: Trial, metric: str = "val_loss") -> None:
        super().__init__()
        self._trial, self._metric = checked(trial), metric

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Report the metric."""
        if trainer.sanity_checking:
            return
        epochs = (trainer.fit_loop.total_batch_idx + 1) / trainer.num_training_batches
        value = chosen(trainer.callback_metrics, self._metric)
        report(self._trial, epochs, value, same=trainer.strategy.broadcast)
