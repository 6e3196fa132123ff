from __future__ import annotations

import gc
import pickle
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.processes import start

import sonde.storage.sql
from sonde.errors import OptionError, StorageError
from sonde.storage import MemoryStorage, open_storage
from sonde.storage.sql.database import SCHEMA_VERSION
from sonde.storage.sql.tables import metadata
from sonde.testing.storage_calls import HEADER


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


def test_migrations_create_the_tables_of_the_code(database_url: str) -> None:
    open_storage(database_url).close()
    engine = engine_of(database_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"include_name": lambda name, kind, parents: name != "sonde_version", "compare_type": True},
        )
        assert compare_metadata(context, metadata) == []
        version = connection.execute(sa.text("SELECT version_num FROM sonde_version")).scalar()
    engine.dispose()
    scripts = ScriptDirectory(str(Path(sonde.storage.sql.__file__).parent / "migrations"))
    assert version == SCHEMA_VERSION == scripts.get_current_head()


def test_a_newer_schema_is_refused(database_url: str) -> None:
    open_storage(database_url).close()
    engine = engine_of(database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE sonde_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StorageError, match="newer Sonde"):
        open_storage(database_url)


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE studies (study_id INTEGER)")
    connection.close()
    with pytest.raises(StorageError, match="another program"):
        open_storage(path)


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("hello, I am text\n" * 100)
    with pytest.raises(StorageError, match="not a database; the file belongs to another program"):
        open_storage(path)
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StorageError, match="check that the path is a file"):
        open_storage(tmp_path / "folder.db")
    assert path.read_text().startswith("hello")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="create it first"):
        open_storage(tmp_path / "nowhere" / "study.db")


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageError, match="postgresql"):
        open_storage("postgresql://somebody:secret@127.0.0.1:1/none")


def test_a_server_that_goes_away_and_comes_back_is_waited_for(postgres_url: str) -> None:
    storage = open_storage(postgres_url)
    storage.close()  # what comes next has to connect anew
    socket = next(Path(str(sa.make_url(postgres_url).query["host"])).glob(".s.PGSQL.*[0-9]"))
    hidden = socket.rename(socket.with_name("hidden"))  # nobody listens, as while a server restarts
    back = threading.Timer(0.5, hidden.rename, [socket])
    back.start()
    with pytest.raises(StorageError, match=r"refused.*check the address"):
        open_storage(postgres_url)  # who has never reached it hears of it at once
    assert storage.studies() == []
    back.join()
    storage.close()


def test_passwords_are_not_shown() -> None:
    with pytest.raises(StorageError) as caught:
        open_storage("postgresql://somebody:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "storage", ["mysql://host/db", "runs", "sqlite:runs.db", "sqlite:///:memory:", "sqlite://", 3, b"runs.db"]
)
def test_an_argument_that_is_no_storage_is_refused(storage: object) -> None:
    with pytest.raises(OptionError):
        open_storage(storage)  # type: ignore[arg-type]


def test_a_sqlite_url_with_two_slashes_is_refused() -> None:
    with pytest.raises(OptionError, match=r"three slashes before the path.*'sqlite://runs\.db'"):
        open_storage("sqlite://runs.db")


def test_none_is_memory_and_a_storage_is_itself() -> None:
    storage = open_storage(None)
    assert isinstance(storage, MemoryStorage)
    assert open_storage(storage) is storage


def test_wal_and_durable_tells(sqlite_url: str) -> None:
    storage = open_storage(sqlite_url)
    path = sqlite_url.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    storage.close()


def test_a_storage_can_be_sent_to_another_process(database_url: str) -> None:
    storage = open_storage(database_url)
    key = storage.create_study(HEADER).key
    copy = pickle.loads(pickle.dumps(storage))
    assert copy.find_study(HEADER.name).key == key
    copy.close()
    storage.close()


FORK = """
import os, sys
from sonde.storage import open_storage
from sonde.testing.storage_calls import HEADER, ROW, ask

storage = open_storage(sys.argv[1])
key = storage.create_study(HEADER).key
ask(storage, key)
child = os.fork()
if child == 0:
    try:
        ask(storage, key)
        os._exit(0)
    finally:
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert ask(storage, key) == [2]
assert [record.row for record in storage.records(key, 0)[1]] == [ROW] * 3
"""


def test_a_forked_child_opens_its_own_connections(database_url: str) -> None:
    """In a process of its own: this one may have threads of JAX, which do not survive a fork."""
    done = subprocess.run([sys.executable, "-c", FORK, database_url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_many_processes_create_one_database(database_url: str) -> None:
    code = "from sonde.storage import open_storage; open_storage(sys.argv[1]).studies()"
    children = [start(code, database_url) for _ in range(8)]
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 8


def test_an_unreferenced_storage_is_closed(sqlite_url: str) -> None:
    """Otherwise a process that opens a thousand studies keeps a thousand engines."""

    def is_open() -> bool:
        return any(file.path == path for file in psutil.Process().open_files())

    path = sqlite_url.removeprefix("sqlite:///")
    storage = open_storage(sqlite_url)
    assert is_open()
    del storage
    gc.collect()
    assert not is_open()
