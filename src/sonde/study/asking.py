"""Asking from many processes: one of them is the suggester at a time, and suggests for all that wait.

A suggester that died is noticed at once by processes of the same machine, by others when its lease ends.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from math import inf

from sonde.activity import doing
from sonde.errors import SondeError
from sonde.storage import Asker, AskReply, Storage
from sonde.storage.machine import is_dead, this_process
from sonde.storage.rules import new_token
from sonde.study.interrupts import interruptible
from sonde.trials import TrialRecord

PAUSED = "paused"  # what a progress line shows of a study that is

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
    lock: AbstractContextManager[object],
    until: float = inf,
) -> list[TrialRecord]:
    """Return up to ``count`` trials, now running: first waiting ones, then suggestions of this or another process.

    ``since`` returns the revision of the history that ``suggest`` has. Fewer than ``count`` trials come back only if
    ``limit`` is reached, a finite space is exhausted, or the study is paused and it is later than ``until`` by the
    monotonic clock. The ``lock`` is held while the study asks, but not during a pause, which may last for days.
    """
    tokens = [new_token() for _ in range(count)]
    try:
        while True:
            with lock:
                got = _unless_paused(storage, study, tokens, asker, suggest, since=since, limit=limit)
            if not got.paused:
                return list(got.claimed)
            if not _resumed(storage, study, tokens, got, asker, until):
                return _left(storage, study, storage.begin_ask(study, tokens, asker, limit=0).claimed, tokens, asker)
    except BaseException:
        with suppress(SondeError):  # the storage itself may have failed
            storage.withdraw(study, tokens, asker)  # others must not wait for this process
        raise


def _unless_paused(
    storage: Storage, study: str, tokens: list[str], asker: Asker, suggest: Suggest, *,
    since: Callable[[], int], limit: int | None,
) -> AskReply:  # fmt: skip
    """Return a reply with the trials of an ask, or one that says that the study is paused; then its tickets wait."""
    while True:
        reply = storage.begin_ask(study, tokens, asker, since=since(), limit=limit)
        if reply.missing == 0 or reply.paused:
            return replace(reply, paused=reply.missing > 0)
        if reply.granted:
            rows = suggest(reply)
            inserted = storage.finish_ask(study, reply, rows, tokens, asker)
            if inserted is not None and len(inserted) == reply.missing:
                return AskReply([*reply.claimed, *inserted])
            if inserted is not None and len(rows) < len(reply.suggest_for):  # the space is exhausted
                return AskReply(_left(storage, study, [*reply.claimed, *inserted], tokens, asker))
        else:
            _wait(storage, study, tokens, reply, asker)


def _left(
    storage: Storage, study: str, got: Sequence[TrialRecord], tokens: list[str], asker: Asker
) -> list[TrialRecord]:
    """Return the trials that are there, and give up the other asks."""
    given = {record.token for record in got}
    storage.withdraw(study, [token for token in tokens if token not in given], asker)
    return list(got)


def _resumed(storage: Storage, study: str, tokens: list[str], reply: AskReply, asker: Asker, until: float) -> bool:
    """Wait until a study is resumed, or until that time; return whether it is. Trials of this ask stay alive."""
    with doing(PAUSED), interruptible():
        while storage.status(study).paused:
            left = until - time.monotonic()
            if left <= 0:
                return False
            if reply.claimed and asker.lease is not None:
                storage.heartbeat(study, [record.token for record in reply.claimed if record.token], asker.lease)
            storage.wait(study, tokens, asker, min(left, CHECK))
    return True


def _wait(storage: Storage, study: str, tokens: list[str], reply: AskReply, asker: Asker) -> None:
    """Wait until there may be a trial; replace a dead suggester."""
    if reply.suggester is not None and is_dead(reply.process):
        storage.end_suggester_lease(study, reply.suggester)
        return
    with doing("waiting for another process to suggest"), interruptible():
        storage.wait(study, tokens, asker, CHECK)
