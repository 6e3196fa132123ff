"""The transactions of an ask: who suggests next, and for whom.

An asker that finds another suggester leaves tickets, one for each trial that it wants. The suggester computes one batch
for all tickets. So no asker waits for more than the current batch and the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from sonde.storage import rules
from sonde.storage.port import Asker, AskReply, StudyStatus
from sonde.storage.rules import Ticket
from sonde.storage.sql import statements as sql
from sonde.storage.sql import steps
from sonde.storage.sql.database import Database
from sonde.storage.sql.rows import source_columns, to_changes
from sonde.storage.sql.steps import Found, Locked
from sonde.trials import State, TrialRecord


class Wishes(NamedTuple):
    """The options of ``Storage.begin_ask``."""

    since: int
    limit: int | None
    suggests: bool
    ahead: int


def begin(own: Locked, tokens: Sequence[str], asker: Asker, wishes: Wishes) -> AskReply:
    """Expire leases, claim waiting trials, become the suggester or leave tickets."""
    waiting, some = steps.queue(own, tokens, len(tokens) + wishes.ahead)
    waiting = [] if own.paused else waiting
    got = steps.under(own, tokens) if some else []
    given = {record.token for record in got}
    left = [token for token in tokens if token not in given]
    wanted = left if wishes.limit is None else left[: max(0, wishes.limit - _spent(own))]
    claimed = dict(zip(wanted, waiting, strict=False))
    got += _claim(own, claimed, asker)
    missing = wanted[len(claimed) :]
    ahead = max(0, wishes.ahead - len(waiting[len(claimed) :]))
    if own.anybody_waits and len(missing) < len(tokens):
        drop_tickets(own, [token for token in tokens if token not in missing])
    if missing or ahead or (own.anybody_waits and not tokens):
        return _become_suggester(own, missing, asker, wishes._replace(ahead=ahead), got)
    return AskReply(got)


def _become_suggester(
    own: Locked, missing: Sequence[str], asker: Asker, wishes: Wishes, got: list[TrialRecord]
) -> AskReply:
    limit = wishes.limit
    mine = [Ticket(token, asker.name, asker.lease, limit, own.now + asker.suggester_lease) for token in missing]
    tickets = _tickets(own)
    live = [ticket for ticket in tickets if own.now <= ticket.ends <= own.now + 2 * asker.suggester_lease]
    busy = own.suggester not in (None, asker.name) and own.suggester_lease_ends >= own.now
    if busy and own.suggester_lease_ends > own.now + 2 * asker.suggester_lease:  # a clock was wrong: shorten it
        own.execute(sql.CUT_SUGGESTER_LEASE, ends=own.now + asker.suggester_lease)
    waiting = list(dict.fromkeys([*(ticket.asker for ticket in live), asker.name]))
    next_one = own.last.suggester if own.last.suggester in waiting else None
    pauses = bool(missing) and own.last.pause(len(waiting), next_one, asker.name, own.now) > 0
    if busy or pauses or own.paused or not wishes.suggests:
        _leave_tickets(own, mine, {ticket.token for ticket in tickets})
        other = (own.suggester, own.process) if busy else (None, "")
        return AskReply(got, len(missing), suggester=other[0], process=other[1], paused=own.paused)
    if not missing and not wishes.ahead and not live:
        return AskReply(got)
    spent = 0 if limit is None and all(ticket.limit is None for ticket in live) else _spent(own)
    ends = own.now + asker.suggester_lease
    own.execute(sql.SET_SUGGESTER, who=asker.name, living=asker.process, now=own.now, ends=ends)
    changed = own.execute(sql.SELECT_CHANGED, since=wishes.since).all()
    batch = rules.batch_tokens(live, mine, spent)
    changes = to_changes(own.revision, changed)
    return AskReply(got, len(missing), True, batch, wishes.ahead, own.next_number, changes)


def finish(
    own: Locked, reply: AskReply, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
) -> list[TrialRecord] | None:
    """Insert the suggestions of a batch, and end the suggester's lease."""
    if own.suggester != asker.name:
        # The reply to a first try was lost, or the lease has ended.
        return steps.under(own, tokens) or None
    tickets = {ticket.token: ticket for ticket in _tickets(own)}
    mine = {token: Ticket(token, asker.name, asker.lease, None, 0.0) for token in tokens}
    known = tickets | mine
    spent = 0 if all(ticket.limit is None for ticket in known.values()) else _spent(own)
    live = [known[token] for token in rules.receivers(reply.suggest_for, known, spent, own.now)[: len(rows)]]
    suggested, queued = list(zip(live, rows, strict=False)), rows[len(live) :][: reply.ahead]
    first, took = own.next_number, own.now - own.suggesting_since
    source = source_columns(reply, took / max(len(suggested) + len(queued), 1))
    steps.insert(own, [_running(own, ticket, row) | source for ticket, row in suggested])
    steps.insert(own, [{"row": row, "state": State.WAITING.value, "created": own.stamp} | source for row in queued])
    if tickets:
        drop_tickets(own, [ticket.token for ticket, _ in suggested])
    askers = len({ticket.asker for ticket, _ in suggested})
    end_suggester_lease(own, askers, took, asker.name)
    seen, batch = reply.source
    return [
        TrialRecord(number, State.RUNNING, row, worker=asker.name, created=own.stamp, started=own.stamp,
                    token=ticket.token, seen=seen, suggested_in=source.get("suggested_in"), batch=batch)
        for number, (ticket, row) in enumerate(suggested, first) if ticket.token in mine
    ]  # fmt: skip


