"""All SQL statements of the storage, built once and compiled once.

Each transaction finds its study by the ``key``; the statements that follow use the ``study`` id. Other parameters:
``one`` a trial's number, ``numbers`` several, ``tokens`` tokens, ``who`` an asker, ``rev`` a revision, ``now`` and
``ends`` times, ``since`` the revision of a reader. The columns ``holder``, ``turn_began``, ``turn_ends`` and
``process`` are about the suggester, the columns ``round_*`` about the last batch of suggestions.
"""

from __future__ import annotations

import sqlalchemy as sa

from sonde.storage.sql.clock import server_clock
from sonde.storage.sql.tables import notes, reports, states, studies, tickets, trials
from sonde.trials import State
from sonde.trials.state import ENDED

_CHANGED = (trials.c.number, trials.c.state, trials.c.revision, trials.c.row, trials.c.value, trials.c.noise,
            trials.c.gradient, trials.c.hessian, trials.c.constraints, trials.c.objectives)  # fmt: skip
_RECORD = (*_CHANGED, trials.c.error, trials.c.worker, trials.c.created, trials.c.started, trials.c.finished,
           trials.c.retry_of, trials.c.attributes, trials.c.token, trials.c.seen, trials.c.suggested_in,
           trials.c.batch_first, trials.c.batch_size)  # fmt: skip
_seconds = sa.case((trials.c.seen.is_not(None), trials.c.finished - trials.c.started)).label("seconds")
_suggester = studies.c.holder.label("suggester")
_suggesting_since = studies.c.turn_began.label("suggesting_since")
_lease_ends = studies.c.turn_ends.label("suggester_lease_ends")
_LOCKED = (studies.c.id, studies.c.name, studies.c.revision, studies.c.next_number, _suggester, studies.c.process,
           _suggesting_since, _lease_ends, studies.c.round_served, studies.c.round_ended,
           studies.c.round_took, studies.c.round_suggester, studies.c.paused)  # fmt: skip

_study = studies.c.id == sa.bindparam("study")
_uuid = studies.c.uuid == sa.bindparam("key")
_own = trials.c.study_id == sa.bindparam("study")
_one = sa.and_(_own, trials.c.number == sa.bindparam("one"))
_these = sa.and_(_own, trials.c.number.in_(sa.bindparam("numbers", expanding=True)))
_under = sa.and_(_own, trials.c.token.in_(sa.bindparam("tokens", expanding=True)))
_newer = sa.and_(_own, trials.c.revision > sa.bindparam("since"))
_running = trials.c.state == State.RUNNING.value

# studies

SELECT_REVISION = sa.select(studies.c.id, studies.c.revision).where(_uuid)
_anybody = sa.exists().where(tickets.c.study_id == studies.c.id).correlate(studies).label("anybody_waits")
LOCK_STUDY = (  # raises the revision: that locks the row, and writers of one study queue up
    sa.update(studies)
    .where(_uuid)
    .values(revision=studies.c.revision + 1)
    .returning(*_LOCKED, _anybody, server_clock().label("clock"))
)
SELECT_STATUS = sa.select(
    studies.c.paused, _suggester, _suggesting_since, _lease_ends, server_clock().label("clock")
).where(_study)
SET_PAUSED = sa.update(studies).where(_study).values(paused=sa.bindparam("pauses"))
SET_NEXT_NUMBER = sa.update(studies).where(_study).values(next_number=sa.bindparam("next"))

# reading

SELECT_CHANGED = sa.select(*_CHANGED, _seconds).where(_newer).order_by(trials.c.number)
SELECT_RECORDS = sa.select(*_RECORD).where(_newer).order_by(trials.c.number)
SELECT_TIMES = (
    sa.select(trials.c.number, trials.c.worker, trials.c.created, trials.c.started, trials.c.finished,
              trials.c.retry_of, trials.c.suggested_in)
    .where(_newer)
    .order_by(trials.c.number)
)  # fmt: skip
SELECT_LAST_OF_PAGE = (
    sa.select(trials.c.revision).where(_newer).order_by(trials.c.revision).offset(sa.bindparam("skip")).limit(1)
)
SELECT_PAGE = SELECT_RECORDS.where(trials.c.revision <= sa.bindparam("last"))
SELECT_RECORD = sa.select(*_RECORD).where(_one)
SELECT_THESE = sa.select(*_RECORD).where(_these).order_by(trials.c.number)
SELECT_TOKEN = sa.select(*_RECORD).where(_own, trials.c.token == sa.bindparam("first"))
SELECT_UNDER = sa.select(*_RECORD).where(_under).order_by(trials.c.number)

# the suggester

