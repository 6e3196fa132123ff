from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.processes import outputs

import sonde
from sonde.errors import NoResult, OptionError, SondeError
from sonde.study.progress import Bar, Lines, progress_for

SPACE = sonde.Space(x=sonde.Float(-5, 10), k=sonde.Int(1, 4))


sphere = lambda trial: float(trial["x"] ** 2 + trial["k"])  # noqa: E731  (a worker cannot import a test's module)


def quiet(**options: Any) -> dict[str, Any]:
    return {"progress": False, **options}


def test_minimize_and_maximize() -> None:
    low = sonde.minimize(sphere, SPACE, 12, seed=0, **quiet())
    high = sonde.maximize(sphere, SPACE, 12, seed=0, **quiet())
    assert low.best_value == low.fun == min(trial.value for trial in low.trials if trial.value is not None)
    assert high.best_value == max(trial.value for trial in high.trials if trial.value is not None)
    assert low.best_params == low.x == dict(low.best_trial)
    assert len(low.trials) == 12
    assert "best_value" in repr(low)


def test_four_processes_suggest_what_one_does() -> None:
    one = sonde.minimize(sphere, SPACE, 24, seed=7, strategy="sobol", **quiet())
    four = sonde.minimize(sphere, SPACE, 24, seed=7, strategy="sobol", workers=4, **quiet())
    assert [dict(trial) for trial in four.trials] == [dict(trial) for trial in one.trials]
    assert four.best_params == one.best_params


def test_workers_are_processes_and_take_closures() -> None:
    offset = 3.0
    study = sonde.Study(SPACE)

    def objective(trial: sonde.Trial) -> float:
        trial.attributes["pid"] = os.getpid()
        time.sleep(0.05)
        return trial["x"] + offset

    study.optimize(objective, 8, workers=2, **quiet())
    pids = {trial.attributes["pid"] for trial in study.trials}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert all(trial.value == trial["x"] + offset for trial in study.trials)


def test_a_worker_that_dies_takes_down_its_trial_only(sqlite_url: str) -> None:
    def objective(trial: sonde.Trial) -> float:
        if trial.number in (2, 5):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        return 1.0

    study = sonde.Study(SPACE, storage=sqlite_url, name="study", strategy="sobol")
    study.optimize(objective, 9, workers=3, **quiet())
    assert [trial.number for trial in study.trials if trial.state == "failed"] == [2, 5]
    assert all("worker died" in str(study.trial(number).error) for number in (2, 5))
    assert sum(trial.state == "completed" for trial in study.trials) == 7


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_objective_is_a_failed_trial_with_its_reason(workers: int) -> None:
    def objective(trial: sonde.Trial) -> Any:
        outcomes: list[Any] = [
            float("nan"),
            float("inf"),
            "0.3",
            None,
            [1.0],
            sonde.Evaluation(1.0, gradient={"no": 1.0}),
            sonde.Evaluation(1.0, noise=-1.0),
        ]
        if trial.number == len(outcomes):
            raise ValueError("my own mistake")
        return outcomes[trial.number] if trial.number < len(outcomes) else 1.0

    study = sonde.Study(SPACE)
    study.optimize(objective, 9, workers=workers, **quiet())
    errors = [str(trial.error) for trial in study.trials]
    expected = ["nan", "inf", "'0.3'", "None", "list", "'no'", "noise", "my own mistake"]
    assert all(word in error for word, error in zip(expected, errors[:8], strict=True)), errors
    assert "Traceback" in errors[7]
    assert "test_optimize.py" in errors[7]
    assert study.trials[8].state == "completed"


def test_all_failed() -> None:
    with pytest.raises(NoResult, match="no trial has completed; the last one failed: the value is nan"):
        sonde.minimize(lambda trial: float("nan"), SPACE, 3, **quiet())
    with pytest.raises(NoResult, match="the last one failed: KeyError: 'learning_rate'"):
        sonde.minimize(lambda trial: trial["learning_rate"], SPACE, 3, **quiet())


