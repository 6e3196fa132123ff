"""The optimize loop: keep the workers busy, tell what comes back, in the order in which it comes.

One loop serves every executor. It stops asking when the budget, the time or the space is used up, when a callback says
so, or when all that was tried failed alike, and ends when the last running trial has reported. Interrupted, it gives
running trials back to the queue.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.activity import doing, watching
from sonde.errors import AllFailed, Interrupted, OptionError, TrialError
from sonde.execution import Executor, Inline, Processes, Report, Task
from sonde.study.giving_up import FailuresAlike
from sonde.study.interrupts import deferred_interrupts, show_in_one_line
from sonde.study.pending import Pending
from sonde.study.progress import Progress, progress_for
from sonde.study.reports import outcome_of, sendable
from sonde.trials import Outcome, State, Trial

if TYPE_CHECKING:
    from sonde.study.study import Study


@dataclass(frozen=True)
class Limits:
    """When to stop asking."""

    n_trials: int | None
    total_trials: int | None
    deadline: float


@dataclass
class Run:
    """The state of one call of optimize."""

    study: Study
    pending: Pending
    slots: int
    limits: Limits
    callbacks: Sequence[Callable[[Study, Trial], Any]]
    catch: tuple[type[BaseException], ...]
    failures: FailuresAlike
    progress: Progress
    asked: int = 0
    done: int = 0
    failed: int = 0
    finished: bool = False

    def execute(self) -> None:
        """Run to the end."""
        self.show()
        while self.fill() or self.pending or self.blocked():
            for trial, report in self.pending.landed():
                self.record(trial, report)
        if self.hopeless() and self.more_wanted() and not self.study._stopping:
            remedy = "mend the objective and run it again, or go on regardless with give_up_after=None"
            raise AllFailed(str(self.failures), f"{remedy}; this error's study has the trials", self.study)

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
        self.finished = len(trials) < wanted  # the space or the common budget is used up
        self.asked += len(trials)
        for trial in trials:
            self.pending.start(trial)
        return bool(trials)

    def ending(self) -> bool:
        """Whether no new trial shall start."""
        over = self.finished or self.study._stopping or time.monotonic() >= self.limits.deadline
        return over or self.hopeless()

    def hopeless(self) -> bool:
        """Whether so many trials have failed alike that the rest would, too; one that completes gives hope again."""
        return self.failures.too_many and self.counts(State.COMPLETED) == 0

    def blocked(self) -> bool:
        """Whether more trials are wanted, and every worker is busy with one that was given up."""
        return self.pending.stuck >= self.slots and not self.ending() and self.more_wanted()

    def more_wanted(self) -> bool:
        """Whether the budget is not used up."""
        if self.finished:
            return False
        if self.limits.n_trials is not None:
            return self.asked < self.limits.n_trials
        spent = self.counts(State.RUNNING, State.COMPLETED, State.FAILED)
        return self.limits.total_trials is None or spent < self.limits.total_trials

    def record(self, trial: Trial, report: Report) -> None:
        """Tell one result, call the callbacks, and raise what is not to be caught."""
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
            callback(self.study, told)

    def tell(self, trial: Trial, outcome: Outcome, report: Report) -> Trial | None:
        """Tell one result; None if somebody else told or cancelled the trial."""
        told = None
        try:
            told = self.study._tell(trial, outcome, sendable(report.attributes, trial))
        except TrialError as error:
            warnings.warn(f"the result of trial {trial.number} was not recorded: {error}", stacklevel=2)
        self.pending.forget(trial)  # not before: what a broken database did not take is tried again at the end
        return told

    def show(self) -> None:
        """Show how far it is; on a common budget, how far the study is."""
        with deferred_interrupts():
            history = self.study.history
            number = history.best()
        best = None if number is None else float(history.sign * history.values[number])
        done, failed = self.done, self.failed
        if self.limits.total_trials is not None:
            done, failed = history.count(State.COMPLETED, State.FAILED), history.count(State.FAILED)
        self.progress.show(done, failed, best)

    def counts(self, *states: State) -> int:
        """How many trials of the study are in these states."""
        with deferred_interrupts():
            return self.study.history.count(*states)

    def abandon(self) -> None:
        """Keep what has landed and let go of what is running: others, or a later run, will take it up."""
        running = []
        for trial, report in self.pending.leave():
            if report is None:
                running.append(trial)
            else:
                outcome = outcome_of(report, self.study.space)
                self.study._tell(trial, outcome, sendable(report.attributes, trial))
        if running:
            self.study.release(running)

    def interrupted(self) -> Interrupted:
        """Return what to raise after Ctrl-C, with how to continue."""
        show_in_one_line()
        if self.limits.total_trials is not None:
            done, total = self.counts(State.COMPLETED, State.FAILED), f" of {self.limits.total_trials}"
            remedy = "the same call again continues"
        elif self.limits.n_trials is not None:
            done, total = self.done, f" of {self.limits.n_trials}"
            remedy = f"study.optimize(..., n_trials={self.limits.n_trials - self.done}) runs the rest"
        else:
            done, total, remedy = self.done, "", "study.optimize goes on from there"
        return Interrupted(f"stopped after {done}{total} trials", remedy, self.study)


def run_loop(
    study: Study,
    objective: Callable[[Trial], Any],
    *,
    n_trials: int | None,
    total_trials: int | None,
    timeout: float | None,
    trial_timeout: float | None,
    workers: int | None,
    executor: Executor | None,
    callbacks: Sequence[Callable[[Study, Trial], Any]],
    catch: tuple[type[BaseException], ...],
    give_up_after: int | None,
    progress: bool,
) -> None:
    """Run ``Study.optimize``; its arguments are checked there."""
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
        run = Run(study, pending, slots, limits, callbacks, catch, FailuresAlike(give_up_after), shown)
        _to_the_end(run, own)


def _to_the_end(run: Run, own: Inline | Processes | None) -> None:
    """Run, and whatever happens leave a study that can be continued, and no process of ours."""
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
    """Return this process where one worker will do; a hanging objective could not be killed there."""
    return Inline() if workers == 1 and not killable else Processes(workers)


def _slots(executor: Executor, workers: int | None) -> int:
    """How many calls to have pending: what the user says, or as many as the executor says it has workers."""
    own = getattr(executor, "_max_workers", None)
    if workers is not None and isinstance(own, int) and workers > own:
        raise OptionError(
            f"workers={workers} calls at once, but the executor has {own}: the others would only wait in its queue, "
            "chosen before the results that they could learn from; leave out workers="
        )
    return workers or own or os.cpu_count() or 1
