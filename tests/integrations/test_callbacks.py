"""Callbacks of training libraries, each in a training of that library, on curves that are known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import OptionError
from sonde.integrations.lightgbm import SondeCallback as ForLightGBM
from sonde.integrations.xgboost import SondeCallback as ForXGBoost
from sonde.trials import State

os.environ.setdefault("KERAS_BACKEND", "torch")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)).astype(np.float32)
Y = (X @ np.array([1, -2, 0.5], np.float32)).astype(np.float32)
HELD_OUT = RNG.normal(size=(100, 3)).astype(np.float32)
TRUTH = (HELD_OUT @ np.array([1, -2, 0.5], np.float32)).astype(np.float32)
ROUNDS = 8
pytestmark = pytest.mark.filterwarnings("ignore::sonde.errors.AtBound")

Training = Callable[..., list[float]]  # of a trial and the metric to report; returns its values


def by_xgboost(trial: sonde.Trial, metric: Any = None) -> list[float]:
    import xgboost

    seen: dict[str, Any] = {}
    evals = [(xgboost.DMatrix(X, Y), "train"), (xgboost.DMatrix(HELD_OUT, TRUTH), "validation")]
    xgboost.train(
        {"eta": trial["rate"], "max_depth": 3, "eval_metric": ["mae", "rmse"], "nthread": 1}, evals[0][0], ROUNDS,
        evals=evals, evals_result=seen, verbose_eval=False, callbacks=[ForXGBoost(trial, metric)],
    )  # fmt: skip
    return list(seen["validation"]["rmse"])


def by_lightgbm(trial: sonde.Trial, metric: Any = None) -> list[float]:
    import lightgbm

    seen: dict[str, Any] = {}
    train = lightgbm.Dataset(X, Y)
    options = {"learning_rate": trial["rate"], "metric": ["l1", "l2"], "num_threads": 1, "verbose": -1}
    lightgbm.train(
        options, train, ROUNDS, valid_sets=[lightgbm.Dataset(HELD_OUT, TRUTH, reference=train)],
        callbacks=[lightgbm.record_evaluation(seen), ForLightGBM(trial, metric)],
    )  # fmt: skip
    return list(seen["valid_0"]["l2"])


def by_keras(trial: sonde.Trial, metric: str = "val_loss", **options: Any) -> list[float]:
    import keras

    from sonde.integrations.keras import SondeCallback

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(trial["rate"]), "mse")
    validation = {"validation_data": (HELD_OUT, TRUTH)} | options
    told = model.fit(X, Y, 50, ROUNDS, verbose=0, callbacks=[SondeCallback(trial, metric)], **validation)
    return list(told.history.get("val_loss", []))


def by_lightning(trial: sonde.Trial, metric: str = "val_loss", **options: Any) -> list[float]:
    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from sonde.integrations.lightning import SondeCallback

    class Linear(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.weights, self.seen = torch.nn.Linear(3, 1), list[float]()

        def loss(self, batch: Any) -> Any:
            return ((self.weights(batch[0])[:, 0] - batch[1]) ** 2).mean()

        def training_step(self, batch: Any, index: int) -> Any:
            return self.loss(batch)

        def validation_step(self, batch: Any, index: int) -> None:
            loss = self.loss(batch)
            self.log("val_loss", loss)
            if not self.trainer.sanity_checking:
                self.seen.append(float(loss))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), trial["rate"])

    def data(x: Any, y: Any, size: int) -> Any:
        return DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), size)

    torch.manual_seed(0)
    module = Linear()
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = pl.Trainer(
        max_epochs=ROUNDS,
        accelerator="cpu",
        callbacks=[SondeCallback(trial, metric)],
        **quiet | options,
    )
    trainer.fit(module, data(X, Y, 50), data(HELD_OUT, TRUTH, 100))
    return module.seen


LIBRARIES: dict[str, Training] = {
    "xgboost": by_xgboost, "lightgbm": by_lightgbm, "keras": by_keras, "lightning": by_lightning,
}  # fmt: skip


@pytest.fixture(params=LIBRARIES)
def training(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Training:
    monkeypatch.chdir(tmp_path)
    return LIBRARIES[request.param]


@pytest.mark.filterwarnings("ignore:.*(dataloader|num_workers|GPU|isinstance)")
def test_curves_are_those_of_the_library_and_hopeless_trainings_end(training: Training) -> None:
    curves: dict[int, list[float]] = {}

    def objective(trial: sonde.Trial) -> float:
        curves[trial.number] = training(trial)
        return curves[trial.number][-1]

    study = sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0, strategy="sobol")
    study.optimize(objective, 24, catch=(), progress=False)
    for trial in study.trials:
        steps = [step for step, _ in trial.curve]
        if trial.state is State.COMPLETED:
            assert steps == list(range(1, ROUNDS + 1))
            np.testing.assert_allclose([value for _, value in trial.curve], curves[trial.number], rtol=1e-5)
    stopped = [trial for trial in study.trials if trial.state is State.STOPPED]
    assert stopped
    assert all(len(trial.curve) < ROUNDS for trial in stopped)
    assert study.best_trial["rate"] > 0.03


@pytest.mark.filterwarnings("ignore:.*(dataloader|num_workers|GPU|isinstance)")
def test_a_metric_that_is_not_there_is_said(training: Training) -> None:
    trial = sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0).ask()
    with pytest.raises(OptionError, match=r"no metric is called 'accuracy'; there are .*"):
        training(trial, "accuracy")


def test_another_metric() -> None:
    study = sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0)
    for training, name in ((by_xgboost, "train-mae"), (by_lightgbm, "valid_0 l1")):
        trial = study.ask()
        values = training(trial, name)
        curve = study.trial(trial.number).curve
        assert len(curve) == ROUNDS
        assert not np.allclose([value for _, value in curve], values)


def test_cross_validations() -> None:
    import lightgbm
    import xgboost

    study = sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0)
    first, second = study.ask(2)
    said = xgboost.cv(
        {"eta": first["rate"], "nthread": 1}, xgboost.DMatrix(X, Y), ROUNDS, nfold=3, as_pandas=False,
        callbacks=[ForXGBoost(first)],
    )  # fmt: skip
    np.testing.assert_allclose([value for _, value in study.trial(0).curve], said["test-rmse-mean"], rtol=1e-6)
    told = lightgbm.cv(
        {"learning_rate": second["rate"], "objective": "l2", "num_threads": 1, "verbose": -1}, lightgbm.Dataset(X, Y),
        ROUNDS, nfold=3, stratified=False, callbacks=[ForLightGBM(second)],
    )  # fmt: skip
    np.testing.assert_allclose([value for _, value in study.trial(1).curve], told["valid l2-mean"], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*(dataloader|num_workers|GPU|isinstance)")
def test_a_validation_within_an_epoch_has_a_fraction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0)
    values = by_lightning(study.ask(), val_check_interval=0.5)
    assert [step for step, _ in study.trial(0).curve] == [i / 2 for i in range(1, 2 * ROUNDS + 1)]
    np.testing.assert_allclose([value for _, value in study.trial(0).curve], values, rtol=1e-5)


def test_the_trial_comes_first() -> None:
    for callback in (ForXGBoost, ForLightGBM):
        with pytest.raises(OptionError, match="takes the trial of the objective first, got str"):
            callback("validation-rmse")  # type: ignore[arg-type]


def test_without_validation_there_is_nothing_to_report() -> None:
    import lightgbm

    callback = ForLightGBM(sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0).ask())
    with pytest.raises(OptionError, match="give the training data to validate on"):
        lightgbm.train({"num_threads": 1, "verbose": -1}, lightgbm.Dataset(X, Y), 2, callbacks=[callback])


@pytest.mark.filterwarnings("ignore:.*(dataloader|num_workers|GPU|isinstance|__array__ implementation)")
@pytest.mark.parametrize(
    ("training", "every", "never"),
    [
        (by_keras, {"validation_freq": 2}, {"validation_data": None}),
        (by_lightning, {"check_val_every_n_epoch": 2}, {"limit_val_batches": 0}),
    ],
)
def test_epochs_without_a_validation_report_nothing(
    training: Training, every: Any, never: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = sonde.Study({"rate": (1e-4, 0.3, "log")}, seed=0)
    values = training(study.ask(), **every)
    assert [step for step, _ in study.trial(0).curve] == [2, 4, 6, 8]
    np.testing.assert_allclose([value for _, value in study.trial(0).curve], values, rtol=1e-5)
    with pytest.warns(UserWarning, match="trial 1 has reported nothing: its training had no validation"):
        training(study.ask(), **never)
