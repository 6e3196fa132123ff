"""Sonde in Ray Tune: ``SondeSearch`` is a search algorithm, ``tune.TuneConfig(search_alg=SondeSearch())``.

A study of Sonde in memory follows Ray's trials. Those that run are its pending points.

| Ray Tune | Sonde |
| --- | --- |
| the function has returned, a criterion of ``stop=`` is met, or the trial has reached ``max_t`` | completed |
| ended earlier by a scheduler | stopped, with the results on its way as its learning curve |
| an error; the metric is missing, NaN or infinite | failed |
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle

from sonde.curves.model import FEWEST
from sonde.errors import ConflictingResult, NoResult, OptionError, SpaceExhausted
from sonde.extras import require
from sonde.space import Space
from sonde.space.parameters import as_float
from sonde.strategies import Strategy, resolve_strategy
from sonde.study import Study, checks
from sonde.trials import State, Trial

require("ray", "pandas", "pyarrow", "fsspec", "requests", "pydantic", extra="tune")

from ray.tune.result import DEFAULT_METRIC, DONE, TRAINING_ITERATION  # noqa: E402
from ray.tune.search import Searcher  # noqa: E402
from ray.tune.search.variant_generator import parse_spec_vars  # noqa: E402
from ray.tune.utils.util import flatten_dict, unflatten_dict  # noqa: E402

DIRECTIONS = {"min": "minimize", "max": "maximize"}
_ABSENT = object()


class SondeSearch(Searcher):  # type: ignore[misc]
    """Suggests the configurations of Ray's trials with a strategy of Sonde.

    Parameters
    ----------
    space
        The space, if it is not the ``param_space`` of the ``Tuner``: a ``sonde.Space``, such as one with conditions,
        or what ``Space.of`` takes. The parameter ``"model/depth"`` is ``config["model"]["depth"]``.
    metric, mode
        What to optimize, ``"min"`` or ``"max"``, if ``TuneConfig`` does not say it. Lists are several objectives.
    strategy
        ``"auto"``, ``"gp"``, ``"dngo"``, ``"fobo"``, ``"igo"``, ``"sobol"``, ``"random"``, or a strategy object.
    seed
        The same seed and the same results in the same order give the same suggestions.
    max_t
        As of the scheduler: a trial that gets there is complete, also if the scheduler ends it there. One that is ended
        earlier is a stopped trial. ``max_t=0`` takes the last value of every trial as its result.
    time_attr
        As of the scheduler: what ``max_t`` and the steps of learning curves count.
    points_to_evaluate
        Configurations to try first. Parameters that one leaves out are as in the best trial so far, or else in the
        middle of their range.
    """

    def __init__(
        self,
        space: Any = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        *,
        strategy: str | Strategy = "auto",
        seed: int | None = None,
        max_t: float | None = None,
        time_attr: str = TRAINING_ITERATION,
        points_to_evaluate: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        if mode is not None:
            _goal(metric, mode)  # raises
        resolve_strategy(strategy)  # raises
        limit = as_float(max_t)
        if max_t is not None and (limit is None or not limit >= 0):
            raise OptionError(f"max_t must be the max_t of the scheduler, zero or more, got {max_t!r}")
        super().__init__()
        self._metric: Any = metric
        self._mode: Any = mode
        self._space = None if space is None else _nested(Space.of(space))
        self._strategy, self._seed = strategy, checks.seed(seed)
        self._max_t, self._time_attr = limit, time_attr
        self._points = [dict(point) for point in points_to_evaluate]
        self._constants: list[str] = []  # the other names in a configuration of Ray's
        self._stop: Mapping[str, float] = {}
        self._study: Study | None = None
        self._numbers: dict[str, int] = {}  # by Ray's id of a trial
        self._last: dict[str, dict[str, Any]] = {}  # results on the way, by Ray's id
        self._stopped: list[int] = []  # numbers of the stopped trials whose ends cannot be predicted yet

    @property
    def study(self) -> Study:
        """The study of Sonde in memory that follows Ray's trials, for its figures, its report and its predictions."""
        if self._study is None:
            raise NoResult("the search has not begun: its study is there when the Tuner runs")
        return self._study

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: Mapping[str, Any], **spec: Any
    ) -> bool:
        """Take what the ``Tuner`` and its ``TuneConfig`` say; False if the search has another space already."""
        domains, self._constants = _split(config)
        given = Space(domains) if domains else None
        if given is not None and self._space not in (None, given):
            return False
        if self._space is None and given is None:
            raise OptionError("param_space has nothing to choose; declare a parameter, such as tune.uniform(0, 1)")
        self._space = self._space or given
        self._metric, self._mode = self._metric or metric, self._mode or mode
        self._stop = spec.get("stop") or {}
        self._begun()
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str:
        """Return the parameters of a trial, or that all configurations of a finite space have been tried."""
        study = self._begun()
        if self._points:
            study.enqueue(self._known(self._points.pop(0)))
        try:
            trial = study.ask()
        except SpaceExhausted:
            return str(Searcher.FINISHED)
        self._numbers[trial_id] = trial.number
        suggested: dict[str, Any] = unflatten_dict(dict(trial))
        return suggested

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Add to the learning curve of a trial."""
        if trial_id in self._numbers:
            kept = (TRAINING_ITERATION, self._time_attr, *self._metrics)
            self._last[trial_id] = {name: result[name] for name in kept if name in result}
            self._report(self._numbers[trial_id], result)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Tell the result of a trial."""
        if trial_id not in self._numbers:
            return
        number, before = self._numbers[trial_id], self._last.pop(trial_id, {})
        last = result or before
        self._report(number, last)
        if error:
            self._tell(number, {"failed": "the training raised an error: see error.txt in the folder of Ray's trial"})
        elif self._is_complete(before, last):
            self._tell(number, self._outcome(last))
        else:
            self._stopped.append(number)
        self._tell_stopped()
        if last.get(DONE) and number in self._stopped and self._max_t is None:
            warnings.warn(
                "a scheduler has ended trials, which count as stopped. Give SondeSearch(max_t=...) the max_t of the "
                "scheduler, so that those that get there are complete; math.inf if it has none; or 0, and the last "
                "value of every trial is its result",
                stacklevel=2,
            )

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: Any,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[float] | None = None,
    ) -> None:
        """Add a result of another run; ``add_evaluated_trials`` adds those of Ray's trials."""
        study = self._begun()
        study.enqueue(study.space.validate(self._params(parameters)))
        trial = study.ask()
        for step, level in enumerate(intermediate_values or (), 1):
            trial.report(step, level)
        if pruned and not error:
            self._stopped.append(trial.number)
            self._tell_stopped()
        else:
            self._tell(trial.number, {"failed": "failed in another run"} if error else {"value": value})

    def save(self, checkpoint_path: str) -> None:
        """Write the search with all its trials to a file."""
        Path(checkpoint_path).write_bytes(cloudpickle.dumps(self.__getstate__()))

    def restore(self, checkpoint_path: str) -> None:
        """Become the search that ``save`` has written."""
        self.__setstate__(cloudpickle.loads(Path(checkpoint_path).read_bytes()))

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: trials in the place of the study."""
        trials = None if self._study is None else [replace(trial, reporter=None) for trial in self._study.trials]
        return {**self.__dict__, "_study": trials}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _study=None)
        if state["_study"] is not None:
            _repeat(state["_study"], self._begun())

    def _begun(self) -> Study:
        """Return the study; the first call makes it."""
        if self._study is None:
            if self._space is None:
                raise OptionError("there is no space: give the Tuner a param_space, or SondeSearch a space")
            if self._mode is None:
                raise OptionError('say what to optimize, such as tune.TuneConfig(metric="loss", mode="min")')
            self._metric = self._metric or DEFAULT_METRIC
            goal = _goal(self._metric, self._mode)
            self._study = Study(self._space, seed=self._seed, strategy=self._strategy, **goal)
        return self._study

    def _params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters in a configuration of Ray's, which may be nested and have constants."""
        found = {name: _at(config, name.split("/")) for name in self.study.space.names}
        return {name: value for name, value in found.items() if value is not _ABSENT}

    def _known(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a point to evaluate."""
        names = [*self.study.space.names, *self._constants]
        for path in flatten_dict(dict(point)):
            if not any(f"{path}/".startswith(f"{name}/") for name in names):
                raise OptionError(f"points_to_evaluate has {path!r}, but a configuration has {', '.join(names)}")
        return self._params(point)

    def _report(self, number: int, result: Mapping[str, Any]) -> None:
        """Add to the learning curve of a running trial."""
        step = as_float(result.get(self._time_attr))
        value = as_float(result.get(self._metrics[0])) if len(self._metrics) == 1 else None
        trial = self.study.trial(number)
        if trial.state is State.RUNNING and step is not None and value is not None:
            trial.report(step, value)

    def _is_complete(self, before: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
        """Whether a trial has run to its end.

        Ray marks the last result as done, whatever has ended the trial. If its function has returned, that is the last
        one on the way once more. ``Repeater`` gives nothing but the mean of the metric.
        """
        returned = last.get(DONE) and last.get(TRAINING_ITERATION) == before.get(TRAINING_ITERATION)
        meets = any(last.get(name, -math.inf) >= limit for name, limit in self._stop.items())
        arrived = self._max_t is not None and last.get(self._time_attr, -math.inf) >= self._max_t
        return bool(returned or meets or arrived or list(last) == [self._metric])

    @property
    def _metrics(self) -> list[str]:
        return [self._metric] if isinstance(self._metric, str) else list(self._metric)

    def _outcome(self, last: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to tell of a complete trial."""
        values = {name: as_float(last.get(name)) for name in self._metrics}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            return {"failed": f"the last result has no number {missing[0]!r}: report it with tune.report"}
        return {"value": values[self._metric] if isinstance(self._metric, str) else values}

    def _tell(self, number: int, told: dict[str, Any]) -> None:
        try:
            self.study.tell(number, **told)
        except ConflictingResult:  # of a failed trial that Ray has run again
            self.study.add_trials([{"params": self.study.trial(number).params, **told}])

    def _tell_stopped(self) -> None:
        """Tell of stopped trials, once their ends can be predicted; until then they are pending."""
        if not self._stopped:
            return
        ends = [trial.curve[-1][0] for trial in self.study.trials if trial.state is State.COMPLETED and trial.curve]
        waiting = []
        for trial in map(self.study.trial, self._stopped):
            if trial.curve and sum(end >= trial.curve[-1][0] for end in ends) < FEWEST:
                waiting.append(trial.number)
            elif trial.state is State.RUNNING:
                self.study.tell(trial.number, stopped=True)
        self._stopped = waiting


def _goal(metric: Any, mode: Any) -> dict[str, Any]:
    """Return the direction of a study, or the objectives of several metrics."""
    if isinstance(mode, str) and mode in DIRECTIONS and isinstance(metric, str | None):
        return {"direction": DIRECTIONS[mode]}
    lists = isinstance(mode, list | tuple) and isinstance(metric, list | tuple)
    if lists and len(mode) == len(metric) > 0 and set(mode) <= DIRECTIONS.keys():
        return {"objectives": {name: DIRECTIONS[each] for name, each in zip(metric, mode, strict=True)}}
    raise OptionError(
        'metric and mode are a name and "min" or "max", or a list of names and a list of as many of these; got '
        f"metric={metric!r}, mode={mode!r}"
    )


def _split(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the domains in a ``param_space`` by name, ``model/depth`` of a nested one, and the names of constants."""
    constants, domains, grids = parse_spec_vars(dict(config))
    if grids:
        raise OptionError(f"{_name(grids[0][0])!r}: a grid is not searched; use tune.choice in place of grid_search")
    named = {_name(path): domain for path, domain in domains}
    for path, domain in domains:
        if any("/" in str(key) or not isinstance(key, str) for key in path):
            raise OptionError(
                f"{_name(path)!r}: the keys to a parameter must be texts without a slash, and not places in a list"
            )
        if any(parse_spec_vars(dict(enumerate(getattr(domain, "categories", ()))))[1:]):
            raise OptionError(
                f"{_name(path)!r} has parameters inside a choice; declare them with a condition in the space of "
                'SondeSearch(space): sonde.Float(0, 1, when={"model": "mlp"})'
            )
    return named, [_name(path) for path, _ in constants]


def _name(path: Sequence[Any]) -> str:
    return "/".join(map(str, path))


def _nested(space: Space) -> Space:
    """Return a space whose names can be those of nested dicts."""
    for name in space.names:
        if inside := [other for other in space.names if other.startswith(f"{name}/")]:
            raise OptionError(f"Ray nests {inside[0]!r} into {name!r}, which is a parameter; rename one of them")
    return space


def _at(config: Any, path: Sequence[str]) -> Any:
    """Return what is at a path in nested dicts."""
    for key in path:
        config = config.get(key, _ABSENT) if isinstance(config, Mapping) else _ABSENT
    return config


def _repeat(trials: Sequence[Trial], study: Study) -> None:
    """Make these trials in a new study, with the results in the same order."""
    for trial in trials:
        study.enqueue(trial.params)
        again = study.ask()
        for step, value in trial.curve:
            again.report(step, value)
    ended = [trial for trial in trials if trial.finished is not None]
    for trial in sorted(ended, key=lambda each: (each.finished, each.number)):
        if trial.state is State.STOPPED:
            study.tell(trial.number, stopped=True)
        else:
            study.tell(trial.number, trial.value, failed=trial.error)
