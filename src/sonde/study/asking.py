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

from sonde.storage import Asker, AskTurn, Storage
from sonde.study.interrupts import interruptible
from sonde.trials import TrialRecord

Suggest = Callable[[AskTurn], list[bytes]]  # packed rows, fewer than missing where the space is used up

TURN = 20.0  # seconds: how long others wait for a suggester that vanished with its machine
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.5  # the pauses grow with the wait, and so with the number who wait


def new_asker(lease: float | None) -> Asker:
    """Return a new asker, named after where it lives, with a part of its own."""
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
    return Asker(name, TURN, lease)


def ask(
    storage: Storage,
    study: int,
    count: int,
    asker: Asker,
    suggest: Suggest,
    *,
    since: Callable[[], int],
    limit: int | None,
) -> list[TrialRecord]:
    """Return up to ``count`` trials, now running: waiting ones first, then suggestions.

    ``since`` gives the revision that ``suggest`` knows. Fewer trials come back only where ``limit`` or the end of a
    finite space leaves no more.
    """
    got: list[TrialRecord] = []
    try:
        return _collect(storage, study, count, asker, suggest, since, limit, got)
    except BaseException:  # an interrupt while suggesting, say: what was claimed goes back
        if got:
            storage.release(study, [record.number for record in got])
        raise


def _collect(
    storage: Storage,
    study: int,
    count: int,
    asker: Asker,
    suggest: Suggest,
    since: Callable[[], int],
    limit: int | None,
    got: list[TrialRecord],
) -> list[TrialRecord]:
    pause = _FIRST_PAUSE
    while True:
        turn = storage.begin_ask(study, count - len(got), asker, since=since(), limit=limit)
        got.extend(turn.claimed)
        if turn.missing == 0:
            return got
        if turn.granted:
            inserted = _suggest_in_turn(storage, study, turn, asker, suggest)
            if inserted is not None:
                return got + inserted
        else:
            pause = _wait(storage, study, turn.holder, asker, pause)


def _wait(storage: Storage, study: int, holder: str | None, asker: Asker, pause: float) -> float:
    """Wait until the holder is done, or dead; return how long to pause next time."""
    while True:
        if holder is not None and _is_dead(holder):
            storage.end_turn(study, holder)
            return pause
        with interruptible():
            time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(1.5 * pause, _LONGEST_PAUSE)
        holder = storage.turn_holder(study, asker)
        if holder is None:
            return pause


def _suggest_in_turn(
    storage: Storage, study: int, turn: AskTurn, asker: Asker, suggest: Suggest
) -> list[TrialRecord] | None:
    try:
        rows = suggest(turn)
    except BaseException:
        storage.end_turn(study, asker.name)  # do not let the others wait for a failure
        raise
    return storage.finish_ask(study, rows, asker)


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
