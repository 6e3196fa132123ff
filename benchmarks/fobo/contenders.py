"""Those that minimise an objective with gradients: ``fobo``, and what does without them."""

from collections.abc import Callable
from typing import Any

import numpy as np

Loss = Callable[..., Any]  # of a configuration: an ``Evaluation`` with a gradient
Play = Callable[[Loss, Any, int, int], np.ndarray]  # with a space, a number of evaluations and a seed: the best so far


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


def compare(loss: Loss, space: Any, evaluations: int, seeds: int) -> list[dict[str, Any]]:
    """Return a row for each contender: the best value, mean and deviation over seeds, on the way and at the end."""
    rows = []
    for name, play in CONTENDERS.items():
        found = np.array([play(loss, space, evaluations, seed) for seed in range(seeds)])
        row: dict[str, Any] = {"contender": name, "seeds": seeds}
        for mark in (evaluations // 4, evaluations // 2, evaluations):
            row[f"at {mark}"] = f"{found[:, mark - 1].mean():.4f} ± {found[:, mark - 1].std():.4f}"
        rows.append(row)
        print(row, flush=True)
    return rows
