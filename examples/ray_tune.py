"""Ray Tune with Sonde as its search algorithm, and ASHA to end trainings early.

A network learns digits; what it learns fastest with is searched. Arguments: the number of trials, and the cluster's
address; without one Ray starts on this machine.
"""

import sys
import tempfile

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from sonde.integrations.ray import SondeSearch

EPOCHS = 27
SPACE = {
    "learning_rate": tune.loguniform(1e-4, 1e-1),
    "layers": {"count": tune.randint(1, 4), "width": tune.lograndint(8, 129)},
    "alpha": tune.loguniform(1e-6, 1.0),
    "batch_size": 64,
}


def train(config: dict) -> None:
    """Report the log loss on held-out digits after each epoch."""
    x, x_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)
    model = MLPClassifier(
        (config["layers"]["width"],) * config["layers"]["count"],
        learning_rate_init=config["learning_rate"],
        alpha=config["alpha"],
        batch_size=config["batch_size"],
        random_state=0,
    )
    for _ in range(EPOCHS):
        model.partial_fit(x / 16, y, classes=range(10))
        tune.report({"loss": log_loss(y_test, model.predict_proba(x_test / 16))})


def main(trials: int, address: str) -> None:
    ray.init(address=address, include_dashboard=False if address == "local" else None, log_to_driver=False)
    search = SondeSearch(seed=0, max_t=EPOCHS)
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            train,
            param_space=SPACE,
            tune_config=tune.TuneConfig(
                search_alg=search,
                scheduler=ASHAScheduler(max_t=EPOCHS, grace_period=3, reduction_factor=3),
                metric="loss",
                mode="min",
                num_samples=trials,
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        best = tuner.fit().get_best_result()
    epochs = sum(len(trial.curve) for trial in search.study.trials)
    print(f"best loss {best.metrics['loss']:.4f} after {epochs} epochs of {EPOCHS * trials}, with {best.config}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30, sys.argv[2] if len(sys.argv) > 2 else "local")
