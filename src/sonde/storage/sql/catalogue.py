"""The studies of a database: create, find, list, delete."""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sonde.storage import rules
from sonde.storage.port import StudyHeader, StudySummary
from sonde.storage.sql.tables import studies, trials
from sonde.trials import State

HEADER = (studies.c.name, studies.c.space, studies.c.direction, studies.c.seed, studies.c.strategy, studies.c.created,
          studies.c.id)  # fmt: skip

_completed = trials.c.state == State.COMPLETED.value
COUNTS = sa.select(trials.c.study_id, trials.c.state, sa.func.count()).group_by(trials.c.study_id, trials.c.state)
EXTREMES = (
    sa.select(trials.c.study_id, sa.func.min(trials.c.value), sa.func.max(trials.c.value))
    .where(_completed, trials.c.constraints.is_(None))
    .group_by(trials.c.study_id)
)
CONSTRAINED = sa.select(trials.c.study_id, trials.c.value, trials.c.constraints).where(
    _completed, trials.c.constraints.is_not(None)
)


def create(connection: sa.Connection, header: StudyHeader) -> int:
    """Insert a study and return its key."""
    if connection.execute(sa.select(studies.c.id).where(studies.c.name == header.name)).scalar() is not None:
        raise rules.study_exists(header.name)
    values = {"name": header.name, "space": header.space, "direction": header.direction, "seed": header.seed,
              "strategy": header.strategy, "created": header.created, "revision": 0, "next_number": 0}  # fmt: skip
    try:
        with connection.begin_nested():
            return int(connection.execute(sa.insert(studies).returning(studies.c.id), values).scalar_one())
    except IntegrityError:  # another process was quicker
        raise rules.study_exists(header.name) from None


def find(connection: sa.Connection, name: str) -> StudyHeader:
    """Return the header of a study."""
    found = connection.execute(sa.select(*HEADER).where(studies.c.name == name)).one_or_none()
    if found is None:
        known = connection.execute(sa.select(studies.c.name).order_by(studies.c.name).limit(11)).scalars()
        raise rules.study_not_found(name, list(known))
    return StudyHeader(*found)


def summaries(connection: sa.Connection) -> list[StudySummary]:
    """Return all studies, with counts and best values."""
    counts: dict[int, dict[State, int]] = {}
    for study, state, number in connection.execute(COUNTS):
        counts.setdefault(study, {})[State(state)] = number
    values = {study: [low, high] for study, low, high in connection.execute(EXTREMES)}
    for study, value, levels in connection.execute(CONSTRAINED):
        if max(json.loads(levels).values(), default=0) <= 0:
            values.setdefault(study, []).append(value)
    best = {"minimize": min, "maximize": max}
    headers = [StudyHeader(*row) for row in connection.execute(sa.select(*HEADER).order_by(studies.c.name))]
    return [
        StudySummary(own, counts.get(own.key, {}), best[own.direction](values.get(own.key, []), default=None))
        for own in headers
    ]


def delete(connection: sa.Connection, name: str) -> None:
    """Delete a study and its trials."""
    key = find(connection, name).key
    connection.execute(sa.delete(trials).where(trials.c.study_id == key))
    connection.execute(sa.delete(studies).where(studies.c.id == key))
