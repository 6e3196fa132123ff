"""Weights & Biases: ``optimize(..., callbacks=[LogTrials(project="...")])`` makes a run of each trial that ends."""

from __future__ import annotations

from typing import Any

from sonde.extras import require
from sonde.integrations.logged import Logged, numbers, words
from sonde.study import Study
from sonde.trials import State, Trial

require("wandb", extra="wandb")

import wandb  # noqa: E402


class LogTrials(Logged):
    """Makes a run of each trial that ends: parameters, value, learning curve, state, and why it failed.

    Parameters
    ----------
    project
        The name of the project; by default that of the study.
    options
        More of ``wandb.init``: ``entity="..."``, ``mode="offline"``, ``dir="..."``, ``tags=[...]``.
    """

    def __init__(self, project: str | None = None, **options: Any) -> None:
        self._project, self._options = project, options

    def _log(self, study: Study, trial: Trial) -> None:
        given = {"project": self._project or study.name, "group": study.name, "name": f"trial {trial.number}"}
        run = wandb.init(**given | self._options, config=dict(trial.params), reinit="create_new")
        code = 1  # of a run that has failed
        try:
            for step, value in trial.curve:
                run.log({"step": step, "curve": value})
            run.summary.update(numbers(trial) | words(trial))
            code = int(trial.state is State.FAILED)
        finally:
            run.finish(exit_code=code)
