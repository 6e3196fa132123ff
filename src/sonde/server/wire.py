"""JSON as it goes over the network: strict, and exact for every float.

JSON has no NaN and no infinity. They are the strings ``"nan"``, ``"inf"`` and ``"-inf"`` here. Nothing that came over
the network is ever unpickled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sonde.errors import SondeError
from sonde.space import Space
from sonde.storage import StudyHeader
from sonde.study import export
from sonde.trials import TrialRecord
from sonde.trials.objectives import Objectives
from sonde.trials.trial import to_trial

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def dumps(data: Any) -> bytes:
    """Return JSON; floats that it lacks must have been replaced."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def to_wire(value: Any) -> Any:
    """Return data with floats that JSON lacks as strings."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(name): to_wire(item) for name, item in value.items()}
    return [to_wire(item) for item in value] if isinstance(value, list | tuple) else value


def from_wire(value: Any) -> Any:
    """Return the numbers of a request, with the strings of floats that JSON lacks as floats."""
    if isinstance(value, str):
        return NOT_FINITE.get(value, value)
    if isinstance(value, dict):
        return {name: from_wire(item) for name, item in value.items()}
    return [from_wire(item) for item in value] if isinstance(value, list) else value


def trial_document(record: TrialRecord, space: Space, study: str, objectives: Objectives) -> dict[str, Any]:
    """Return a trial as JSON; its learning curve is among the reports."""
    trial = to_trial(record, space, study, objectives)
    return export.document(trial, space) | {"token": trial.token, "study": study}


def header_document(header: StudyHeader) -> dict[str, Any]:
    """Return the settings of a study as JSON."""
    return short_header(header) | {"space": json.loads(header.space)}


def short_header(header: StudyHeader) -> dict[str, Any]:
    """Return the settings of a study without its space, which may be long."""
    created = datetime.fromtimestamp(header.created, UTC).isoformat()
    return {"name": header.name, "key": header.key, "direction": header.direction, "seed": header.seed,
            "strategy": header.strategy, "created": created}  # fmt: skip


def error_document(error: BaseException) -> dict[str, str]:
    """Return an error as JSON."""
    remedy = getattr(error, "remedy", "")
    return {"error": type(error).__name__, "message": str(error), "remedy": str(remedy)}


class Refused(SondeError):
    """A request that the service does not carry out, with its HTTP status."""

    def __init__(self, status: int, name: str, message: str, remedy: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status, self.name, self.remedy = status, name, remedy
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def document(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"error": self.name, "message": str(self), "remedy": self.remedy}
