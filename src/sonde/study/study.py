"""The study: ask, tell, optimize; ``reading`` has what can be read from it."""

from __future__ import annotations

import math
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, overload

from sonde.errors import AllFailed, AtBound, Interrupted, OptionError, SpaceExhausted
from sonde.execution import Executor
from sonde.hints import STUDY_ATTRIBUTES, explains_keywords, unknown_attribute
from sonde.sampling import Key
from sonde.space import Space
from sonde.storage import Asker, AskReply, Storage, StudyHeader, only_study, open_storage
from sonde.strategies import Strategy, record, resolve_strategy
from sonde.strategies.at_bounds import at_bounds, best_ones, usable
from sonde.study import asking, checks, identity, telling
from sonde.study.calling import called
from sonde.study.curves import Curves, Settings
from sonde.study.front import front
from sonde.study.gradients import with_jac
from sonde.study.heartbeat import Heartbeat
from sonde.study.interrupts import interruptible
from sonde.study.loop import FAILURES, run_loop
from sonde.study.reading import StudyReader
from sonde.study.states import StoredStates
from sonde.trials import Evaluation, History, Outcome, Trial, TrialKey
from sonde.trials.objectives import Objectives
from sonde.trials.trial import pack_row

DEFAULT_LEASE = 60.0


class Study(StudyReader):
    """A search over a space: asks a strategy for trials and stores their results.

    Parameters
    ----------
    space
        The space to search: a ``Space``, or what ``Space.of`` takes, such as a dict of parameters or a list of bounds.
    direction
        ``"minimize"`` (default) or ``"maximize"``.
    storage
        ``"sqlite:///runs.db"``, ``"runs.db"``, ``"postgresql://user@host/database"``, or None for memory.
    name
        The same name in the same storage resumes the study. ``"default"`` in a database, if left out.
    seed
        The same seed and the same results in the same order give the same suggestions.
    strategy
        ``"auto"``, ``"gp"``, ``"dngo"``, ``"fobo"``, ``"igo"``, ``"sobol"``, ``"random"``, or a strategy object. Its
        options are stored with the study, except functions and other objects.
    lease
        Seconds after which the trials of a dead process are queued again; a living process renews its leases.
    objectives
        Several objectives instead of one: ``{"loss": "minimize", "latency": "minimize"}``, or a list of directions,
        which have the names ``"0"``, ``"1"``, ...
    thresholds
        Values of objectives beyond which nothing interests: ``{"latency": 20}``.
    stopping
        ``"auto"``: ``trial.should_stop()`` says when the learning curve of a trial makes it hopeless; of one objective
        only. ``"none"``: it never does.
    """

    @explains_keywords
    def __init__(
        self,
        space: Any,
        *,
        direction: str | None = None,
        storage: str | os.PathLike[str] | Storage | None = None,
        name: str | None = None,
        seed: int | None = None,
        strategy: str | Strategy = "auto",
        lease: float = DEFAULT_LEASE,
        objectives: Mapping[str, str] | Sequence[str] | None = None,
        thresholds: Mapping[str, float] | None = None,
        stopping: str = "auto",
    ) -> None:
        space = Space.of(space)
        self._strategy = resolve_strategy(strategy)
        goal = str(Objectives.of(direction, objectives, thresholds))
        checks.stopping(stopping)
        opened = open_storage(storage)
        stored = checks.name(name, stored=opened.url is not None)
        wanted = StudyHeader(stored, space.to_json(), goal, checks.seed(seed), record(self._strategy))
        self._attach(
            opened, identity.create_or_find(opened, wanted, seed_given=seed is not None), space, lease, stopping
        )

    @classmethod
    def load(
        cls,
        storage: str | os.PathLike[str] | Storage,
        name: str | None = None,
        *,
        strategy: str | Strategy | None = None,
        lease: float = DEFAULT_LEASE,
        stopping: str = "auto",
    ) -> Study:
        """Open a study that exists; the space comes from the storage. The only study needs no name."""
        opened = open_storage(storage, existing=True)
        header = opened.find_study(only_study(opened) if name is None else checks.name(name))
        study = cls.__new__(cls)
        study._strategy = resolve_strategy(strategy or header.strategy)
        study._attach(opened, header, Space.from_json(header.space), lease, stopping)
        return study

    def _attach(self, storage: Storage, header: StudyHeader, space: Space, lease: float | None, stopping: str) -> None:
        self.space = space
        self.storage = storage
        self._header = header
        lease = checks.seconds(lease, "lease")
        # A study in memory dies with its process: no other process could take over its trials.
        self._lease = None if storage.url is None else lease
        self.objectives = Objectives.from_text(header.direction)
        self._history = History(space, self.objectives.each[0].sign, objectives=self.objectives)
        self._history.cache = StoredStates(storage, header.key)
        self._trials: list[Trial] = []
        self._trials_revision = 0
        self._stopping = False
        self._stops = checks.stopping(stopping)
        self._become_an_asker()
        identity.renewed_in_children(self)

    def _become_an_asker(self) -> None:
        """Take a new asker, which has no trials: when the study is opened, and again in a forked child."""
        self._lock = threading.RLock()
        self._modelling = threading.RLock()  # held by who uses the strategy
        self._asker = asking.new_asker(self._lease)
        self._heartbeat = Heartbeat(self.storage, self._header.key, self._asker)
        weakref.finalize(self, self._heartbeat.stop)
        stops = self._stops == "auto" and not self.objectives.several
        settings = Settings(self._header.key, self.seed, self.objectives.each[0].sign, stops)
        self._curves = Curves(self.storage, settings)
        weakref.finalize(self, self._curves.close)

    def __getstate__(self) -> dict[str, Any]:
        if self.storage.url is None:
            raise OptionError("a study in memory cannot be sent to another process; give it a storage")
        return {"storage": self.storage, "header": self._header, "space": self.space, "strategy": self._strategy,
                "lease": self._lease, "stopping": self._stops}  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._strategy = state["strategy"]
        self._attach(state["storage"], state["header"], state["space"], state["lease"], state["stopping"])

    def close(self) -> None:
        """Close the database; running trials are queued again when their leases end."""
        self._heartbeat.stop()
        self._curves.close()
        self.storage.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        unknown_attribute("Study", name, STUDY_ATTRIBUTES)

    def __repr__(self) -> str:
        goal, dimension = self.objectives.described, len(self.space)
        return f"<Study {self.name!r}: {goal}, {dimension} parameters, {len(self.history)} trials>"

    # asking

    @overload
    def ask(self, count: None = None, *, lease: float | None = ...) -> Trial: ...
    @overload
    def ask(self, count: int, *, lease: float | None = ...) -> list[Trial]: ...

    def ask(self, count: int | None = None, *, lease: float | None = -1.0) -> Trial | list[Trial]:
        """Return the next trial to run, or a list of ``count`` chosen jointly.

        ``lease=None``: their leases never end, for results that another process will tell.
        """
        wanted = 1 if count is None else checks.count(count, "count")
        asker = None if lease == -1.0 else replace(self._asker, lease=checks.seconds(lease, "lease"))
        trials = self._ask(wanted, asker)
        if not trials:
            raise SpaceExhausted(f"all {self.space.size:.0f} configurations of the space have been tried")
        return trials[0] if count is None else trials

    def _ask(
        self, count: int, asker: Asker | None = None, limit: int | None = None, until: float = math.inf
    ) -> list[Trial]:
        """Ask as this study, whose heartbeat renews the leases, or as another asker, whose leases it does not renew."""
        records = asking.ask(
            self.storage, self._header.key, count, asker or self._asker, self._suggest,
            since=lambda: self._history.revision, limit=limit, lock=self._lock, until=until,
        )  # fmt: skip
        if asker is None:
            self._heartbeat.hold(record.token for record in records)
        return [self._shown(record) for record in records]

    def _claim(self, tokens: Sequence[str], limit: int | None = None) -> tuple[list[Trial], int, bool]:
        """Return the trials that are there for these asks, how many others will follow, and whether there is a pause.

        Those that will follow have tickets.
        """
        reply = self.storage.begin_ask(self._header.key, tokens, self._asker, limit=limit, suggests=False)
        self._heartbeat.hold(record.token for record in reply.claimed)
        return [self._shown(record) for record in reply.claimed], reply.missing, reply.paused

    def _await(self, tokens: Sequence[str]) -> None:
        """Wait until there may be trials for these asks."""
        self.storage.wait(self._header.key, tokens, self._asker, asking.CHECK)

    def _give_up(self, tokens: Sequence[str]) -> None:
        """Withdraw asks."""
        self.storage.withdraw(self._header.key, tokens, self._asker)

    def _suggest(self, reply: AskReply) -> list[bytes]:
        if reply.changes is not None:
            self._history.update(reply.changes)
        with self._heartbeat, self._modelling, interruptible():
            key = Key(self.seed, reply.next_number)
            rows = self._strategy.suggest(self.space, self._history, reply.wanted, key)
        return [pack_row(row) for row in rows]

    def pause(self) -> None:
        """Have nothing begin until ``resume``: asks of all processes wait, running trials end."""
        self.storage.set_paused(self._header.key, True)

    def resume(self) -> None:
        """End a pause: those that wait go on."""
        self.storage.set_paused(self._header.key, False)

    def set_note(self, text: str, trial: Trial | int | None = None) -> None:
        """Replace the note of the study, or of a trial; an empty text removes it."""
        number = None if trial is None else identity.number_of(trial)
        self.storage.set_note(self._header.key, checks.note(text), number)

    def _apart(self) -> Study:
        """Return a study that suggests in another thread: an asker with a history of its own and the same strategy."""
        other = Study.__new__(Study)
        other._strategy = self._strategy
        other._attach(self.storage, self._header, self.space, self._lease, self._stops)
        other._modelling = self._modelling
        return other

    def enqueue(self, params: Mapping[str, Any], *, attributes: Mapping[str, Any] | None = None) -> int:
        """Queue a configuration to run before any suggestion; return its trial's number.

        Parameters that are left out are as in the best trial so far, or else in the middle of their range.
        """
        row = pack_row(self.space.row(self._completed(params)))
        return self.storage.enqueue(self._header.key, [row], checks.attributes(attributes))[0]

    def _completed(self, params: Any) -> Any:
        """Return a configuration with a value for every active parameter."""
        if not isinstance(params, Mapping):
            return params  # an error
        number = self.history.best()
        like = {} if number is None else self.space.codec.configuration(self.history.rows[number])
        return self.space.codec.completed(params, like)

    def cancel(self, trial: Trial | int) -> None:
        """Cancel a waiting or running trial."""
        key = identity.key_of(trial)
        self._heartbeat.drop(key.token)
        self.storage.cancel(self._header.key, [key])

    # telling

    def tell(
        self,
        trial: Trial | int,
        value: float | Mapping[str, float] | Sequence[float] | Evaluation | None = None,
        *,
        gradient: Any = None,
        hessian: Any = None,
        noise: float | Mapping[str, float] | None = None,
        constraints: Mapping[str, float] | None = None,
        failed: str | None = None,
        stopped: bool = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Record the result of a trial; it is on disk when this returns.

        Give a value, with gradient, noise and so on as in ``sonde.Evaluation``, or ``failed="why"``, or
        ``stopped=True`` for a trial that ended early because ``should_stop`` said so; None says the same of a trial
        that was asked ``should_stop`` in this process. NaN and inf count as failed. Of several objectives give a dict
        of values by name, or the values in their order, and gradients by objective. Telling the same result again
        changes nothing; another result raises ``ConflictingResult``.
        """
        extras = {"gradient": gradient, "hessian": hessian, "noise": noise, "constraints": constraints}
        if stopped or (value is None and failed is None and isinstance(trial, Trial) and trial.told_to_stop):
            telling.nothing_else(value, failed, extras)
            outcome = self._curves.stopped(identity.key_of(trial))
        else:
            outcome = telling.outcome(self.space, value, failed, extras, self.objectives)
        told = checks.attributes(attributes) or (trial.attributes if isinstance(trial, Trial) else {})
        self._curves.update()
        return self._tell(trial, outcome, told)

    def _tell(self, trial: Trial | int, outcome: Outcome, attributes: Mapping[str, Any]) -> Trial:
        record = identity.tell(self.storage, self._header.key, self.space, trial, outcome, attributes)
        self._heartbeat.drop(identity.key_of(trial).token)
        return self._shown(record)

    def add_trials(self, trials: Any) -> list[int]:
        """Add finished trials of other sources, all or none; return their numbers.

        Each is ``{"params": {...}, "value": 0.4}`` with, where known, ``gradient``, ``hessian``, ``noise``,
        ``constraints``, ``attributes`` and ``curve`` (pairs of step and value); or ``{"params": {...}, "failed":
        "why"}``. It also takes another study or its trials, a DataFrame with a column for each parameter and ``value``,
        an export in CSV or JSON as a path, and the rows or documents of one. Trials without a result are skipped with a
        warning.
        """
        checked = telling.imported(self.space, telling.entries(trials), self.objectives)
        numbers = self.storage.add(self._header.key, [each.trial for each in checked]) if checked else []
        for number, each in zip(numbers, checked, strict=True):
            if each.curve:
                self._curves.report(TrialKey(number), each.curve)
        return numbers

    # running

    @explains_keywords
    def optimize(
        self,
        objective: Callable[..., Any],
        n_trials: int | None = None,
        *,
        jac: bool | Callable[..., Any] | None = False,
        total_trials: int | None = None,
        timeout: float | None = None,
        trial_timeout: float | None = None,
        workers: int | None = None,
        executor: Executor | None = None,
        callbacks: Sequence[Callable[[Study, Trial], Any]] = (),
        catch: type[BaseException] | tuple[type[BaseException], ...] = BaseException,
        give_up_after: int | None = FAILURES,
        progress: bool = True,
    ) -> None:
        """Ask for trials, run the objective on them, and tell the results.

        Parameters
        ----------
        objective
            Takes a trial (a Mapping of its parameters), returns a number or an ``Evaluation``. An exception,
            ``sys.exit``, NaN or inf makes a failed trial with its reason, and the run continues. It may also take the
            parameters by their names, ``f(lr, layers)`` or ``f(**params)``, or an array, ``f(x)``, if the space was
            given as bounds; ``explain`` says which.
        n_trials
            How many trials this call runs.
        jac
            True: the objective returns (value, gradient), as in SciPy. A function: it returns the gradient. A gradient
            is as in ``Evaluation``, or None if it is unknown.
        total_trials
            How many trials the study will have in the end, over all processes; after a crash the same call continues.
        timeout
            Seconds after which no new trial starts; running ones finish. Calls that still wait for a worker of a
            cluster are cancelled, and their trials wait for a later run.
        trial_timeout
            Seconds that the objective may take for one trial. A trial that takes longer is stopped and fails. So that
            it can be killed, the objective then runs in a worker process even with one worker, and cannot change
            variables of this process. A call of an ``executor`` cannot be killed: the trial fails, its worker counts
            as busy until the call ends, and its result is ignored.
        workers
            Processes to run at once (1: in this process). With ``executor``, how many calls to have pending, at most
            as many as it has workers; if left out, as many as it says it has.
        executor
            Anything with ``submit(function, *args)`` instead of local processes.
        callbacks
            Called with (study, trial) after each result; ``study.stop()`` ends the loop.
        catch
            Exceptions of the objective that only make a failed trial; by default all, ``sys.exit`` too. Others make
            a failed trial and are raised: ``catch=()`` raises all. ``KeyboardInterrupt`` always ends the run.
        give_up_after
            Raise ``AllFailed`` when so many trials in a row have failed for the same reason and the study has no
            completed trial; running trials end first. None: never.
        progress
            Show a progress bar (lines, if there is no terminal).
        """
        runs = called(objective, self.space)
        gradient = called(jac, self.space, "jac").objective if callable(jac) else jac
        self._called = runs.how
        try:
            run_loop(
                self,
                with_jac(runs.objective, gradient),
                n_trials=checks.optional_count(n_trials, "n_trials"),
                total_trials=checks.optional_count(total_trials, "total_trials"),
                timeout=checks.seconds(timeout, "timeout"),
                trial_timeout=checks.seconds(trial_timeout, "trial_timeout"),
                workers=checks.optional_count(workers, "workers"),
                executor=checks.executor(executor),
                callbacks=[partial(callback, self) for callback in checks.callbacks(callbacks)],
                catch=checks.exceptions(catch),
                give_up_after=checks.optional_count(give_up_after, "give_up_after"),
                progress=progress,
            )
        except (AllFailed, Interrupted) as error:
            if getattr(error, "study", None) is None:
                error.study = self
            raise
        self._warn_of_bounds()

    def _warn_of_bounds(self) -> None:
        """Warn of bounds at which the best trials lie."""
        history = self.history
        if not len(usable(history)):
            return
        top = front(history) if history.objectives.several else best_ones(history)
        for sentence in at_bounds(self.space, history, top):
            warnings.warn(sentence, AtBound, stacklevel=4)

    def stop(self) -> None:
        """End ``optimize`` when the running trials are done; call it in a callback."""
        self._stopping = True

    def release(self, trials: Trial | int | Sequence[Trial | int]) -> None:
        """Give one or several running trials back to the queue, for another process or a later run."""
        keys = [identity.key_of(trial) for trial in (trials if isinstance(trials, Sequence) else [trials])]
        for key in keys:
            self._heartbeat.drop(key.token)
        self.storage.release(self._header.key, keys)
