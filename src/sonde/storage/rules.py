"""The rules of the contract that do not depend on where the data lie; implementations share them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sonde.errors import (
    ConflictingResult,
    IllegalTransition,
    OptionError,
    StudyExists,
    StudyNotFound,
    UnknownTrial,
)
from sonde.trials import Outcome, State, TrialKey, TrialRecord, failure
from sonde.trials.attributes import plain_attributes

ENDED_TWICE = failure("the worker ended, or vanished, twice while it ran this configuration; it is not offered again")
GRACE = 0.25  # seconds in which a free turn is left to the one who is next
KEPT_STATES = 8  # of a study, the latest


class Ticket(NamedTuple):
    """One trial that somebody waits for; ``ends`` is when the ticket is void."""

    token: str
    asker: str
    lease: float | None
    limit: int | None
    ends: float


class Round(NamedTuple):
    """The last turn that ended: how many askers it served, when it ended, how long it took, and whose it was."""

    served: int = 0
    ended: float = 0.0
    took: float = 0.0
    suggester: str | None = None

    def gathering(self, waiting: int, now: float) -> float:
        """Return for how long the next turn waits for those served in the last one, if ``waiting`` are there."""
        if waiting >= self.served:
            return 0.0
        return min(max(0.0, self.ended + self.took - now), self.took)

    def left_to(self, next_one: str | None, asker: str, now: float) -> float:
        """Return for how long a free turn is left to the one who is next."""
        if next_one in (None, asker):
            return 0.0
        left = self.ended + self.took + GRACE - now
        return left if 0 < left <= self.took + GRACE else 0.0


def next_suggester(waiting: Iterable[str], last: Round) -> str | None:
    """Return who of those who wait, the oldest first, should suggest: the last suggester, whose model is warm."""
    names = list(waiting)
    return last.suggester if last.suggester in names else next(iter(names), None)


def new_token() -> str:
    """Return a token: 128 random bits."""
    return secrets.token_hex(16)


def tokens_for(count: int, tokens: Sequence[str] | None) -> list[str]:
    """Return the caller's tokens, one for each row, or new ones."""
    if tokens is None:
        return [new_token() for _ in range(count)]
    if len(tokens) != count:
        raise OptionError(f"{count} rows need as many tokens, got {len(tokens)}")
    return list(tokens)


def served(tickets: Iterable[Ticket], own: Sequence[Ticket], spent: int) -> list[str]:
    """Return the tokens that a turn serves: all that wait, the oldest first, then the asker's own, within limits."""
    chosen: dict[str, None] = {}
    for ticket in [*tickets, *own]:
        if ticket.token not in chosen and (ticket.limit is None or spent < ticket.limit):
            chosen[ticket.token] = None
            spent += 1
    return list(chosen)


def is_news(record: TrialRecord, outcome: Outcome) -> bool:
    """Whether a told outcome has to be written; raise if it may not be."""
    if record.state.finished:
        if record.outcome == outcome:
            return False
        if record.outcome == ENDED_TWICE:
            return True  # nobody told that: the result has come after all
        raise ConflictingResult(
            f"trial {record.number} was told {_summary(record.outcome)} before and is now told {_summary(outcome)}; "
            "the first result stands. Results are never overwritten: add_trials() adds a second one"
        )
    require_transition(record.number, record.state, outcome.state)
    return True


def require_transition(number: int, old: State, new: State) -> None:
    """Raise unless the transition is legal."""
    if not old.may_become(new):
        raise IllegalTransition(f"trial {number} is {old} and cannot become {new}")


def unknown_trial(study: str, trial: TrialKey | int) -> UnknownTrial:
    """Return the error for a trial that is not there."""
    number = trial if isinstance(trial, int) else trial.number
    if isinstance(trial, TrialKey) and trial.token is not None:
        return UnknownTrial(
            f"study {study!r} does not know this trial number {number}: its ask was lost in a crash of the database; "
            "tell its result, which is stored as a trial of its own, or ask again"
        )
    return UnknownTrial(f"study {study!r} has no trial number {number!r}")


def study_not_found(name: str, known: list[str]) -> StudyNotFound:
    """Return the error for a name that is not there."""
    listed = ", ".join(known[:10]) if known else "none"
    return StudyNotFound(f"there is no study {name!r} in this storage; it has: {listed}")


def study_deleted() -> StudyNotFound:
    """Return the error for a study that was there once."""
    return StudyNotFound(
        "this study was deleted; one that has its name now is another one, to be opened anew with sonde.load"
    )


def study_exists(name: str) -> StudyExists:
    """Return the error for a name that is taken."""
    return StudyExists(f"a study {name!r} exists already; open it with sonde.load, or choose another name")


def attributes_json(attributes: Mapping[str, Any]) -> str:
    """Return attributes as JSON text, or say which one is not JSON."""
    return json.dumps(plain_attributes(attributes))


def _summary(outcome: Outcome | None) -> str:
    if outcome is None:
        return "nothing"
    if outcome.state is State.FAILED:
        return f"failed={(outcome.error or '').splitlines()[-1]!r}"
    extras = [name for name in ("noise", "gradient", "hessian", "constraints") if getattr(outcome, name) is not None]
    return f"{outcome.value!r}" + (f" with {', '.join(extras)}" if extras else "")
