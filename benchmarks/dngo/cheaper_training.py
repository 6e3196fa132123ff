"""What the shorter training costs in quality: the networks as they are against long stochastic training.

    python -m benchmarks.dngo.cheaper_training [--seeds 2] [--core K]

Functions, histories and scores are those of ``ablation``: mean log density of 400 unseen values and the share of them
in the 90% band, at n = 512 to 4096; and processor seconds of the training from scratch. The long training is the former
default: five networks, 2000 steps of Adam on minibatches of 256, now in NumPy with the same loss.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.machine import use_one_core

SIZES = (512, 1024, 2048, 4096)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    options = parser.parse_args()
    use_one_core(options.core)
    from benchmarks.dngo.ablation import PROBLEMS, judge
    from benchmarks.report import report, write
    from sonde.strategies.threads import one_thread
    from sonde.surrogates.adaptive import Recipe

    recipes = {"as it is": Recipe(), "long Adam": Recipe(members=5, optimizer="adam")}
    rows: list[dict[str, Any]] = []
    for size in options.sizes:
        for name, recipe in recipes.items():
            started = time.process_time()
            cases = [(make, dimension, seed) for make, dimension in PROBLEMS.values() for seed in range(options.seeds)]
            with one_thread():
                scores = np.array([judge(recipe, make, dimension, size, seed) for make, dimension, seed in cases])
            seconds = (time.process_time() - started) / len(scores)
            density = scores[:, 0].reshape(len(PROBLEMS), -1).mean(axis=1)
            rows.append({
                "n": size, "training": name, "log density": float(scores[:, 0].mean()),
                "in the band": float(scores[:, 1].mean()), "seconds": seconds,
                **dict(zip(PROBLEMS, density.tolist(), strict=True)),
            })  # fmt: skip
            write("dngo_cheaper_training", rows)
    report("dngo_cheaper_training", "What the shorter training costs", rows)


if __name__ == "__main__":
    main()
