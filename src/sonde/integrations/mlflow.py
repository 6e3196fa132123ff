"""MLflow: ``optimize(..., callbacks=[LogTrials()])`` makes a run of each trial that ends."""

from __future__ import annotations

import re
import time
from datetime import datetime

from sonde.extras import require
from sonde.integrations.logged import Logged, curve, numbers, words
from sonde.study import Study
from sonde.trials import State, Trial

require("mlflow", extra="mlflow")

from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Metric, Param, RunTag  # noqa: E402

LONGEST = 5000  # characters of a tag: an error with its traceback may have more


class LogTrials(Logged):
    """Makes a run of each trial that ends: parameters, value, learning curve, state, and why it failed.

    Parameters
    ----------
    tracking_uri
        Of the MLflow server or its database, such as ``"sqlite:///mlflow.db"``; by default as MLflow is configured.
    experiment
        The name of the experiment; by default that of the study.
    """

    def __init__(self, tracking_uri: str | None = None, experiment: str | None = None) -> None:
        self._tracking_uri, self._experiment = tracking_uri, experiment

    def _log(self, study: Study, trial: Trial) -> None:
        client, name = MlflowClient(self._tracking_uri), self._experiment or study.name
        known = client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else client.create_experiment(name)
        began, ended = _milliseconds(trial.started), _milliseconds(trial.finished)
        run = client.create_run(experiment, began, run_name=f"trial {trial.number}").info.run_id
        status = "FAILED"
        try:
            client.log_batch(
                run,
                metrics=[Metric("curve", value, ended, step) for step, value in curve(trial)]
                + [Metric(_allowed(metric), number, ended, 0) for metric, number in numbers(trial).items()],
                params=[Param(_allowed(parameter), str(value)) for parameter, value in trial.params.items()],
                tags=[RunTag(_allowed(f"sonde.{tag}"), text[-LONGEST:]) for tag, text in words(trial).items()],
            )
            status = "FAILED" if trial.state is State.FAILED else "FINISHED"
        finally:
            client.set_terminated(run, status, ended)


def _allowed(name: str) -> str:
    """Return a name as MLflow takes it."""
    return re.sub(r"[^\w\-./ :]", "_", name)


def _milliseconds(when: datetime | None) -> int:
    return round(1000 * (time.time() if when is None else when.timestamp()))
