"""The storage interface and its contract.

A storage keeps studies and their trials. Many processes use it at once, and any of them may die at any moment.

**Studies** have a unique name, an immutable header and a key, a UUID. Every call names a study by its key. The key of a
deleted study raises ``StudyNotFound``, even if a new study has the same name. Deleting a study deletes its trials.

**Trials** are numbered 0, 1, 2, ... without gaps, in the order in which they were inserted. A trial's row never
changes. States change only as ``State.may_become`` allows. The number is for people. Programs identify a trial by its
*token*, 128 random bits drawn by the process that asked for it. A number may be handed out again after a crash; a
token never is.

**Durability**: when ``tell``, ``enqueue``, ``add``, ``create_study`` or ``delete_study`` returns, the change survives
the death of this process and of the machine. What ``begin_ask`` and ``finish_ask`` wrote survives the death of this
process only: a power cut may lose a suggestion. It never loses a result. A result told for an unknown token is
inserted as a new finished trial.

**Idempotence**: a caller may repeat any call with the same arguments, because the reply to the first one was lost. The
second call changes nothing. ``tell`` with a different outcome raises ``ConflictingResult`` and changes nothing.

**One suggester**: ``begin_ask`` first hands out waiting trials. If the asker wants more, it may become the *suggester*
of the study: the one process that computes suggestions. The suggester holds a lease, which
``renew_suggester_lease`` extends. ``finish_ask`` inserts its suggestions and ends the lease. If the lease has ended
before, ``finish_ask`` inserts nothing and returns None. So two asks never see the same history with the same next
trial number.

**Batches**: an asker that cannot become the suggester leaves a *ticket*, a waiting ask, for each trial that it wants.
The suggester computes one batch for all tickets and for itself. ``finish_ask`` hands out the batch, the oldest tickets
first: n waiting askers cost one suggestion of n points. Askers of one batch are likely to ask again at about the same
time. So the next suggester waits until as many askers are there as in the last batch, at most as long as the last
batch took to compute: an asker with a fast objective must not get a batch of its own before the others return. The
next suggester is the last one, if it waits, because it has the fitted model in memory; else it is the asker that has
waited longest. A ticket expires unless ``begin_ask`` renews it, with the same tokens, within the asker's
``suggester_lease``.

**Ahead**: a suggester may ask for others only, with no tokens of its own, and for ``ahead`` trials that shall wait in
the queue, where the next asks claim them at once. An asker with ``suggests=False`` leaves the suggesting to others.

**Where suggestions come from**: a trial that ``finish_ask`` inserts has ``seen``, the revision up to which the
changes of the ``AskReply`` went; ``batch``, the call of the strategy that it is of (the ``next_number`` of the reply,
and for how many it was); and ``suggested_in``: the seconds from the grant to ``finish_ask``, divided by the trials
that it inserted. Trials that were enqueued, added, told or retried have none of these, nor has what an older version
has stored. They never change. So every suggestion can be computed again: from the trials below the first number of
its batch, as they were at ``seen``.

**Pauses**: while a study is paused, ``begin_ask`` claims nothing and makes nobody the suggester; it says that the
study is ``paused``. Askers leave tickets, as when another process suggests, and ``wait`` until the study is resumed. A
suggestion that is computed when the pause begins is still handed out. Everything else works as ever: running trials
end, and their results are recorded.

**Notes** are texts for people, one about a study and one about each of its trials. They are no part of the trials: a
note changes no trial, and no revision of one.

**Trial leases**: a running trial may have a lease, which ``heartbeat`` extends. ``begin_ask`` marks every running
trial whose lease has ended as lost, and inserts its row again as a waiting trial, the *retry*. A retry whose lease
ends becomes failed instead, because its configuration has ended its worker twice. ``release`` gives trials back at
once, and inserts a retry also of a retry, because no worker died. A result told for a lost trial, or for one that
failed because its lease ended twice, is accepted; a retry that still waits is cancelled.

**Clocks**: leases are measured by one clock that all processes of a storage share, not by each process's own. A lease
that ends later than its length allows is shortened to its length. ``now()`` is for people: seconds since the epoch.

**Learning curves**: ``report`` adds values that a trial has on its way, at steps. They are kept as they come, twice
or out of order. It survives the death of this process, as an ask does.

**Incremental reads**: every change of a trial gives it a revision above all earlier revisions of its study. A reader
that has revision r has everything up to r. ``changes``, ``records`` and ``reports`` return what is newer than a
revision; a report has a revision of its own.

**States** of strategies are a cache. ``save_state`` keeps bytes under a name; ``load_state`` may return None at any
time.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonde.trials import Changes, Outcome, State, TrialKey, TrialRecord
from sonde.trials.trial import Batch

FinishedTrial = tuple[bytes, Outcome, Mapping[str, Any]]  # row, outcome and attributes


@dataclass(frozen=True)
class StudyHeader:
    """The settings of a study that never change. ``space`` is the space as JSON; ``key`` is the study's UUID."""

    name: str
    space: str
    direction: str
    seed: int
    strategy: str
    created: float = 0.0
    key: str = ""


