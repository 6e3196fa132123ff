"""The learning curve of one trial; the storage's interface reads those of a whole study."""

from __future__ import annotations

import math
from typing import Any

import sqlalchemy as sa

from sonde.server.wire import to_wire
from sonde.storage import StudyHeader
from sonde.storage.sql.database import Database
from sonde.storage.sql.tables import reports, studies

MOST = 10_000  # points: the last ones

_REPORTS = (
    sa.select(reports.c.step, reports.c.value)
    .join(studies, studies.c.id == reports.c.study_id)
    .where(studies.c.uuid == sa.bindparam("key"), reports.c.number == sa.bindparam("number"))
    .order_by(reports.c.place.desc())
    .limit(MOST)
)


def curve(database: Database, header: StudyHeader, number: int) -> dict[str, Any]:
    """Return the points of a trial's learning curve by step; of a step that was reported twice, the last value."""
    found = database.read(lambda connection: connection.execute(_REPORTS, {"key": header.key, "number": number}).all())
    values = {step: math.nan if value is None else value for step, value in reversed(found)}
    return {"curve": to_wire(sorted(values.items()))}