_ahead = trials.c.lease > sa.bindparam("now") + sa.func.coalesce(trials.c.lease_seconds, 3600.0) + 1.0
_ended = sa.and_(_running, sa.or_(trials.c.lease < sa.bindparam("now"), _ahead))
_DUE = (trials.c.number, trials.c.state, trials.c.lease, trials.c.token)
_first_waiting = (
    sa.select(*_DUE)
    .where(_own, trials.c.state == State.WAITING.value)
    .order_by(trials.c.number)
    .limit(sa.bindparam("most"))
    .subquery()
)
SELECT_DUE = sa.union_all(  # what an ask needs: leases that have ended or end too late, trials it has, waiting trials
    sa.select(*_DUE).where(_own, _ended),  # one select for each: an OR would read the whole study
    sa.select(*_DUE).where(_own, trials.c.token.in_(sa.bindparam("tokens", expanding=True))),
    sa.select(*_first_waiting.c),
)
CUT_LEASES = (
    sa.update(trials)
    .where(_own, _running, _ahead)
    .values(lease=sa.bindparam("now") + sa.func.coalesce(trials.c.lease_seconds, 60.0))
)
COUNT_SPENT = sa.select(sa.func.count()).where(
    _own, trials.c.state.in_([state.value for state in (State.RUNNING, *ENDED)])
)
SET_SUGGESTER = (
    sa.update(studies)
    .where(_study)
    .values(holder=sa.bindparam("who"), process=sa.bindparam("living"), turn_began=sa.bindparam("now"),
            turn_ends=sa.bindparam("ends"))
)  # fmt: skip
CLEAR_SUGGESTER = (
    sa.update(studies)
    .where(_study)
    .values(holder=None, process=None, round_served=sa.bindparam("served"), round_ended=sa.bindparam("now"),
            round_took=sa.bindparam("took"), round_suggester=sa.bindparam("suggester"),
            next_number=sa.bindparam("next"))
)  # fmt: skip
CUT_SUGGESTER_LEASE = sa.update(studies).where(_study).values(turn_ends=sa.bindparam("ends"))
RENEW_SUGGESTER_LEASE = (
    sa.update(studies).where(_uuid, studies.c.holder == sa.bindparam("who")).values(turn_ends=sa.bindparam("ends"))
)

# tickets

_waiting = tickets.c.study_id == sa.bindparam("study")
SELECT_TICKETS = (
    sa.select(tickets.c.token, tickets.c.asker, tickets.c.lease, tickets.c.most, tickets.c.ends)
    .where(_waiting)
    .order_by(tickets.c.place)
)
INSERT_TICKETS = sa.insert(tickets)
RENEW_TICKETS = (
    sa.update(tickets)
    .where(_waiting, tickets.c.token.in_(sa.bindparam("tokens", expanding=True)))
    .values(ends=sa.bindparam("until"))
)
DELETE_TICKETS = sa.delete(tickets).where(
    _waiting,
    sa.or_(tickets.c.token.in_(sa.bindparam("tokens", expanding=True)), tickets.c.ends < sa.bindparam("now")),
)
SELECT_WAIT = sa.select(  # what waiting askers read
    studies.c.id,
    _suggester,
    _lease_ends,
    studies.c.round_served,
    studies.c.round_ended,
    studies.c.round_took,
    studies.c.round_suggester,
    studies.c.paused,
    sa.exists().where(tickets.c.study_id == studies.c.id, tickets.c.asker == studies.c.round_suggester)
    .label("suggester_waits"),
    sa.select(tickets.c.asker).where(tickets.c.study_id == studies.c.id).order_by(tickets.c.place).limit(1)
    .scalar_subquery().label("oldest"),
    sa.select(sa.func.count(sa.distinct(tickets.c.asker))).where(tickets.c.study_id == studies.c.id)
    .scalar_subquery().label("waiting"),
    sa.exists().where(trials.c.study_id == studies.c.id, trials.c.token == sa.bindparam("first")).label("has_trial"),
    sa.exists().where(trials.c.study_id == studies.c.id, trials.c.state == State.WAITING.value).label("has_queue"),
    server_clock().label("clock"),
).where(_uuid)  # fmt: skip

# trials

START = (
    sa.update(trials)
    .where(_own, trials.c.number == sa.bindparam("claimed"))
    .values(state=State.RUNNING.value, revision=sa.bindparam("rev"), worker=sa.bindparam("who"),
            started=sa.bindparam("stamp"), lease=sa.bindparam("ends"), lease_seconds=sa.bindparam("seconds"),
            token=sa.bindparam("drawn"))
)  # fmt: skip
FINISH = (
    sa.update(trials)
    .where(_one)
    .values({name: sa.bindparam("new_" + name) for name in (
        "state", "revision", "value", "noise", "gradient", "hessian", "constraints", "objectives", "error",
        "finished", "attributes")})
    .values(lease=None)
)  # fmt: skip
END = (
    sa.update(trials)
    .where(_these)
    .values(state=sa.bindparam("to"), revision=sa.bindparam("rev"), finished=sa.bindparam("stamp"), lease=None,
            error=sa.bindparam("why"))
)  # fmt: skip
CANCEL_RETRY = (
    sa.update(trials)
    .where(_own, trials.c.retry_of == sa.bindparam("one"), trials.c.state == State.WAITING.value)
    .values(state=State.CANCELLED.value, revision=sa.bindparam("rev"), finished=sa.bindparam("stamp"))
)
HEARTBEAT = (
    sa.update(trials)
    .where(_under, _running, trials.c.lease.is_not(None))
    .values(lease=sa.bindparam("ends"), lease_seconds=sa.bindparam("seconds"))
)
INSERT = sa.insert(trials)

# learning curves

INSERT_REPORTS = sa.insert(reports)
SELECT_REPORTS = (
    sa.select(reports.c.number, reports.c.step, reports.c.value)
    .where(reports.c.study_id == sa.bindparam("study"), reports.c.revision > sa.bindparam("since"))
    .order_by(reports.c.revision, reports.c.place)
)

# notes

_noted = notes.c.study_id == sa.bindparam("study")
SELECT_NOTES = sa.select(notes.c.number, notes.c.text).where(_noted).order_by(notes.c.number)
DELETE_NOTE = sa.delete(notes).where(_noted, notes.c.number == sa.bindparam("one"))
INSERT_NOTE = sa.insert(notes)

# states of strategies

_kept = states.c.study_id == sa.bindparam("study")
SELECT_STATE = sa.select(states.c.data).where(_kept, states.c.name == sa.bindparam("one"))
DELETE_STATE = sa.delete(states).where(_kept, states.c.name == sa.bindparam("one"))
INSERT_STATE = sa.insert(states)
SELECT_STATES = sa.select(states.c.name, states.c.saved).where(_kept).order_by(states.c.saved.desc())
