"""Reading a study: its trials, the best ones, the front, what the model says, tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from sonde.errors import NoResult, OptionError
from sonde.space import Space
from sonde.storage import Storage, StudyHeader
from sonde.strategies import Strategy
from sonde.strategies.port import Distributions, Model
from sonde.study import cards, export, identity, predicting
from sonde.study import front as fronts
from sonde.study.best import Best, best_value
from sonde.study.columns import Columns
from sonde.study.curves import Curves, Reporter
from sonde.study.verification import Verification
from sonde.study.verifying import unused, verify
from sonde.trials import History, State, Trial, TrialRecord
from sonde.trials.objectives import Objectives
from sonde.trials.reason import one_line
from sonde.trials.times import Times
from sonde.trials.trial import to_trial

if TYPE_CHECKING:
    import pandas as pd

    from sonde.plots import Plots


class StudyReader:
    """What can be read from a study; ``Study`` also asks, tells and runs."""

    space: Space
    storage: Storage
    objectives: Objectives
    _header: StudyHeader
    _strategy: Strategy
    _history: History
    _trials: list[Trial]
    _trials_revision: int
    _curves: Curves
    _called: str | None = None  # how the objective was called in the last run
    _lock: threading.RLock
    _modelling: threading.RLock

    @property
    def name(self) -> str:
        """The study's name."""
        return self._header.name

    @property
    def direction(self) -> str:
        """``"minimize"`` or ``"maximize"``; several objectives have ``directions``."""
        if self.objectives.several:
            raise OptionError(f"study {self.name!r} has several objectives; use study.directions")
        return self._header.direction

    @property
    def directions(self) -> dict[str, str]:
        """The direction of each objective, by name."""
        return {each.name: each.direction for each in self.objectives.each}

    @property
    def seed(self) -> int:
        """The seed, given or drawn when the study was created."""
        return self._header.seed

    @property
    def paused(self) -> bool:
        """Whether nothing begins until ``study.resume()``."""
        return self.storage.status(self._header.key).paused

    @property
    def note(self) -> str:
        """The note of the study, a text for people; ``set_note`` replaces it."""
        return self.storage.notes(self._header.key).get(None, "")

    @property
    def notes(self) -> dict[int, str]:
        """The notes of trials, by number."""
        found = self.storage.notes(self._header.key)
        return {number: text for number, text in found.items() if number is not None}

    @property
    def history(self) -> History:
        """All trials as arrays, up to date."""
        with self._lock:
            self._history.update(self.storage.changes(self._header.key, self._history.revision))
            self._history.curves = self._curves.arrays()
            return self._history

    @property
    def trials(self) -> list[Trial]:
        """All trials, by number."""
        with self._lock:
            self._trials_revision, records = self.storage.records(self._header.key, self._trials_revision)
            reported = self._curves.update()
            for record in records:
                self._trials[record.number : record.number + 1] = [self._shown(record)]
            for number in reported - {record.number for record in records}:
                self._trials[number] = replace(self._trials[number], curve=self._curves.of(number))
            return list(self._trials)

    @property
    def times(self) -> Times:
        """When and where each trial ran, as columns by number; quick, also with many trials."""
        return self._columns.times()

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.storage, self._header.key)

    @property
    def learns_distributions(self) -> bool:
        """Whether ``distributions`` returns some."""
        return self._strategy.learns_distributions(self.space, self.history)

    def distributions(self) -> Distributions | None:
        """Return how the distribution of the strategy ``igo`` has moved; None where no distribution is learned."""
        history = self.history
        with self._modelling:
            return self._strategy.distributions(self.space, history, self.seed)

    def trial(self, number: int) -> Trial:
        """Return the current state of one trial."""
        self._curves.update()
        return self._shown(self.storage.record(self._header.key, identity.number_of(number)))

    @property
    def pareto_front(self) -> list[Trial]:
        """Of several objectives: the completed trials that meet their constraints and that no other one dominates."""
        self._needs_several("pareto_front", "study.best_trial has the best trial")
        with self._lock:
            history = self.history
            found = fronts.front(history).tolist()
            if not found:
                raise NoResult(f"study {self.name!r} has no Pareto front yet: {self._why_no_best(history)}")
            return [self.trial(number) for number in found]

    def hypervolume(self, reference: Mapping[str, float] | Sequence[float] | None = None) -> float:
        """Return the hypervolume between the Pareto front and a reference point.

        The reference point has the worst value of interest of each objective. The default is the thresholds, and where
        there is none a little worse than the front. It moves with the front: to compare studies, give one.
        """
        self._needs_several("hypervolume", "study.best_value has the best value")
        with self._lock:
            return fronts.hypervolume_of(self.history, reference)

    def _needs_several(self, what: str, remedy: str) -> None:
        if not self.objectives.several:
            raise OptionError(f"{what} is for several objectives, and study {self.name!r} has one; {remedy}")

    def best(self, by: str | None = None, *, weights: Mapping[str, float] | None = None) -> Trial:
        """Return the best completed trial that meets its measured constraints.

        Of several objectives: ``weights={"loss": 2, "latency": 1}`` says how much each matters, measured in the range
        of the Pareto front.

        ``by="observed"``: the trial with the best value. ``by="model"``: the trial with the best posterior mean, with
        ``mean`` and ``std`` of the posterior; the first trial of its configuration, if there are several. The default
        is the model if noise was declared or a configuration has had different values.
        """
        if weights is not None:
            if by is not None:
                raise OptionError("give by= for one objective or weights= for several, not both")
            return self.trial(fronts.preferred(self.history, weights))
        if self.objectives.several:
            equal = dict.fromkeys(self.objectives.names, 1)
            raise OptionError(
                f"study {self.name!r} has several objectives and so no best trial; study.pareto_front has the trials "
                f"that no other one dominates, and study.best(weights={equal}) the one for a preference"
            )
        with self._lock, self._modelling:
            history = self.history
            found = self._best.choose(history, by)
        if found is None:
            raise NoResult(f"study {self.name!r} has no best trial yet: {self._why_no_best(history)}")
        return replace(self.trial(found.number), mean=found.mean, std=found.std)

    @cached_property
    def _best(self) -> Best:
        return Best(self._strategy, self.space)

    @property
    def best_trial(self) -> Trial:
        """The best completed trial that meets its measured constraints; see ``best``."""
        return self.best()

    def _why_no_best(self, history: History) -> str:
        completed = history.count(State.COMPLETED)
        if completed:
            return f"none of {completed} completed trials meets its constraints"
        errors = [trial.error for trial in self.trials if trial.error]
        return "no trial has completed" + (f"; the last one failed: {one_line(errors[-1])}" if errors else "")

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best trial."""
        return dict(self.best_trial.params)

    @property
    def best_value(self) -> float:
        """The value of the best trial; if values are noisy, the posterior mean of the objective there."""
        return best_value(self.best())

    def explain(self) -> str:
        """Return a text that says which strategy suggests the next trial, and why, and how the objective is called."""
        with self._modelling:
            why = f"{self._strategy.name}: {self._strategy.explain(self.space, self.history)}"
        return why if self._called is None else f"{why}\nobjective: called as {self._called}"

    def predict(self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
        """Return the model's mean and standard deviation of the value at a configuration, or at each of a list.

        It is a ``Prediction``; of several objectives, a dict of them by name.
        """
        return self._of_each(lambda history: predicting.predict(self._model_of, self.space, history, params))

    def model(self, objective: str | None = None) -> Model:
        """Return the fitted surrogate: ``predict(rows)`` at rows of ``space.codec``, signed so that lower is better."""
        history = self.history.of(0 if objective is None else self.objectives.index(objective))
        with self._modelling:
            return self._model_of(history)

    @cached_property
    def _model_of(self) -> predicting.ModelOf:
        return predicting.ModelOf(self._strategy, self.space)

    @property
    def plot(self) -> Plots:
        """The figures: ``study.plot.history()``, and their numbers: ``study.plot.history(data=True)``."""
        from sonde.plots import Plots

        return Plots(self)

    def diagnose(self) -> Any:
        """Return how well the model predicts each result from the others (leave-one-out).

        It is a ``Diagnosis``; of several objectives, a dict of them by name.
        """
        return self._of_each(lambda history: predicting.diagnose(self._model_of, history))

    def _of_each(self, function: Callable[[History], Any]) -> Any:
        """Return a function of the history; of several objectives, that of the history of each, by name."""
        history = self.history
        with self._modelling:
            if not self.objectives.several:
                return function(history)
            return {name: function(history.of(k)) for k, name in enumerate(self.objectives.names)}

    def verify(self, progress: Callable[[int, int], object] | None = None) -> Verification:
        """Replay the study: is every suggestion what the strategy suggests from the seed and the results before it?

        It says from which trial on, if any, one is not, and what cannot be checked. ``progress`` is called with the
        number of suggestions replayed so far and that of all. It takes about as long as the suggestions have taken.
        """
        history = History(self.space, self.objectives.each[0].sign, objectives=self.objectives)
        return verify(
            self.storage, self._header.key, history, unused(self._strategy, self._header.strategy), self.seed,
            shown=self._header.strategy, progress=progress,
        )  # fmt: skip

    def advice(self) -> list[str]:
        """Return what the results advise, in sentences with their numbers; the most urgent first."""
        from sonde.report import advice

        return advice(self)

    @overload
    def report(self) -> str: ...
    @overload
    def report(self, path: str | os.PathLike[str]) -> None: ...

    def report(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write a report to an HTML file that needs nothing else; without a path, return it as text."""
        from sonde.report.page import page_of, write

        if path is None:
            return page_of(self)
        write(self, path)
        return None

    def dataframe(self) -> pd.DataFrame:
        """Return all trials as a pandas DataFrame, one row each."""
        return export.dataframe(self.trials, self.space)

    def export(self, path: str | os.PathLike[str], *, raw: bool = False) -> None:
        """Write all trials to a file: CSV or JSON, by its ending.

        In CSV, text that a spreadsheet would run (beginning with = + - @) gets an apostrophe before it, unless ``raw``.
        """
        export.write(self.trials, self.space, path, raw=raw)

    def _repr_html_(self) -> str:
        return cards.card_of(self, self._strategy)

    def _shown(self, record: TrialRecord) -> Trial:
        shown = to_trial(record, self.space, self._header.key, self.objectives)
        reporter = Reporter(self._curves, identity.key_of(shown)) if record.state is State.RUNNING else None
        return replace(shown, curve=self._curves.of(record.number), reporter=reporter)
