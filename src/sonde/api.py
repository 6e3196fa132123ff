"""The one-call interface: ``minimize``, ``maximize``, ``load``, ``connect``, ``delete``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.errors import Interrupted, NoResult, OptionError, SpaceError
from sonde.execution import Executor
from sonde.hints import explains_keywords
from sonde.space import Space
from sonde.storage import Storage, StudySummary, open_storage
from sonde.strategies import Strategy
from sonde.study import Study, checks
from sonde.study.best import best_value
from sonde.study.loop import FAILURES
from sonde.trials import Trial
from sonde.trials.state import ENDED


@dataclass(frozen=True)
class Result:
    """The result of ``minimize`` and ``maximize``. SciPy's names: ``x``, ``fun``, ``nfev``, ``success``, ``message``.

    ``front`` has the trials that no other one dominates: of one objective, the best trial.
    """

    study: Study
    front: list[Trial]

    @property
    def best_trial(self) -> Trial:
        """The best trial; several objectives have only a ``front``."""
        return self.study.best_trial if self.study.objectives.several else self.front[0]

    @property
    def best_params(self) -> dict[str, Any]:
        """The best parameters."""
        return dict(self.best_trial.params)

    @property
    def best_value(self) -> float:
        """The best value; if values are noisy, the posterior mean of the objective at the best parameters."""
        return best_value(self.best_trial)

    @property
    def trials(self) -> list[Trial]:
        """All trials."""
        return self.study.trials

    @property
    def x(self) -> Any:
        """The best parameters: a dict, or an array where the space was given as bounds."""
        best = self.best_params
        return np.array(list(best.values())) if self.study.space.is_vector else best

    @property
    def fun(self) -> float:
        """The best value."""
        return self.best_value

    @property
    def nfev(self) -> int:
        """How many trials have ended."""
        return self.study.history.count(*ENDED)

    @property
    def success(self) -> bool:
        """Whether there is a best trial, which there always is: ``minimize`` raises ``NoResult`` otherwise."""
        return bool(self.front)

    @property
    def message(self) -> str:
        """What came out, in one line."""
        history = self.study.history
        counts = ", ".join(f"{history.count(state)} {state}" for state in ENDED if history.count(state))
        best = f"front of {len(self.front)}" if self.study.objectives.several else f"best value {self.best_value:.6g}"
        return f"{counts}; {best}"

    def _repr_html_(self) -> str:
        return self.study._repr_html_()

    def __repr__(self) -> str:
        trials = len(self.study.history)
        if self.study.objectives.several:
            return f"Result(front of {len(self.front)}, trials={trials})"
        return f"Result(best_value={self.best_value!r}, best_params={self.best_params!r}, trials={trials})"


@explains_keywords
def minimize(
    objective: Callable[..., Any],
    space: Any,
    n_trials: int | None = None,
    *,
    jac: bool | Callable[..., Any] | None = False,
    storage: str | os.PathLike[str] | Storage | None = None,
    name: str | None = None,
    seed: int | None = None,
    strategy: str | Strategy = "auto",
    timeout: float | None = None,
    trial_timeout: float | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    callbacks: Sequence[Callable[[Study, Trial], Any]] = (),
    catch: type[BaseException] | tuple[type[BaseException], ...] = BaseException,
    give_up_after: int | None = FAILURES,
    progress: bool = True,
    objectives: Mapping[str, str] | Sequence[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    stopping: str = "auto",
) -> Result:
    """Find the parameters with the smallest value, or the Pareto front of several objectives.

    The objective takes the trial, a Mapping of its parameters, or the parameters by their names, or an array; the space
    is a ``Space``, a dict of parameters or a list of bounds::

        sonde.minimize(lambda lr, layers: ..., {"lr": (1e-5, 1e-1, "log"), "layers": range(1, 9)}, n_trials=100)
        sonde.minimize(lambda x: ((x - 1) ** 2).sum(), [(-5, 5)] * 3, n_trials=100)

    ``n_trials`` counts the whole study: with ``storage``, calling again after an interruption continues to that
    number. ``storage``, ``name``, ``seed``, ``strategy``, ``objectives``, ``thresholds`` and ``stopping`` are those of
    ``Study``; the other options are those of ``Study.optimize``.

    ``NoResult`` (no trial has completed) and ``Interrupted`` (Ctrl-C) have the study as ``.study``.
    """
    study = Study(
        space, direction="minimize" if objectives is None else None, storage=storage, name=name, seed=seed,
        strategy=strategy, objectives=objectives, thresholds=thresholds, stopping=stopping,
    )  # fmt: skip
    return _run(
        study, objective, n_trials, jac=jac, timeout=timeout, trial_timeout=trial_timeout, workers=workers,
        executor=executor, callbacks=callbacks, catch=catch, give_up_after=give_up_after, progress=progress,
    )  # fmt: skip


@explains_keywords
def maximize(
    objective: Callable[..., Any],
    space: Any,
    n_trials: int | None = None,
    *,
    jac: bool | Callable[..., Any] | None = False,
    storage: str | os.PathLike[str] | Storage | None = None,
    name: str | None = None,
    seed: int | None = None,
    strategy: str | Strategy = "auto",
    timeout: float | None = None,
    trial_timeout: float | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    callbacks: Sequence[Callable[[Study, Trial], Any]] = (),
    catch: type[BaseException] | tuple[type[BaseException], ...] = BaseException,
    give_up_after: int | None = FAILURES,
    progress: bool = True,
    objectives: Mapping[str, str] | Sequence[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    stopping: str = "auto",
) -> Result:
    """Find the parameters with the largest value; see ``minimize``. Several objectives have their own directions."""
    study = Study(
        space, direction="maximize" if objectives is None else None, storage=storage, name=name, seed=seed,
        strategy=strategy, objectives=objectives, thresholds=thresholds, stopping=stopping,
    )  # fmt: skip
    return _run(
        study, objective, n_trials, jac=jac, timeout=timeout, trial_timeout=trial_timeout, workers=workers,
        executor=executor, callbacks=callbacks, catch=catch, give_up_after=give_up_after, progress=progress,
    )  # fmt: skip


@explains_keywords
def load(
    storage: str | os.PathLike[str] | Storage, name: str | None = None, *, strategy: str | Strategy | None = None,
    stopping: str = "auto",
) -> Study:  # fmt: skip
    """Open a study that exists; the only one of a storage needs no name."""
    return Study.load(storage, name, strategy=strategy, stopping=stopping)


def studies(storage: str | os.PathLike[str] | Storage) -> dict[str, StudySummary]:
    """Return the studies of a storage by name, each with its trials counted by state and its best value."""
    return {each.header.name: each for each in open_storage(storage, existing=True).studies()}


def connect(
    url: str,
    name: str,
    *,
    token: str | None = None,
    space: Any = None,
    direction: str | None = None,
    objectives: Mapping[str, str] | Sequence[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    seed: int | None = None,
    strategy: str | Strategy = "auto",
    stopping: str = "auto",
    ca: str | None = None,
    patience: float = 600.0,
) -> Study:
    """Open a study of a service, or with ``space`` create it if it is not there.

    The service (``sonde serve``) suggests; objectives run here. The other settings are those of ``Study``.

    Parameters
    ----------
    url
        ``"http://host:8080"`` or ``"https://host"``.
    name
        The study's name.
    token
        What ``sonde token create`` printed; the default is ``SONDE_TOKEN`` in the environment. Creating a study needs
        one for an admin.
    ca
        File of the authority that has signed the service's certificate, if it is one of your own; the default is
        ``REQUESTS_CA_BUNDLE`` in the environment, or the authorities of the system.
    patience
        Seconds that a call goes on while the service does not answer, as when it starts again.
    """
    from sonde.remote import RemoteStorage

    storage = RemoteStorage(url, token, ca=ca, patience=patience)
    if space is not None:
        space = Space.of(space)
        _check_portable(space)
        return Study(
            space, direction="minimize" if direction is objectives is None else direction, storage=storage,
            name=checks.name(name), seed=seed, strategy=strategy, objectives=objectives, thresholds=thresholds,
            stopping=stopping,
        )  # fmt: skip
    given = {"direction": direction, "objectives": objectives, "thresholds": thresholds, "seed": seed}
    for setting, value in given.items():
        if value is not None:
            raise OptionError(f"{setting}= is for a new study, which needs space=, too; leave it out to open {name!r}")
    return Study.load(storage, name, stopping=stopping)


def _check_portable(space: Space) -> None:
    """Raise if a service could not suggest configurations of a space."""
    for constraint in space.constraints:
        if not isinstance(constraint.predicate, str):
            raise SpaceError(
                f"the constraint {constraint.name} is a Python function, which a service cannot evaluate; write it as "
                'an expression, such as where("a + b <= 100")'
            )


def delete(storage: str | os.PathLike[str] | Storage, name: str) -> None:
    """Delete a study and its trials."""
    open_storage(storage, existing=True).delete_study(checks.name(name))


def _run(study: Study, objective: Callable[[Trial], Any], n_trials: int | None, **options: Any) -> Result:
    """Run a study until it has ``n_trials``; exceptions carry the study."""
    try:
        study.optimize(objective, total_trials=checks.optional_count(n_trials, "n_trials"), **options)
        return Result(study, study.pareto_front if study.objectives.several else [study.best_trial])
    except NoResult as error:
        error.study = study
        raise
    except Interrupted as error:
        if study.storage.url is not None:
            raise
        remedy = "they are in this exception's study; with storage= the same call again would continue"
        raise Interrupted(error.stopped, remedy, study) from error