@pytest.mark.parametrize("workers", [1, 2])
def test_catch_nothing_raises_after_keeping_the_failure(workers: int) -> None:
    def objective(trial: sonde.Trial) -> float:
        raise ZeroDivisionError("oh")

    study = sonde.Study(SPACE)
    with pytest.raises(ZeroDivisionError, match="oh"):
        study.optimize(objective, 5, workers=workers, catch=(), **quiet())
    assert any(trial.state == "failed" for trial in study.trials)
    assert not any(trial.state == "running" for trial in study.trials)


def test_an_objective_that_cannot_be_sent_is_refused_at_once() -> None:
    lock = threading.Lock()
    study = sonde.Study(SPACE)
    with pytest.raises(OptionError, match="cannot be sent to worker processes"):
        study.optimize(lambda trial: lock and 1.0, 3, workers=2, **quiet())
    assert study.trials == []
    study.optimize(lambda trial: lock and 1.0, 3, **quiet())
    assert len(study.trials) == 3


def test_an_objective_that_a_worker_cannot_import_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere.py").write_text("def objective(trial):\n    return 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import elsewhere  # type: ignore[import-not-found]

    (tmp_path / "elsewhere.py").unlink()
    study = sonde.Study(SPACE)
    study.optimize(elsewhere.objective, 2, workers=2, **quiet())
    assert all("No module named 'elsewhere'" in str(trial.error) for trial in study.trials)


def test_catch_some() -> None:
    def objective(trial: sonde.Trial) -> float:
        raise (KeyError if trial.number < 2 else ZeroDivisionError)("oh")

    study = sonde.Study(SPACE)
    with pytest.raises(ZeroDivisionError):
        study.optimize(objective, 5, catch=KeyError, **quiet())
    assert len(study.trials) == 3


