"""Lightning: ``Trainer(..., callbacks=[SondeCallback(trial)])``, with a metric that the module logs."""

from __future__ import annotations

from typing import Any

from sonde.extras import require
from sonde.integrations.reporting import checked, chosen, report, warn_of_nothing
from sonde.trials import Trial

require("lightning", extra="lightning")

from lightning.pytorch import Callback  # noqa: E402


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
        self._trial, self._metric, self._reported = checked(trial), metric, False

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Report the metric."""
        if trainer.sanity_checking:
            return
        epochs = (trainer.fit_loop.total_batch_idx + 1) / trainer.num_training_batches
        value = chosen(trainer.callback_metrics, self._metric)
        self._reported = True
        report(self._trial, epochs, value, same=trainer.strategy.broadcast)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Warn if nothing was reported."""
        if not self._reported:
            warn_of_nothing(self._trial, self._metric)
