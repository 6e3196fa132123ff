"""A Ray cluster: each trial is a task with its own CPUs and GPUs.

Without an address Ray starts on this machine. Arguments: the number of trials to run, and the cluster's address.
"""

import sys

import numpy as np

import sonde
from sonde.execution import RayExecutor

SPACE = sonde.Space(learning_rate=sonde.Float(1e-5, 1.0, log=True), momentum=sonde.Float(0.0, 0.99))


def train(trial: sonde.Trial) -> float:
    """Return the loss after 100 steps of gradient descent on an ill-conditioned quadratic."""
    curvature = np.geomspace(0.1, 10, 20)
    weights, velocity = np.ones(20), np.zeros(20)
    for _ in range(100):
        velocity = trial["momentum"] * velocity - trial["learning_rate"] * curvature * weights
        weights = weights + velocity
    return float(np.log10(weights @ (curvature * weights)))


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    address = sys.argv[2] if len(sys.argv) > 2 else "local"
    study = sonde.Study(SPACE, seed=0)
    with RayExecutor(num_cpus=1, num_gpus=0, address=address) as executor:
        study.optimize(train, trials, executor=executor, trial_timeout=600)
    print(f"best log10 loss {study.best_value:.3f} with {study.best_params}")


if __name__ == "__main__":
    main()
