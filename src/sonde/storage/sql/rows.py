"""Between rows of the tables and the records of the port."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sonde.storage import rules
from sonde.trials import Changes, Outcome, State, TrialRecord


def to_changes(revision: int, rows: Any) -> Changes:
    """Return the changes of rows of ``SELECT_CHANGED``; constraints are the last column."""
    return Changes(revision, [(*row[:-1], None if row[-1] is None else json.loads(row[-1])) for row in rows])


def outcome_columns(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of an outcome."""
    constraints = None if outcome.constraints is None else json.dumps(dict(outcome.constraints))
    return {"state": outcome.state.value, "value": outcome.value, "noise": outcome.noise, "gradient": outcome.gradient,
            "hessian": outcome.hessian, "constraints": constraints, "error": outcome.error}  # fmt: skip


def to_record(row: Any) -> TrialRecord:
    """Return the record of a row of ``SELECT_RECORD``."""
    state = State(row.state)
    outcome = None
    if state.finished:
        constraints = None if row.constraints is None else json.loads(row.constraints)
        outcome = Outcome(state, row.value, row.noise, row.gradient, row.hessian, constraints, row.error)
    attributes = json.loads(row.attributes) if row.attributes else {}
    return TrialRecord(row.number, state, row.row, outcome, row.worker, row.created, row.started, row.finished,
                       row.retry_of, attributes)  # fmt: skip


def attributes_text(attributes: Mapping[str, Any]) -> str | None:
    """Return attributes as they are stored."""
    return rules.attributes_json(attributes) if attributes else None
