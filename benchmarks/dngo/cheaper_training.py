"""What the shorter training of the networks costs in quality: the default recipe, of this version or of another.

    python -m benchmarks.dngo.cheaper_training [--seeds 2] [--core K]
    PYTHONPATH=../old/src python -m benchmarks.dngo.cheaper_training --suffix _before   # another version of Sonde

Functions, histories and scores are those of ``ablation``: mean log density of 400 unseen values and the share of them
in the 90% band; and processor seconds of the training from scratch, compilation included where there is any.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.machine import use_one_core

SIZES = (512, 1024, 2048, 4096)


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    from benchmarks.dngo.ablation import PROBLEMS, judge
    from benchmarks.report import report, write
    from sonde.strategies.threads import one_thread
    from sonde.surrogates.adaptive import Recipe

    name = f"dngo_cheaper_training{options.suffix}"
    rows: list[dict[str, Any]] = []
    for size in options.sizes:
        cases = [(make, dimension, seed) for make, dimension in PROBLEMS.values() for seed in range(options.seeds)]
        started = time.process_time()
        with one_thread():
            scores = np.array([judge(Recipe(), make, dimension, size, seed) for make, dimension, seed in cases])
        seconds = (time.process_time() - started) / len(cases)
        density = scores[:, 0].reshape(len(PROBLEMS), -1).mean(axis=1)
        rows.append({
            "n": size, "networks": Recipe().members, "log density": float(scores[:, 0].mean()),
            "in the band": float(scores[:, 1].mean()), "seconds": seconds,
            **dict(zip(PROBLEMS, density.tolist(), strict=True)),
        })  # fmt: skip
        write(name, rows)
    report(name, "What the shorter training costs", rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--suffix", default="", help="ends the names of the files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
