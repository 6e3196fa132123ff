"""The optimize loop: keep the workers busy, tell what comes back, in the order in which it comes.

One loop serves every executor. It stops asking when the budget, the time or the space is used up, or a callback says
so, and ends when the last running trial has reported. Interrupted, it gives running trials back to the queue.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sonde.errors import EvaluationError, OptionError, SpaceExhausted, TrialError
from sonde.execution import Executor, Future, Inline, Processes, Report, Task
from sonde.study.interrupts import deferred_interrupts
from sonde.study.progress import Progress, progress_for
from sonde.trials import Outcome, State, Trial, failure, judge
from sonde.trials.attributes import plain_attribute

if TYPE_CHECKING:
    from sonde.study.study import Study

_POLL = 0.02  # seconds, for futures that cannot call back
_HEED = 0.5  # seconds after which a signal is noticed at the latest


@dataclass
class Limits:
    """When to stop asking."""

    n_trials: int | None
    total_trials: int | None
    deadline: float


class NotStarted:
    """Stands for the future of a trial that was asked for and not submitted yet."""

    def done(self) -> bool:
        """Never."""
        return False

    def result(self) -> Report:
        """There is none."""
        raise RuntimeError("this trial was not started")


@dataclass
class Run:
    """The state of one call of optimize."""

    study: Study
    task: Task
    executor: Executor
    slots: int
    limits: Limits
    callbacks: Sequence[Callable[[Study, Trial], Any]]
    catch: tuple[type[BaseException], ...]
    progress: Progress
    flying: dict[str | int, tuple[Trial, Future]] = field(default_factory=dict)
    asked: int = 0
    done: int = 0
    failed: int = 0
    finished: bool = False
    landed: threading.Event = field(default_factory=threading.Event)

    def execute(self) -> None:
        """Run to the end."""
        self.show()
        while self.fill() or self.flying:
            for trial, report in self.collect():
                self.record(trial, report)

    def fill(self) -> bool:
        """Ask and submit until every slot is busy; return whether anything was started."""
        wanted = self.slots - len(self.flying)
        if self.limits.n_trials is not None:
            wanted = min(wanted, self.limits.n_trials - self.asked)
        if wanted <= 0 or self.ending():
            return False
        with deferred_interrupts():
            trials = self.study._ask(wanted, limit=self.limits.total_trials)
            self.flying.update((_id(trial), (trial, NotStarted())) for trial in trials)
        self.finished = len(trials) < wanted  # the space or the common budget is used up
        self.asked += len(trials)
        for trial in trials:
            self.start(trial)
        return bool(trials)

    def ending(self) -> bool:
        """Whether no new trial shall start."""
        return self.finished or self.study._stopping or time.monotonic() >= self.limits.deadline

    def start(self, trial: Trial) -> None:
        """Submit one trial."""
        future = self.executor.submit(self.task, trial)
        self.flying[_id(trial)] = (trial, future)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self.landed.set())

    def collect(self) -> Iterator[tuple[Trial, Report]]:
        """Wait until something has landed, and yield it."""
        calls_back = all(hasattr(future, "add_done_callback") for _, future in self.flying.values())
        while not (landed := [number for number, (_, future) in self.flying.items() if future.done()]):
            # Never without end: a signal that the system handed to another thread does not wake the main one.
            self.landed.wait(_HEED if calls_back else _POLL)
            self.landed.clear()
        for number in landed:
            trial, future = self.flying[number]
            yield trial, _report(future)

    def record(self, trial: Trial, report: Report) -> None:
        """Tell one result, call the callbacks, and raise what is not to be caught."""
        outcome = self.outcome(report)
        with deferred_interrupts():
            told = self.tell(trial, outcome, report)
        if told is None:
            return
        self.done += 1
        self.failed += told.state is State.FAILED
        self.show()
        if report.exception is not None and not isinstance(report.exception, self.catch):
            raise report.exception
        for callback in self.callbacks:
            callback(self.study, told)

    def tell(self, trial: Trial, outcome: Outcome, report: Report) -> Trial | None:
        """Tell one result; None if somebody else told or cancelled the trial."""
        told = None
        try:
            told = self.study._tell(trial, outcome, _sendable(report.attributes, trial))
        except TrialError as error:
            warnings.warn(f"the result of trial {trial.number} was not recorded: {error}", stacklevel=2)
        del self.flying[_id(trial)]  # not before: what a broken database did not take is tried again at the end
        return told

    def outcome(self, report: Report) -> Outcome:
        """Return what to store of a report."""
        if report.error is not None:
            return failure(report.error)
        try:
            return judge(report.result, self.study.space)
        except EvaluationError as error:
            return failure(error)

    def show(self) -> None:
        """Show how far it is; on a common budget, how far the study is."""
        history = self.study.history
        number = history.best()
        best = None if number is None else float(history.sign * history.values[number])
        done, failed = self.done, self.failed
        if self.limits.total_trials is not None:
            done, failed = history.count(State.COMPLETED, State.FAILED), history.count(State.FAILED)
        self.progress.show(done, failed, best)

    def abandon(self) -> None:
        """Keep what has landed and let go of what is running: others, or a later run, will take it up."""
        running = []
        for trial, future in self.flying.values():
            if hasattr(future, "cancel"):
                future.cancel()
            report = _landed(future)
            if report is None:
                running.append(trial)
            else:
                self.study._tell(trial, self.outcome(report), _sendable(report.attributes, trial))
        if running:
            self.study.release(running)


def run_loop(
    study: Study,
    objective: Callable[[Trial], Any],
    *,
    n_trials: int | None,
    total_trials: int | None,
    timeout: float | None,
    workers: int | None,
    executor: Executor | None,
    callbacks: Sequence[Callable[[Study, Trial], Any]],
    catch: tuple[type[BaseException], ...],
    progress: bool,
) -> None:
    """Run ``Study.optimize``; its arguments are checked there."""
    if n_trials is None and total_trials is None and timeout is None and not study.space.finite:
        raise OptionError("optimize needs n_trials, total_trials or timeout to know when to stop")
    task = Task(objective)
    own = _own_executor(workers or 1) if executor is None else None
    if isinstance(own, Processes):
        task.check_packing()
    slots = workers or (1 if executor is None else _slots(executor))
    limits = Limits(n_trials, total_trials, float("inf") if timeout is None else time.monotonic() + timeout)
    total = total_trials if n_trials is None else n_trials
    study._stopping = False
    with progress_for(study.name, total, wanted=progress) as shown:
        run = Run(study, task, own or executor, slots, limits, callbacks, catch, shown)  # type: ignore[arg-type]
        try:
            run.execute()
        except SpaceExhausted:
            pass
        finally:
            run.abandon()
            if own is not None:
                own.shutdown()


def _id(trial: Trial) -> str | int:
    """Return what tells a trial from all others: after a crash of the database two may have the same number."""
    return trial.token or trial.number


def _own_executor(workers: int) -> Inline | Processes:
    return Inline() if workers == 1 else Processes(workers)


def _slots(executor: Executor) -> int:
    """How many calls to have under way: as many as the executor says it has workers."""
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


def _report(future: Future) -> Report:
    """Return a future's report; an error of the executor itself means that the worker is gone."""
    try:
        report = future.result()
    except Exception as error:
        text = str(error).strip().splitlines() or [type(error).__name__]
        return Report(error=f"the worker died: {text[0]}", exception=None)
    if not isinstance(report, Report):
        return Report(error=f"the executor returned {type(report).__name__} instead of the task's report")
    return report


def _landed(future: Future) -> Report | None:
    """Return the report if there is one: not where the worker went down with the interrupt."""
    try:
        report = future.result() if future.done() else None
    except BaseException:
        return None
    return report if isinstance(report, Report) else None


def _sendable(attributes: Any, trial: Trial) -> dict[str, Any]:
    """Leave out attributes that are not JSON rather than lose a result that took hours."""
    kept = {}
    for name, value in attributes.items():
        try:
            kept[name] = plain_attribute(name, value)
        except (TypeError, ValueError) as error:
            warnings.warn(
                f"trial {trial.number}: attribute {name!r} is not JSON-able and was dropped ({error})", stacklevel=2
            )
    return kept
