"""Who suggests next, and for whom: the transactions of an ask.

An asker that finds the turn taken leaves tickets, one for each trial it wants; whoever has the turn suggests for all of
them. So who does the work does not matter, and nobody waits for more than the present suggestion and the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sonde.storage import rules
from sonde.storage.port import Asker, AskTurn
from sonde.storage.rules import Ticket
from sonde.storage.sql import statements as sql
from sonde.storage.sql import steps
from sonde.storage.sql.rows import to_changes
from sonde.storage.sql.steps import Locked
from sonde.trials import State, TrialRecord


def begin(
    connection: sa.Connection, own: Locked, tokens: Sequence[str], asker: Asker, since: int, limit: int | None
) -> AskTurn:
    """Expire, claim, take the turn or tickets."""
    waiting, some = steps.queue(connection, own, tokens[0])
    got = steps.under(connection, own.id, tokens) if some else []  # those of one ask are served in order
    given = {record.token for record in got}
    left = [token for token in tokens if token not in given]
    wanted = left if limit is None else left[: max(0, limit - _spent(connection, own))]
    claimed = dict(zip(wanted, waiting, strict=False))
    got += _claim(connection, own, claimed, asker)
    missing = wanted[len(claimed) :]
    if missing:
        return _take_turn(connection, own, missing, asker, since, limit, got)
    if own.anybody_waits:
        _drop_tickets(connection, own, tokens)
    return AskTurn(got)


def _take_turn(
    connection: sa.Connection, own: Locked, missing: Sequence[str], asker: Asker, since: int, limit: int | None,
    got: list[TrialRecord],
) -> AskTurn:  # fmt: skip
    mine = [Ticket(token, asker.name, asker.lease, limit, own.now + asker.turn) for token in missing]
    tickets = _tickets(connection, own)
    live = [ticket for ticket in tickets if own.now <= ticket.ends <= own.now + 2 * asker.turn]
    busy = own.holder not in (None, asker.name) and own.turn_ends >= own.now
    if busy and own.turn_ends > own.now + 2 * asker.turn:  # a clock went wrong: cut down to its length
        connection.execute(sql.CUT_TURN, {"study": own.id, "ends": own.now + asker.turn})
    waiting = list(dict.fromkeys([*(ticket.asker for ticket in live), asker.name]))
    warm = own.round.suggester if own.round.suggester in waiting else None
    left = own.round.gathering(len(waiting), own.now) or own.round.left_to(warm, asker.name, own.now)
    if busy or left > 0:
        _leave_tickets(connection, own, mine, {ticket.token for ticket in tickets})
        return AskTurn(got, len(missing), holder=own.holder if busy else None, process=own.process if busy else "")
    spent = 0 if limit is None and all(ticket.limit is None for ticket in live) else _spent(connection, own)
    turn = {"who": asker.name, "living": asker.process, "now": own.now, "ends": own.now + asker.turn}
    connection.execute(sql.SET_TURN, {"study": own.id, **turn})
    changed = connection.execute(sql.SELECT_CHANGED, {"study": own.id, "since": since}).all()
    serves = rules.served(live, mine, spent)
    return AskTurn(got, len(missing), True, serves, own.next_number, to_changes(own.revision, changed))


def finish(
    connection: sa.Connection, own: Locked, turn: AskTurn, rows: Sequence[bytes], tokens: Sequence[str], asker: Asker
) -> list[TrialRecord] | None:
    """Insert suggestions for those whom the turn serves, and end it."""
    if own.holder != asker.name:
        return steps.under(connection, own.id, tokens) or None  # the reply to a first try was lost, or the turn was
    tickets = {ticket.token: ticket for ticket in _tickets(connection, own)}
    mine = {token: Ticket(token, asker.name, asker.lease, None, 0.0) for token in tokens}
    live = [ticket for token in turn.serves if (ticket := mine.get(token) or tickets.get(token)) is not None]
    served = list(zip(live, rows, strict=False))
    steps.insert(connection, own, [_running(own, ticket, row) for ticket, row in served])
    if tickets:
        _drop_tickets(connection, own, [ticket.token for ticket, _ in served])
    end_turn(connection, own, len({ticket.asker for ticket, _ in served}), own.now - own.turn_began, asker.name)
    first = own.next_number - len(served)
    return [
        TrialRecord(number, State.RUNNING, row, worker=asker.name, created=own.stamp, started=own.stamp,
                    token=ticket.token)
        for number, (ticket, row) in enumerate(served, first) if ticket.token in mine
    ]  # fmt: skip


def withdraw(connection: sa.Connection, own: Locked, tokens: Sequence[str], asker: Asker) -> None:
    """Undo an ask that broke off."""
    if own.holder == asker.name:
        end_turn(connection, own)
    _drop_tickets(connection, own, tokens)
    got = steps.under(connection, own.id, tokens)
    steps.lose(connection, own, [each.number for each in got if each.state is State.RUNNING], given_back=True)


def end_turn(
    connection: sa.Connection, own: Locked, served: int = 0, took: float = 0.0, suggester: str | None = None
) -> None:
    """End a turn that served so many askers, and write the next number down."""
    ended = {"served": served, "now": own.now, "took": took, "suggester": suggester, "next": own.next_number}
    connection.execute(sql.END_TURN, {"study": own.id, **ended})


def may_have_something(row: Any, asker: Asker, now: float) -> tuple[bool, float]:
    """Whether an asker that waits should ask again, and for how long it may sleep at most if not."""
    if row.something:
        return True, 0.0
    if row.holder not in (None, asker.name) and row.turn_ends is not None and row.turn_ends >= now:
        return False, row.turn_ends - now
    last = steps.last_round(row)
    next_one = last.suggester if row.suggester_waits else row.oldest
    pause = last.gathering(row.waiting, now) or last.left_to(next_one, asker.name, now)
    return pause == 0, pause


def _claim(connection: sa.Connection, own: Locked, claimed: dict[str, int], asker: Asker) -> list[TrialRecord]:
    """Start waiting trials, each under its token."""
    if not claimed:
        return []
    common = {"study": own.id, "rev": own.revision, "who": asker.name, "stamp": own.stamp, **_lease(own, asker.lease)}
    connection.execute(
        sql.START,
        [{**common, "claimed": number, "drawn": token} for token, number in claimed.items()],
    )
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
    """Void tickets, and those that nobody has renewed."""
    connection.execute(sql.DELETE_TICKETS, {"study": own.id, "tokens": list(tokens), "now": own.now})


def _tickets(connection: sa.Connection, own: Locked) -> list[Ticket]:
    if not own.anybody_waits:
        return []
    return [Ticket(*row) for row in connection.execute(sql.SELECT_TICKETS, {"study": own.id})]


def _spent(connection: sa.Connection, own: Locked) -> int:
    return int(connection.execute(sql.COUNT_SPENT, {"study": own.id}).scalar_one())
