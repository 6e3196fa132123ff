"""The rules of the contract that all implementations share."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sonde.errors import ConflictingResult, IllegalTransition, OptionError, StudyExists, StudyNotFound, UnknownTrial
from sonde.trials import Outcome, State, TrialKey, TrialRecord, failure
from sonde.trials.outcome import unpack_objectives

# Stored, and recognized by its text: it must not change.
ENDED_TWICE = failure("the worker ended, or vanished, twice while it ran this configuration; it is not offered again")
GRACE = 0.25  # seconds that others wait for the next suggester to ask again
KEPT_STATES = 8  # the latest of each study


class Ticket(NamedTuple):
    """A waiting ask for one trial; ``ends`` is when the ticket expires."""

    token: str
    asker: str
    lease: float | None
    limit: int | None
    ends: float


class LastSuggestion(NamedTuple):
    """The last batch of suggestions: for how many askers, when it ended, the seconds it took, and who computed it."""

    askers: int = 0
    ended: float = 0.0
    took: float = 0.0
    suggester: str | None = None

    def pause(self, waiting: int, next_one: str | None, asker: str, now: float) -> float:
        """Return how many seconds an asker waits before it may suggest, if ``waiting`` askers are there now.

        It waits for as many askers as in this batch, and for the next suggester if that is another one.
        """
        left = self.ended + self.took - now
        for_askers = min(left, self.took) if waiting < self.askers else 0.0
        if for_askers > 0:
            return for_askers
        return left + GRACE if next_one not in (None, asker) and 0 < left + GRACE <= self.took + GRACE else 0.0


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


def batch_tokens(tickets: Iterable[Ticket], own: Sequence[Ticket], spent: int) -> list[str]:
    """Return the tokens to suggest for: of all tickets, the oldest first, then the asker's own, within limits."""
    chosen: dict[str, None] = {}
    for ticket in [*tickets, *own]:
        if ticket.token not in chosen and (ticket.limit is None or spent < ticket.limit):
            chosen[ticket.token] = None
            spent += 1
    return list(chosen)


def receivers(batch: Sequence[str], tickets: Mapping[str, Ticket], spent: int, now: float) -> list[str]:
    """Return who gets a batch: the asks that it was computed for, then those that came meanwhile, within limits.

    Suggestions for the queue go to the latter at once. If they had to fetch them from there, the next batch would be
    computed for them, too, and nobody would take it.
    """
    named = {token: None for token in batch if token in tickets}
    others = [ticket for token, ticket in tickets.items() if token not in named and ticket.ends >= now]
    return [*named, *batch_tokens(others, (), spent + len(named))]


def is_news(record: TrialRecord, outcome: Outcome) -> bool:
    """Whether a told outcome must be written; raise if that is not allowed."""
    if record.state.finished:
        if record.outcome == outcome or record.state is outcome.state is State.STOPPED:
            return False  # a stopped trial has a predicted value, which another process may have predicted otherwise
        if record.outcome == ENDED_TWICE:
            return True  # the storage wrote that failure, no worker told it: the late result counts
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


def best_of(direction: str, values: Sequence[float]) -> float | None:
    """Return the best value of a study; None if there is none, or if the study has several objectives."""
    choose = {"minimize": min, "maximize": max}.get(direction)
    return choose(values, default=None) if choose else None


def unknown_trial(study: str, trial: TrialKey) -> UnknownTrial:
    """Return the error for a trial that does not exist."""
    if trial.token is not None:
        return UnknownTrial(
            f"study {study!r} does not know this trial number {trial.number}: its ask was lost in a crash of the "
            "database; tell its result, which is stored as a trial of its own, or ask again"
        )
    return UnknownTrial(f"study {study!r} has no trial number {trial.number!r}")


def study_not_found(name: str, known: list[str]) -> StudyNotFound:
    """Return the error for a study that does not exist."""
    listed = ", ".join(known[:10]) if known else "none"
    return StudyNotFound(f"there is no study {name!r} in this storage; it has: {listed}")


def study_deleted() -> StudyNotFound:
    """Return the error for a study that was deleted."""
    return StudyNotFound(
        "this study was deleted; if a study of that name exists now, it is a new one: open it with sonde.load"
    )


def study_exists(name: str) -> StudyExists:
    """Return the error for a name that is in use."""
    return StudyExists(f"a study {name!r} exists already; open it with sonde.load, or choose another name")


def _summary(outcome: Outcome | None) -> str:
    if outcome is None:
        return "nothing"
    if outcome.state is State.FAILED:
        return f"failed={(outcome.error or '').splitlines()[-1]!r}"
    if outcome.state is State.STOPPED:
        return "stopped"
    extras = [name for name in ("noise", "gradient", "hessian", "constraints") if getattr(outcome, name) is not None]
    value = outcome.value if outcome.objectives is None else unpack_objectives(outcome.objectives)[0].tolist()
    return f"{value!r}" + (f" with {', '.join(extras)}" if extras else "")
