"""The contract of a storage.

A storage keeps studies and their trials. Many processes use it at once; any of them may die at any instant.

**Studies** have a unique name and an immutable header. Deleting one deletes its trials.

**Trials** are numbered 0, 1, 2, ... without gaps, in the order in which they were inserted. A trial's row never
changes. States change only as ``State.may_become`` allows.

**Durable**: when ``tell``, ``enqueue``, ``add``, ``create_study`` or ``delete_study`` returns, the change survives
the death of this process and of the machine. What ``begin_ask`` and ``finish_ask`` wrote survives the death of this
process; after a power cut a suggestion may be gone, never a result.

**Idempotent**: ``tell`` with the outcome that is already there changes nothing; with another one it raises
``ConflictingResult`` and changes nothing.

**One suggester**: ``begin_ask`` hands out waiting trials first. If more are wanted it grants the *turn* to one
*holder* (an asker, by its name) at a time, for a limited time that ``renew_turn`` extends. ``finish_ask``
inserts the holder's suggestions and ends the turn; if the turn was lost meanwhile it inserts nothing and says so.
Two asks therefore never see the same history with the same next number.

**Leases**: a running trial may have a lease, which ``heartbeat`` extends. In ``begin_ask`` every running trial
whose lease has ended becomes lost, and its row is inserted again as a waiting trial, unless the trial was itself
such a retry. ``release`` does so at once, for retries too: what is given back has killed nobody. A result told for a
lost trial is accepted, and its retry, if still waiting, is cancelled.

**Incremental**: every change of a trial gives it a revision above all earlier ones of its study, and whoever has seen
revision r has seen everything up to r. ``changes`` and ``records`` return what is newer than the revision given.

Times are seconds since the epoch by ``now()``, the storage's own clock, so that machines need not agree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sonde.trials import Changes, Outcome, State, TrialRecord


@dataclass(frozen=True)
class StudyHeader:
    """What is fixed when a study is created. ``space`` is the space's JSON; ``key`` is the storage's own handle."""

    name: str
    space: str
    direction: str
    seed: int
    strategy: str
    created: float = 0.0
    key: int = -1


@dataclass(frozen=True)
class StudySummary:
    """One line of a list of studies. ``best`` is the best feasible value."""

    header: StudyHeader
    counts: Mapping[State, int] = field(default_factory=dict)
    best: float | None = None


@dataclass(frozen=True)
class Asker:
    """Who asks, and for how many seconds its turn and its trials are its own unless renewed (None: forever)."""

    name: str
    turn: float
    lease: float | None


@dataclass(frozen=True)
class AskTurn:
    """The answer to ``begin_ask``.

    ``claimed`` are waiting trials, now running. ``missing`` is how many more the caller may suggest; if any,
    ``granted`` says whether it holds the turn, ``next_number`` is the number its first suggestion will get unless
    somebody enqueues meanwhile, and ``changes`` bring its history up to now. Where the turn is taken, ``holder``
    names who has it.
    """

    claimed: Sequence[TrialRecord]
    missing: int = 0
    granted: bool = False
    next_number: int = 0
    changes: Changes | None = None
    holder: str | None = None


class Storage(ABC):
    """The port. The module's text is the contract."""

    url: str | None = None  # by which another process can open it; None where it cannot

    @abstractmethod
    def now(self) -> float:
        """Return the time by the storage's clock."""

    # studies

    @abstractmethod
    def create_study(self, header: StudyHeader) -> StudyHeader:
        """Create a study and return its header with the key; raise ``StudyExists``."""

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
    def changes(self, study: int, since: int) -> Changes:
        """Return the columns of the trials changed after revision ``since``, by number."""

    @abstractmethod
    def records(self, study: int, since: int) -> tuple[int, list[TrialRecord]]:
        """Return the newest revision and the full records of the trials changed after revision ``since``, by number."""

    @abstractmethod
    def record(self, study: int, number: int) -> TrialRecord:
        """Return one record; raise ``UnknownTrial``."""

    # asking

    @abstractmethod
    def begin_ask(self, study: int, count: int, asker: Asker, *, since: int = 0, limit: int | None = None) -> AskTurn:
        """Expire leases, claim up to ``count`` waiting trials, and take the turn if more are wanted.

        ``since`` is the revision that the caller has seen. ``limit`` is the number of trials of the study that may be
        running, completed or failed afterwards.
        """

    def turn_holder(self, study: int, asker: Asker) -> str | None:
        """Return who keeps ``asker`` waiting, None if ``begin_ask`` may give it something now.

        For those who wait: it only reads, so that hundreds of them do not hinder the one whose turn it is. A storage
        without a cheap answer lets them try.
        """
        return None

    @abstractmethod
    def renew_turn(self, study: int, asker: Asker) -> bool:
        """Extend the turn; return whether the asker still has it."""

    @abstractmethod
    def end_turn(self, study: int, holder: str) -> None:
        """End the turn of a holder that gave up or is known to be dead."""

    @abstractmethod
    def finish_ask(self, study: int, rows: Sequence[bytes], asker: Asker) -> list[TrialRecord] | None:
        """Insert suggestions as running trials and end the turn; None, and nothing inserted, if the turn was lost."""

    @abstractmethod
    def enqueue(self, study: int, rows: Sequence[bytes], attributes: Mapping[str, Any]) -> list[int]:
        """Insert waiting trials and return their numbers."""

    @abstractmethod
    def add(self, study: int, trials: Iterable[tuple[bytes, Outcome, Mapping[str, Any]]]) -> list[int]:
        """Insert finished trials, any number, all or none, and return their numbers."""

    # finishing

    @abstractmethod
    def tell(self, study: int, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> TrialRecord:
        """Record a result (attributes are merged) and return the record.

        Raise ``UnknownTrial``, ``ConflictingResult`` or ``IllegalTransition``.
        """

    @abstractmethod
    def heartbeat(self, study: int, numbers: Sequence[int], lease: float) -> None:
        """Extend the leases of those of the trials that are running."""

    @abstractmethod
    def release(self, study: int, numbers: Sequence[int]) -> None:
        """Give running trials back: they become lost, and are offered again."""

    @abstractmethod
    def cancel(self, study: int, numbers: Sequence[int]) -> None:
        """Cancel waiting or running trials; raise ``IllegalTransition`` for others, and cancel none."""

    def close(self) -> None:  # noqa: B027  (a storage without connections has nothing to do)
        """Let go of connections; the storage may be used again afterwards."""
