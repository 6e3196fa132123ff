"""The contract of a storage.

A storage keeps studies and their trials. Many processes use it at once; any of them may die at any instant.

**Studies** have a unique name, an immutable header and a key, a UUID. Every call names a study by its key: the key of a
deleted study raises ``StudyNotFound``, whatever has been created since. Deleting a study deletes its trials.

**Trials** are numbered 0, 1, 2, ... without gaps, in the order in which they were inserted. A trial's row never
changes. States change only as ``State.may_become`` allows. A number is for people; a trial that was asked for is known
by its *token*, 128 random bits that the asker drew. A number may be handed out again after a crash, a token never.

**Durable**: when ``tell``, ``enqueue``, ``add``, ``create_study`` or ``delete_study`` returns, the change survives
the death of this process and of the machine. What ``begin_ask`` and ``finish_ask`` wrote survives the death of this
process; after a power cut a suggestion may be gone, never a result: a result told for a token that the storage does not
know is inserted as a finished trial of its own.

**Idempotent**: every call may be repeated with the same arguments, because the reply to the first one was lost, and
does nothing twice. ``tell`` with another outcome than the one that is there raises ``ConflictingResult`` and changes
nothing.

**One suggester**: ``begin_ask`` hands out waiting trials first. If more are wanted it grants the *turn* to one
*holder* (an asker, by its name) at a time, for a limited time that ``renew_turn`` extends. ``finish_ask``
inserts the holder's suggestions and ends the turn; if the turn was lost meanwhile it inserts nothing and says so.
Two asks therefore never see the same history with the same next number.

**Served together, in order**: an asker that is refused the turn has a *ticket* for each trial it wants. Whoever gets
the turn suggests for all tickets and for itself, and ``finish_ask`` gives the suggestions to those who have waited
longest first: n askers that wait cost one suggestion of n points. Askers that were served together are likely to
come back together: the next turn waits for as many as were served in the last one, at most as long as that one took, so
that a quick asker does not go round while the others are on their way. If the last suggester is among those who wait,
it suggests again, because its model is warm; else it is the one who has waited longest. A ticket that is not renewed
(by ``begin_ask`` with the same tokens) within the asker's ``turn`` is void.

**Leases**: a running trial may have a lease, which ``heartbeat`` extends. In ``begin_ask`` every running trial
whose lease has ended becomes lost, and its row is inserted again as a waiting trial; a trial that was itself such a
retry becomes failed instead, because its configuration has ended its worker twice. ``release`` gives trials back at
once, retries too: what is given back has killed nobody. A result told for a lost trial, or for one that failed because
its lease ended twice, is accepted, and its retry, if still waiting, is cancelled.

**Clocks**: leases and turns are told by a clock that all processes of a storage share, not by each process's own; one
that lies farther ahead than it is long is cut down to its length. ``now()`` is for people: seconds since the epoch.

**Incremental**: every change of a trial gives it a revision above all earlier ones of its study, and whoever has seen
revision r has seen everything up to r. ``changes`` and ``records`` return what is newer than the revision given.

**States** of strategies are a cache: ``save_state`` keeps some bytes under a name, ``load_state`` may have forgotten.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sonde.trials import Changes, Outcome, State, TrialKey, TrialRecord


@dataclass(frozen=True)
class StudyHeader:
    """What is fixed when a study is created. ``space`` is the space's JSON; ``key`` is its UUID."""

    name: str
    space: str
    direction: str
    seed: int
    strategy: str
    created: float = 0.0
    key: str = ""


@dataclass(frozen=True)
class StudySummary:
    """One line of a list of studies. ``best`` is the best feasible value."""

    header: StudyHeader
    counts: Mapping[State, int] = field(default_factory=dict)
    best: float | None = None


@dataclass(frozen=True)
class Asker:
    """Who asks, and for how many seconds its turn and its trials are its own unless renewed (lease None: forever).

    ``process`` says which process it is, for others on the same machine to see whether it lives.
    """

    name: str
    turn: float
    lease: float | None
    process: str = ""


@dataclass(frozen=True)
class AskTurn:
    """The answer to ``begin_ask``.

    ``claimed`` are the trials that the asker has got under its tokens so far. ``missing`` is how many more it may have.
    If any, ``granted`` says whether it has the turn: then it suggests one row for each token of ``serves`` (its own and
    those of others who wait), ``next_number`` is the number its first suggestion will get unless somebody enqueues
    meanwhile, and ``changes`` bring its history up to now. Where another one has the turn, ``holder`` and ``process``
    say who.
    """

    claimed: Sequence[TrialRecord]
    missing: int = 0
    granted: bool = False
    serves: Sequence[str] = ()
    next_number: int = 0
    changes: Changes | None = None
    holder: str | None = None
    process: str = ""


