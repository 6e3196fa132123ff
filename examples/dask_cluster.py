"""A Dask cluster: each trial runs on a worker, and the cluster grows and shrinks while the study runs.

Without a scheduler's address the cluster is on this machine. Arguments: the number of trials to run, and the address.
"""

import sys

import numpy as np
from distributed import Client, LocalCluster

import sonde

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
    if len(sys.argv) > 2:
        run(Client(sys.argv[2]), trials)
        return
    # For Slurm, PBS or SGE this is a cluster of dask_jobqueue, such as SLURMCluster(cores=4, memory="16 GB").
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        cluster.adapt(minimum=1, maximum=2)
        with Client(cluster) as client:
            run(client, trials)


def run(client: Client, trials: int) -> None:
    study = sonde.Study(SPACE, seed=0)
    study.optimize(train, trials, executor=client)
    print(f"best log10 loss {study.best_value:.3f} with {study.best_params}")


if __name__ == "__main__":
    main()
