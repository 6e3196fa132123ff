"""Waiting for another process's write without querying the database all the time.

PostgreSQL notifies listeners. SQLite has a counter (``data_version``) that changes when another connection has written.
Reading it takes a few microseconds; the tables are queried only when it has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from sonde.storage.sql.database import Database

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.02  # seconds between two looks at the counter
_SOON = 0.05  # seconds after which an unreachable server is tried again

Look = Callable[[sa.Connection], tuple[bool, float]]  # whether there is something; else seconds to sleep


def channel(study: str) -> str:
    """Return the name of a study's PostgreSQL notification channel."""
    return f"sonde_{study}"


def tell_waiters(connection: sa.Connection, database: Database, study: str, asker: str = "") -> None:
    """Notify waiting askers, or the one of that name, when this transaction is committed."""
    if not database.sqlite:
        connection.execute(sa.select(sa.func.pg_notify(channel(study), asker)))


def wait(database: Database, study: str, asker: str, look: Look, seconds: float) -> None:
    """Return as soon as ``look`` finds something, at most after so many seconds."""
    try:
        with database.raw_connection() as connection:
            if database.sqlite:
                _wait_on_sqlite(connection, look, seconds)
            else:
                _wait_on_postgres(connection, study, asker, look, seconds)
    except DBAPIError:  # busy or restarting: the next ask retries, and reports it
        time.sleep(_SOON)


def _wait_on_sqlite(connection: Any, look: Look, seconds: float) -> None:
    execute = connection.connection.driver_connection.execute
    deadline = time.monotonic() + seconds
    while True:
        version = execute("PRAGMA data_version").fetchone()
        found, sleep = look(connection)
        now = time.monotonic()
        if found or now >= deadline:
            return
        until, pause = min(deadline, now + sleep), _FIRST_PAUSE
        while (left := until - time.monotonic()) > 0 and execute("PRAGMA data_version").fetchone() == version:
            time.sleep(min(pause, left))
            pause = min(1.5 * pause, _LONGEST_PAUSE)


def _wait_on_postgres(connection: Any, study: str, asker: str, look: Look, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    connection.exec_driver_sql(f"LISTEN {channel(study)}")
    try:
        while True:
            found, sleep = look(connection)
            left = min(deadline - time.monotonic(), sleep)
            if found or deadline <= time.monotonic():
                return
            for told in connection.connection.driver_connection.notifies(timeout=max(left, 0.001)):
                if told.payload in ("", asker):  # of hundreds that wait, often only one should look
                    break
    finally:
        connection.exec_driver_sql("UNLISTEN *")