@dataclass(frozen=True)
class StudySummary:
    """A study in a list of studies, with its trials counted by state. ``best`` is the best feasible value."""

    header: StudyHeader
    counts: Mapping[State, int] = field(default_factory=dict)
    best: float | None = None
    paused: bool = False


class StudyStatus(NamedTuple):
    """What goes on in a study: whether it is paused, who suggests, for how many seconds, and how many asks wait."""

    paused: bool = False
    suggester: str | None = None
    seconds: float = 0.0
    asks: int = 0


class Page(NamedTuple):
    """Some of the changed trials, each with the revision of its last change; with ``more`` a reader reads on.

    ``revision`` is the one that a reader has after them.
    """

    revision: int
    changed: Sequence[tuple[int, TrialRecord]]
    more: bool


@dataclass(frozen=True)
class Asker:
    """A process (or thread) that asks for trials.

    ``suggester_lease`` and ``lease`` are the lengths in seconds of its lease as the suggester and of the leases of its
    trials (None: they never end). ``process`` identifies the process, so that others on the same machine can see
    whether it is alive.
    """

    name: str
    suggester_lease: float
    lease: float | None
    process: str = ""


@dataclass(frozen=True)
class AskReply:
    """The answer to ``begin_ask``.

    ``claimed`` are the trials that the asker has under its tokens so far. ``missing`` is how many more it may have.
    ``granted`` says whether the asker is the suggester. If it is, it suggests one row for each token of
    ``suggest_for`` (its own and those of waiting askers) and ``ahead`` more for the queue, ``next_number`` is the
    number that its first suggestion gets unless another process enqueues a trial before, and ``changes`` bring its
    history up to date. If another asker is the suggester, ``suggester`` is its name and ``process`` its process.
    ``paused`` says that nobody gets anything until the study is resumed.
    """

    claimed: Sequence[TrialRecord]
    missing: int = 0
    granted: bool = False
    suggest_for: Sequence[str] = ()
    ahead: int = 0
    next_number: int = 0
    changes: Changes | None = None
    suggester: str | None = None
    process: str = ""
    paused: bool = False

    @property
    def wanted(self) -> int:
        """How many rows the suggester suggests."""
        return len(self.suggest_for) + self.ahead

    @property
    def source(self) -> tuple[int | None, Batch | None]:
        """``seen`` and ``batch`` of the trials that are suggested for this reply."""
        if self.changes is None:
            return None, None
        return self.changes.revision, Batch(self.next_number, self.wanted)


