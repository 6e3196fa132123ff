"""The loop of ``Study.optimize``: ask for trials, run them on the workers, tell their results as they arrive.

The loop is the same for all executors. It stops asking when the budget, the time or the space is exhausted, when a
callback says so, or when all trials fail for the same reason. It ends when the last running trial has reported; calls
that still wait for a worker of a cluster when no trial should start any more are cancelled. If it is interrupted, it
gives running trials back to the queue. Interrupts are deferred but where it waits, suggests, or runs the user's code:
elsewhere an exception could leave a lock of the executor locked for ever.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from sonde.activity import doing, watching
from sonde.errors import AllFailed, Interrupted, OptionError, TrialError
from sonde.execution import Executor, Inline, Processes, Report, Task
from sonde.study.asking import PAUSED
from sonde.study.asking_ahead import AskingAhead
from sonde.study.front import Front
from sonde.study.identity import key_of
from sonde.study.interrupts import deferred_interrupts, interruptible, show_in_one_line
from sonde.study.pending import Pending, outcome_of, sendable
from sonde.study.progress import Progress, progress_for
from sonde.trials import Outcome, State, Trial
from sonde.trials.reason import one_line
from sonde.trials.state import ENDED

if TYPE_CHECKING:
    from sonde.study.study import Study


FAILURES = 10  # for the same reason, in a row, after which a run gives up


class RepeatedFailures:
    """Counts how many trials in a row have failed for the same reason; numbers in the reason do not count.

    If none has completed, that is most likely a mistake in the objective, such as a mistyped name.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._kind = ""
        self._count = 0
        self.reason = ""

    def note(self, told: Trial) -> None:
        """Count a result; call it in the order in which results arrive."""
        self.reason = one_line(told.error or "")
        kind = re.sub(r"[0-9]+", "#", self.reason)
        same = told.state is State.FAILED and kind == self._kind
        self._count = self._count + 1 if same else int(told.state is State.FAILED)
        self._kind = kind

    @property
    def too_many(self) -> bool:
        """Whether to give up, if no trial has completed."""
        return self._most is not None and self._count >= self._most

    def __str__(self) -> str:
        return f"{self._count} trials in a row failed for the same reason and none has completed: {self.reason}"


