"""Taking turns: several processes ask one study, one of them suggests at a time.

A process that died while it had the turn is found out at once on its own machine; from elsewhere its turn runs out.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
import time
from collections.abc import Callable

from sonde.storage import Storage
from sonde.study.heartbeat import TURN, Heartbeat
from sonde.trials import TrialRecord

Suggest = Callable[[int, int], list[bytes]]  # (count, next number) -> packed rows, fewer if the space is used up

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1


def new_holder() -> str:
    """Return a name for a new asker: where it lives, and a part of its own."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


def ask(
    storage: Storage,
    study: int,
    count: int,
    suggest: Suggest,
    *,
    holder: str,
    heartbeat: Heartbeat,
    lease: float | None,
    limit: int | None,
) -> list[TrialRecord]:
    """Return up to ``count`` trials, now running: waiting ones first, then suggestions.

    Fewer come back only where ``limit`` or the end of a finite space leaves no more.
    """
    got: list[TrialRecord] = []
    pause = _FIRST_PAUSE
    while True:
        turn = storage.begin_ask(study, count - len(got), holder=holder, turn=TURN, lease=lease, limit=limit)
        got.extend(turn.claimed)
        if turn.missing == 0:
            return got
        if turn.granted:
            inserted = _suggest_in_turn(
                storage, study, turn.missing, turn.next_number, suggest, holder, heartbeat, lease
            )
            if inserted is not None:
                return got + inserted
        elif turn.holder is not None and _is_dead(turn.holder):
            storage.steal_turn(study, holder=turn.holder)
        else:
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(1.5 * pause, _LONGEST_PAUSE)


def _suggest_in_turn(
    storage: Storage, study: int, count: int, number: int, suggest: Suggest, holder: str, heartbeat: Heartbeat,
    lease: float | None,
) -> list[TrialRecord] | None:  # fmt: skip
    try:
        with heartbeat:
            rows = suggest(count, number)
    except BaseException:
        storage.steal_turn(study, holder=holder)  # do not let the others wait for a failure
        raise
    return storage.finish_ask(study, rows, holder=holder, lease=lease)


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    host, _, rest = holder.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
