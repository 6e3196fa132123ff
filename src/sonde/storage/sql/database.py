"""Connections and transactions: where SQLite and PostgreSQL differ.

=================  ==========================================  ===========================================
what               SQLite                                      PostgreSQL
=================  ==========================================  ===========================================
journal            WAL: readers never block writers            its own
write transaction  BEGIN IMMEDIATE: one writer, others wait     locks the study's row
durable write      synchronous=FULL: fsync at commit           synchronous_commit on
other write        synchronous=NORMAL: no fsync                synchronous_commit off
clock              since the boot, see ``clock``               the server's
=================  ==========================================  ===========================================

Temporary errors (a lock, a restarting server, too many clients) are retried for ``patience`` seconds before they are
raised. A server that has never answered raises at once, because its address is probably wrong.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from sonde.errors import StorageError
from sonde.storage.sql import urls
from sonde.storage.sql.clock import BootClock, server_clock

PATIENCE = 60.0
SCHEMA_VERSION = "0005"
OLDER_VERSIONS = ("0001", "0002", "0003", "0004")
_VERSION = sa.table("sonde_version", sa.column("version_num"))
_ADVISORY_LOCK = 0x50DE  # an arbitrary number
# Messages of a PostgreSQL that is busy or restarting to a new connection, which gets no error code.
_BUSY_SERVER = ("too many clients", "connection slots", "starting up", "shutting down", "recovery mode",
                "not yet accepting connections", "not accepting connections")  # fmt: skip
# A server whose machine or network is down does not answer: these make the kernel close the connection in 50 s.
_NOTICE_DEATH = {"keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 50_000}
_REMEDIES = {  # by a part of the driver's message
    "not a database": "the file belongs to another program; choose another one",
    "unable to open": "check that the path is a file, not a folder, and that you may read and write it",
    "readonly": "check that you may write the file and its folder",
    "disk": "check that the disk has space; what was told before is kept, and the same call goes on afterwards",
    "does not exist": "create it first, or check its name",
    "authentication failed": "check the user and the password",
    "connection": "check the address, and that the server is running",
    "resolve host": "check the address, and that the server is running",
}

T = TypeVar("T")


class Database:
    """An engine with read transactions and write transactions, durable or not."""

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        self._url, self._patience = urls.parse(url), patience
        self.sqlite = self._url.get_backend_name() == "sqlite"
        self._engine = self._create_engine()
        self._loose = self._engine.execution_options(sonde_write="loose")
        self._durable = self._engine.execution_options(sonde_write="durable")
        _engines.add(self._engine)
        weakref.finalize(self, self._engine.dispose)
        self._answered = False  # whether the database has ever been reached
        self._file: tuple[int, int] | None = None  # device and inode of SQLite's file, once it is open
        self._boot_clock = BootClock()
        self._shared = threading.local()  # the connection of ``together``
        self._migrate()
        self._file = self._file_at_path()

    def now(self) -> float:
        """Return the wall-clock time: this machine's, or the server's."""
        return time.time() if self.sqlite else self.read(self.clock)

    def clock(self, connection: sa.Connection, server: float | None = None) -> float:
        """Return the time that measures leases; ``server`` is the server's time if a statement has returned it."""
        if self.sqlite:
            return self._boot_clock.now(connection)
        return float(connection.execute(sa.select(server_clock())).scalar_one()) if server is None else server

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run ``work`` in a read-only transaction: one consistent view."""
        return self._patiently(self._engine, work)

    def write(self, work: Callable[[sa.Connection], T], *, durable: bool) -> T:
        """Run ``work`` in a write transaction; it may be run again from the start."""
        shared = getattr(self._shared, "connection", None)
        if shared is not None:
            return self._within(shared, work)
        done = self._patiently(self._durable if durable else self._loose, work)
        self._check_file()
        return done

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make the writes of this thread one durable transaction: one wait for the disk. See ``Storage.together``."""
        try:
            with self._durable.begin() as connection:
                self._shared.connection = connection
                try:
                    yield
                finally:
                    self._shared.connection = None
        except DBAPIError as error:
            raise self._refused(error) from None
        self._check_file()

    def _within(self, connection: sa.Connection, work: Callable[[sa.Connection], T]) -> T:
        """Run ``work`` in a part of a transaction, which is undone if it raises."""
        _execute(connection, "SAVEPOINT part")
        try:
            done = work(connection)
        except DBAPIError as error:  # the database may have ended the whole transaction
            raise self._refused(error) from None
        except BaseException:
            _execute(connection, "ROLLBACK TO part")
            _execute(connection, "RELEASE part")
            raise
        _execute(connection, "RELEASE part")
        return done

    def raw_connection(self) -> Any:
        """Return a connection without a transaction, to wait on; ``close`` returns it to the pool."""
        return self._engine.connect().execution_options(isolation_level="AUTOCOMMIT", sonde_write="outside")

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _patiently(self, engine: sa.Engine, work: Callable[[sa.Connection], T]) -> T:
        deadline, pause = time.monotonic() + self._patience, 0.01
        while True:
            try:
                with engine.begin() as connection:
                    self._answered = True
                    return work(connection)
            except DBAPIError as error:
                if not (_passing(error) or (self._answered and _unreachable(error))):
                    raise self._refused(error) from None
                if time.monotonic() > deadline:
                    raise StorageError(
                        f"the database {self._shown} could not be used for {self._patience:g} s: "
                        f"{self._reason(error)}; check that it is running and that no other program holds a lock on it"
                    ) from None
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 1.0)

    def _create_engine(self) -> sa.Engine:
        # A process needs two connections: one for the study, one for the heartbeat.
        create = partial(sa.create_engine, self._url, pool_size=2, max_overflow=8)
        if not self.sqlite:
            engine = create(connect_args=_NOTICE_DEATH | dict(self._url.query), pool_pre_ping=True)
            sa.event.listen(engine, "begin", _begin_postgres)
            return engine
        path = str(self._url.database)
        folder = Path(path).parent
        if not folder.is_dir():
            raise StorageError(f"the folder {str(folder)!r} for the database {path!r} does not exist; create it first")
        engine = create(connect_args={"timeout": self._patience})
        sa.event.listen(engine, "do_connect", _checking(self))
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _file_at_path(self) -> tuple[int, int] | None:
        try:
            found = os.stat(str(self._url.database)) if self.sqlite else None
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def _check_file(self) -> None:
        """Raise if the file at the path is not the open one: results written there would be lost with this process."""
        if self._file is not None and self._file_at_path() != self._file:
            raise StorageError(
                f"the database {self._shown} was deleted, moved or replaced while it was in use; results told from now "
                "on would be lost. Put the file back where it was, or save what this process knows: study.export(...)"
            )

    # migrations

    def _migrate(self) -> None:
        """Upgrade the database to this schema; the first of several processes does it, the others wait."""
        if self.read(_version) == SCHEMA_VERSION:
            return
        if self.sqlite:
            self._enter_wal()
        self.write(self._upgrade, durable=True)

    def _upgrade(self, connection: sa.Connection) -> None:
        if not self.sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        version = _version(connection)
        if version == SCHEMA_VERSION:
            return
        if version is not None and version.isdigit() and version > SCHEMA_VERSION:
            raise StorageError(
                f"the database {self._shown} has schema {version}, written by a newer Sonde than this one "
                f"(schema {SCHEMA_VERSION}); upgrade with: pip install --upgrade sonde"
            )
        if version not in (None, *OLDER_VERSIONS):
            raise StorageError(
                f"the database {self._shown} has schema {version!r}, which no Sonde has written; it is damaged, or "
                "another program's: restore it from a copy, or use another database"
            )
        if version is None and sa.inspect(connection).has_table("studies"):
            raise StorageError(f"the database {self._shown} has tables of another program; use a database of its own")
        from alembic import command
        from alembic.config import Config

        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.set_main_option("path_separator", "os")
        command.upgrade(config, "head")

    def _enter_wal(self) -> None:
        """Switch the file to WAL mode; SQLite does not wait for locks here, so this loop does."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                with self._engine.connect() as connection:
                    connection.connection.driver_connection.execute("PRAGMA journal_mode=WAL")  # type: ignore[union-attr]
                return
            except (sqlite3.OperationalError, OperationalError) as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise StorageError(f"the database {self._shown} cannot be opened: {error}") from error
                time.sleep(0.05 * random.random())
            except (sqlite3.DatabaseError, DBAPIError) as error:
                raise StorageError(f"{self._shown} is not a SQLite database: {error}") from error

    @property
    def _shown(self) -> str:
        return urls.shown(self._url)

    def _refused(self, error: DBAPIError) -> StorageError:
        return StorageError(f"the database {self._shown} refused: {self._reason(error)}{_remedy(error)}")

    def _reason(self, error: DBAPIError) -> str:
        said = str(error.orig).strip()
        return urls.scrubbed(said.splitlines()[0] if said else type(error.orig).__name__, self._url)


def _checking(database: Database) -> Callable[..., None]:
    """Return a check to run before connecting: SQLite would create a new, empty file in place of a deleted one.

    It holds a weak reference: the engine that calls it must not keep the database alive.
    """
    check = weakref.WeakMethod(database._check_file)

    def before(*_: Any) -> None:
        alive = check()
        if alive is not None:
            alive()

    return before


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("sonde_version"):
        return None
    return connection.execute(sa.select(_VERSION.c.version_num)).scalar()


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins no transaction: _begin_sqlite does
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    mode = connection.get_execution_options().get("sonde_write")
    if mode == "outside":
        return
    if mode is not None:
        _execute(connection, f"PRAGMA synchronous={'FULL' if mode == 'durable' else 'NORMAL'}")
    _execute(connection, "BEGIN" if mode is None else "BEGIN IMMEDIATE")


def _execute(connection: sa.Connection, statement: str) -> None:
    """Run a statement about a SQLite transaction by the driver, which is quicker; its errors are SQLAlchemy's."""
    try:
        connection.connection.driver_connection.execute(statement)  # type: ignore[union-attr]
    except sqlite3.Error as error:
        raise OperationalError(statement, None, error) from error


def _begin_postgres(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("sonde_write") == "loose":
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")


def _passing(error: DBAPIError) -> bool:
    """Whether an error is temporary."""
    if isinstance(error.orig, sqlite3.OperationalError):
        return "locked" in str(error.orig) or "busy" in str(error.orig)
    state = getattr(error.orig, "sqlstate", None)
    if state is None:  # no connection, or it broke
        return error.connection_invalidated or any(text in str(error.orig) for text in _BUSY_SERVER)
    return state[:2] in ("08", "40", "53", "57")  # connection, rollback, resources, operator intervention


def _unreachable(error: DBAPIError) -> bool:
    """Whether the connection failed, as while a server restarts."""
    return not isinstance(error.orig, sqlite3.Error) and error.statement is None


def _remedy(error: DBAPIError) -> str:
    said = str(error.orig)
    return next((f"; {remedy}" for text, remedy in _REMEDIES.items() if text in said), "")


_engines: weakref.WeakSet[sa.Engine] = weakref.WeakSet()


def _forget_connections() -> None:
    """In a forked child, drop the parent's connections; the child opens its own."""
    for engine in _engines:
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_connections)
