"""A space of Sonde's as Optuna sees it."""

from typing import Any

from benchmarks.arena.spaces import active


def suggested(trial: Any, space: Any) -> dict[str, Any]:
    """Return the configuration that an Optuna trial suggests, define-by-run."""
    from sonde import Categorical, Float, Int

    chosen: dict[str, Any] = {}
    for name, each in space.parameters.items():
        if not active(each, chosen):
            continue
        if isinstance(each, Float):
            chosen[name] = trial.suggest_float(name, each.low, each.high, log=each.log, step=each.step)
        elif isinstance(each, Int):
            chosen[name] = trial.suggest_int(name, each.low, each.high, log=each.log, step=each.step)
        else:
            choices = each.choices if isinstance(each, Categorical) else (False, True)
            chosen[name] = trial.suggest_categorical(name, choices)
    return chosen