def test_an_exception_that_cannot_be_pickled_is_reported() -> None:
    class Unpicklable(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__(f"{first} {second}")
            self.lock = threading.Lock()

    def objective(trial: sonde.Trial) -> float:
        raise Unpicklable(1, 2)

    study = sonde.Study(SPACE)
    study.optimize(objective, 2, workers=2, **quiet())
    assert all("Unpicklable: 1 2" in str(trial.error) for trial in study.trials)


def test_evaluations_with_extras() -> None:
    study = sonde.Study(SPACE)
    study.optimize(lambda t: sonde.Evaluation(t["x"] ** 2, gradient={"x": 2 * t["x"]}, noise=0.1), 3, **quiet())
    assert all(trial.gradient == {"x": 2 * trial["x"]} for trial in study.trials)


def test_attributes_that_are_not_json_are_dropped_with_a_warning() -> None:
    def objective(trial: sonde.Trial) -> float:
        trial.attributes.update(good=1, bad=object())
        return 1.0

    study = sonde.Study(SPACE)
    with pytest.warns(UserWarning, match="'bad'"):
        study.optimize(objective, 1, **quiet())
    assert study.trials[0].attributes == {"good": 1}


def test_attributes_may_be_arrays_and_one_nested_too_deep_is_dropped(sqlite_url: str) -> None:
    def objective(trial: sonde.Trial) -> float:
        deep: Any = 0
        for _ in range(3000):
            deep = [deep]
        trial.attributes.update(curve=np.array([[1.5, 2.0]]), epochs=np.int64(3), rate=np.float32(0.5), deep=deep)
        return 1.0

    study = sonde.Study(SPACE, storage=sqlite_url)
    with pytest.warns(UserWarning, match="'deep'"):
        study.optimize(objective, 1, **quiet())
    assert study.trials[0].state == "completed"
    assert study.trials[0].attributes == {"curve": [[1.5, 2.0]], "epochs": 3, "rate": 0.5}


def test_callbacks_see_each_result_and_can_stop() -> None:
    seen = []

    def stop_at_five(study: sonde.Study, trial: sonde.Trial) -> None:
        seen.append((trial.number, trial.value))
        if trial.number == 4:
            study.stop()

    study = sonde.Study(SPACE)
    study.optimize(sphere, 100, callbacks=[stop_at_five], **quiet())
    assert [number for number, _ in seen] == [0, 1, 2, 3, 4]
    study.optimize(sphere, 2, **quiet())  # stop() was for that run
    assert len(study.trials) == 7


def test_timeout_starts_no_new_trials() -> None:
    study = sonde.Study(SPACE, strategy="sobol")
    started = time.monotonic()
    study.optimize(lambda trial: time.sleep(0.05) or 1.0, timeout=0.4, **quiet())
    assert time.monotonic() - started < 20
    assert 2 <= len(study.trials) <= 9
    assert all(trial.state == "completed" for trial in study.trials)


def test_n_trials_counts_this_call_and_total_trials_the_study(sqlite_url: str) -> None:
    study = sonde.Study(SPACE, storage=sqlite_url, name="study")
    study.optimize(sphere, 5, **quiet())
    study.optimize(sphere, 5, **quiet())
    assert len(study.trials) == 10
    study.optimize(sphere, total_trials=12, **quiet())
    assert len(study.trials) == 12
    study.optimize(sphere, total_trials=12, **quiet())
    assert len(study.trials) == 12
    result = sonde.minimize(sphere, SPACE, 15, storage=sqlite_url, name="study", **quiet())
    assert len(result.trials) == 15


def test_a_finite_space_ends_cleanly() -> None:
    space = sonde.Space(a=sonde.Int(1, 3), b=sonde.Bool())
    result = sonde.minimize(lambda trial: trial["a"] + trial["b"], space, 100, workers=2, **quiet())
    assert len(result.trials) == 6
    assert result.best_params == {"a": 1, "b": False}
    assert len(sonde.minimize(lambda trial: trial["a"], space, **quiet()).trials) == 6  # needs no number of trials


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_any_executor(kind: str) -> None:
    factor = 2.0
    spawn = multiprocessing.get_context("spawn")  # a fork would not survive threads of this process
    with ThreadPoolExecutor(2) if kind == "threads" else ProcessPoolExecutor(2, mp_context=spawn) as executor:
        result = sonde.minimize(lambda trial: factor * trial["x"], SPACE, 10, executor=executor, **quiet())
    assert all(trial.value == factor * trial["x"] for trial in result.trials)
    assert len(result.trials) == 10


class Slow:
    """The least a future can be: no callbacks, no cancel."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def done(self) -> bool:
        return self._future.done()

    def result(self) -> Any:
        return self._future.result()


class Least:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(3)
        self.most = 0
        self._now = 0

    def submit(self, function: Any, /, *arguments: Any) -> Slow:
        return Slow(self._threads.submit(self._count, function, *arguments))

    def _count(self, function: Any, *arguments: Any) -> Any:
        self._now += 1
        self.most = max(self.most, self._now)
        time.sleep(0.05)
        self._now -= 1
        return function(*arguments)


def test_the_smallest_possible_executor() -> None:
    executor = Least()
    result = sonde.minimize(sphere, SPACE, 9, executor=executor, workers=3, **quiet())
    assert len(result.trials) == 9
    assert executor.most == 3


def test_enqueued_points_run_first() -> None:
    study = sonde.Study(SPACE)
    study.enqueue({"x": 0.5, "k": 2})
    study.optimize(sphere, 3, **quiet())
    assert dict(study.trials[0]) == {"x": 0.5, "k": 2}
    assert len(study.trials) == 3


def test_without_a_terminal_progress_is_lines(capsys: pytest.CaptureFixture[str]) -> None:
    sonde.minimize(sphere, SPACE, 5, name="mine", seed=0)
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("mine: 5/5 trials, best ")


@pytest.mark.parametrize(("widgets", "shown"), [(True, Bar), (False, Lines)])
def test_a_notebook_without_widgets_gets_lines(monkeypatch: pytest.MonkeyPatch, widgets: bool, shown: type) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("sonde.study.progress.find_spec", lambda name: object() if widgets else None)
    assert isinstance(progress_for("study", 5, wanted=True), shown)


def test_the_last_state_of_the_bar_is_drawn_before_it_stops() -> None:
    bar = Bar("study", 5, Console(file=io.StringIO()))
    drawn: list[float] = []
    update, stop = bar._live.update, bar._live.stop

    def noted_update(shown: Any, *, refresh: bool) -> None:
        update(shown, refresh=refresh)
        drawn.append(bar._bar.tasks[0].completed if refresh else -2.0)

    def noted_stop() -> None:
        stop()
        drawn.append(-1.0)

    bar._live.update, bar._live.stop = noted_update, noted_stop  # type: ignore[assignment, method-assign]
    with bar:
        bar.show(5, 0, 1.0)
    assert drawn == [5, -1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials"),
        ({"n_trials": 2.5}, "n_trials"),
        ({"n_trials": 5, "workers": 0}, "workers"),
        ({"n_trials": 5, "timeout": 0}, "timeout"),
        ({"n_trials": 5, "timeout": float("nan")}, "timeout"),
        ({"n_trials": 5, "catch": 3}, "catch"),
        ({"n_trials": 5, "callbacks": [3]}, "callbacks"),
        ({"n_trials": 5, "executor": 3}, r"executor must have submit.*got 3"),
        ({}, "n_trials, total_trials or timeout"),
        ({"total_trials": -1}, "total_trials"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sonde.Study(SPACE).optimize(sphere, **quiet(**options))


def test_wrong_objective() -> None:
    with pytest.raises(OptionError, match=r"must be a function, such as def objective\(trial\), got 3"):
        sonde.Study(SPACE).optimize(3, 5, **quiet())  # type: ignore[arg-type]


def test_a_trial_cancelled_meanwhile_is_not_recorded() -> None:
    study = sonde.Study(SPACE)

    def objective(trial: sonde.Trial) -> float:
        study.cancel(trial)
        return 1.0

    with pytest.warns(UserWarning, match="was not recorded"):
        study.optimize(objective, 1, **quiet())
    assert study.trials[0].state == "cancelled"


SCRIPT = """
import signal, sys, time, sonde
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
space = sonde.Space(x=sonde.Float(-5, 10))
def objective(trial):
    time.sleep(0 if trial.number < 6 else 60)
    return trial["x"] ** 2
print("ready", flush=True)
sonde.minimize(objective, space, 20, storage=sys.argv[1], name="study", seed=0, strategy="sobol",
               workers=int(sys.argv[2]))
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_ctrl_c_leaves_a_resumable_study(tmp_path: Path, workers: int) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    process = subprocess.Popen(
        [sys.executable, str(script), url, str(workers)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: done(url) == 6)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = outputs(process)
    assert process.returncode == 128 + signal.SIGINT
    assert errors.splitlines()[-1] == "stopped after 6 of 20 trials; the same call again continues"
    assert "Traceback" not in errors
    study = sonde.load(url, "study")
    states = [trial.state for trial in study.trials]
    assert states.count("completed") == 6
    assert states.count("running") == 0
    assert states.count("waiting") == states.count("lost") == workers
    result = sonde.minimize(lambda trial: trial["x"] ** 2, study.space, 20, storage=url, name="study", progress=False)
    assert sum(trial.state == "completed" for trial in result.trials) == 20
    reference = sonde.minimize(lambda trial: trial["x"] ** 2, study.space, 6, seed=0, strategy="sobol", progress=False)
    assert [dict(trial) for trial in result.trials[:6]] == [dict(trial) for trial in reference.trials]


def done(url: str) -> int:
    try:
        return sum(trial.state == "completed" for trial in sonde.load(url, "study").trials)
    except SondeError:
        return 0


def wait_for(condition: Any, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
