"""The pending evaluations of one run: submitted to the executor, not yet told. Their reports become outcomes.

The loop waits here for results, and for workers that join. A trial that takes longer than ``trial_timeout`` is stopped:
the executor kills its worker. Where that is impossible, the worker counts as stuck until the call ends.
"""

from __future__ import annotations

import concurrent.futures
import queue
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sonde.activity import doing
from sonde.errors import EndOfRun, EvaluationError, NoWorkers
from sonde.execution import Executor, Future, Processes, Report, Task
from sonde.space import Space
from sonde.study.interrupts import interruptible
from sonde.trials import Outcome, Trial, failure, to_outcome
from sonde.trials.attributes import plain_attribute
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.outcome import describe

_POLL = 0.02  # seconds, for futures that cannot call back; doubles while nothing ends
_CHECK = 0.5  # seconds after which a signal or a timeout is noticed at the latest


@dataclass
class Call:
    """A trial, its future (of nobody, before it is submitted), and when it was submitted."""

    trial: Trial
    future: Future = field(default_factory=concurrent.futures.Future)
    submitted: float = 0.0


class Pending:
    """The pending calls by token: after a crash of the database two trials may have the same number."""

    def __init__(self, task: Task, executor: Executor, trial_timeout: float | None) -> None:
        self._task, self._executor = task, executor
        self._timeout = trial_timeout
        self._calls: dict[str | int, Call] = {}
        self._stuck: list[Future] = []
        self._stuck_since = 0.0
        self._workers = 0  # that the executor had when it was last asked, if it knows
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()  # an interrupt cannot leave it locked, as an event

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def occupied(self) -> int:
        """How many workers are busy with pending trials, or stuck."""
        return len(self._calls) + self.stuck

    @property
    def stuck(self) -> int:
        """How many workers are busy with trials that timed out and cannot be stopped."""
        self._stuck = [future for future in self._stuck if not future.done()]
        return len(self._stuck)

    def expect(self, trials: Iterable[Trial]) -> None:
        """Note trials before the first of them is submitted."""
        self._calls.update((_id(trial), Call(trial)) for trial in trials)

    def start(self, trial: Trial) -> None:
        """Submit one trial."""
        submitted = time.monotonic()
        with doing(f"running trial {trial.number}"):  # an executor in this process returns when it is done
            future = self._executor.submit(self._task, trial)
        self._calls[_id(trial)] = Call(trial, future, submitted)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self.wake())

    def forget(self, trial: Trial) -> None:
        """Remove a trial that was told."""
        del self._calls[_id(trial)]

    def wake(self) -> None:
        """Make the loop look again, from any thread."""
        self._news.put(None)

    def ended(
        self, called: Callable[[], bool] | None = None, deadline: float = float("inf")
    ) -> Iterator[tuple[Trial, Report]]:
        """Wait until some trials have ended or timed out, and yield them with their reports.

        ``called`` says whether the loop has something else to do; ``wake`` has it asked. At the deadline, by the
        monotonic clock, nothing is yielded if calls wait for a worker: the loop withdraws them.
        """
        awaited = self._awaited(called is not None)
        with doing(awaited):
            ready = self._wait(called, awaited, deadline)
        for call in ready:
            yield call.trial, self._report(call) if call.future.done() else self._stop(call)

    def _awaited(self, suggestions: bool) -> str:
        count = len(self._calls)
        if count == 0:
            return "suggesting" if suggestions else "waiting for a worker that hangs"
        if all(self._started(call) is None for call in self._calls.values()):
            return "waiting for a worker"
        return "waiting for 1 result" if count == 1 else f"waiting for {count} results"

    def _wait(self, called: Callable[[], bool] | None, awaited: str, deadline: float) -> list[Call]:
        """Wait until some calls have ended, or until the loop should look again.

        That is when it is called, when workers join, when something else is awaited, when a stuck worker is free, or
        when calls still wait for a worker at the deadline.
        """
        poll = _POLL
        while not (ready := [call for call in self._calls.values() if call.future.done() or self._overdue(call)]):
            if called() if called is not None else not self._calls and self._room():
                return []
            if self._more_workers() or self._awaited(called is not None) != awaited:
                return []
            self._sleep(self._pause(poll))
            poll = min(2 * poll, _CHECK)
            if time.monotonic() >= deadline and self._not_begun():
                return []
        return ready

    def _sleep(self, seconds: float) -> None:
        """Sleep until there is news, and forget it."""
        with suppress(queue.Empty):
            with interruptible():  # with a timeout: a signal that another thread receives does not wake this one
                self._news.get(timeout=seconds)
            while True:
                self._news.get_nowait()

    def withdraw(self) -> list[Trial]:
        """Cancel calls that wait for a worker, and return their trials: ``forget`` them when they are given back."""
        return [call.trial for call in self._not_begun() if self._kill(call.future)]

    def cancel(self) -> Iterator[tuple[Trial, Report | None]]:
        """Cancel calls where possible; yield every trial with its report, or None."""
        own = isinstance(self._executor, Processes)  # killed in a moment; loky fails if calls are cancelled just then
        for call in list(self._calls.values()):
            if hasattr(call.future, "cancel") and not own:
                call.future.cancel()
            yield call.trial, report_if_done(call.future)
        for future in self._stuck:
            if hasattr(future, "cancel"):
                future.cancel()
        if hasattr(self._executor, "release"):
            self._executor.release(self._task)

    def _pause(self, poll: float) -> float:
        futures = [*(call.future for call in self._calls.values()), *self._stuck]
        if not all(hasattr(future, "add_done_callback") for future in futures):
            return poll
        if self._timeout is None:
            return _CHECK
        started = [when for call in self._calls.values() if (when := self._started(call)) is not None]
        return min([_CHECK, *(max(when + self._timeout - time.monotonic(), 0.001) for when in started)])

    def _started(self, call: Call) -> float | None:
        """Return when the trial's time began: neither waiting for a worker nor the start of a process is part of it."""
        if not hasattr(self._executor, "ready"):
            return call.submitted
        began: float | None = self._executor.ready(call.future)
        return began

    def _not_begun(self) -> list[Call]:
        """Return the calls that wait for a worker."""
        return [call for call in self._calls.values() if not call.future.done() and self._started(call) is None]

    def _overdue(self, call: Call) -> bool:
        if self._timeout is None or (started := self._started(call)) is None:
            return False
        return time.monotonic() - started > self._timeout

    def _report(self, call: Call) -> Report:
        try:
            return report_of(call.future)
        except concurrent.futures.CancelledError as error:
            self._more_workers()
            raise NoWorkers(
                f"the call of trial {call.trial.number} was cancelled, as when an executor is shut down or loses its "
                "connection; the trial is queued again: call optimize again"
            ) from error

    def _more_workers(self) -> bool:
        """Whether workers have joined; raise ``NoWorkers`` if the cluster is gone."""
        before = self._workers
        if hasattr(self._executor, "workers"):
            self._workers = self._executor.workers()
        return self._workers > before

    def _stop(self, call: Call) -> Report:
        reason = f"took longer than trial_timeout={self._timeout:g} s and was stopped"
        if not self._kill(call.future):
            self._stuck.append(call.future)
            self._stuck_since = time.monotonic()
            reason = f"took longer than trial_timeout={self._timeout:g} s and was given up; its worker continues it"
        return Report(error=reason)

    def _kill(self, future: Future) -> bool:
        """End a call, or cancel it if it waits; return False where that is impossible."""
        if hasattr(self._executor, "kill"):
            return bool(self._executor.kill(future))
        return hasattr(future, "cancel") and bool(future.cancel())

    def _room(self) -> bool:
        """Whether a worker has become free; raise if all have been stuck for too long."""
        before = len(self._stuck)
        if self._timeout is None or self.stuck < before:
            return True
        if time.monotonic() - self._stuck_since > self._timeout:
            raise NoWorkers(
                f"all workers of the executor hang in trials that took longer than trial_timeout={self._timeout:g} s, "
                "and they cannot be stopped from here; leave out executor= (worker processes can be stopped), or end "
                "such calls in the objective"
            )
        return False


