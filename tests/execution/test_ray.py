"""Real Ray on this machine, one cluster for all tests here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster
from tests.execution.clusters import arrived, gate, large, opened_in_the_end, reporting, wait_for

import sonde
from sonde.errors import NoWorkers, OptionError
from sonde.execution import RayExecutor
from sonde.study import Study

SPACE = sonde.Space(x=sonde.Float(0, 1))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Its folder has a short name, as the names of its sockets must be."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_AUTH_MODE", "disabled")  # a token would be written to the home folder
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def executor(cluster: Any) -> RayExecutor:
    return RayExecutor()


def study(**options: Any) -> Study:
    return Study(SPACE, strategy="sobol", seed=0, **options)


def states(study: Study) -> Counter[str]:
    return Counter(str(trial.state) for trial in study.trials)


def test_trials_run_in_other_processes_and_ray_stays(executor: RayExecutor) -> None:
    here, run = os.getpid(), study()
    run.optimize(lambda trial: float(os.getpid() != here) + trial["x"], 6, executor=executor, progress=False)
    assert states(run) == {"completed": 6}
    assert all(trial.value >= 1 for trial in run.trials)
    executor.shutdown()
    assert ray.is_initialized()


def test_the_cluster_s_resources_say_how_many_calls_run_at_once(executor: RayExecutor) -> None:
    assert executor.workers() == 2
    assert RayExecutor(num_cpus=0.5).workers() == 4
    assert RayExecutor(num_gpus=1).workers() == 1  # waits for a node with a GPU
    assert RayExecutor(grows_to=3).workers() == 3
    assert RayExecutor(grows_to=64).workers() == 4


def test_a_call_that_waits_has_not_begun(executor: RayExecutor, tmp_path: Path) -> None:
    passing = gate(tmp_path)
    calls = [executor.submit(passing, "in") for _ in range(2)]
    with opened_in_the_end(tmp_path):
        wait_for(lambda: len(set(arrived(tmp_path, "in"))) == 2)
        assert all(wait_for(lambda call=call: executor.ready(call)) <= time.monotonic() for call in calls)
        waiting = executor.submit(passing, "in")
        assert executor.ready(waiting) is None
        assert executor.kill(waiting)
        wait_for(waiting.done)
    assert [call.result() for call in calls] == [None, None]
    assert calls[0].result() is None  # again


def test_a_large_objective_is_unpickled_once_in_each_process(executor: RayExecutor, tmp_path: Path) -> None:
    run = study()
    run.optimize(large(tmp_path), 12, executor=executor, progress=False)
    assert states(run) == {"completed": 12}
    pids = arrived(tmp_path, "unpickled")
    assert len(pids) == len(set(pids)) < 12


def test_a_trial_whose_worker_is_killed_fails(executor: RayExecutor, tmp_path: Path) -> None:
    passing, run = gate(tmp_path), study()

    def kill() -> None:
        (pid,) = wait_for(lambda: arrived(tmp_path, "in"))
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with opened_in_the_end(tmp_path):
        run.optimize(
            lambda trial: passing("in") if trial.number == 1 else 1.0, 4, executor=executor, progress=False
        )  # fmt: skip
    killer.join(60)
    assert [str(trial.state) for trial in run.trials] == ["completed", "failed", "completed", "completed"]
    assert str(run.trial(1).error).startswith("the worker died: WorkerCrashedError")


def test_a_hanging_worker_is_killed(executor: RayExecutor, tmp_path: Path) -> None:
    passing, run = gate(tmp_path), study()
    with opened_in_the_end(tmp_path):
        run.optimize(
            lambda trial: passing("hangs") if trial.number == 0 else 1.0, 4, executor=executor, trial_timeout=2,
            progress=False,
        )  # fmt: skip
        (pid,) = arrived(tmp_path, "hangs")
        wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert run.trial(0).error == "took longer than trial_timeout=2 s and was stopped"
    assert states(run) == {"failed": 1, "completed": 3}


def test_a_node_that_goes_away_loses_no_call_and_one_that_joins_is_used(cluster: Any, tmp_path: Path) -> None:
    """Only nodes with this resource can take the call; there is none at first."""
    executor, passing = RayExecutor(resources={"spot": 1}), gate(tmp_path)
    call = executor.submit(passing, "in")
    with opened_in_the_end(tmp_path):
        first = cluster.add_node(num_cpus=1, resources={"spot": 1})
        wait_for(lambda: arrived(tmp_path, "in"))
        cluster.remove_node(first, allow_graceful=False)
        wait_for(lambda: not call.done() and executor.ready(call) is None)
        cluster.add_node(num_cpus=1, resources={"spot": 1})
        wait_for(lambda: not call.done() and len(arrived(tmp_path, "in")) == 2)
    assert call.result() is None


@pytest.mark.parametrize("stored", [False, True])
def test_learning_curves(executor: RayExecutor, tmp_path: Path, stored: bool) -> None:
    run = study(storage=f"sqlite:///{tmp_path / 'study.db'}" if stored else None)
    run.optimize(reporting(), 3, executor=executor, progress=False)
    assert [[step for step, _ in trial.curve] for trial in run.trials] == [[0, 1, 2]] * 3


def test_an_error_kills_what_runs(executor: RayExecutor, tmp_path: Path) -> None:
    passing, run = gate(tmp_path), study()

    def objective(trial: sonde.Trial) -> float:
        from pathlib import Path

        if trial.number == 0:
            passing("in")
        while not list(Path(tmp_path).glob("in-*")):
            time.sleep(0.02)
        raise ValueError("a mistake")

    with opened_in_the_end(tmp_path):
        with pytest.raises(ValueError, match="a mistake"):
            run.optimize(objective, 4, executor=executor, catch=(), progress=False)
        (pid,) = arrived(tmp_path, "in")
        wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert states(run)["running"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_cpus": 0}, "needs some of a resource"),
        ({"num_cpus": -1}, "needs some of a resource"),
        ({"colour": "red"}, "Invalid option keyword"),
        ({"num_returns": 2}, "num_returns"),
    ],
)
def test_wrong_options(cluster: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        RayExecutor(**options)


def test_ray_that_was_shut_down_ends_the_run(executor: RayExecutor, tmp_path: Path) -> None:
    """The last test: Ray does not start again in this process."""
    passing, run = gate(tmp_path), study()

    def close() -> None:
        wait_for(lambda: arrived(tmp_path, "in"))
        ray.shutdown()

    closing = threading.Thread(target=close)
    closing.start()
    with opened_in_the_end(tmp_path), pytest.raises(NoWorkers, match=r"Ray was shut down; .* call optimize again"):
        run.optimize(lambda trial: passing("in") or 1.0, 4, executor=executor, progress=False)
    closing.join(60)
    assert states(run)["running"] == states(run)["failed"] == 0
