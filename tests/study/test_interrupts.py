# ruff: noqa: PT012  (where in a block an interrupt is raised is what is tested)
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from tests.processes import outputs

import sonde
from sonde.errors import Interrupted
from sonde.study.interrupts import OneLine, deferred_interrupts, interruptible

# A strategy that computes in Python for a minute, and says when it has begun.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
import numpy as np, sonde
class Slow(sonde.Strategy):
    name = "slow"
    def suggest(self, space, history, count, key):
        if len(history) >= 3 and len(sys.argv) > 2:
            print("suggesting", flush=True)
            end = time.monotonic() + 60
            while time.monotonic() < end:
                sum(range(1000))
        return np.array([[len(history) + 1.0 + i] for i in range(count)])
    def explain(self, space, history):
        return "slow"
def run(storage, trials=6, **options):
    space = sonde.Space(x=sonde.Float(0, 100))
    return sonde.minimize(lambda trial: trial["x"], space, trials, storage=storage, strategy=Slow(), name="study",
                          **options)
"""


def started(tmp_path: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(SLOW + textwrap.dedent(code))
    return subprocess.Popen([sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)  # fmt: skip


def interrupted(process: subprocess.Popen[str], line: str = "suggesting") -> tuple[str, str]:
    """Send Ctrl-C as a terminal does, to the whole group, once the line has been printed; return the outputs."""
    assert process.stdout is not None
    while (said := process.stdout.readline()) and said.strip() != line:
        pass
    assert said, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    begun = time.monotonic()
    out, err = outputs(process)
    assert time.monotonic() - begun < 20  # of the 60 that the suggestion takes
    return out, err


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_during_a_suggestion_ends_the_run_at_once(tmp_path: Path, sqlite_url: str, workers: int) -> None:
    process = started(tmp_path, f"run(sys.argv[1], workers={workers})", sqlite_url, "slowly")
    _, err = interrupted(process)
    assert process.returncode == 130
    last = err.splitlines()[-1]  # of two workers, both may end a trial meanwhile
    assert re.fullmatch(
        rf"stopped after [{4 - workers}-{1 + 2 * workers}] of 6 trials; the same call again continues", last
    )
    assert "Traceback" not in err
    study = sonde.load(sqlite_url, "study", strategy="random")
    assert [trial.state for trial in study.trials if trial.state != "lost"].count("running") == 0
    begun = time.monotonic()
    study.ask()  # no other process is the suggester
    assert time.monotonic() - begun < 15  # of the 20 of its lease
    study.release(study.trials[-1])
    study.close()
    again = started(tmp_path, "assert len(run(sys.argv[1]).study.history.values) >= 6; print('done')", sqlite_url)
    out, err = outputs(again)
    assert out.strip() == "done", err


def test_claimed_trials_go_back_to_the_queue_if_the_suggestion_is_interrupted(sqlite_url: str) -> None:
    class Broken(sonde.Strategy):
        name = "broken"

        def suggest(self, *_: Any) -> Any:
            raise KeyboardInterrupt

        def explain(self, *_: Any) -> str:
            return ""

    for storage in (sqlite_url, None):
        study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy=Broken(), storage=storage, name="study")
        study.enqueue({"x": 0.5})
        with pytest.raises(KeyboardInterrupt):
            study.ask(2)
        assert [trial.state for trial in study.trials] == ["lost", "waiting"]
        study.close()


def test_an_interrupt_that_python_drops_in_a_finalizer_is_raised_when_the_suggestion_ends(tmp_path: Path) -> None:
    code = """
    class Deaf:
        def __del__(self):
            print("deaf", flush=True)
            end = time.monotonic() + 30
            while not sent and time.monotonic() < end:
                try:
                    time.sleep(0.01)
                except KeyboardInterrupt:
                    sent.append(True)
                    raise
    sent = []
    class Finalizing(Slow):
        def suggest(self, *arguments):
            Deaf()
            return np.array([[0.5]])
    Slow = Finalizing
    run(None, progress=False)
    """
    _, err = interrupted(started(tmp_path, code, "-", "slowly"), "deaf")
    assert "Exception ignored in: <function Deaf.__del__" in err
    assert err.splitlines()[-1].startswith("stopped after 0 of 6 trials; ")


def test_a_study_in_memory_is_kept_in_the_exception(tmp_path: Path) -> None:
    code = """
    try:
        run(None)
    except KeyboardInterrupt as error:
        states = [trial.state for trial in error.study.trials]
        print(len(states), set(states), error)
    """
    out, err = interrupted(started(tmp_path, code, "-", "slowly"))
    assert out.startswith("3 {<State.COMPLETED"), err
    assert "stopped after 3 of 6 trials; they are in this exception's study" in out


def test_optimize_says_how_many_are_left(tmp_path: Path) -> None:
    code = "study = sonde.Study(sonde.Space(x=sonde.Float(0, 100)), strategy=Slow())\n"
    code += "study.optimize(lambda trial: trial['x'], 10, progress=False)"
    _, err = interrupted(started(tmp_path, code, "-", "slowly"))
    assert err == "stopped after 3 of 10 trials; study.optimize(..., n_trials=7) runs the rest\n"


def test_other_errors_keep_their_hook(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[BaseException] = []
    hook = OneLine(lambda kind, error, trace: seen.append(error))
    error = ValueError("mine")
    hook(ValueError, error, None)
    assert seen == [error]
    ended = Interrupted("stopped", "go on", sonde.Study(sonde.Space(x=sonde.Float(0, 1))))
    with pytest.raises(SystemExit) as status:
        hook(Interrupted, ended, None)
    assert status.value.code == 130
    assert capsys.readouterr().err == "stopped; go on\n"
    assert ended._render_traceback_() == ["stopped; go on"]


@pytest.fixture
def default_handler() -> Any:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_handler")
def test_an_interrupt_waits_for_the_end_of_the_outermost_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)  # as before


@pytest.mark.usefixtures("default_handler")
def test_a_second_interrupt_is_raised_at_once() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        steps.append("first")
        signal.raise_signal(signal.SIGINT)
        steps.append("second")
    assert steps == ["first"]
    with deferred_interrupts():  # and none is left over
        steps.append("after")


@pytest.mark.usefixtures("default_handler")
def test_an_interrupt_is_not_lost_in_an_error() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("of the database")
    assert isinstance(caught.value.__context__, ValueError)


@pytest.mark.usefixtures("default_handler")
def test_an_interruptible_block_raises_it() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupts(), interruptible():
        signal.raise_signal(signal.SIGINT)
        steps.append("not reached")
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        with interruptible():
            steps.append("not reached")
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        with interruptible():
            pass
        signal.raise_signal(signal.SIGINT)
        steps.append("deferred again")
    assert steps == ["deferred again"]


def test_other_threads_have_nothing_to_defer() -> None:
    ended = []

    def work() -> None:
        with deferred_interrupts(), interruptible():
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


@pytest.mark.usefixtures("default_handler")
def test_an_interrupt_waits_until_an_executor_has_taken_a_call() -> None:
    """An exception inside ``submit`` could leave a lock of the executor locked for ever."""
    taken = []

    class Interrupting:
        def submit(self, *_: Any) -> Future[Any]:
            signal.raise_signal(signal.SIGINT)
            taken.append(True)
            return Future()

    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy="random")
    with pytest.raises(Interrupted, match="stopped after 0 of 3 trials"):
        study.optimize(lambda trial: 0.0, 3, workers=1, executor=Interrupting(), progress=False)
    assert taken == [True]
    assert [trial.state for trial in study.trials] == ["lost", "waiting"]


@pytest.mark.usefixtures("default_handler")
def test_an_interrupt_is_raised_at_once_in_the_users_code() -> None:
    def interrupted(*_: Any) -> float:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not reached")

    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy="random")
    with pytest.raises(Interrupted, match="stopped after 0 of 3"):
        study.optimize(interrupted, 3, progress=False)
    with pytest.raises(Interrupted, match="stopped after 1 of 3"):
        study.optimize(lambda trial: 0.0, 3, callbacks=[interrupted], progress=False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_handler")
def test_a_handler_that_the_objective_sets_stays() -> None:
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy="random")
    study.optimize(lambda trial: float(signal.signal(signal.SIGINT, signal.SIG_IGN) is None), 2, progress=False)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
