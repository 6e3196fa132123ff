"""Whole studies in both directions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from sonde.errors import OptionError
from sonde.integrations.optuna.mirror import CONSTRAINTS, constraints_of
from sonde.integrations.optuna.search_space import distributions, found, space_of
from sonde.space import Space
from sonde.study import Study
from sonde.trials import State, Trial

STATES = {
    State.COMPLETED: TrialState.COMPLETE,
    State.FAILED: TrialState.FAIL,
    State.STOPPED: TrialState.PRUNED,
    State.WAITING: TrialState.WAITING,
}
ATTRIBUTES = ("gradient", "hessian", "noise")  # in Optuna, as user attributes


def load(study: optuna.Study, *, space: Any = None, gradient: str = "gradient", **settings: Any) -> Study:
    """Return a study of Sonde with the trials of one of Optuna; ``settings`` are those of ``sonde.Study``.

    Parameters and conditions are found in the trials, unless ``space`` is given. Trials that are not of that space, and
    running ones, are left out with a warning.
    """
    trials = study.get_trials(deepcopy=False)
    if space is None and not any(trial.params for trial in trials):
        raise OptionError(f"study {study.study_name!r} of Optuna has no parameters yet; give space=")
    own = Space.of(space) if space is not None else space_of(found(trials), trials)
    words = [each.name.lower() for each in study.directions]
    goal = {"direction": words[0]} if len(words) == 1 else {"objectives": words}
    made = Study(own, **{"name": study.study_name, **goal, **settings})
    entries = [_entry(trial, own, gradient) for trial in trials]
    made.add_trials([entry for entry in entries if entry is not None])
    if None in entries:
        warnings.warn(
            f"{entries.count(None)} of {len(entries)} trials run, wait, or have other parameters than the space, and "
            "were left out",
            stacklevel=2,
        )
    return made


def _entry(trial: FrozenTrial, space: Space, gradient: str) -> dict[str, Any] | None:
    """Return a trial for ``add_trials``; None if it has no result or is not of the space."""
    params = {name: value for name, value in trial.params.items() if name in space.names}
    if not trial.state.is_finished() or params not in space:
        return None
    known = dict(trial.user_attrs)
    told: dict[str, Any] = {name: known.pop(name) for name in ("hessian", "noise") if name in known}
    told |= {"gradient": known.pop(gradient)} if gradient in known else {}
    entry = {"params": params, "attributes": known, "curve": sorted(trial.intermediate_values.items())}
    if trial.state is TrialState.PRUNED:
        return entry | {"state": State.STOPPED}
    if trial.state is TrialState.FAIL or trial.values is None:
        return entry | {"failed": str(trial.system_attrs.get("fail_reason") or "failed")}
    value = trial.values if len(trial.values) > 1 else trial.values[0]
    return entry | told | {"value": value, "constraints": constraints_of(trial)}


def to_optuna(study: Study, *, storage: Any = None, study_name: str | None = None, sampler: Any = None) -> optuna.Study:
    """Return a study of Optuna with the trials of one of Sonde, such as for optuna-dashboard.

    Gradients, Hessians and noise are user attributes, and so are the attributes of trials. Running trials are left out.
    """
    directions: list[Any] = list(study.directions.values())
    made = optuna.create_study(
        storage=storage, study_name=study_name or study.name, directions=directions, sampler=sampler
    )
    if study.objectives.several:
        made.set_metric_names(list(study.objectives.names))
    every = distributions(study.space)
    for trial in study.trials:
        if trial.state in STATES:
            made.add_trial(_frozen(trial, every))
    return made


def _frozen(trial: Trial, every: Mapping[str, Any]) -> FrozenTrial:
    """Return a trial as one of Optuna."""
    told = {name: getattr(trial, name) for name in ATTRIBUTES if getattr(trial, name) is not None}
    notes = {"fail_reason": trial.error} if trial.error else {}
    limits = {CONSTRAINTS: list(trial.constraints.values())} if trial.constraints else {}
    values = list(trial.value.values()) if isinstance(trial.value, Mapping) else [trial.value]
    frozen = optuna.create_trial(
        state=STATES[trial.state],
        values=values if trial.state is State.COMPLETED else None,
        params=dict(trial),
        distributions={name: every[name] for name in trial},
        user_attrs={**trial.attributes, **told},
        system_attrs={**notes, **limits, **({"fixed_params": dict(trial)} if trial.state is State.WAITING else {})},
        intermediate_values={int(step): value for step, value in trial.curve},
    )
    frozen.datetime_start = _local(trial.started or trial.created)
    frozen.datetime_complete = _local(trial.finished) if trial.state.finished else None
    return frozen


def _local(moment: Any) -> Any:
    """Return a time as Optuna keeps it: local, without its zone."""
    return None if moment is None else moment.astimezone().replace(tzinfo=None)
