"""The sampler: strategies of Sonde for ``optuna.create_study(sampler=SondeSampler())``."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

import sonde
from sonde.errors import NoResult, OptionError
from sonde.hints import explains_keywords
from sonde.integrations.optuna.mirror import CONSTRAINTS, Mirror
from sonde.integrations.optuna.search_space import distributions, found, parameter, space_of
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies import Strategy, resolve_strategy
from sonde.study import checks
from sonde.trials import History


class SondeSampler(BaseSampler):
    """Suggests with a strategy of Sonde.

    Parameters
    ----------
    strategy
        ``"auto"``, ``"gp"``, ``"dngo"``, ``"fobo"``, ``"igo"``, ``"sobol"``, ``"random"``, or a strategy object.
    seed
        The same seed and the same results give the same suggestions. Processes that share a study may have one seed:
        the numbers of their trials differ.
    space
        The space, if it is known before the run: a ``sonde.Space`` or what ``Space.of`` takes, such as a dict of
        Optuna's distributions. Without it the parameters and their conditions are found in the trials, and the first
        trial is random.
    gradient
        The user attribute that has the gradient of a trial: ``trial.set_user_attr("gradient", {"x": 2 * x})``.
    constraints_func
        As in Optuna's samplers: returns numbers for a trial, feasible if they are at most zero. With Optuna 5 there is
        ``trial.set_constraint``, too.
    """

    @explains_keywords
    def __init__(
        self,
        strategy: str | Strategy = "auto",
        *,
        seed: int | None = None,
        space: Any = None,
        gradient: str = "gradient",
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        resolve_strategy(strategy)  # raises
        if constraints_func is not None and not callable(constraints_func):
            raise OptionError(f"constraints_func must be a function of a trial, got {constraints_func!r}")
        self._strategy, self._gradient, self._constraints = strategy, gradient, constraints_func
        self._seed = checks.seed(seed)
        self._space = None if space is None else Space.of(space)
        self._mirrors: dict[tuple[int, str], Mirror] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mirrors": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __str__(self) -> str:
        return f"SondeSampler({self._strategy!r}, seed={self._seed})"

    def reseed_rng(self) -> None:
        """Do nothing: what is drawn depends on the seed and the number of the trial, never on a thread."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the declared parameters, or those of the trials so far."""
        if self._space is not None:
            return {name: own for name, own in distributions(self._space).items() if not own.single()}
        return found(study._get_trials(deepcopy=False, use_cache=True))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return a configuration: values of the active parameters; none, and so random ones, where all were tried."""
        if not search_space:
            return {}
        with self._lock:
            trials = study._get_trials(deepcopy=False, use_cache=True)
            mirror = self._mirror(study, space_of(search_space, trials, self._space))
            mirror.follow(trials, without=trial.number)
            params = mirror.suggest(trial.number, trials)
        if params and trial.state is TrialState.RUNNING:
            mirror.publish(study, trial, params)
        return params

    def _mirror(self, study: Study, space: Space) -> Mirror:
        """Return the study of Sonde that follows Optuna's on a space; only the last one is kept."""
        key = study._study_id, space.to_json()
        if key not in self._mirrors:
            self._mirrors = {key: Mirror(study, space, self._strategy, self._seed, self._gradient)}
        return self._mirrors[key]

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a random value of a parameter that no model knows yet."""
        space = Space({param_name: parameter(param_distribution)})
        key = Key(self._seed ^ zlib.crc32(param_name.encode()), trial.number)
        (row,) = resolve_strategy("random").suggest(space, History(space), 1, key)
        return space.codec.configuration(row)[param_name]

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Store the constraints of a trial."""
        if self._constraints is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        levels = [float(level) for level in self._constraints(trial)]
        if any(level != level for level in levels):
            raise ValueError("constraints_func returned NaN; a constraint is a number, feasible if it is at most zero")
        study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, levels)

    @property
    def sonde_study(self) -> sonde.Study:
        """The study of Sonde in memory that follows Optuna's, for its pictures, its report and its predictions."""
        with self._lock:
            if not self._mirrors:
                raise NoResult("nothing has been suggested yet: the first trial is random")
            return next(iter(self._mirrors.values())).study

    def explain(self) -> str:
        """Return which strategy suggests, and why."""
        with self._lock:
            return next(
                (own.explain() for own in self._mirrors.values()), "nothing is known yet: the first trial is random"
            )
