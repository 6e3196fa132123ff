"""The optimizers that are compared on an objective with gradients: ``fobo``, and others that do not use them."""

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import use_one_core

Loss = Callable[..., Any]  # of a configuration: an ``Evaluation`` with a gradient
Play = Callable[[Loss, Any, int, int], np.ndarray]  # with a space, a number of evaluations and a seed: the best so far


class Size(NamedTuple):
    """How much is run, and what is added to the names of its results."""

    evaluations: int
    seeds: int
    suffix: str


def begin(description: str | None) -> Size:
    """Read the command line, keep to one core, and return how much to run."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="100 evaluations and 5 seeds instead of 40 and 2")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    options = parser.parse_args()
    use_one_core(options.core)
    warnings.filterwarnings("ignore")
    return Size(100, 5, "") if options.full else Size(40, 2, "_short")


def with_sonde(strategy: str, *, gradients: bool = False) -> Play:
    """Return a contender that asks one of Sonde's strategies."""

    def play(loss: Loss, space: Any, evaluations: int, seed: int) -> np.ndarray:
        import sonde

        study, values = sonde.Study(space, strategy=strategy, seed=seed), []
        for _ in range(evaluations):
            trial = study.ask()
            result = loss(trial)
            values.append(float(result.value))
            study.tell(trial, result if gradients else values[-1])
        return np.minimum.accumulate(values)

    return play


def with_optuna(loss: Loss, space: Any, evaluations: int, seed: int) -> np.ndarray:
    """Ask Optuna's TPE."""
    import optuna

    from benchmarks.optuna_space import suggested

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study, values = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed)), []
    for _ in range(evaluations):
        trial = study.ask()
        values.append(float(loss(suggested(trial, space)).value))
        study.tell(trial, values[-1])
    return np.minimum.accumulate(values)


CONTENDERS: dict[str, Play] = {
    "fobo, gradients": with_sonde("fobo", gradients=True),
    "gp": with_sonde("gp"),
    "Optuna TPE": with_optuna,
    "random": with_sonde("random"),
}


def compare(loss: Loss, space: Any, size: Size) -> list[dict[str, Any]]:
    """Return a row for each contender: the best value, mean and deviation over seeds, on the way and at the end."""
    rows, (evaluations, seeds, _) = [], size
    for name, play in CONTENDERS.items():
        found = np.array([play(loss, space, evaluations, seed) for seed in range(seeds)])
        row: dict[str, Any] = {"contender": name, "seeds": seeds}
        for mark in (evaluations // 4, evaluations // 2, evaluations):
            row[f"at {mark}"] = f"{found[:, mark - 1].mean():.4f} ± {found[:, mark - 1].std():.4f}"
        rows.append(row)
        print(row, flush=True)
    return rows
