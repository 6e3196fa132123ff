"""Callbacks that log trials, read back by the libraries themselves."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.execution.clusters import wait_for

import sonde

pytestmark = pytest.mark.filterwarnings("ignore:.*loader strategy is deprecated")  # MLflow's, with SQLAlchemy
SPACE = sonde.Space(rate=sonde.Float(1e-3, 1, log=True), kind=sonde.Categorical(["a", "b"]))


def objective(trial: sonde.Trial) -> float:
    """One trial fails, one is stopped; the others report a curve."""
    if trial.number == 1:
        raise ValueError("out of memory")
    for step in range(1, 4):
        trial.report(step, trial["rate"] + 1 / step)
        if trial.number == 2:
            raise sonde.Stopped
    trial.attributes["epochs"] = 3
    return float(trial["rate"])


def logged(*callbacks: Any) -> sonde.Study:
    study = sonde.Study(SPACE, name="first", seed=0, strategy="random")
    study.optimize(objective, 4, callbacks=callbacks, progress=False)
    return study


def test_mlflow(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    from sonde.integrations.mlflow import LogTrials as ToMLflow

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    study = logged(ToMLflow(uri))
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("first")
    runs = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])
    assert [run.info.run_name for run in runs] == [f"trial {i}" for i in range(4)]
    assert [run.info.status for run in runs] == ["FINISHED", "FAILED", "FINISHED", "FINISHED"]
    for run, trial in zip(runs, study.trials, strict=True):
        assert run.data.params == {"rate": str(trial["rate"]), "kind": trial["kind"]}
        assert run.data.metrics.get("value") == trial.value
        assert run.data.tags["sonde.state"] == trial.state
        curve = client.get_metric_history(run.info.run_id, "curve")
        assert [(each.step, each.value) for each in curve] == list(trial.curve)
    assert "out of memory" in runs[1].data.tags["sonde.error"]
    assert runs[3].data.tags["sonde.epochs"] == "3"


def test_several_objectives_go_to_an_experiment_of_another_name(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    from sonde.integrations.mlflow import LogTrials as ToMLflow

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    study = sonde.Study(SPACE, objectives={"loss": "minimize", "size": "maximize"}, seed=0)
    study.optimize(
        lambda trial: {"loss": trial["rate"], "size": 2.0}, 2, callbacks=[ToMLflow(uri, "all")], progress=False
    )
    client = MlflowClient(uri)
    runs = client.search_runs([client.get_experiment_by_name("all").experiment_id])
    assert [run.data.metrics["size"] for run in runs] == [2.0, 2.0]
    assert {run.data.metrics["loss"] for run in runs} == {trial["rate"] for trial in study.trials}


def test_mlflow_takes_any_name_and_fractions_of_epochs(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    from sonde.integrations.mlflow import LogTrials as ToMLflow

    def objective(trial: sonde.Trial) -> float:
        for step in range(1, 6):
            trial.report(step / 2, 1 / step)
        trial.attributes["size (MB)"] = 3
        return 0.5

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    study = sonde.Study({"a+b": (0.0, 1.0)}, name="first", seed=0)
    study.optimize(objective, 1, callbacks=[ToMLflow(uri)], progress=False)
    client = MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("first").experiment_id])
    assert (run.data.params, run.data.tags["sonde.size _MB_"]) == ({"a_b": str(study.best_params["a+b"])}, "3")
    curve = client.get_metric_history(run.info.run_id, "curve")
    assert [(each.step, each.value) for each in curve] == [(step, 1 / step) for step in range(1, 6)]


def test_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    from sonde.integrations.tensorboard import LogTrials as ToTensorBoard

    study = logged(ToTensorBoard(tmp_path))
    for trial in study.trials:
        read = EventAccumulator(str(tmp_path / "first" / f"trial-{trial.number:04d}"))
        read.Reload()
        curve = [(each.step, each.value) for each in read.Scalars("curve")] if trial.curve else []
        assert [step for step, _ in curve] == [step for step, _ in trial.curve]
        assert [value for _, value in curve] == pytest.approx([value for _, value in trial.curve])
        if trial.value is not None:
            assert read.Scalars("value")[0].value == pytest.approx(trial.value)
        content = read.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
        begun = HParamsPluginData.FromString(content).session_start_info
        assert begun.hparams["kind"].string_value == trial["kind"]
        assert begun.hparams["rate"].number_value == trial["rate"]
        content = read.SummaryMetadata("_hparams_/session_end_info").plugin_data.content
        ended = HParamsPluginData.FromString(content).session_end_info
        assert (ended.status == 2) == (trial.state == "failed")  # FAILURE


def logged_records(content: bytes) -> list[bytes]:
    """Read the format of W&B's files, LevelDB's log: blocks of 32 KiB with records that may be in several parts."""
    records, begun, place = list[bytes](), b"", 7  # after the header
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        size, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        begun += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            records, begun = [*records, begun], b""
    return records


def written(folder: Path, record: Any, count: int) -> list[list[Any]]:
    """Return the records of each run, once so many have ended: W&B's own process writes them."""
    files = folder.glob("wandb/offline-run-*/*.wandb")
    every = [[record.FromString(each) for each in logged_records(file.read_bytes())] for file in files]
    return every if sum(each.HasField("exit") for records in every for each in records) == count else []


