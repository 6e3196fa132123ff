"""Asking from many processes: one of them is the suggester at a time, and suggests for all that wait.

A suggester that died is noticed at once by processes of the same machine, by others when its lease ends.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

from sonde.activity import doing
from sonde.errors import SondeError
from sonde.storage import Asker, AskReply, Storage
from sonde.storage.machine import is_dead, this_process
from sonde.storage.rules import new_token
from sonde.study.interrupts import interruptible
from sonde.trials import TrialRecord

Suggest = Callable[[AskReply], list[bytes]]  # packed rows; fewer than the tokens if the space is exhausted

SUGGESTER_LEASE = 20.0  # seconds until others replace a suggester whose machine died
CHECK = 1.0  # seconds between two checks of a waiting asker whether the suggester is alive


def new_asker(lease: float | None) -> Asker:
    """Return a new asker, named by host, process and a random part."""
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    return Asker(name, SUGGESTER_LEASE, lease, this_process())


def ask(
    storage: Storage,
    study: str,
    count: int,
    asker: Asker,
    suggest: Suggest,
    *,
    since: Callable[[], int],
    limit: int | None,
) -> list[TrialRecord]:
    """Return up to ``count`` trials, now running: first waiting ones, then suggestions of this or another process.

    ``since`` returns the revision of the history that ``suggest`` has. Fewer than ``count`` trials come back only if
    ``limit`` is reached or a finite space is exhausted.
    """
    tokens = [new_token() for _ in range(count)]
    try:
        while True:
            reply = storage.begin_ask(study, tokens, asker, since=since(), limit=limit)
            if reply.missing == 0:
                return list(reply.claimed)
            if reply.granted:
                rows = suggest(reply)
                inserted = storage.finish_ask(study, reply, rows, tokens, asker)
                if inserted is not None and len(inserted) == reply.missing:
                    return [*reply.claimed, *inserted]
                if inserted is not None and len(rows) < len(reply.suggest_for):  # the space is exhausted
                    got = [*reply.claimed, *inserted]
                    given = {record.token for record in got}
                    storage.withdraw(study, [token for token in tokens if token not in given], asker)
                    return got
            else:
                _wait(storage, study, tokens, reply, asker)
    except BaseException:
        with suppress(SondeError):  # the storage itself may have failed
            storage.withdraw(study, tokens, asker)  # others must not wait for this process
        raise


def _wait(storage: Storage, study: str, tokens: list[str], reply: AskReply, asker: Asker) -> None:
    """Wait until there may be a trial; replace a dead suggester."""
    if reply.suggester is not None and is_dead(reply.process):
        storage.end_suggester_lease(study, reply.suggester)
        return
    with doing("waiting for another process to suggest"), interruptible():
        storage.wait(study, tokens, asker, CHECK)
