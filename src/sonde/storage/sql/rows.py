"""Conversion between rows of the tables and the records of the storage interface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sonde.errors import StorageError
from sonde.storage.port import AskReply
from sonde.trials import Changes, Outcome, State, TrialRecord
from sonde.trials.attributes import plain_attributes
from sonde.trials.trial import Batch

_NUMBER = (float, int, type(None))


def to_changes(revision: int, rows: Any) -> Changes:
    """Return the changes of rows of ``SELECT_CHANGED``; constraints are the last column but two."""
    return Changes(
        revision, [(*(row if _sound(*row[:6]) else _checked(row))[:-3], _levels(row), *row[-2:]) for row in rows]
    )


def outcome_columns(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of an outcome."""
    constraints = None if outcome.constraints is None else json.dumps(dict(outcome.constraints))
    return {"state": outcome.state.value, "value": outcome.value, "noise": outcome.noise, "gradient": outcome.gradient,
            "hessian": outcome.hessian, "constraints": constraints, "error": outcome.error,
            "objectives": outcome.objectives}  # fmt: skip


def to_record(row: Any) -> TrialRecord:
    """Return the record of a row of ``SELECT_RECORD``."""
    state = State(_checked(row).state)
    outcome = None
    if state.finished:
        outcome = Outcome(state, row.value, row.noise, row.gradient, row.hessian, _levels(row), row.error,
                          row.objectives)  # fmt: skip
    attributes = _json(row, row.attributes, "attributes") if row.attributes else {}
    return TrialRecord(row.number, state, row.row, outcome, row.worker, row.created, row.started, row.finished,
                       row.retry_of, attributes, row.token, row.seen, row.suggested_in, _batch(row))  # fmt: skip


def source_columns(reply: AskReply, seconds: float) -> dict[str, Any]:
    """Return the columns that say what a suggestion was made from; ``seconds`` are those that it took."""
    seen, batch = reply.source
    if seen is None or batch is None:
        return {}
    return {"seen": seen, "suggested_in": seconds, "batch_first": batch.first, "batch_size": batch.size}


def attributes_text(attributes: Mapping[str, Any]) -> str | None:
    """Return attributes as they are stored; raise ``OptionError`` naming one that JSON cannot hold."""
    return json.dumps(plain_attributes(attributes)) if attributes else None


def _sound(_number: int, state: Any, _revision: int, row: Any, value: Any, noise: Any) -> bool:
    """Whether a row is as Sonde writes it: a fast check, because there may be a hundred thousand rows."""
    return (
        state in _STATES
        and type(row) is bytes
        and (value is None or type(value) is float)
        and (noise is None or type(noise) is float)
    )


def _checked(row: Any) -> Any:
    """Return a row; raise ``StorageError`` where another program has changed it."""
    if row.state not in _STATES:
        raise _damaged(row, f"its state is {row.state!r}, expected one of {', '.join(State)}")
    for name in ("value", "noise"):
        if not isinstance(getattr(row, name), _NUMBER):
            raise _damaged(row, f"its {name} is not a number")
    if not isinstance(row.row, bytes):
        raise _damaged(row, "its parameters are not a row of numbers")
    return row


_STATES = frozenset(state.value for state in State)


def _batch(row: Any) -> Batch | None:
    return None if row.batch_first is None or row.batch_size is None else Batch(row.batch_first, row.batch_size)


def _levels(row: Any) -> Any:
    return None if row.constraints is None else _json(row, row.constraints, "constraints")


def _json(row: Any, text: Any, what: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _damaged(row, f"its {what} cannot be read ({type(error).__name__})") from None
    if not isinstance(data, dict):
        raise _damaged(row, f"its {what} are not a table by name")
    return data


def _damaged(row: Any, why: str) -> StorageError:
    return StorageError(
        f"trial {row.number} is damaged in the database: {why}; restore the database from a copy, or repair that row"
    )