class Storage(ABC):
    """The storage interface. The docstring of this module is its contract."""

    url: str | None = None  # with which another process can open it; None where it cannot
    suggests_by_itself = False  # whether suggestions are computed elsewhere, such as by a server

    @abstractmethod
    def now(self) -> float:
        """Return the time, in seconds since the epoch."""

    def together(self) -> AbstractContextManager[None]:
        """Have this thread's writes inside the context be one transaction, where that is faster.

        They are durable when the context has ended. A write that raises is undone alone; after a ``StorageError``, or
        if the end of the context raises, none of them counts: repeat them one by one.
        """
        return nullcontext()

    # studies

    @abstractmethod
    def create_study(self, header: StudyHeader) -> StudyHeader:
        """Create a study under the key of its header, or under a new key; return its header; raise ``StudyExists``."""

    @abstractmethod
    def find_study(self, name: str) -> StudyHeader:
        """Return the header of a study; raise ``StudyNotFound``."""

    @abstractmethod
    def studies(self, name: str | None = None) -> list[StudySummary]:
        """Return all studies, by name; or the one of that name, if it is there."""

    @abstractmethod
    def delete_study(self, name: str) -> None:
        """Delete a study and its trials; raise ``StudyNotFound``."""

    @abstractmethod
    def status(self, study: str) -> StudyStatus:
        """Return whether a study is paused, and who suggests."""

    @abstractmethod
    def set_paused(self, study: str, paused: bool) -> None:
        """Pause a study, or resume it and wake those that wait; doing so again changes nothing."""

    @abstractmethod
    def notes(self, study: str) -> dict[int | None, str]:
        """Return the notes by the numbers of their trials; None is the study's own."""

    @abstractmethod
    def set_note(self, study: str, text: str, number: int | None = None) -> None:
        """Replace the note of a trial, or of the study; an empty text removes it; raise ``UnknownTrial``."""

    # reading

    @abstractmethod
    def changes(self, study: str, since: int) -> Changes:
        """Return the columns of the trials changed after revision ``since``, by number."""

    @abstractmethod
    def records(self, study: str, since: int) -> tuple[int, list[TrialRecord]]:
        """Return the newest revision and the full records of the trials changed after revision ``since``, by number."""

    @abstractmethod
    def page(self, study: str, since: int, limit: int) -> Page:
        """Return about ``limit`` of the records changed after ``since``, the earliest changes first, by number."""

    @abstractmethod
    def record(self, study: str, number: int) -> TrialRecord:
        """Return one record; raise ``UnknownTrial``."""

    def times(self, study: str, since: int) -> tuple[int, list[tuple[Any, ...]]]:
        """Return the newest revision, and when and where the trials changed after revision ``since`` ran, by number.

        A row has number, worker, created, started, finished, retry_of and suggested_in, as a record has them.
        """
        revision, records = self.records(study, since)
        return revision, [(each.number, each.worker, each.created, each.started, each.finished, each.retry_of,
                           each.suggested_in) for each in records]  # fmt: skip

    # asking

    @abstractmethod
    def begin_ask(
        self,
        study: str,
        tokens: Sequence[str],
        asker: Asker,
        *,
        since: int = 0,
        limit: int | None = None,
        suggests: bool = True,
        ahead: int = 0,
    ) -> AskReply:
        """End expired leases and claim waiting trials, one for each token; if more are wanted, suggest or wait.

        The asker becomes the suggester if there is none, unless ``suggests`` is False, else it leaves tickets.
        ``since`` is the revision that the caller has read. ``limit`` is how many trials of the study may be running,
        completed or failed afterwards. ``ahead`` is how many trials shall wait in the queue.
        """

    def wait(self, study: str, tokens: Sequence[str], asker: Asker, seconds: float) -> None:
        """Wait until ``begin_ask`` may have something for an asker that left tickets, at most ``seconds``.

        It only reads, so that hundreds of waiting processes do not slow the suggester down. A storage that cannot
        notice changes lets the asker try again soon, as here.
        """
        time.sleep(min(seconds, 0.05))

    @abstractmethod
    def renew_suggester_lease(self, study: str, asker: Asker) -> bool:
        """Extend the suggester's lease; return whether the asker is still the suggester."""

    @abstractmethod
    def end_suggester_lease(self, study: str, suggester: str) -> None:
        """End the lease of a suggester that is known to be dead."""

    @abstractmethod
    def finish_ask(
        self, study: str, reply: AskReply, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
    ) -> list[TrialRecord] | None:
        """Insert suggestions for the tokens of the batch, end the suggester's lease, return the asker's own trials.

        Insert nothing and return None if the lease has ended before. There may be fewer rows than tokens: the oldest
        tickets get them. Rows beyond the tokens wait in the queue, as many as the reply allows.
        """

    @abstractmethod
    def withdraw(self, study: str, tokens: Sequence[str], asker: Asker) -> None:
        """Undo an ask that failed: end the asker's lease as suggester, delete its tickets, release its trials."""

    @abstractmethod
    def enqueue(
        self, study: str, rows: Sequence[bytes], attributes: Mapping[str, Any], *, tokens: Sequence[str] | None = None
    ) -> list[int]:
        """Insert waiting trials and return their numbers. A second call with the same tokens inserts nothing."""

    @abstractmethod
    def add(self, study: str, trials: Iterable[FinishedTrial], *, tokens: Sequence[str] | None = None) -> list[int]:
        """Insert finished trials, all or none, and return their numbers. The same tokens again insert nothing."""

    # finishing

    @abstractmethod
    def tell(
        self, study: str, trial: TrialKey, outcome: Outcome, attributes: Mapping[str, Any], *, row: bytes | None = None
    ) -> TrialRecord:
        """Record a result (attributes are merged) and return the record.

        If the storage does not know the trial's token, because a crash lost the ask, ``row`` and the outcome are
        inserted as a new trial with a new number.
        Raise ``UnknownTrial``, ``ConflictingResult`` or ``IllegalTransition``.
        """

    @abstractmethod
    def heartbeat(self, study: str, tokens: Sequence[str], lease: float) -> None:
        """Extend the leases of those trials that are running."""

    @abstractmethod
    def release(self, study: str, trials: Sequence[TrialKey]) -> None:
        """Give running trials back: they become lost, and their configurations wait as new trials."""

    @abstractmethod
    def cancel(self, study: str, trials: Sequence[TrialKey]) -> None:
        """Cancel waiting or running trials; raise ``IllegalTransition`` for finished or lost ones, and cancel none."""

    # learning curves

    @abstractmethod
    def report(self, study: str, trial: TrialKey, reports: Sequence[tuple[float, float]]) -> int | None:
        """Add pairs of step and value to a trial; return its number, or None where there is no such trial."""

    @abstractmethod
    def reports(self, study: str, since: int) -> tuple[int, list[tuple[int, float, float]]]:
        """Return the newest revision, and (number, step, value) of what was reported after revision ``since``.

        They are in the order in which they came. A value may be NaN or infinite.
        """

    # states of strategies

    def load_state(self, study: str, name: str) -> bytes | None:
        """Return what was saved under that name, or None."""
        return None

    def save_state(self, study: str, name: str, state: bytes) -> None:  # noqa: B027  (a storage need not keep any)
        """Keep a state for other processes; only the latest few are kept."""

    def close(self) -> None:  # noqa: B027  (a storage without connections has nothing to do)
        """Close the connections; the storage may be used again afterwards."""
