"""The short training of the networks, compared with a long one.

    python -m benchmarks.dngo.cheaper_training [--seeds 3] [--core K]
    PYTHONPATH=../old/src python -m benchmarks.dngo.cheaper_training --suffix _before --trainings default

Functions, histories and scores are those of ``ablation``: mean log density of 400 unseen values and the coverage of the
90% interval. Seconds are processor seconds of the training from random weights, validation networks included. A
restarted run continues where it stopped.
"""

import argparse
import time
from itertools import product
from typing import Any

import numpy as np

from benchmarks.machine import use_one_core

TRAININGS = ("default", "long")  # the second: five networks and 2000 steps of Adam
SIZES = (512, 1024, 2048, 4096, 16384)


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.dngo.ablation import PROBLEMS, known, score_model
    from benchmarks.report import report, write
    from sonde.strategies.threads import one_thread
    from sonde.surrogates.basis.adaptive import Recipe

    recipes = {"default": Recipe(), "long": Recipe(members=5, optimizer="adam")}
    name = f"dngo_cheaper_training{options.suffix}"
    rows = known(name)
    done = {(row["training"], int(row["n"])) for row in rows}
    cases = [(make, dimension, seed) for make, dimension in PROBLEMS.values() for seed in range(options.seeds)]
    for size, training in product(options.sizes, options.trainings):
        if (training, size) in done:
            continue
        recipe = recipes[training]
        started = time.process_time()
        with one_thread():
            scores = np.array([score_model(recipe, make, dimension, size, seed) for make, dimension, seed in cases])
        seconds = (time.process_time() - started) / len(cases)
        density = scores[:, 0].reshape(len(PROBLEMS), -1)
        row: dict[str, Any] = {
            "n": size, "training": training, "log density": float(density.mean()),
            "deviation of seeds": float(density.mean(axis=0).std(ddof=1)) if options.seeds > 1 else float("nan"),
            "in the band": float(scores[:, 1].mean()), "seconds": seconds,
            **dict(zip(PROBLEMS, density.mean(axis=1).tolist(), strict=True)),
        }  # fmt: skip
        rows = sorted([*rows, row], key=lambda each: (int(each["n"]), each["training"]))
        write(name, rows)
    report(name, "Short and long training", rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--suffix", default="", help="suffix of the file names")
    parser.add_argument("--trainings", nargs="*", default=TRAININGS, choices=TRAININGS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
