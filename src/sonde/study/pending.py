"""The pending evaluations of one run: submitted to the executor, not yet told.

Here the loop waits for results. A trial that takes longer than its time limit is stopped: the worker of our own that
runs it is killed and replaced. A worker of the user's executor cannot be killed; it counts as lost until its call ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sonde.activity import doing
from sonde.errors import NoWorkers
from sonde.execution import Executor, Future, Processes, Report, Task
from sonde.study.reports import report_if_done, report_of
from sonde.trials import Trial

_POLL = 0.02  # seconds, for futures that cannot call back
_HEED = 0.5  # seconds after which a signal or a time limit is noticed at the latest


class NotStarted:
    """Stands for the future of a trial that was asked for and not submitted yet."""

    def done(self) -> bool:
        """Never."""
        return False

    def result(self) -> Report:
        """There is none."""
        raise RuntimeError("this trial was not started")


@dataclass
class Call:
    """One trial with its future, and when it was submitted."""

    trial: Trial
    future: Future = field(default_factory=NotStarted)
    submitted: float = 0.0


class Pending:
    """What is pending, by token: after a crash of the database two trials may have the same number."""

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
        """How many workers are busy, with what is pending or with what was given up and cannot be stopped."""
        return len(self._calls) + self.stuck

    @property
    def stuck(self) -> int:
        """How many workers are busy with trials that were given up."""
        self._stuck = [future for future in self._stuck if not future.done()]
        return len(self._stuck)

    def expect(self, trials: Iterable[Trial]) -> None:
        """Remember trials that are ours, before the first of them is submitted."""
        self._calls.update((_id(trial), Call(trial)) for trial in trials)

    def start(self, trial: Trial) -> None:
        """Submit one trial."""
        submitted = time.monotonic()
        with doing(f"running trial {trial.number}"):  # until it is done, where it is run in this process
            future = self._executor.submit(self._task, trial)
        self._calls[_id(trial)] = Call(trial, future, submitted)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self._woken.set())

    def forget(self, trial: Trial) -> None:
        """Forget a trial that was told."""
        del self._calls[_id(trial)]

    def landed(self) -> Iterator[tuple[Trial, Report]]:
        """Wait until something has ended, by itself or by its time limit, and yield it."""
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
        """Wait until some calls have ended, or until one that hangs has left a worker free."""
        while not (ready := [call for call in self._calls.values() if call.future.done() or self._overdue(call)]):
            if not self._calls and self._room():
                return []
            # Never without end: a signal that the system handed to another thread does not wake the main one.
            self._woken.wait(self._pause())
            self._woken.clear()
        return ready

    def leave(self) -> Iterator[tuple[Trial, Report | None]]:
        """Cancel what can be cancelled; yield every trial with its report, None where there is none."""
        for call in list(self._calls.values()):
            if hasattr(call.future, "cancel"):
                call.future.cancel()
            yield call.trial, report_if_done(call.future)

    def _pause(self) -> float:
        futures = [*(call.future for call in self._calls.values()), *self._stuck]
        if not all(hasattr(future, "add_done_callback") for future in futures):
            return _POLL
        if self._timeout is None:
            return _HEED
        left = [self._started(call) + self._timeout - time.monotonic() for call in self._calls.values()]
        return min([_HEED, *(max(seconds, 0.001) for seconds in left)])

    def _started(self, call: Call) -> float:
        """When the clock began; our own processes first have to start and to load the objective."""
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
            reason = f"took longer than trial_timeout={self._timeout:g} s and was given up; its worker goes on with it"
        return Report(error=reason)

    def _room(self) -> bool:
        """Whether a worker has become free; raise if all of them have hung for too long."""
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
