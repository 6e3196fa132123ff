"""One study, many machines, and what goes wrong: killed drivers and suggesters, a restarted server, a full disk."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import psutil
import pytest
import sqlalchemy as sa
from tests.execution.clusters import wait_for
from tests.processes import start
from tests.storage.test_faults import Server

import sonde
from sonde.errors import ConflictingResult
from sonde.study.asking import SUGGESTER_LEASE
from sonde.trials import State

SPACE = sonde.Space(x=sonde.Float(0, 1))

DRIVER = """
import os, sys, time, sonde
url, results, total = sys.argv[1], sys.argv[2], int(sys.argv[3])

def objective(trial):
    time.sleep(0.02)
    file = os.open(results, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{trial.token} {trial['x']!r}\\n".encode())  # at once, so that no line is torn
    os.close(file)
    return trial["x"]

study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=url, name="study", strategy="sobol", seed=0, lease=3600)
study.optimize(objective, total_trials=total, workers=2, progress=False)
"""


def driver(url: str, results: Path, total: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", DRIVER, url, str(results), str(total)])


def computed(results: Path) -> dict[str, float]:
    """Return what objectives have computed, by token."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {token: float(value) for token, value in map(str.split, lines)}


def two_hours_later(url: str) -> None:
    """Have all leases end of which nobody renews any."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE trials SET lease = lease - 7200"))
    engine.dispose()


def check_exact(url: str, results: Path, total: int) -> list[sonde.Trial]:
    """Check that as many trials are completed, each with its own result, and that none runs or waits any more."""
    with sonde.load(url, "study") as study:
        trials = study.trials
    assert [trial.number for trial in trials] == list(range(len(trials)))
    done = [trial for trial in trials if trial.state == "completed"]
    assert len(done) == total
    assert {trial.state for trial in trials} <= {State.COMPLETED, State.LOST}
    assert {str(trial.token): trial.value for trial in done}.items() <= computed(results).items()
    assert len({trial["x"] for trial in done}) == total
    return trials


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 3), ("postgres", 2)])
def test_a_driver_killed_at_any_instant_goes_on_where_it_was(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, kills: int
) -> None:
    url, results, total = request.getfixturevalue(f"{kind}_url"), tmp_path / "results", 50
    rng, codes, workers, waiting = random.Random(0), list[int](), list[psutil.Process](), dict[int, float]()
    for _ in range(kills):
        process, target = driver(url, results, total), len(computed(results)) + rng.randrange(1, 10)
        wait_for(lambda target=target, process=process: len(computed(results)) >= target or process.poll() is not None)
        time.sleep(rng.uniform(0.0, 0.05))  # several trials, so that any part of one is hit
        if process.poll() is None:
            workers += psutil.Process(process.pid).children(recursive=True)
        process.kill()
        codes.append(process.wait())
        with sonde.load(url, "study") as study:
            waiting |= {trial.number: trial["x"] for trial in study.trials if trial.state == "waiting"}
    assert -signal.SIGKILL in codes
    assert psutil.wait_procs(workers, timeout=60)[1] == []  # nobody is left behind
    for _ in range(3):  # a first run may suggest for asks of the last killed one, which a second run takes back
        two_hours_later(url)
        assert driver(url, results, total).wait(120) == 0
        if not any_open(url):
            break
    trials = check_exact(url, results, total)
    lost = [trial for trial in trials if trial.state == "lost"]
    assert len(lost) <= 4 * kills  # what ran, and what was asked for
    assert {trial.retry_of for trial in trials} - {None} == {trial.number for trial in lost}
    assert {number: trials[number]["x"] for number in waiting} == waiting


def any_open(url: str) -> bool:
    with sonde.load(url, "study") as study:
        return any(not trial.state.finished and trial.state != "lost" for trial in study.trials)


AHEAD = """
import sys, threading, time, sonde
from concurrent.futures import ThreadPoolExecutor

class Slow(sonde.Strategy):
    name = "slow"
    def suggest(self, space, history, count, key):
        time.sleep(0.2)
        return key.rng().random((count, 1))
    def explain(self, space, history): return "slow"

def objective(trial):
    if trial.number >= 4:
        threading.Event().wait()
    return trial["x"]

study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], name="study", strategy=Slow())
study.optimize(objective, 100, executor=ThreadPoolExecutor(2), progress=False)
"""


def test_what_a_killed_driver_has_suggested_ahead_is_used_next(database_url: str) -> None:
    """Suggestions take longer than trials, so that one is ahead when both threads hang."""
    killed = start(AHEAD, database_url)
    with sonde.Study(SPACE, storage=database_url, name="study", strategy="random") as study:

        def of(state: str) -> list[sonde.Trial]:
            assert killed.is_alive()
            return [trial for trial in study.trials if trial.state == state]

        (ahead,) = wait_for(lambda: len(of("running")) == 2 and of("waiting"))
        killed.kill()
        killed.join()
        study.optimize(lambda trial: trial["x"], 2, workers=2, progress=False)
        used = study.trial(ahead.number)
        assert (used.state, used["x"], used.value) == ("completed", ahead["x"], ahead["x"])
        assert [trial.state for trial in study.trials[ahead.number :]] == ["completed"] * 2


SUGGESTING = """
import pathlib, sys, threading, sonde
from concurrent.futures import ThreadPoolExecutor

