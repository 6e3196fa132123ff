"""The transactions of an ask: who suggests next, and for whom.

An asker that finds another suggester leaves tickets, one for each trial that it wants. The suggester computes one batch
for all tickets. So no asker waits for more than the current batch and the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sonde.storage import rules
from sonde.storage.port import Asker, AskReply
from sonde.storage.rules import Ticket
from sonde.storage.sql import statements as sql
from sonde.storage.sql import steps
from sonde.storage.sql.rows import to_changes
from sonde.storage.sql.steps import Locked
from sonde.trials import State, TrialRecord


def begin(
    connection: sa.Connection, own: Locked, tokens: Sequence[str], asker: Asker, since: int, limit: int | None
) -> AskReply:
    """Expire leases, claim waiting trials, become the suggester or leave tickets."""
    waiting, some = steps.queue(connection, own, tokens[0])
    got = steps.under(connection, own.id, tokens) if some else []  # the tokens of one ask get their trials in order
    given = {record.token for record in got}
    left = [token for token in tokens if token not in given]
    wanted = left if limit is None else left[: max(0, limit - _spent(connection, own))]
    claimed = dict(zip(wanted, waiting, strict=False))
    got += _claim(connection, own, claimed, asker)
    missing = wanted[len(claimed) :]
    if missing:
        return _become_suggester(connection, own, missing, asker, since, limit, got)
    if own.anybody_waits:
        _drop_tickets(connection, own, tokens)
    return AskReply(got)


def _become_suggester(
    connection: sa.Connection, own: Locked, missing: Sequence[str], asker: Asker, since: int, limit: int | None,
    got: list[TrialRecord],
) -> AskReply:  # fmt: skip
    mine = [Ticket(token, asker.name, asker.lease, limit, own.now + asker.suggester_lease) for token in missing]
    tickets = _tickets(connection, own)
    live = [ticket for ticket in tickets if own.now <= ticket.ends <= own.now + 2 * asker.suggester_lease]
    busy = own.suggester not in (None, asker.name) and own.suggester_lease_ends >= own.now
    if busy and own.suggester_lease_ends > own.now + 2 * asker.suggester_lease:  # a clock was wrong: shorten it
        connection.execute(sql.CUT_SUGGESTER_LEASE, {"study": own.id, "ends": own.now + asker.suggester_lease})
    waiting = list(dict.fromkeys([*(ticket.asker for ticket in live), asker.name]))
    next_one = own.last.suggester if own.last.suggester in waiting else None
    if busy or own.last.pause(len(waiting), next_one, asker.name, own.now) > 0:
        _leave_tickets(connection, own, mine, {ticket.token for ticket in tickets})
        other = (own.suggester, own.process) if busy else (None, "")
        return AskReply(got, len(missing), suggester=other[0], process=other[1])
    spent = 0 if limit is None and all(ticket.limit is None for ticket in live) else _spent(connection, own)
    lease = {"who": asker.name, "living": asker.process, "now": own.now, "ends": own.now + asker.suggester_lease}
    connection.execute(sql.SET_SUGGESTER, {"study": own.id, **lease})
    changed = connection.execute(sql.SELECT_CHANGED, {"study": own.id, "since": since}).all()
    batch = rules.batch_tokens(live, mine, spent)
    return AskReply(got, len(missing), True, batch, own.next_number, to_changes(own.revision, changed))


def finish(
    connection: sa.Connection, own: Locked, reply: AskReply, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
) -> list[TrialRecord] | None:
    """Insert the suggestions of a batch, and end the suggester's lease."""
    if own.suggester != asker.name:
        # The reply to a first try was lost, or the lease has ended.
        return steps.under(connection, own.id, tokens) or None
    tickets = {ticket.token: ticket for ticket in _tickets(connection, own)}
    mine = {token: Ticket(token, asker.name, asker.lease, None, 0.0) for token in tokens}
    live = [ticket for token in reply.suggest_for if (ticket := mine.get(token) or tickets.get(token)) is not None]
    suggested = list(zip(live, rows, strict=False))
    steps.insert(connection, own, [_running(own, ticket, row) for ticket, row in suggested])
    if tickets:
        _drop_tickets(connection, own, [ticket.token for ticket, _ in suggested])
    askers = len({ticket.asker for ticket, _ in suggested})
    end_suggester_lease(connection, own, askers, own.now - own.suggesting_since, asker.name)
    first = own.next_number - len(suggested)
    return [
        TrialRecord(number, State.RUNNING, row, worker=asker.name, created=own.stamp, started=own.stamp,
                    token=ticket.token)
        for number, (ticket, row) in enumerate(suggested, first) if ticket.token in mine
    ]  # fmt: skip


