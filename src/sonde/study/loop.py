"""The loop of ``Study.optimize``: ask for trials, run them on the workers, tell their results as they arrive.

The loop is the same for all executors. It stops asking when the budget, the time or the space is exhausted, when a
callback says so, or when all trials fail for the same reason. It ends when the last running trial has reported. If it
is interrupted, it gives running trials back to the queue.

The loop knows a study only by what it needs of one, ``RunnableStudy``: ``sonde.study.study`` imports this module.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sonde.activity import doing, watching
from sonde.errors import AllFailed, Interrupted, OptionError, TrialError
from sonde.execution import Executor, Inline, Processes, Report, Task
from sonde.space import Space
from sonde.study.giving_up import RepeatedFailures
from sonde.study.interrupts import deferred_interrupts, show_in_one_line
from sonde.study.pending import Pending
from sonde.study.progress import Progress, progress_for
from sonde.study.reports import outcome_of, sendable
from sonde.trials import History, Outcome, State, Trial


class RunnableStudy(Protocol):
    """What the loop needs of a study; ``Study`` has it."""

    space: Space
    _stopping: bool  # set by ``Study.stop``

    @property
    def name(self) -> str:
        """The study's name."""

    @property
    def history(self) -> History:
        """All trials as arrays, up to date."""

    def _ask(self, count: int, *, limit: int | None) -> list[Trial]:
        """Return up to ``count`` new trials; the study may have at most ``limit`` in all."""

    def _tell(self, trial: Trial, outcome: Outcome, attributes: Mapping[str, Any]) -> Trial:
        """Record the outcome of a trial."""

    def release(self, trials: Sequence[Trial]) -> None:
        """Give running trials back to the queue."""


@dataclass(frozen=True)
class Limits:
    """When to stop asking."""

    n_trials: int | None
    total_trials: int | None
    deadline: float


@dataclass
class Run:
    """The state of one call of ``optimize``."""

    study: RunnableStudy
    pending: Pending
    slots: int
    limits: Limits
    callbacks: Sequence[Callable[[Trial], Any]]
    catch: tuple[type[BaseException], ...]
    failures: RepeatedFailures
    progress: Progress
    asked: int = 0
    done: int = 0
    failed: int = 0
    finished: bool = False

    def execute(self) -> None:
        """Run until all trials are done."""
        self.show()
        while self.fill() or self.pending or self.blocked():
            for trial, report in self.pending.ended():
                self.record(trial, report)
        if self.hopeless() and self.more_wanted() and not self.study._stopping:
            remedy = "correct the objective and run it again, or continue anyway with give_up_after=None"
            raise AllFailed(str(self.failures), f"{remedy}; this error's study has the trials")

    def fill(self) -> bool:
        """Ask and submit until every slot is busy; return whether anything was started."""
        wanted = self.slots - self.pending.occupied
        if self.limits.n_trials is not None:
            wanted = min(wanted, self.limits.n_trials - self.asked)
        if wanted <= 0 or self.ending():
            return False
        with doing("suggesting"), deferred_interrupts():
            trials = self.study._ask(wanted, limit=self.limits.total_trials)
            self.pending.expect(trials)
        self.finished = len(trials) < wanted  # the space or the common budget is exhausted
        self.asked += len(trials)
        for trial in trials:
            self.pending.start(trial)
        return bool(trials)

    def ending(self) -> bool:
        """Whether no new trial should start."""
        over = self.finished or self.study._stopping or time.monotonic() >= self.limits.deadline
        return over or self.hopeless()

    def hopeless(self) -> bool:
        """Whether so many trials have failed for the same reason, and none completed, that the rest would fail, too."""
        return self.failures.too_many and self.counts(State.COMPLETED) == 0

    def blocked(self) -> bool:
        """Whether more trials are wanted, but all workers hang in trials that timed out."""
        return self.pending.stuck >= self.slots and not self.ending() and self.more_wanted()

    def more_wanted(self) -> bool:
        """Whether the budget is not exhausted."""
        if self.finished:
            return False
        if self.limits.n_trials is not None:
            return self.asked < self.limits.n_trials
        spent = self.counts(State.RUNNING, State.COMPLETED, State.FAILED)
        return self.limits.total_trials is None or spent < self.limits.total_trials

    def record(self, trial: Trial, report: Report) -> None:
        """Tell one result, call the callbacks, and raise exceptions that ``catch`` does not name."""
        outcome = outcome_of(report, self.study.space)
        with deferred_interrupts():
            told = self.tell(trial, outcome, report)
        if told is None:
            return
        self.done += 1
        self.failed += told.state is State.FAILED
        self.failures.note(told)
        self.show()
        if report.exception is not None and not isinstance(report.exception, self.catch):
            raise report.exception
        for callback in self.callbacks:
            callback(told)

    def tell(self, trial: Trial, outcome: Outcome, report: Report) -> Trial | None:
        """Tell one result; return None if another process told or cancelled the trial."""
        told = None
        try:
            told = self.study._tell(trial, outcome, sendable(report.attributes, trial))
        except TrialError as error:
            warnings.warn(f"the result of trial {trial.number} was not recorded: {error}", stacklevel=2)
        self.pending.forget(trial)  # last: if the database fails, the result is told again at the end
        return told

    def show(self) -> None:
        """Show the progress of this run; with ``total_trials``, that of the study."""
        with deferred_interrupts():
            history = self.study.history
            number = history.best()
        best = None if number is None else float(history.sign * history.values[number])
        done, failed = self.done, self.failed
        if self.limits.total_trials is not None:
            done, failed = history.count(State.COMPLETED, State.FAILED), history.count(State.FAILED)
        self.progress.show(done, failed, best)

    def counts(self, *states: State) -> int:
        """Return how many trials of the study are in these states."""
        with deferred_interrupts():
            return self.study.history.count(*states)

    def abandon(self) -> None:
        """Tell the results that are there, and give running trials back for other processes or a later run."""
        running = []
        for trial, report in self.pending.cancel():
            if report is None:
                running.append(trial)
            else:
                outcome = outcome_of(report, self.study.space)
                self.study._tell(trial, outcome, sendable(report.attributes, trial))
        if running:
            self.study.release(running)

    def interrupted(self) -> Interrupted:
        """Return the exception for Ctrl-C, which says how to continue."""
        show_in_one_line()
        if self.limits.total_trials is not None:
            done, total = self.counts(State.COMPLETED, State.FAILED), f" of {self.limits.total_trials}"
            remedy = "the same call again continues"
        elif self.limits.n_trials is not None:
            done, total = self.done, f" of {self.limits.n_trials}"
            remedy = f"study.optimize(..., n_trials={self.limits.n_trials - self.done}) runs the rest"
        else:
            done, total, remedy = self.done, "", "study.optimize continues from there"
        return Interrupted(f"stopped after {done}{total} trials", remedy)