@dataclass
class Run:
    """The state of one call of ``optimize``."""

    study: Study
    pending: Pending
    room: Callable[[], int]  # how many trials may run at once now
    n_trials: int | None
    total_trials: int | None
    deadline: float  # after which no new trial starts
    callbacks: Sequence[Callable[[Trial], Any]]
    catch: tuple[type[BaseException], ...]
    failures: RepeatedFailures
    progress: Progress
    asking: AskingAhead | None  # None: ask when a slot is free, with an executor in this process
    asked: int = 0
    done: int = 0
    failed: int = 0
    stopped: int = 0
    finished: bool = False
    front: Front = field(default_factory=Front)

    def execute(self) -> None:
        """Run until all trials are done."""
        self.show()
        while self.fill() or self.pending or self.waiting or self.blocked():
            called = self.asking.due if self.asking and self.waiting else None
            ended = list(self.pending.ended(called, self.deadline))
            if ended:
                self.record_all(ended)
        if self.hopeless() and self.more_wanted() and not self.study._stopping:
            remedy = "correct the objective and run it again, or continue anyway with give_up_after=None"
            raise AllFailed(str(self.failures), f"{remedy}; this error's study has the trials")

    def fill(self) -> bool:
        """Ask and submit until every slot is busy; return whether anything was started."""
        wanted = self.room() - self.pending.occupied - self.waiting
        if self.n_trials is not None:
            wanted = min(wanted, self.n_trials - self.asked - self.waiting)
        if self.ending():
            self.withdraw()
            return False
        trials = self.ask(max(wanted, 0))
        self.pending.expect(trials)
        self.asked += len(trials)
        for trial in trials:
            with interruptible() if self.asking is None else nullcontext():
                self.pending.start(trial)
        return bool(trials)

    @property
    def waiting(self) -> int:
        """How many trials the run has asked for and not yet got."""
        return 0 if self.asking is None else self.asking.waiting

    def ask(self, wanted: int) -> list[Trial]:
        """Return the next trials; note whether the space or the common budget is exhausted."""
        if self.asking is None:
            with doing("suggesting"):
                trials = self.study._ask(wanted, limit=self.total_trials, until=self.deadline) if wanted else []
            self.finished = len(trials) < wanted
            return trials
        budget = self.total_trials if self.n_trials is None else self.n_trials
        spent = self.counts(State.RUNNING, *ENDED) if self.n_trials is None and budget is not None else self.asked
        left = None if budget is None else budget - spent - self.waiting - wanted
        trials, self.finished = self.asking.take(wanted, self.room(), left)
        return trials

    def withdraw(self) -> None:
        """Give up what was asked for and is not there yet, and calls that wait if none of them should begin."""
        if self.asking is not None:
            self.asking.withdraw()
        trials = self.pending.withdraw() if self.stopping() else []
        if trials:
            self.study.release(trials)
        for trial in trials:
            self.pending.forget(trial)

    def ending(self) -> bool:
        """Whether no trial should be asked for any more."""
        return self.finished or self.stopping()

    def stopping(self) -> bool:
        """Whether no trial should begin any more, not even one whose call waits for a worker."""
        return self.study._stopping or time.monotonic() >= self.deadline or self.hopeless()

    def hopeless(self) -> bool:
        """Whether so many trials have failed for the same reason, and none completed, that the rest would fail, too."""
        return self.failures.too_many and self.counts(State.COMPLETED) == 0

    def blocked(self) -> bool:
        """Whether more trials are wanted, but all workers hang in trials that timed out."""
        return self.pending.stuck >= self.room() and not self.ending() and self.more_wanted()

    def more_wanted(self) -> bool:
        """Whether the budget is not exhausted."""
        if self.finished:
            return False
        if self.n_trials is not None:
            return self.asked < self.n_trials
        spent = self.counts(State.RUNNING, *ENDED)
        return self.total_trials is None or spent < self.total_trials

    def record_all(self, ended: Sequence[tuple[Trial, Report]]) -> None:
        """Tell results; read the learning curves and show the progress once for all of them."""
        self.study._curves.update()
        for trial, report in ended:
            self.record(trial, report)
        self.show()

    def record(self, trial: Trial, report: Report) -> None:
        """Tell one result, call the callbacks, and raise exceptions that ``catch`` does not name."""
        outcome = self.outcome(trial, report)
        told = self.tell(trial, outcome, report)
        if told is None:
            return
        self.done += 1
        self.failed += told.state is State.FAILED
        self.stopped += told.state is State.STOPPED
        self.failures.note(told)
        if self.asking is not None:
            self.asking.note(told)
        if report.exception is not None and not isinstance(report.exception, self.catch):
            raise report.exception
        with interruptible():
            for callback in self.callbacks:
                callback(told)

    def outcome(self, trial: Trial, report: Report) -> Outcome:
        """Return the outcome of a report."""
        if report.stopped:
            return self.study._curves.stopped(key_of(trial))
        return outcome_of(report, self.study.space, self.study.objectives)

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
        history = self.study.history
        number = history.best()
        front = len(self.front.numbers(history)) if history.objectives.several else None
        best = None if number is None else float(history.sign * history.values[number])
        done, failed, stopped = self.done, self.failed, self.stopped
        if self.total_trials is not None:
            done, failed, stopped = (history.count(*states) for states in (ENDED, [State.FAILED], [State.STOPPED]))
        self.progress.show(done, failed, best, front, stopped)
        self.progress.draw(history)

    def stage(self, what: str) -> None:
        """Show the activity that begins; during a pause, that."""
        self.progress.stage(PAUSED if self.asking is not None and self.asking.paused else what)

    def counts(self, *states: State) -> int:
        """Return how many trials of the study are in these states."""
        return self.study.history.count(*states)

    def abandon(self) -> None:
        """Tell the results that are there, and give running trials back for other processes or a later run."""
        if self.asking is not None:
            self.asking.close()
        running = []
        for trial, report in self.pending.cancel():
            if report is None:
                running.append(trial)
            else:
                self.study._tell(trial, self.outcome(trial, report), sendable(report.attributes, trial))
        if running:
            self.study.release(running)

    def interrupted(self) -> Interrupted:
        """Return the exception for Ctrl-C, which says how to continue."""
        show_in_one_line()
        if self.total_trials is not None:
            done, total = self.counts(*ENDED), f" of {self.total_trials}"
            remedy = "the same call again continues"
        elif self.n_trials is not None:
            done, total = self.done, f" of {self.n_trials}"
            remedy = f"study.optimize(..., n_trials={self.n_trials - self.done}) runs the rest"
        else:
            done, total, remedy = self.done, "", "study.optimize continues from there"
        return Interrupted(f"stopped after {done}{total} trials", remedy)


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
    room = (lambda: workers or 1) if executor is None else _room(executor, workers)
    deadline = float("inf") if timeout is None else time.monotonic() + timeout
    total = total_trials if n_trials is None else n_trials
    study._stopping = False
    pending = Pending(task, own or executor, trial_timeout)  # type: ignore[arg-type]
    shown = progress_for(study.name, total, wanted=progress)
    show = partial(_show_if_idle, shown, pending)
    asking = None if isinstance(own, Inline) else AskingAhead(study, total_trials, pending.wake, show)
    failures = RepeatedFailures(give_up_after)
    run = Run(study, pending, room, n_trials, total_trials, deadline, callbacks, catch, failures, shown, asking)
    try:
        with deferred_interrupts(), shown, watching(run.stage):
            _to_the_end(run, own)
    except KeyboardInterrupt as interrupt:
        raise run.interrupted() from interrupt


def _to_the_end(run: Run, own: Inline | Processes | None) -> None:
    """Run; afterwards, even after an error, no worker process is left and the study can be continued."""
    try:
        run.execute()
    finally:
        try:
            run.abandon()
        finally:
            if own is not None:
                own.shutdown()


def _show_if_idle(progress: Progress, pending: Pending, what: str) -> None:
    """Show what the suggester does while no trial runs, and pauses."""
    if not pending or what == PAUSED:
        progress.stage(what)


def _own_executor(workers: int, *, killable: bool) -> Inline | Processes:
    """Return an executor in this process for one worker, unless it must be possible to kill the objective."""
    return Inline() if workers == 1 and not killable else Processes(workers)


def _room(executor: Executor, workers: int | None) -> Callable[[], int]:
    """Return a function that says how many calls to have pending: as many as there are workers, or as the user says."""
    if hasattr(executor, "workers"):  # a cluster, which may grow and shrink; one call waits for its first worker
        return lambda: min(max(executor.workers(), 1), workers or sys.maxsize)
    own = getattr(executor, "_max_workers", None)
    if workers is not None and isinstance(own, int) and workers > own:
        raise OptionError(
            f"workers={workers} calls at once, but the executor has {own}: the others would only wait in its queue, "
            "suggested before results that they could use; leave out workers="
        )
    slots = workers or own or os.cpu_count() or 1
    return lambda: slots
