"""Asking among many: several processes ask one study, one of them suggests at a time, for all who wait.

A process that died while it had the turn is found out at once on its own machine; from elsewhere its turn runs out.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

from sonde.activity import doing
from sonde.errors import SondeError
from sonde.storage import Asker, AskTurn, Storage
from sonde.storage.machine import is_dead, this_process
from sonde.storage.rules import new_token
from sonde.study.interrupts import interruptible
from sonde.trials import TrialRecord

Suggest = Callable[[AskTurn], list[bytes]]  # packed rows, fewer than are served where the space is used up

TURN = 20.0  # seconds: how long others wait for a suggester that vanished with its machine
_LOOK = 1.0  # seconds after which whoever waits sees whether the suggester still lives


def new_asker(lease: float | None) -> Asker:
    """Return a new asker, named after where it lives, with a part of its own."""
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    return Asker(name, TURN, lease, this_process())


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
    """Return up to ``count`` trials, now running: waiting ones first, then suggestions, ours or those of another.

    ``since`` gives the revision that ``suggest`` knows. Fewer trials come back only where ``limit`` or the end of a
    finite space leaves no more.
    """
    tokens = [new_token() for _ in range(count)]
    try:
        while True:
            turn = storage.begin_ask(study, tokens, asker, since=since(), limit=limit)
            if turn.missing == 0:
                return list(turn.claimed)
            if turn.granted:
                rows = suggest(turn)
                inserted = storage.finish_ask(study, turn, rows, tokens, asker)
                if inserted is not None and len(inserted) == turn.missing:
                    return [*turn.claimed, *inserted]
                if inserted is not None and len(rows) < len(turn.serves):  # the space is used up
                    got = [*turn.claimed, *inserted]
                    storage.withdraw(study, _left(tokens, got), asker)
                    return got
            else:
                _wait(storage, study, tokens, turn, asker)
    except BaseException:
        with suppress(SondeError):  # what broke the ask may be the storage itself
            storage.withdraw(study, tokens, asker)  # do not let the others wait for a failure
        raise


def _left(tokens: list[str], got: list[TrialRecord]) -> list[str]:
    given = {record.token for record in got}
    return [token for token in tokens if token not in given]


def _wait(storage: Storage, study: str, tokens: list[str], turn: AskTurn, asker: Asker) -> None:
    """Wait until there may be something, or until the suggester is found dead."""
    if turn.holder is not None and is_dead(turn.process):
        storage.end_turn(study, turn.holder)
        return
    with doing("waiting for another process to suggest"), interruptible():
        storage.wait(study, tokens, asker, _LOOK)