class Endless(sonde.Strategy):
    name = "endless"
    def suggest(self, space, history, count, key):
        pathlib.Path(sys.argv[2]).touch()
        threading.Event().wait()
    def explain(self, space, history): return "endless"

study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], name="study", strategy=Endless())
study.optimize(lambda trial: 1.0, 4, executor=ThreadPoolExecutor(2), progress=False)
"""


def test_a_driver_killed_while_it_suggests_keeps_nobody_waiting(database_url: str, tmp_path: Path) -> None:
    suggests = tmp_path / "suggests"
    killed = start(SUGGESTING, database_url, str(suggests))
    wait_for(suggests.exists)
    killed.kill()
    killed.join()
    with sonde.Study(SPACE, storage=database_url, name="study", strategy="random") as study:
        started = time.monotonic()
        with ThreadPoolExecutor(2) as executor:
            study.optimize(lambda trial: trial["x"], 4, executor=executor, progress=False)
        assert time.monotonic() - started < 0.75 * SUGGESTER_LEASE
        assert [trial.state for trial in study.trials if trial.value is not None] == ["completed"] * 4


class Restarted(Server):
    """A PostgreSQL that is restarted."""

    def shut_down(self) -> None:
        """Shut it down, whoever is connected; nothing is lost."""
        postmaster = psutil.Process(self._server.get_pid())
        postmaster.send_signal(signal.SIGINT)
        postmaster.wait(60)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Restarted]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    server = Restarted(tmp_path)
    yield server
    server.stop()


@pytest.mark.filterwarnings("ignore:.*does not know trial")  # the asks of the last moments before it was killed
@pytest.mark.parametrize("how", ["shut_down", "kill"])
def test_a_server_that_restarts_under_load_is_a_pause(server: Restarted, how: str) -> None:
    study = sonde.Study(SPACE, storage=server.url, name="study", strategy="sobol", seed=0)
    values, total = list[float](), 40

    def restart() -> None:
        for count in (8, 24):
            wait_for(lambda count=count: len(values) >= count)
            getattr(server, how)()
            server.restart()

    def objective(trial: sonde.Trial) -> float:
        time.sleep(0.005)
        values.append(trial["x"])
        return float(trial["x"])

    restarting = threading.Thread(target=restart)
    restarting.start()
    with ThreadPoolExecutor(2) as executor:
        study.optimize(objective, total_trials=total, executor=executor, progress=False)
    restarting.join(60)
    assert not restarting.is_alive()
    assert Counter(trial.state for trial in study.trials)["completed"] == total
    assert Counter(trial.value for trial in study.trials if trial.value is not None) <= Counter(values)
    if how == "shut_down":
        assert [trial.state for trial in study.trials] == ["completed"] * total
        assert len(set(values)) == len(values) == total
    study.close()


def test_two_drivers_share_a_budget(postgres_url: str, tmp_path: Path) -> None:
    results, total = tmp_path / "results", 40
    drivers = [driver(postgres_url, results, total) for _ in range(2)]
    assert [each.wait(120) for each in drivers] == [0, 0]
    trials = check_exact(postgres_url, results, total)
    assert len(trials) == len(computed(results)) == total  # none ran twice


def test_results_told_twice_late_and_in_any_order_are_there_once(database_url: str) -> None:
    with sonde.Study(SPACE, storage=database_url, name="study", strategy="sobol", seed=0) as study:
        trials = study.ask(10)
        study.release(trials[:3])
        (retry,) = study.ask(1)  # of the first of those whose retries wait

        def tell(seed: int) -> None:
            for trial in random.Random(seed).sample(trials, len(trials)):
                study.tell(trial, trial["x"])

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(tell, range(8)))
        with pytest.raises(ConflictingResult):
            study.tell(trials[0], -1.0)
        told = study.trials
        assert [trial.value for trial in told[:10]] == [trial["x"] for trial in trials]
        assert retry.retry_of == 0
        assert [trial.state for trial in told[10:]] == ["running", "cancelled", "cancelled"]


FULL = """
import pathlib, resource, signal, sys, sonde
from concurrent.futures import ThreadPoolExecutor
url, results, said = sys.argv[1:]
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=url, name="study", strategy="sobol", seed=0, lease=3600)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))

def objective(trial):
    trial.attributes["notes"] = 20_000 * "x"
    with open(results, "a") as file:
        file.write(f"{trial.token} {trial['x']!r}\\n")
    return trial["x"]

try:
    with ThreadPoolExecutor(2) as executor:
        study.optimize(objective, total_trials=500, executor=executor, progress=False)
