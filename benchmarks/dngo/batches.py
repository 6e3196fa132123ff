"""Large batches: fantasies of the pending points against Thompson sampling.

    python -m benchmarks.dngo.batches [--full] [--core K]

Synchronous rounds of q points; log10 regret after the last round, mean over functions and seeds.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.machine import use_one_core

ROUNDS = 5


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    import warnings

    from benchmarks.report import report

    warnings.filterwarnings("ignore")
    sizes, seeds = ((50, 150, 400), 3) if options.full else ((50,), 1)
    rows = []
    for size in sizes:
        for batch in ("greedy", "thompson"):
            started = time.process_time()
            regrets = {name: [run(name, batch, size, seed) for seed in range(seeds)] for name in FUNCTIONS}
            row: dict[str, Any] = {"points a round": size, "batch": batch}
            row |= {name: float(np.mean(found)) for name, found in regrets.items()}
            row["mean"] = float(np.mean(list(regrets.values())))
            row["s per point"] = (time.process_time() - started) / (len(FUNCTIONS) * seeds * size * ROUNDS)
            rows.append(row)
            print(row, flush=True)
    report("dngo_batches" + ("" if options.full else "_short"), f"log10 regret after {ROUNDS} rounds", rows)


def run(name: str, batch: str, size: int, seed: int) -> float:
    """Return the log10 regret after the last round."""
    import sonde

    function, dimension = FUNCTIONS[name]
    shift = np.random.default_rng(seed).uniform(-0.2, 0.2, dimension)
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(dimension)})
    study = sonde.Study(space, strategy=sonde.DNGO(batch=batch), seed=seed)
    for _ in range(ROUNDS):
        for trial in study.ask(size):
            study.tell(trial, function(np.array(list(trial.values())) - 0.5 - shift))
    return float(np.log10(study.best_value + 1e-8))


def _ripples(z: Any) -> float:
    return float(np.sum((4 * z) ** 2 + 2 * (1 - np.cos(12 * z))))


def _valley(z: Any) -> float:
    u = 1 + 2 * z
    return float(np.sum(100 * (u[1:] - u[:-1] ** 2) ** 2 + (1 - u[:-1]) ** 2))


def _edges(z: Any) -> float:
    return float(np.sum(np.abs(z)) + 2 * abs(z[0] - z[1]))


FUNCTIONS = {"ripples": (_ripples, 6), "valley": (_valley, 5), "edges": (_edges, 10)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--core", type=int, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
