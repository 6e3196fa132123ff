"""One training in XGBoost, LightGBM, Keras and Lightning: each reports its loss after every step, and is stopped early.

The argument is the number of trials for each; further ones name the libraries:

    pip install 'sonde[xgboost,lightgbm,keras,lightning,torch]' scikit-learn
    python examples/trainings.py 30 keras lightning
"""

import logging
import os
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import sonde

STEPS = 12
images, labels = load_digits(return_X_y=True)
parts = train_test_split((images / 16).astype(np.float32), labels, test_size=0.4, random_state=0)
train_x, valid_x, train_y, valid_y = parts
TREES = {"rate": (1e-3, 1.0, "log"), "depth": range(2, 8)}
NETWORK = {"rate": (1e-4, 1.0, "log"), "width": range(8, 129)}


def by_xgboost(trial: sonde.Trial) -> float:
    import xgboost

    from sonde.integrations.xgboost import SondeCallback

    params = {"objective": "multi:softprob", "num_class": 10, "eta": trial["rate"], "max_depth": trial["depth"]}
    seen: dict = {}
    xgboost.train(
        params, xgboost.DMatrix(train_x, train_y), STEPS, evals=[(xgboost.DMatrix(valid_x, valid_y), "valid")],
        evals_result=seen, verbose_eval=False, callbacks=[SondeCallback(trial)],
    )  # fmt: skip
    return seen["valid"]["mlogloss"][-1]


def by_lightgbm(trial: sonde.Trial) -> float:
    import lightgbm

    from sonde.integrations.lightgbm import SondeCallback

    model = lightgbm.LGBMClassifier(
        learning_rate=trial["rate"], max_depth=trial["depth"], n_estimators=STEPS, verbose=-1
    )
    model.fit(train_x, train_y, eval_set=[(valid_x, valid_y)], callbacks=[SondeCallback(trial)])
    return model.evals_result_["valid_0"]["multi_logloss"][-1]


def by_keras(trial: sonde.Trial) -> float:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    from sonde.integrations.keras import SondeCallback

    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(trial["width"], "relu")
    model = keras.Sequential([keras.layers.Input((64,)), hidden, keras.layers.Dense(10, "softmax")])
    model.compile(keras.optimizers.SGD(trial["rate"], momentum=0.9), "sparse_categorical_crossentropy")
    told = model.fit(
        train_x, train_y, 64, STEPS, verbose=0, validation_data=(valid_x, valid_y), callbacks=[SondeCallback(trial)]
    )
    return told.history["val_loss"][-1]


def by_lightning(trial: sonde.Trial) -> float:
    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from sonde.integrations.lightning import SondeCallback

    class Network(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(64, trial["width"]), torch.nn.ReLU(), torch.nn.Linear(trial["width"], 10)
            )

        def loss(self, batch: list) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

        def training_step(self, batch: list, index: int) -> torch.Tensor:
            return self.loss(batch)

        def validation_step(self, batch: list, index: int) -> None:
            self.log("val_loss", self.loss(batch))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=trial["rate"], momentum=0.9)

    def data(x: np.ndarray, y: np.ndarray, size: int) -> DataLoader:
        return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), size)

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    pl.seed_everything(0, verbose=False)
    trainer = pl.Trainer(
        max_epochs=STEPS, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[SondeCallback(trial)],
    )  # fmt: skip
    trainer.fit(Network(), data(train_x, train_y, 64), data(valid_x, valid_y, len(valid_x)))
    return float(trainer.callback_metrics["val_loss"])


LIBRARIES = {"xgboost": by_xgboost, "lightgbm": by_lightgbm, "keras": by_keras, "lightning": by_lightning}


def main(trials: int, names: list[str]) -> None:
    for name in names or LIBRARIES:
        objective = LIBRARIES[name]
        space = TREES if objective in (by_xgboost, by_lightgbm) else NETWORK
        study = sonde.minimize(objective, space, trials, seed=0).study
        steps = sum(len(trial.curve) for trial in study.trials)
        print(f"{name}: best loss {study.best_value:.3f} with {study.best_params}, {steps} steps of {STEPS * trials}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:])