def withdraw(own: Locked, tokens: Sequence[str], asker: Asker) -> None:
    """Undo an ask that failed."""
    if own.suggester == asker.name:
        end_suggester_lease(own)
    drop_tickets(own, tokens)
    got = steps.under(own, tokens)
    steps.lose(own, [each.number for each in got if each.state is State.RUNNING], given_back=True)


def end_suggester_lease(own: Locked, askers: int = 0, took: float = 0.0, suggester: str | None = None) -> None:
    """End the suggester's lease, note what its batch took and for how many askers it was, store the next number."""
    ended = {"served": askers, "now": own.now, "took": took, "suggester": suggester, "next": own.next_number}
    own.execute(sql.CLEAR_SUGGESTER, **ended)


def next_suggester(own: Locked) -> str:
    """Return who suggests next among those that wait: the last suggester, else who has waited longest."""
    waiting = [ticket.asker for ticket in map(Ticket._make, own.execute(sql.SELECT_TICKETS))]
    last = own.last.suggester
    return last if last is not None and last in waiting else next(iter(waiting), "")


def status(own: Found, database: Database) -> StudyStatus:
    """Return whether the study is paused, and who suggests for how many asks."""
    row = own.execute(sql.SELECT_STATUS).one()
    tickets = [Ticket._make(each) for each in own.execute(sql.SELECT_TICKETS)]
    if row.suggester is None and not tickets:
        return StudyStatus(bool(row.paused))
    now = database.clock(own.connection, row.clock)
    asks = sum(ticket.ends >= now for ticket in tickets)
    if row.suggester is None or row.suggester_lease_ends < now:
        return StudyStatus(bool(row.paused), asks=asks)
    return StudyStatus(bool(row.paused), row.suggester, now - row.suggesting_since, asks)


def may_have_something(row: Any, asker: Asker, now: float) -> tuple[bool, float]:
    """Whether a waiting asker should ask again; if not, how many seconds it may sleep at most."""
    if row.has_trial or (row.has_queue and not row.paused):
        return True, 0.0
    if row.paused:
        return False, inf
    ends = row.suggester_lease_ends
    if row.suggester not in (None, asker.name) and ends is not None and ends >= now:
        return False, ends - now
    last = steps.last_suggestion(row)
    next_one = last.suggester if row.suggester_waits else row.oldest
    pause = last.pause(row.waiting, next_one, asker.name, now)
    return pause == 0, pause


def _claim(own: Locked, claimed: dict[str, int], asker: Asker) -> list[TrialRecord]:
    """Start waiting trials, each under its token."""
    if not claimed:
        return []
    common = {"study": own.id, "rev": own.revision, "who": asker.name, "stamp": own.stamp, **_lease(own, asker.lease)}
    starts = [{**common, "claimed": number, "drawn": token} for token, number in claimed.items()]
    own.connection.execute(sql.START, starts)
    return steps.under(own, list(claimed))


def _running(own: Locked, ticket: Ticket, row: bytes) -> dict[str, Any]:
    lease = _lease(own, ticket.lease)
    return {"row": row, "state": State.RUNNING.value, "worker": ticket.asker, "created": own.stamp,
            "started": own.stamp, "lease": lease["ends"], "lease_seconds": lease["seconds"],
            "token": ticket.token}  # fmt: skip


def _lease(own: Locked, seconds: float | None) -> dict[str, float | None]:
    return {"ends": None if seconds is None else own.now + seconds, "seconds": seconds}


def _leave_tickets(own: Locked, mine: list[Ticket], known: set[str]) -> None:
    new = [ticket for ticket in mine if ticket.token not in known]
    if new:
        own.connection.execute(sql.INSERT_TICKETS, [
            {"study_id": own.id, "token": ticket.token, "asker": ticket.asker, "lease": ticket.lease,
             "most": ticket.limit, "ends": ticket.ends}
            for ticket in new
        ])  # fmt: skip
    old = [ticket.token for ticket in mine if ticket.token in known]
    if old:
        own.execute(sql.RENEW_TICKETS, tokens=old, until=mine[0].ends)


def drop_tickets(own: Locked, tokens: Sequence[str]) -> None:
    """Delete tickets, and all tickets that have expired."""
    own.execute(sql.DELETE_TICKETS, tokens=list(tokens), now=own.now)


def _tickets(own: Locked) -> list[Ticket]:
    if not own.anybody_waits:
        return []
    return [Ticket._make(row) for row in own.execute(sql.SELECT_TICKETS)]


def _spent(own: Locked) -> int:
    return int(own.execute(sql.COUNT_SPENT).scalar_one())
