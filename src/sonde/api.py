"""The one-call interface: ``minimize``, ``maximize``, ``load``, ``delete``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sonde.errors import Interrupted
from sonde.space import Space
from sonde.storage import Storage, open_storage
from sonde.strategies import Strategy
from sonde.study import Study, checks
from sonde.trials import Trial


@dataclass(frozen=True)
class Result:
    """What ``minimize`` and ``maximize`` return; ``x`` and ``fun`` are SciPy's names for the best."""

    study: Study
    best_trial: Trial

    @property
    def best_params(self) -> dict[str, Any]:
        """The best parameters."""
        return dict(self.best_trial.params)

    @property
    def best_value(self) -> float:
        """The best value."""
        return float(self.best_trial.value)  # type: ignore[arg-type]

    @property
    def trials(self) -> list[Trial]:
        """All trials."""
        return self.study.trials

    @property
    def x(self) -> dict[str, Any]:
        """The best parameters."""
        return self.best_params

    @property
    def fun(self) -> float:
        """The best value."""
        return self.best_value

    def __repr__(self) -> str:
        trials = len(self.study.history)
        return f"Result(best_value={self.best_value!r}, best_params={self.best_params!r}, trials={trials})"


def minimize(
    objective: Callable[[Trial], Any],
    space: Space,
    n_trials: int | None = None,
    *,
    jac: bool | Callable[[Trial], Any] | None = False,
    workers: int | None = None,
    seed: int | None = None,
    storage: str | os.PathLike[str] | Storage | None = None,
    name: str | None = None,
    strategy: str | Strategy = "auto",
    **options: Any,
) -> Result:
    """Find the parameters with the smallest value.

    ``n_trials`` counts the whole study: with ``storage`` and ``name``, calling again after an interruption
    continues to that number. With ``jac=True`` the objective returns (value, gradient), as in SciPy; ``jac`` may also
    be a function that returns the gradient, by name or in the order of the space. ``options`` are those of
    ``Study.optimize``: ``timeout``, ``executor``, ``callbacks``, ``catch``, ``progress``.
    """
    study = Study(space, direction="minimize", storage=storage, name=name, seed=seed, strategy=strategy)
    return _run(study, objective, n_trials, {"jac": jac, "workers": workers, **options})


def maximize(
    objective: Callable[[Trial], Any],
    space: Space,
    n_trials: int | None = None,
    *,
    jac: bool | Callable[[Trial], Any] | None = False,
    workers: int | None = None,
    seed: int | None = None,
    storage: str | os.PathLike[str] | Storage | None = None,
    name: str | None = None,
    strategy: str | Strategy = "auto",
    **options: Any,
) -> Result:
    """Find the parameters with the largest value; see ``minimize``."""
    study = Study(space, direction="maximize", storage=storage, name=name, seed=seed, strategy=strategy)
    return _run(study, objective, n_trials, {"jac": jac, "workers": workers, **options})


def load(storage: str | os.PathLike[str] | Storage, name: str, *, strategy: str | Strategy | None = None) -> Study:
    """Open a study that exists."""
    return Study.load(storage, name, strategy=strategy)


def delete(storage: str | os.PathLike[str] | Storage, name: str) -> None:
    """Delete a study and its trials."""
    open_storage(storage, existing=True).delete_study(name)


def _run(
    study: Study,
    objective: Callable[[Trial], Any],
    n_trials: int | None,
    options: dict[str, Any],
) -> Result:
    try:
        study.optimize(objective, total_trials=checks.optional_count(n_trials, "n_trials"), **options)
    except Interrupted as error:
        if study.storage.url is not None:
            raise
        remedy = "they are in this exception's study; with storage= the same call again would continue"
        raise Interrupted(error.stopped, remedy, study) from error
    return Result(study, study.best_trial)