class Storage(ABC):
    """The port. The module's text is the contract."""

    url: str | None = None  # by which another process can open it; None where it cannot

    @abstractmethod
    def now(self) -> float:
        """Return the time."""

    # studies

    @abstractmethod
    def create_study(self, header: StudyHeader) -> StudyHeader:
        """Create a study under its header's key, or a new one, and return its header; raise ``StudyExists``."""

    @abstractmethod
    def find_study(self, name: str) -> StudyHeader:
        """Return the header of a study; raise ``StudyNotFound``."""

    @abstractmethod
    def studies(self) -> list[StudySummary]:
        """Return all studies, by name."""

    @abstractmethod
    def delete_study(self, name: str) -> None:
        """Delete a study and its trials; raise ``StudyNotFound``."""

    # reading

    @abstractmethod
    def changes(self, study: str, since: int) -> Changes:
        """Return the columns of the trials changed after revision ``since``, by number."""

    @abstractmethod
    def records(self, study: str, since: int) -> tuple[int, list[TrialRecord]]:
        """Return the newest revision and the full records of the trials changed after revision ``since``, by number."""

    @abstractmethod
    def record(self, study: str, number: int) -> TrialRecord:
        """Return one record; raise ``UnknownTrial``."""

    # asking

    @abstractmethod
    def begin_ask(
        self, study: str, tokens: Sequence[str], asker: Asker, *, since: int = 0, limit: int | None = None
    ) -> AskTurn:
        """Expire leases, claim waiting trials, one for each token, and take the turn or tickets if more are wanted.

        ``since`` is the revision that the caller has seen. ``limit`` is the number of trials of the study that may be
        running, completed or failed afterwards.
        """

    def wait(self, study: str, tokens: Sequence[str], asker: Asker, seconds: float) -> None:
        """Wait until ``begin_ask`` may give something to an asker that was refused, at most so long.

        It only reads, so that hundreds who wait do not hinder the one whose turn it is. A storage that cannot tell lets
        them try again soon.
        """
        time.sleep(min(seconds, 0.05))

    @abstractmethod
    def renew_turn(self, study: str, asker: Asker) -> bool:
        """Extend the turn; return whether the asker still has it."""

    @abstractmethod
    def end_turn(self, study: str, holder: str) -> None:
        """End the turn of a holder that is known to be dead."""

    @abstractmethod
    def finish_ask(
        self, study: str, turn: AskTurn, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
    ) -> list[TrialRecord] | None:
        """Insert suggestions for the tokens that the turn serves, end the turn, and return the asker's own trials.

        None, and nothing inserted, if the turn was lost. There may be fewer rows than tokens: those who have waited
        longest get them.
        """

    @abstractmethod
    def withdraw(self, study: str, tokens: Sequence[str], asker: Asker) -> None:
        """Undo an ask that broke off: end the asker's turn, void its tickets, release what it has got under them."""

    @abstractmethod
    def enqueue(
        self, study: str, rows: Sequence[bytes], attributes: Mapping[str, Any], *, tokens: Sequence[str] | None = None
    ) -> list[int]:
        """Insert waiting trials and return their numbers. The same tokens again insert nothing."""

    @abstractmethod
    def add(
        self,
        study: str,
        trials: Iterable[tuple[bytes, Outcome, Mapping[str, Any]]],
        *,
        tokens: Sequence[str] | None = None,
    ) -> list[int]:
        """Insert finished trials, any number, all or none, and return their numbers. The same tokens insert nothing."""

    # finishing

    @abstractmethod
    def tell(
        self, study: str, trial: TrialKey, outcome: Outcome, attributes: Mapping[str, Any], *, row: bytes | None = None
    ) -> TrialRecord:
        """Record a result (attributes are merged) and return the record.

        Where the trial has a token that the storage does not know, because the ask was lost in a crash, ``row`` and
        the outcome are inserted as a trial of its own, under a new number.
        Raise ``UnknownTrial``, ``ConflictingResult`` or ``IllegalTransition``.
        """

    @abstractmethod
    def heartbeat(self, study: str, tokens: Sequence[str], lease: float) -> None:
        """Extend the leases of those of the trials that are running."""

    @abstractmethod
    def release(self, study: str, trials: Sequence[TrialKey]) -> None:
        """Give running trials back: they become lost, and are offered again."""

    @abstractmethod
    def cancel(self, study: str, trials: Sequence[TrialKey]) -> None:
        """Cancel waiting or running trials; raise ``IllegalTransition`` for finished or lost ones, and cancel none."""

    # states of strategies

    def load_state(self, study: str, name: str) -> bytes | None:
        """Return what was saved under that name, or None."""
        return None

    def save_state(self, study: str, name: str, state: bytes) -> None:  # noqa: B027  (a storage need not keep any)
        """Keep a state for other processes; a few of the latest are kept."""

    def close(self) -> None:  # noqa: B027  (a storage without connections has nothing to do)
        """Let go of connections; the storage may be used again afterwards."""
