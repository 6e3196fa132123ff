"""The rules of the contract that do not depend on where the data lie; implementations share them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sonde.errors import (
    ConflictingResult,
    IllegalTransition,
    StudyExists,
    StudyNotFound,
    UnknownTrial,
)
from sonde.trials import Outcome, State, TrialRecord
from sonde.trials.attributes import plain_attributes


def is_news(record: TrialRecord, outcome: Outcome) -> bool:
    """Whether a told outcome has to be written; raise if it may not be."""
    if record.state.finished:
        if record.outcome == outcome:
            return False
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


def unknown_trial(study: str | int, number: object) -> UnknownTrial:
    """Return the error for a number that is not there."""
    return UnknownTrial(f"study {study!r} has no trial number {number!r}")


def study_not_found(name: str, known: list[str]) -> StudyNotFound:
    """Return the error for a name that is not there."""
    listed = ", ".join(known[:10]) if known else "none"
    return StudyNotFound(f"there is no study {name!r} in this storage; it has: {listed}")


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
