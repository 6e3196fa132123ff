"""A space of Sonde's as Optuna sees it."""

from typing import Any


def suggested(trial: Any, space: Any) -> dict[str, Any]:
    """Return the configuration that an Optuna trial suggests."""
    from sonde import Bool, Categorical, Float, Int

    chosen: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if parameter.when and any(chosen[parent] != value for parent, value in parameter.when.items()):
            continue
        if isinstance(parameter, Categorical):
            chosen[name] = trial.suggest_categorical(name, parameter.choices)
        elif isinstance(parameter, Bool):
            chosen[name] = trial.suggest_categorical(name, [False, True])
        elif isinstance(parameter, Float):
            chosen[name] = trial.suggest_float(name, parameter.low, parameter.high, log=parameter.log)
        elif isinstance(parameter, Int):
            chosen[name] = trial.suggest_int(name, parameter.low, parameter.high, log=parameter.log)
    return chosen
