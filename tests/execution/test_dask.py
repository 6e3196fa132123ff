"""A real Dask cluster of worker processes on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster
from tests.execution.clusters import arrived, gate, large, open_gate, opened_in_the_end, reporting, wait_for

import sonde
from sonde.errors import NoWorkers, OptionError
from sonde.execution import DaskExecutor
from sonde.study import Study

SPACE = sonde.Space(x=sonde.Float(0, 1))


def cluster_of(folder: Path, workers: int, **options: Any) -> LocalCluster:
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "local_directory": str(folder), **options}
    return LocalCluster(n_workers=workers, **settings)


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """A local cluster gives up workers that take long to start again, and tries long to reach those that died."""
    with dask.config.set(
        {"distributed.deploy.lost-worker-timeout": "90 s", "distributed.comm.timeouts.connect": "5 s"}
    ):
        yield


@pytest.fixture(scope="module")
def shared(patient: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with cluster_of(tmp_path_factory.mktemp("dask"), 2) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def client(shared: Client) -> Client:
    shared.wait_for_workers(2, timeout=60)
    return shared


def study(**options: Any) -> Study:
    return Study(SPACE, strategy="sobol", seed=0, **options)


def states(study: Study) -> Counter[str]:
    return Counter(str(trial.state) for trial in study.trials)


def test_a_client_is_an_executor_and_stays_open(client: Client) -> None:
    here = os.getpid()
    run = study()
    run.optimize(lambda trial: float(os.getpid() != here) + trial["x"], 10, executor=client, progress=False)
    assert states(run) == {"completed": 10}
    assert all(trial.value >= 1 for trial in run.trials)
    assert client.submit(lambda: 7).result() == 7


def test_every_worker_is_used_at_once(client: Client, tmp_path: Path) -> None:
    """Each call waits until two processes are there."""
    executor, passing = DaskExecutor(client), gate(tmp_path)
    assert executor.workers() == 2
    calls = [executor.submit(passing, "in") for _ in range(2)]
    with opened_in_the_end(tmp_path):
        wait_for(lambda: len(set(arrived(tmp_path, "in"))) == 2)
        assert all(wait_for(lambda call=call: executor.ready(call)) <= time.monotonic() for call in calls)
        waiting = executor.submit(passing, "in")
        assert executor.ready(waiting) is None
    assert [call.result(60) for call in (*calls, waiting)] == [None] * 3
    executor.release(passing)


def test_a_large_objective_is_unpickled_once_in_each_process(client: Client, tmp_path: Path) -> None:
    run = study()
    run.optimize(large(tmp_path), 20, executor=client, progress=False)
    assert states(run) == {"completed": 20}
    pids = arrived(tmp_path, "unpickled")
    assert len(pids) == len(set(pids)) <= 2


def test_nothing_is_left_on_the_cluster_after_a_run(client: Client) -> None:
    study().optimize(lambda trial: 1.0, 3, executor=client, progress=False)

    def left(dask_worker: Any) -> list[str]:
        return [name for name in [*dask_worker.plugins, *dask_worker.data] if "sonde" in str(name)]

    assert set(map(tuple, client.run(left).values())) == {()}
    assert client.run_on_scheduler(
        lambda dask_scheduler: [name for name in dask_scheduler.worker_plugins if "sonde" in name]
    ) == []  # fmt: skip


def test_a_killed_worker_loses_no_trial_and_its_successor_gets_the_objective(client: Client, tmp_path: Path) -> None:
    """Both workers are killed, so that no process has the objective any more."""
    objective, passing, run = large(tmp_path), gate(tmp_path), study()

    def wait_in_the_first(trial: sonde.Trial) -> float:
        if trial.number < 2:
            passing(f"trial{trial.number}")
        return float(objective(trial))

    def kill_both() -> None:
        with opened_in_the_end(tmp_path):
            pids = [*wait_for(lambda: arrived(tmp_path, "trial0")), *wait_for(lambda: arrived(tmp_path, "trial1"))]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda: all(len(arrived(tmp_path, f"trial{number}")) == 2 for number in range(2)))

    killer = threading.Thread(target=kill_both)
    killer.start()
    run.optimize(wait_in_the_first, 8, executor=client, progress=False)
    killer.join(60)
    assert states(run) == {"completed": 8}


def test_a_trial_that_kills_its_workers_fails_in_the_end(client: Client) -> None:
    run, scheduler = study(), client.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 1
    try:
        run.optimize(lambda trial: os._exit(1) if trial.number == 1 else 1.0, 4, executor=client, progress=False)
    finally:
        scheduler.allowed_failures = before
    assert [str(trial.state) for trial in run.trials] == ["completed", "failed", "completed", "completed"]
    assert str(run.trial(1).error).startswith("the worker died: KilledWorker")


def test_a_hanging_worker_is_restarted(client: Client, tmp_path: Path) -> None:
    run, passing = study(), gate(tmp_path)
    with opened_in_the_end(tmp_path):
        run.optimize(
            lambda trial: passing("hangs") if trial.number == 0 else 1.0, 6, executor=client, trial_timeout=2,
            progress=False,
        )  # fmt: skip
        assert [str(trial.state) for trial in run.trials] == ["failed"] + ["completed"] * 5
        assert run.trial(0).error == "took longer than trial_timeout=2 s and was stopped"
        (pid,) = arrived(tmp_path, "hangs")
        wait_for(lambda: pid not in client.run(os.getpid).values() and len(client.nthreads()) == 2)


def test_waiting_for_a_worker_is_not_the_trial_s_time(client: Client) -> None:
    """Three calls of a second for each thread, with a time of two."""
    run, executor = study(), DaskExecutor(client)
    executor.workers = lambda: 6  # type: ignore[method-assign]
    run.optimize(lambda trial: time.sleep(1) or 1.0, 6, executor=executor, workers=6, trial_timeout=2, progress=False)
    assert states(run) == {"completed": 6}


@pytest.mark.parametrize("stored", [False, True])
def test_learning_curves(client: Client, tmp_path: Path, stored: bool) -> None:
    run = study(storage=f"sqlite:///{tmp_path / 'study.db'}" if stored else None)
    run.optimize(reporting(), 4, executor=client, progress=False)
    assert [[step for step, _ in trial.curve] for trial in run.trials] == [[0, 1, 2]] * 4


def test_threads_of_this_process(tmp_path: Path) -> None:
    """They cannot be killed: a trial that hangs is given up, and its thread counts as stuck until it ends."""
    passing, report, run = gate(tmp_path), reporting(), study()

    def objective(trial: sonde.Trial) -> float:
        if trial.number == 0:
            passing("hangs")
        return report(trial)

    with cluster_of(tmp_path, 1, processes=False, threads_per_worker=2) as cluster, Client(cluster) as client:
        with opened_in_the_end(tmp_path):
            run.optimize(objective, 6, executor=client, trial_timeout=2, progress=False)
        assert [str(trial.state) for trial in run.trials] == ["failed"] + ["completed"] * 5
        assert "was given up" in str(run.trial(0).error)
        assert len(run.trials[5].curve) == 3


def test_the_cluster_grows_and_new_workers_get_the_objective(tmp_path: Path) -> None:
    """No worker at first; two trials must run at once before either can end."""
    passing, run = gate(tmp_path), study()

    def objective(trial: sonde.Trial) -> float:
        passing("in")
        return 1.0

    def open_when_two() -> None:
        with opened_in_the_end(tmp_path):
            wait_for(lambda: len(set(arrived(tmp_path, "in"))) == 2)

    with cluster_of(tmp_path, 0) as cluster, Client(cluster) as client:
        cluster.adapt(minimum=0, maximum=2, interval="100 ms", target_duration="200 ms")
        opener = threading.Thread(target=open_when_two)
        opener.start()
        run.optimize(objective, 4, executor=client, progress=False)
        opener.join(60)
        assert states(run) == {"completed": 4}
        assert len(set(arrived(tmp_path, "in"))) >= 2


def test_workers_that_join_are_used_while_others_are_busy(tmp_path: Path) -> None:
    """The first trial ends only when a second worker, which comes later, runs another one."""
    passing, run = gate(tmp_path), study()

    def objective(trial: sonde.Trial) -> float:
        passing("in")
        return 1.0

    with cluster_of(tmp_path, 1) as cluster, Client(cluster) as client:

        def grow() -> None:
            with opened_in_the_end(tmp_path):
                wait_for(lambda: arrived(tmp_path, "in"))
                cluster.scale(2)
                wait_for(lambda: len(set(arrived(tmp_path, "in"))) == 2)

        growing = threading.Thread(target=grow)
        growing.start()
        run.optimize(objective, 3, executor=client, progress=False)
        growing.join(60)
    assert states(run) == {"completed": 3}
    assert len(set(arrived(tmp_path, "in"))) == 2


def test_a_scheduler_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    passing, run = gate(tmp_path), study()
    with cluster_of(tmp_path, 1, processes=False) as cluster, Client(cluster, timeout="1 s") as client:

        def close() -> None:
            wait_for(lambda: arrived(tmp_path, "in"))
            open_gate(tmp_path)
            cluster.close()

        closing = threading.Thread(target=close)
        closing.start()
        with pytest.raises(NoWorkers, match=r"the Dask scheduler cannot be reached .* call optimize again"):
            run.optimize(lambda trial: passing("in") or time.sleep(1) or 1.0, 100, executor=client, progress=False)
        closing.join(60)
        with pytest.raises(NoWorkers, match="the client is closed"):
            DaskExecutor(client).submit(os.getpid)
    assert "failed" not in states(run)
    assert states(run)["running"] == 0


def test_an_error_cancels_what_runs(client: Client, tmp_path: Path) -> None:
    passing = gate(tmp_path)

    def objective(trial: sonde.Trial) -> float:
        if trial.number == 0:
            passing("in")
        raise ValueError("a mistake")

    run = study()
    with opened_in_the_end(tmp_path), pytest.raises(ValueError, match="a mistake"):
        run.optimize(objective, 4, executor=client, catch=(), progress=False)
    wait_for(lambda: not any(client.processing().values()))
    assert states(run)["running"] == 0


def test_a_client_that_is_asynchronous_is_refused(client: Client) -> None:
    async def refused() -> None:
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            study().optimize(lambda trial: 1.0, 3, executor=other, progress=False)

    with pytest.raises(OptionError, match="without asynchronous=True"):
        asyncio.run(refused())