def _id(trial: Trial) -> str | int:
    return trial.token or trial.number


def report_of(future: Future) -> Report:
    """Return a finished future's report; an error of the executor itself means that the worker died.

    A call that somebody else has cancelled raises ``CancelledError``.
    """
    try:
        report = future.result()
    except (KeyboardInterrupt, EndOfRun, concurrent.futures.CancelledError):
        raise
    except BaseException as error:
        return Report(error=f"the worker died: {describe(error).splitlines()[0]}", exception=None)
    if not isinstance(report, Report):
        return Report(error=f"the executor returned {type(report).__name__} instead of the task's report")
    return report


def report_if_done(future: Future) -> Report | None:
    """Return the report if there is one; None if the interrupt ended the worker, too."""
    try:
        report = future.result() if future.done() else None
    except BaseException:
        return None
    return report if isinstance(report, Report) else None


def outcome_of(report: Report, space: Space, objectives: Objectives = ONE) -> Outcome:
    """Return the outcome of a report."""
    if report.error is not None:
        return failure(report.error)
    try:
        return to_outcome(report.result, space, objectives)
    except EvaluationError as error:
        return failure(error)


def sendable(attributes: Any, trial: Trial) -> dict[str, Any]:
    """Return attributes as plain JSON data; drop others with a warning, so that the result is not lost."""
    kept = {}
    for name, value in attributes.items():
        try:
            kept[name] = plain_attribute(name, value)
        except (TypeError, ValueError) as error:
            warnings.warn(
                f"trial {trial.number}: attribute {name!r} is not JSON-able and was dropped ({error})", stacklevel=2
            )
    return kept
