"""The pending evaluations of one run: submitted to the executor, not yet told. Their reports become outcomes.

The loop waits here for results. A trial that takes longer than ``trial_timeout`` is stopped. Sonde's own worker
processes are killed and replaced. A worker of the user's executor cannot be killed: it counts as stuck until its call
ends.
"""

from __future__ import annotations

import concurrent.futures
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sonde.activity import doing
from sonde.errors import EndOfRun, EvaluationError, NoWorkers
from sonde.execution import Executor, Future, Processes, Report, Task
from sonde.space import Space
from sonde.trials import Outcome, Trial, failure, to_outcome
from sonde.trials.attributes import plain_attribute
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.outcome import describe

_POLL = 0.02  # seconds, for futures that cannot call back
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
        self._woken = threading.Event()

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
            future.add_done_callback(lambda _: self._woken.set())

    def forget(self, trial: Trial) -> None:
        """Remove a trial that was told."""
        del self._calls[_id(trial)]

    def ended(self) -> Iterator[tuple[Trial, Report]]:
        """Wait until some trials have ended or timed out, and yield them with their reports."""
        with doing(self._awaited()):
            ready = self._wait()
        for call in ready:
            yield call.trial, report_of(call.future) if call.future.done() else self._stop(call)

    def _awaited(self) -> str:
        count = len(self._calls)
        if count == 0:
            return "waiting for a worker that hangs"
        return "waiting for 1 result" if count == 1 else f"waiting for {count} results"

    def _wait(self) -> list[Call]:
        """Wait until some calls have ended, or until a stuck worker is free again."""
        while not (ready := [call for call in self._calls.values() if call.future.done() or self._overdue(call)]):
            if not self._calls and self._room():
                return []
            # With a timeout: a signal that another thread receives does not wake the main thread.
            self._woken.wait(self._pause())
            self._woken.clear()
        return ready

    def cancel(self) -> Iterator[tuple[Trial, Report | None]]:
        """Cancel calls where possible; yield every trial with its report, or None."""
        for call in list(self._calls.values()):
            if hasattr(call.future, "cancel"):
                call.future.cancel()
            yield call.trial, report_if_done(call.future)

    def _pause(self) -> float:
        futures = [*(call.future for call in self._calls.values()), *self._stuck]
        if not all(hasattr(future, "add_done_callback") for future in futures):
            return _POLL
        if self._timeout is None:
            return _CHECK
        left = [self._started(call) + self._timeout - time.monotonic() for call in self._calls.values()]
        return min([_CHECK, *(max(seconds, 0.001) for seconds in left)])

    def _started(self, call: Call) -> float:
        """Return when the trial's time began; own worker processes must first start and load the objective."""
        return self._executor.ready(call.future) if isinstance(self._executor, Processes) else call.submitted

    def _overdue(self, call: Call) -> bool:
        return self._timeout is not None and time.monotonic() - self._started(call) > self._timeout

    def _stop(self, call: Call) -> Report:
        reason = f"took longer than trial_timeout={self._timeout:g} s and was stopped"
        if isinstance(self._executor, Processes):
            self._executor.kill(call.future)
        elif not (hasattr(call.future, "cancel") and call.future.cancel()):
            self._stuck.append(call.future)
            self._stuck_since = time.monotonic()
            reason = f"took longer than trial_timeout={self._timeout:g} s and was given up; its worker continues it"
        return Report(error=reason)

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
    """Return a finished future's report; an error of the executor itself means that the worker died."""
    try:
        report = future.result()
    except (KeyboardInterrupt, EndOfRun):
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
