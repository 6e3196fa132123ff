"""Objects that only have submit: submitit's, with real processes, and futures without callbacks."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import submitit
from tests.execution.clusters import arrived, gate, large, opened_in_the_end, wait_for

import sonde
from sonde.errors import NoWorkers, OptionError
from sonde.execution import Task, adapted
from sonde.study import Study

SPACE = sonde.Space(x=sonde.Float(0, 1))


def study() -> Study:
    return Study(SPACE, strategy="sobol", seed=0)


@contextmanager
def local_jobs(folder: Path) -> Iterator[Any]:
    yield submitit.AutoExecutor(folder=folder, cluster="local")


def test_jobs_of_submitit(tmp_path: Path) -> None:
    here, run = os.getpid(), study()
    with local_jobs(tmp_path) as executor:
        run.optimize(
            lambda trial: float(os.getpid() != here) + trial["x"], 2, executor=executor, workers=2, progress=False
        )  # fmt: skip
    assert all(trial.value >= 1 for trial in run.trials)


class Growing:
    """Threads of which there are none, one, or two."""

    def __init__(self) -> None:
        self.pool, self.count = ThreadPoolExecutor(2), 1
        self.submitted = self.released = 0

    def submit(self, function: Any, *arguments: Any) -> Any:
        future = self.pool.submit(function, *arguments)
        self.submitted += 1
        return future

    def workers(self) -> int:
        return self.count

    def release(self, function: Any) -> None:
        self.released += 1


def test_workers_that_join_are_used_while_another_is_busy(tmp_path: Path) -> None:
    executor, passing, run = Growing(), gate(tmp_path), study()

    def grow() -> None:
        with opened_in_the_end(tmp_path):
            wait_for(lambda: arrived(tmp_path, "in"))
            executor.count = 2
            wait_for(lambda: len(arrived(tmp_path, "in")) == 2)

    growing = threading.Thread(target=grow)
    growing.start()
    run.optimize(lambda trial: passing("in") or 1.0, 3, executor=executor, progress=False)
    growing.join(60)
    assert [str(trial.state) for trial in run.trials] == ["completed"] * 3
    assert executor.released == 1
    executor.pool.shutdown()


def test_a_pool_that_is_shut_down_ends_the_run_and_no_trial_fails(tmp_path: Path) -> None:
    passing, run = gate(tmp_path), study()
    executor = Growing()
    executor.pool, executor.count = ThreadPoolExecutor(1), 2  # one in its queue

    def close() -> None:
        with opened_in_the_end(tmp_path):
            wait_for(lambda: arrived(tmp_path, "in") and executor.submitted == 2)
            executor.pool.shutdown(wait=False, cancel_futures=True)

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(NoWorkers, match=r"the call of trial 1 was cancelled, .* call optimize again"):
        run.optimize(lambda trial: passing("in") or 1.0, 2, executor=executor, progress=False)
    closing.join(60)
    assert "failed" not in [str(trial.state) for trial in run.trials]


def test_sonde_loads_no_cluster() -> None:
    code = "import sys, sonde.study, sonde.execution; print(*{'ray', 'dask', 'distributed'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""


def test_threads_unpickle_an_objective_once(tmp_path: Path) -> None:
    """As the threads of a Dask worker, which begin at once."""
    task, ready = pickle.loads(pickle.dumps(Task(large(tmp_path)))), threading.Barrier(4)

    def prepared(_: int) -> None:
        ready.wait(60)
        task.prepare()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(prepared, range(4)))
    assert arrived(tmp_path, "unpickled") == [os.getpid()]


def test_what_is_no_executor() -> None:
    with pytest.raises(OptionError, match=r"executor must have submit.* Dask Client .*RayExecutor"):
        study().optimize(lambda trial: 1.0, 1, executor=4)  # type: ignore[arg-type]
    assert adapted(None) is None