def withdraw(connection: sa.Connection, own: Locked, tokens: Sequence[str], asker: Asker) -> None:
    """Undo an ask that failed."""
    if own.suggester == asker.name:
        end_suggester_lease(connection, own)
    _drop_tickets(connection, own, tokens)
    got = steps.under(connection, own.id, tokens)
    steps.lose(connection, own, [each.number for each in got if each.state is State.RUNNING], given_back=True)


def end_suggester_lease(
    connection: sa.Connection, own: Locked, askers: int = 0, took: float = 0.0, suggester: str | None = None
) -> None:
    """End the suggester's lease, note what its batch took and for how many askers it was, store the next number."""
    ended = {"served": askers, "now": own.now, "took": took, "suggester": suggester, "next": own.next_number}
    connection.execute(sql.CLEAR_SUGGESTER, {"study": own.id, **ended})


def may_have_something(row: Any, asker: Asker, now: float) -> tuple[bool, float]:
    """Whether a waiting asker should ask again; if not, how many seconds it may sleep at most."""
    if row.something:
        return True, 0.0
    ends = row.suggester_lease_ends
    if row.suggester not in (None, asker.name) and ends is not None and ends >= now:
        return False, ends - now
    last = steps.last_suggestion(row)
    next_one = last.suggester if row.suggester_waits else row.oldest
    pause = last.pause(row.waiting, next_one, asker.name, now)
    return pause == 0, pause


def _claim(connection: sa.Connection, own: Locked, claimed: dict[str, int], asker: Asker) -> list[TrialRecord]:
    """Start waiting trials, each under its token."""
    if not claimed:
        return []
    common = {"study": own.id, "rev": own.revision, "who": asker.name, "stamp": own.stamp, **_lease(own, asker.lease)}
    starts = [{**common, "claimed": number, "drawn": token} for token, number in claimed.items()]
    connection.execute(sql.START, starts)
    return steps.under(connection, own.id, list(claimed))


def _running(own: Locked, ticket: Ticket, row: bytes) -> dict[str, Any]:
    lease = _lease(own, ticket.lease)
    return {"row": row, "state": State.RUNNING.value, "worker": ticket.asker, "created": own.stamp,
            "started": own.stamp, "lease": lease["ends"], "lease_seconds": lease["seconds"],
            "token": ticket.token}  # fmt: skip


def _lease(own: Locked, seconds: float | None) -> dict[str, float | None]:
    return {"ends": None if seconds is None else own.now + seconds, "seconds": seconds}


def _leave_tickets(connection: sa.Connection, own: Locked, mine: list[Ticket], known: set[str]) -> None:
    new = [ticket for ticket in mine if ticket.token not in known]
    if new:
        connection.execute(sql.INSERT_TICKETS, [
            {"study_id": own.id, "token": ticket.token, "asker": ticket.asker, "lease": ticket.lease,
             "most": ticket.limit, "ends": ticket.ends}
            for ticket in new
        ])  # fmt: skip
    old = [ticket.token for ticket in mine if ticket.token in known]
    if old:
        connection.execute(sql.RENEW_TICKETS, {"study": own.id, "tokens": old, "until": mine[0].ends})


def _drop_tickets(connection: sa.Connection, own: Locked, tokens: Sequence[str]) -> None:
    """Delete tickets, and all tickets that have expired."""
    connection.execute(sql.DELETE_TICKETS, {"study": own.id, "tokens": list(tokens), "now": own.now})


def _tickets(connection: sa.Connection, own: Locked) -> list[Ticket]:
    if not own.anybody_waits:
        return []
    return [Ticket(*row) for row in connection.execute(sql.SELECT_TICKETS, {"study": own.id})]


def _spent(connection: sa.Connection, own: Locked) -> int:
    return int(connection.execute(sql.COUNT_SPENT, {"study": own.id}).scalar_one())