def test_weights_and_biases_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wandb.proto.wandb_internal_pb2 import Record

    from sonde.integrations.wandb import LogTrials as ToWandB

    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "more"))
    monkeypatch.setenv("WANDB_SILENT", "true")
    study = logged(ToWandB("project", mode="offline", dir=str(tmp_path)))
    found = {}
    for records in wait_for(lambda: written(tmp_path, Record, 4)):
        (run,) = (record.run for record in records if record.HasField("run"))
        config = {item.key: json.loads(item.value_json) for item in run.config.update}
        curve = [
            {(item.key or item.nested_key[0]): json.loads(item.value_json) for item in record.history.item}
            for record in records if record.HasField("history")
        ]  # fmt: skip
        (code,) = (record.exit.exit_code for record in records if record.HasField("exit"))
        found[run.display_name] = (run.project, config, [(each["step"], each["curve"]) for each in curve], code)
    assert found.keys() == {f"trial {i}" for i in range(4)}
    for trial in study.trials:
        project, config, curve, code = found[f"trial {trial.number}"]
        assert project == "project"
        assert {name: config[name] for name in trial} == dict(trial)
        assert curve == list(trial.curve)
        assert code == int(trial.state == "failed")


def test_what_cannot_be_logged_is_a_warning_and_the_run_goes_on() -> None:
    from sonde.integrations.mlflow import LogTrials as ToMLflow

    with pytest.warns(UserWarning, match=r"trial \d was not logged, its result is in the study: .*nonsense"):
        study = logged(ToMLflow("nonsense://nowhere"))
    assert len(study.trials) == 4


def test_a_tracker_that_takes_long_to_fail_does_not_hold_up_the_run() -> None:
    from sonde.integrations.logged import Logged

    class Slow(Logged):
        tried = 0

        def _log(self, study: sonde.Study, trial: sonde.Trial) -> None:
            self.tried += 1
            time.sleep(0.2)
            raise ConnectionError("no answer")

    log = Slow()
    with pytest.warns(UserWarning, match=r"trial \d was not logged, its result is in the study: no answer"):
        logged(log)
    assert log.tried == 1


def test_trials_of_the_past_can_be_logged(tmp_path: Path) -> None:
    from sonde.integrations.tensorboard import LogTrials as ToTensorBoard

    study = logged()
    log = ToTensorBoard(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for trial in study.trials:
            log(study, trial)
    assert len(list(tmp_path.glob("first/trial-*/*"))) == 4
