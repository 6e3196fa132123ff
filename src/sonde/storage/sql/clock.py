"""The clock that measures leases: one for all processes of a database.

On PostgreSQL it is the server's clock. On SQLite it is the time since the machine's boot, which nobody can set, plus an
offset that the first process of this boot has stored. So a process with a wrong wall clock agrees with the others.
"""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from sonde.storage import machine
from sonde.storage.sql.tables import clocks


class server_clock(FunctionElement[float]):  # noqa: N801  (a function of SQL)
    """The server's clock, in seconds since the epoch; zero on SQLite, which has no server."""

    type = sa.Double()
    inherit_cache = True


@compiles(server_clock)
def _no_server(_element: Any, _compiler: Any, **_: Any) -> str:
    return "0.0"


@compiles(server_clock, "postgresql")
def _postgres(_element: Any, _compiler: Any, **_: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"


class BootClock:
    """The clock of a SQLite database on this machine."""

    def __init__(self) -> None:
        self._offset: float | None = None

    def now(self, connection: sa.Connection) -> float:
        """Return the time; the first call after a boot must be in a write transaction."""
        if not machine.boot_id():
            return time.time()
        if self._offset is None:
            self._offset = self._agreed(connection)
        return machine.uptime() + self._offset

    def _agreed(self, connection: sa.Connection) -> float:
        known = sa.select(clocks.c.offset).where(clocks.c.boot == machine.boot_id())
        offset = connection.execute(known).scalar()
        if offset is None:
            offset = time.time() - machine.uptime()
            connection.execute(sa.insert(clocks), {"boot": machine.boot_id(), "offset": offset})
        return float(offset)
