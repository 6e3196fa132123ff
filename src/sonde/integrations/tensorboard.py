"""TensorBoard: ``optimize(..., callbacks=[LogTrials("runs")])`` writes what its page of hyperparameters shows."""

from __future__ import annotations

import time
from os import PathLike
from pathlib import Path
from typing import Any

from sonde.extras import require
from sonde.integrations.logged import Logged, curve, numbers
from sonde.study import Study
from sonde.trials import State, Trial

require("tensorboard", extra="tensorboard")

from tensorboard.compat.proto.event_pb2 import Event  # noqa: E402
from tensorboard.compat.proto.summary_pb2 import Summary  # noqa: E402
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2  # noqa: E402
from tensorboard.plugins.hparams.summary_v2 import hparams_pb  # noqa: E402
from tensorboard.summary.writer.event_file_writer import EventFileWriter  # noqa: E402


class LogTrials(Logged):
    """Writes each trial that ends: parameters, value and learning curve.

    Parameters
    ----------
    folder
        That of ``tensorboard --logdir``. A trial is a folder in it, ``<study>/trial-<number>``.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._folder = Path(folder)

    def _log(self, study: Study, trial: Trial) -> None:
        began = trial.started.timestamp() if trial.started else time.time()
        ended = trial.finished.timestamp() if trial.finished else time.time()
        params = {name: value if isinstance(value, bool | int | float) else str(value) for name, value in trial.items()}
        status = api_pb2.STATUS_FAILURE if trial.state is State.FAILED else api_pb2.STATUS_SUCCESS
        events = [
            Event(wall_time=began, summary=hparams_pb(params, f"trial {trial.number}", began)),
            *(_scalar("curve", value, step, ended) for step, value in curve(trial)),
            *(_scalar(name, number, 0, ended) for name, number in numbers(trial).items()),
            Event(wall_time=ended, summary=_end(status, ended)),
        ]
        writer = EventFileWriter(str(self._folder / study.name / f"trial-{trial.number:04d}"))
        try:
            for event in events:
                writer.add_event(event)
        finally:
            writer.close()


def _scalar(name: str, value: float, step: int, when: float) -> Any:
    return Event(wall_time=when, step=step, summary=Summary(value=[Summary.Value(tag=name, simple_value=value)]))


def _end(status: int, when: float) -> Any:
    ended = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=when)
    about = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(session_end_info=ended))
    return Summary(
        value=[Summary.Value(tag=metadata.SESSION_END_INFO_TAG, metadata=about, tensor=metadata.NULL_TENSOR)]
    )
