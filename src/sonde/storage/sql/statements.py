"""Every statement the SQL storage runs, built once and compiled once.

Parameters: ``study`` is its id, ``one`` a trial's number, ``numbers`` several, ``who`` a holder, ``rev`` a
revision, ``now`` and ``ends`` times, ``since`` the revision a reader has.
"""

from __future__ import annotations

import sqlalchemy as sa

from sonde.storage.sql.tables import studies, trials
from sonde.trials import State

_CHANGED = (trials.c.number, trials.c.state, trials.c.revision, trials.c.row, trials.c.value, trials.c.noise,
            trials.c.gradient, trials.c.hessian, trials.c.constraints)  # fmt: skip
_RECORD = (*_CHANGED, trials.c.error, trials.c.worker, trials.c.created, trials.c.started, trials.c.finished,
           trials.c.retry_of, trials.c.attributes)  # fmt: skip

_study = studies.c.id == sa.bindparam("study")
_own = trials.c.study_id == sa.bindparam("study")
_one = sa.and_(_own, trials.c.number == sa.bindparam("one"))
_these = sa.and_(_own, trials.c.number.in_(sa.bindparam("numbers", expanding=True)))
_newer = sa.and_(_own, trials.c.revision > sa.bindparam("since"))

SELECT_REVISION = sa.select(studies.c.revision).where(_study)
SELECT_CHANGED = sa.select(*_CHANGED).where(_newer).order_by(trials.c.number)
SELECT_RECORDS = sa.select(*_RECORD).where(_newer).order_by(trials.c.number)
SELECT_RECORD = sa.select(*_RECORD).where(_one)
SELECT_THESE = sa.select(*_RECORD).where(_these).order_by(trials.c.number)
_due = sa.or_(
    trials.c.state == State.WAITING.value,
    sa.and_(trials.c.state == State.RUNNING.value, trials.c.lease < sa.bindparam("now")),
)
SELECT_DUE = (  # what an ask has to see to: ended leases and the queue
    sa.select(trials.c.number, trials.c.state).where(_own, _due).order_by(trials.c.number)
)
COUNT_SPENT = sa.select(sa.func.count()).where(
    _own, trials.c.state.in_([State.RUNNING.value, State.COMPLETED.value, State.FAILED.value])
)
RAISE_REVISION = (
    sa.update(studies)
    .where(_study)
    .values(revision=studies.c.revision + 1)
    .returning(studies.c.revision, studies.c.next_number)
)
FINISH_TURN = (
    sa.update(studies)
    .where(_study, studies.c.holder == sa.bindparam("who"))
    .values(
        revision=studies.c.revision + 1,
        next_number=studies.c.next_number + sa.bindparam("count"),
        holder=None,
    )
    .returning(studies.c.revision, studies.c.next_number)
)
SET_NEXT_NUMBER = sa.update(studies).where(_study).values(next_number=sa.bindparam("next"))
_free = sa.or_(
    studies.c.holder.is_(None), studies.c.holder == sa.bindparam("who"), studies.c.turn_ends < sa.bindparam("now")
)
SELECT_HOLDER = sa.select(studies.c.holder).where(
    _study, sa.not_(_free), sa.not_(sa.exists().where(_own, _due).correlate(None))
)
TAKE_TURN = (  # raises the revision as well; who holds the turn afterwards is returned
    sa.update(studies)
    .where(_study)
    .values(
        revision=studies.c.revision + 1,
        holder=sa.case((_free, sa.bindparam("who")), else_=studies.c.holder),
        turn_ends=sa.case((_free, sa.bindparam("ends")), else_=studies.c.turn_ends),
    )
    .returning(studies.c.revision, studies.c.next_number, studies.c.holder)
)
LEAVE_TURN = sa.update(studies).where(_study, studies.c.holder == sa.bindparam("who")).values(holder=None)
RENEW_TURN = (
    sa.update(studies).where(_study, studies.c.holder == sa.bindparam("who")).values(turn_ends=sa.bindparam("ends"))
)
START = (
    sa.update(trials)
    .where(_these)
    .values(state=State.RUNNING.value, revision=sa.bindparam("rev"), worker=sa.bindparam("who"),
            started=sa.bindparam("now"), lease=sa.bindparam("ends"))
)  # fmt: skip
FINISH = (
    sa.update(trials)
    .where(_one)
    .values({name: sa.bindparam("new_" + name) for name in (
        "state", "revision", "value", "noise", "gradient", "hessian", "constraints", "error", "finished",
        "attributes")})
    .values(lease=None)
)  # fmt: skip
END = (
    sa.update(trials)
    .where(_these)
    .values(state=sa.bindparam("to"), revision=sa.bindparam("rev"), finished=sa.bindparam("now"), lease=None)
)
CANCEL_RETRY = (
    sa.update(trials)
    .where(_own, trials.c.retry_of == sa.bindparam("one"), trials.c.state == State.WAITING.value)
    .values(state=State.CANCELLED.value, revision=sa.bindparam("rev"), finished=sa.bindparam("now"))
)
HEARTBEAT = (
    sa.update(trials)
    .where(_these, trials.c.state == State.RUNNING.value, trials.c.lease.is_not(None))
    .values(lease=sa.bindparam("ends"))
)
INSERT = sa.insert(trials)