except sonde.SondeError as error:
    pathlib.Path(said).write_text(f"{type(error).__name__}: {error}")
"""


def test_a_full_disk_ends_the_run_and_it_goes_on_later(sqlite_url: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full."""
    results, said = tmp_path / "results", tmp_path / "said"
    process = start(FULL, sqlite_url, str(results), str(said))
    process.join(60)
    assert process.exitcode == 0
    assert said.read_text().startswith("StorageError: the database sqlite:///")
    assert "check that the disk has space" in said.read_text()
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with sonde.load(sqlite_url, "study") as study:
        done = [trial for trial in study.trials if trial.state == "completed"]
    assert done
    assert {str(trial.token): trial.value for trial in done}.items() <= computed(results).items()
    assert {len(trial.attributes["notes"]) for trial in done} == {20_000}
    two_hours_later(sqlite_url)
    with sonde.load(sqlite_url, "study") as study, ThreadPoolExecutor(2) as executor:
        study.optimize(lambda trial: trial["x"], 10, executor=executor, progress=False)
        assert Counter(trial.state for trial in study.trials)["completed"] == len(done) + 10
        assert [study.trials[trial.number] for trial in done] == done


TOGETHER = """
import os, signal, sys
from sonde.errors import UnknownTrial
from sonde.storage import open_storage
from sonde.testing.storage_calls import DONE, tell
storage = open_storage(sys.argv[1])
with storage.together():
    for number in (0, 1, 99, 2):
        try:
            tell(storage, sys.argv[2], number, DONE)
        except UnknownTrial:
            pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_writes_made_together_outlive_their_process(database_url: str) -> None:
    with sonde.Study(SPACE, storage=database_url, name="study", strategy="sobol") as study:
        study.ask(4)
        process = start(TOGETHER, database_url, study.storage.find_study("study").key)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        assert [trial.state for trial in study.trials] == [*["completed"] * 3, "running"]


class Cluster:
    """An executor whose workers join when the test says so, however many it announces."""

    def __init__(self, announced: int) -> None:
        self._announced, self._queue = announced, SimpleQueue[Any]()
        self._begun: dict[Future[Any], float] = {}
        self.calls: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        call = Future[Any]()
        self.calls.append(call)
        self._queue.put((call, function, arguments))
        return call

    def workers(self) -> int:
        return self._announced

    def ready(self, call: Future[Any]) -> float | None:
        return self._begun.get(call)

    def join(self) -> None:
        """Start a worker."""
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            call, function, arguments = self._queue.get()
            if call.set_running_or_notify_cancel():
                self._begun[call] = time.monotonic()
                call.set_result(function(*arguments))


@pytest.mark.parametrize("announced", [0, 3])
def test_a_cluster_that_never_gets_a_worker_ends_the_run_at_its_timeout(announced: int) -> None:
    study, cluster = sonde.Study(SPACE, strategy="sobol", seed=0), Cluster(announced)
    study.optimize(lambda trial: trial["x"], 5, executor=cluster, timeout=0.3, progress=False)
    count = max(announced, 1)
    assert [call.cancelled() for call in cluster.calls] == [True] * count
    assert [trial.state for trial in study.trials] == ["lost"] * count + ["waiting"] * count
    cluster.join()
    study.optimize(lambda trial: trial["x"], count, executor=cluster, progress=False)
    assert [trial.state for trial in study.trials] == ["lost"] * count + ["completed"] * count


def test_at_its_timeout_a_run_waits_for_the_calls_that_have_begun() -> None:
    study, cluster = sonde.Study(SPACE, strategy="sobol", seed=0), Cluster(2)
    cluster.join()

    def objective(trial: sonde.Trial) -> float:
        wait_for(lambda: len(cluster.calls) == 2 and cluster.calls[1].cancelled())
        return float(trial["x"])

    study.optimize(objective, 5, executor=cluster, timeout=3.0, progress=False)  # the first call begins within it
    assert [trial.state for trial in study.trials] == ["completed", "lost", "waiting"]


def test_a_run_that_is_stopped_cancels_calls_that_wait_for_a_worker() -> None:
    study, cluster = sonde.Study(SPACE, strategy="sobol", seed=0), Cluster(3)
    cluster.join()

    def objective(trial: sonde.Trial) -> float:
        wait_for(lambda: len(cluster.calls) == 3)
        if trial.number == 1:  # begun when the loop hears of the first result
            wait_for(lambda: cluster.calls[2].cancelled())
        return float(trial["x"])

    def stop(study: sonde.Study, _: sonde.Trial) -> None:
        wait_for(lambda: cluster.ready(cluster.calls[1]) is not None)
        study.stop()

    study.optimize(objective, 50, executor=cluster, callbacks=[stop], progress=False)
    assert [trial.state for trial in study.trials][:3] == ["completed", "completed", "lost"]
    assert {trial.state for trial in study.trials} <= {State.COMPLETED, State.LOST, State.WAITING}
