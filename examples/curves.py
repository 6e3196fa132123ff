"""Stopping early: a network on the digits that ship with scikit-learn; its error after each epoch is a learning curve.

Trials that are not worth going on stop after a few epochs, and the surrogate learns from the error that they would have
had. The study lives in out/curves.db: run it again and it goes on. An argument is the number of trials to run.
"""

import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import sonde

TRIALS = 40
EPOCHS = 20
images, labels = load_digits(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(images / 16, labels, test_size=0.4, random_state=0)

SPACE = sonde.Space(
    width=sonde.Int(4, 128, log=True),
    learning_rate=sonde.Float(1e-4, 1.0, log=True),
    momentum=sonde.Float(0.0, 0.99),
    decay=sonde.Float(1e-6, 1.0, log=True),
    batch=sonde.Categorical([16, 32, 64, 128]),
)


def train(trial: sonde.Trial) -> float | None:
    """Return the error on the validation set after all epochs."""
    network = MLPClassifier(
        trial["width"], solver="sgd", learning_rate_init=trial["learning_rate"], momentum=trial["momentum"],
        alpha=trial["decay"], batch_size=trial["batch"], random_state=0,
    )  # fmt: skip
    error = 1.0
    for epoch in range(1, EPOCHS + 1):
        network.partial_fit(train_x, train_y, classes=range(10))
        error = 1 - network.score(valid_x, valid_y)
        trial.report(epoch, error)
        if trial.should_stop():
            return None
    return error


def main() -> None:
    Path("out").mkdir(exist_ok=True)
    study = sonde.Study(SPACE, storage="sqlite:///out/curves.db", name="network", seed=0)
    study.optimize(train, int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
    trials = study.trials
    epochs, stopped = sum(len(trial.curve) for trial in trials), sum(trial.state == "stopped" for trial in trials)
    print(f"{stopped} of {len(trials)} trials stopped: {epochs} epochs instead of {EPOCHS * len(trials)}")
    print(f"best error {study.best_value:.4f} with {study.best_params}")


if __name__ == "__main__":
    main()
