"""Optuna's trials as those of a study of Sonde in memory, which follows them and suggests.

| Optuna | Sonde |
| --- | --- |
| COMPLETE | completed, with the user attribute that has the gradient, and constraints |
| FAIL | failed |
| PRUNED | stopped, with its intermediate values as its learning curve |
| RUNNING, WAITING with all parameters | running: pending |

Trials whose parameters are not those of the space are left out. The key of a suggestion is made of the seed and of
Optuna's number of the trial.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.study import Study as OptunaStudy
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from sonde.errors import ConfigurationError, EvaluationError
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies import Strategy, resolve_strategy
from sonde.study import Study
from sonde.trials import Evaluation, Trial

CHUNK = 2000  # characters of a system attribute: databases take 2045
PUBLISHED = "sonde:params"  # the parameters that a running trial will ask for, for other processes
CONSTRAINTS = "constraints"


class Mirror:
    """A study of Sonde that follows one of Optuna, on one space."""

    def __init__(self, study: OptunaStudy, space: Space, strategy: str | Strategy, seed: int, gradient: str) -> None:
        self.space, self.seed, self.gradient = space, seed, gradient
        words = ["maximize" if each is StudyDirection.MAXIMIZE else "minimize" for each in study.directions]
        one = {"direction": words[0]} if len(words) == 1 else {"objectives": words}
        self.study = Study(space, seed=seed, strategy=strategy, **one)
        self._strategy = resolve_strategy(strategy)
        self._known: dict[int, Trial] = {}  # by Optuna's number: those that run
        self._ended: set[int] = set()

    def follow(self, trials: Sequence[FrozenTrial], without: int) -> None:
        """Take over what is new in the trials, but not the one that a suggestion is for."""
        new = [each for each in trials if each.number not in self._ended and each.number != without]
        ended = sorted((each for each in new if each.state.is_finished()), key=_ended_at)
        for trial in (*ended, *(each for each in new if not each.state.is_finished())):
            own = self._running(trial)
            if trial.state.is_finished():
                self._ended.add(trial.number)
                self._known.pop(trial.number, None)
                if own is not None:
                    self._tell(own, trial)

    def suggest(self, number: int, trials: Sequence[FrozenTrial]) -> dict[str, Any]:
        """Return a configuration for the trial of that number; none where all of a finite space have been tried.

        Trials before it that have begun and have no parameters yet are being suggested by other processes, from the
        same results. So all of them compute one batch, and each takes its own place in it.
        """
        begun = [each.number for each in trials if each.number < number and self._has_begun(each)]
        rows = self._strategy.suggest(
            self.space, self.study.history, len(begun) + 1, Key(self.seed, min([*begun, number]))
        )
        return self.space.codec.configuration(rows[-1]) if len(rows) > len(begun) else {}

    def _has_begun(self, trial: FrozenTrial) -> bool:
        return trial.state is TrialState.RUNNING and not trial.params and not self._published(trial)

    def explain(self) -> str:
        """Return which strategy suggests, and why."""
        return f"{self._strategy.name}: {self._strategy.explain(self.space, self.study.history)}"

    def _running(self, trial: FrozenTrial) -> Trial | None:
        """Return the trial of the mirror with the configuration of a trial; None if it is not of this space."""
        own = self._known.get(trial.number)
        configuration = self._configuration(trial)
        if own is not None and dict(own) != configuration:
            self.study.cancel(self._known.pop(trial.number))
            own = None
        if own is None and configuration is not None:
            self.study.enqueue(configuration)
            own = self._known[trial.number] = self.study.ask(lease=None)
        return own

    def publish(self, study: OptunaStudy, trial: FrozenTrial, params: Mapping[str, Any]) -> None:
        """Store what a running trial will ask for, so that other processes know it."""
        text = json.dumps({name: self.space[name].number(value) for name, value in params.items()})
        for part, start in enumerate(range(0, len(text), CHUNK)):
            study._storage.set_trial_system_attr(trial._trial_id, f"{PUBLISHED}:{part}", text[start : start + CHUNK])

    def _published(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return what ``publish`` stored, also in a process whose space has other parameters."""
        parts = {key: text for key, text in trial.system_attrs.items() if key.startswith(f"{PUBLISHED}:")}
        text = "".join(parts[f"{PUBLISHED}:{part}"] for part in range(len(parts)))
        stored = json.loads(text) if text else {}
        return {name: self.space[name].value(number) for name, number in stored.items() if name in self.space.names}

    def _configuration(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """Return the configuration of a trial; None if it has no value for a parameter, or one that is out of range."""
        given = {**self._published(trial), **trial.params}
        try:
            return self.space.validate({name: given[name] for name in self.space.names if name in given})
        except ConfigurationError:
            return self._without_inactive(given)

    def _without_inactive(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the active parameters, where a trial has others as well; None if one is missing or out of range."""
        try:
            whole = self.space.codec.completed({}, given)
            return self.space.validate(whole) if whole.keys() <= given.keys() else None
        except (ConfigurationError, KeyError):
            return None

    def _tell(self, own: Trial, trial: FrozenTrial) -> None:
        """Tell the result of a trial."""
        if trial.state is TrialState.PRUNED and not self.study.objectives.several:
            for step, value in sorted(trial.intermediate_values.items()):
                own.report(step, value)
            self.study.tell(own, stopped=True)
        elif trial.state is TrialState.COMPLETE and trial.values is not None:
            try:
                self.study.tell(own, self._evaluation(trial))
            except EvaluationError as error:
                warnings.warn(f"trial {trial.number}: {error}; its derivatives are left out", stacklevel=2)
                self.study.tell(own, Evaluation(_value(trial), constraints=constraints_of(trial)))
        else:
            self.study.tell(own, failed=str(trial.system_attrs.get("fail_reason") or "failed"))

    def _evaluation(self, trial: FrozenTrial) -> Evaluation:
        return Evaluation(
            _value(trial), gradient=trial.user_attrs.get(self.gradient), constraints=constraints_of(trial)
        )


def constraints_of(trial: FrozenTrial) -> dict[str, float] | None:
    """Return the constraints of a trial by name, of Optuna 4 and 5."""
    attributes = trial.system_attrs
    known = {str(k): level for k, level in enumerate(attributes.get(CONSTRAINTS) or ())}
    known |= {key.partition(":")[2]: own for key, own in attributes.items() if key.startswith(f"{CONSTRAINTS}:")}
    return {name: float(level) for name, level in known.items()} or None


def _value(trial: FrozenTrial) -> Any:
    return trial.values if len(trial.values) > 1 else trial.values[0]


def _ended_at(trial: FrozenTrial) -> tuple[float, int]:
    moment = trial.datetime_complete
    return (moment.timestamp() if moment else math.inf), trial.number
