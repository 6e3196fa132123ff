"""A hundred workers at once on a program that fails in most of its space.

    python examples/crowd.py

A made-up training run: four parameters, one of them there only for one kind of optimizer; too high a rate diverges, too
large a model runs out of memory. Workers end in any order, and whoever is free gets the next configuration at once.
An argument is the number of rounds, of 25 results each.
"""

import heapq
import math
import random
import sys

import sonde

SPACE = sonde.Space(
    rate=sonde.Float(1e-5, 10, log=True),
    width=sonde.Int(8, 4096, log=True),
    optimizer=sonde.Categorical(["sgd", "adam"]),
    momentum=sonde.Float(0, 0.99, when={"optimizer": "sgd"}),
)
WORKERS, ROUND = 100, 25


def train(params: sonde.Trial) -> float | None:
    """Return a loss, or nothing where the run breaks."""
    step = params["rate"] / (1 - params.get("momentum", 0.0))
    if step > 0.3 or params["width"] > 1500:
        return None
    off = math.log10(step) + (1.5 if params["optimizer"] == "sgd" else 2.5)
    return 0.1 * off**2 + 0.05 * math.log2(params["width"] / 600) ** 2 + 0.2 * (params["optimizer"] == "sgd")


def main() -> None:
    study = sonde.Study(SPACE, strategy="dngo", seed=0)
    clock = random.Random(0)
    running = [(clock.expovariate(1), trial.number, trial) for trial in study.ask(WORKERS)]
    heapq.heapify(running)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    for done in range(1, rounds * ROUND + 1):
        now, _, trial = heapq.heappop(running)
        loss = train(trial)
        study.tell(trial, failed="broke") if loss is None else study.tell(trial, loss)
        if len(running) <= WORKERS - ROUND:  # those that are free by now are served together
            for new in study.ask(ROUND):
                heapq.heappush(running, (now + clock.expovariate(1), new.number, new))
        if done % (2 * ROUND) == 0:
            print(f"{done} results, best {study.best_value:.5f}")
    print(study.explain())
    print("best:", study.best_params)


if __name__ == "__main__":
    main()
