"""The studies of a database: create, find, list, delete."""

from __future__ import annotations

import json
import secrets

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sonde.storage import rules
from sonde.storage.port import StudyHeader, StudySummary
from sonde.storage.sql.tables import notes, reports, states, studies, tickets, trials
from sonde.trials import State

HEADER = (studies.c.name, studies.c.space, studies.c.direction, studies.c.seed, studies.c.strategy, studies.c.created,
          studies.c.uuid)  # fmt: skip

_ID_BITS = 52  # ids are random, so that none is ever used twice

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


def create(connection: sa.Connection, header: StudyHeader) -> StudyHeader:
    """Insert a study; a second call with the same key inserts nothing."""
    found = connection.execute(sa.select(*HEADER).where(studies.c.name == header.name)).one_or_none()
    if found is not None:
        if found.uuid == header.key:  # the reply to a first try was lost
            return StudyHeader(*found)
        raise rules.study_exists(header.name)
    values = {"id": secrets.randbits(_ID_BITS), "uuid": header.key, "name": header.name, "space": header.space,
              "direction": header.direction, "seed": header.seed, "strategy": header.strategy,
              "created": header.created, "revision": 0, "next_number": 0}  # fmt: skip
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(studies), values)
    except IntegrityError:  # another process was quicker
        raise rules.study_exists(header.name) from None
    return header


def find(connection: sa.Connection, name: str) -> StudyHeader:
    """Return the header of a study."""
    found = connection.execute(sa.select(*HEADER).where(studies.c.name == name)).one_or_none()
    if found is None:
        known = connection.execute(sa.select(studies.c.name).order_by(studies.c.name).limit(11)).scalars()
        raise rules.study_not_found(name, list(known))
    return StudyHeader(*found)


def summaries(connection: sa.Connection, name: str | None = None) -> list[StudySummary]:
    """Return all studies, or the one of that name, with counts and best values."""
    every = sa.select(*HEADER, studies.c.id, studies.c.paused).order_by(studies.c.name)
    found = connection.execute(every if name is None else every.where(studies.c.name == name)).all()
    own = sa.true() if name is None else trials.c.study_id.in_([row.id for row in found])
    counts: dict[int, dict[State, int]] = {}
    for study, state, number in connection.execute(COUNTS.where(own)):
        if state in list(State):
            counts.setdefault(study, {})[State(state)] = number
    values = {study: [low, high] for study, low, high in connection.execute(EXTREMES.where(own)) if low is not None}
    for study, value, levels in connection.execute(CONSTRAINED.where(own)):
        if value is not None and _feasible(levels):
            values.setdefault(study, []).append(value)
    return [
        StudySummary(
            StudyHeader(*row[: len(HEADER)]), counts.get(row.id, {}),
            rules.best_of(row.direction, values.get(row.id, [])), bool(row.paused),
        )
        for row in found
    ]  # fmt: skip


def _feasible(levels: str) -> bool:
    try:
        return bool(max(json.loads(levels).values(), default=0) <= 0)
    except (AttributeError, TypeError, ValueError, RecursionError):  # damaged: reported when the study is opened
        return False


def delete(connection: sa.Connection, key: str) -> None:
    """Delete a study with all that is kept of it; do nothing if it was deleted before."""
    own = connection.execute(sa.select(studies.c.id).where(studies.c.uuid == key)).scalar()
    for table in (trials, reports, notes, tickets, states):
        connection.execute(sa.delete(table).where(table.c.study_id == own))
    connection.execute(sa.delete(studies).where(studies.c.id == own))
