"""Slurm through submitit: each trial is a job. Without Slurm the jobs are processes of this machine.

The study lives in out/slurm.db, so that it can be continued when the process that submits is stopped. An argument is
the number of trials to run.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import submitit

import sonde

JOBS = 2  # at once

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
    Path("out").mkdir(exist_ok=True)
    executor = submitit.AutoExecutor(folder="out/jobs", cluster=None if shutil.which("srun") else "local")
    executor.update_parameters(timeout_min=60, cpus_per_task=4)  # and slurm_partition=..., gpus_per_node=...
    study = sonde.Study(SPACE, storage="sqlite:///out/slurm.db", name="slurm", seed=0)
    study.optimize(train, int(sys.argv[1]) if len(sys.argv) > 1 else 8, executor=executor, workers=JOBS)
    print(f"best log10 loss {study.best_value:.3f} with {study.best_params}")


if __name__ == "__main__":
    main()