def run_loop(
    study: RunnableStudy,
    objective: Callable[[Trial], Any],
    *,
    n_trials: int | None,
    total_trials: int | None,
    timeout: float | None,
    trial_timeout: float | None,
    workers: int | None,
    executor: Executor | None,
    callbacks: Sequence[Callable[[Trial], Any]],
    catch: tuple[type[BaseException], ...],
    give_up_after: int | None,
    progress: bool,
) -> None:
    """Run ``Study.optimize``, which checks the arguments; ``callbacks`` take the trial that was told."""
    if n_trials is None and total_trials is None and timeout is None and not study.space.finite:
        raise OptionError("optimize needs n_trials, total_trials or timeout to know when to stop")
    task = Task(objective)
    own = _own_executor(workers or 1, killable=trial_timeout is not None) if executor is None else None
    if isinstance(own, Processes):
        task.check_packing()
    slots = (workers or 1) if executor is None else _slots(executor, workers)
    limits = Limits(n_trials, total_trials, float("inf") if timeout is None else time.monotonic() + timeout)
    total = total_trials if n_trials is None else n_trials
    study._stopping = False
    pending = Pending(task, own or executor, trial_timeout)  # type: ignore[arg-type]
    with progress_for(study.name, total, wanted=progress) as shown, watching(shown.stage):
        run = Run(study, pending, slots, limits, callbacks, catch, RepeatedFailures(give_up_after), shown)
        _to_the_end(run, own)


def _to_the_end(run: Run, own: Inline | Processes | None) -> None:
    """Run; afterwards, even after an error, no worker process is left and the study can be continued."""
    try:
        try:
            run.execute()
        finally:
            with deferred_interrupts():
                try:
                    run.abandon()
                finally:
                    if own is not None:
                        own.shutdown()
    except KeyboardInterrupt as interrupt:
        raise run.interrupted() from interrupt


def _own_executor(workers: int, *, killable: bool) -> Inline | Processes:
    """Return an executor in this process for one worker, unless it must be possible to kill the objective."""
    return Inline() if workers == 1 and not killable else Processes(workers)


def _slots(executor: Executor, workers: int | None) -> int:
    """Return how many calls to have pending: as the user says, or as many as the executor has workers."""
    own = getattr(executor, "_max_workers", None)
    if workers is not None and isinstance(own, int) and workers > own:
        raise OptionError(
            f"workers={workers} calls at once, but the executor has {own}: the others would only wait in its queue, "
            "suggested before results that they could use; leave out workers="
        )
    return workers or own or os.cpu_count() or 1
