from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.processes import outputs

import sonde

# Where the tests themselves run in the background, signals may be ignored, and that is inherited.
START = (
    "from signal import *; [signal(number, SIG_DFL) for number in (SIGINT, SIGTERM, SIGHUP)];"
    "from sonde.cli.main import main; main()"
)
# A program with a process of its own; both write down who they are.
SLOW = "sleep 200 & echo $! > pid-$SONDE_TRIAL-inner; echo $$ > pid-$SONDE_TRIAL-outer; wait; echo {x:float:0..1}"
QUICK = "echo $$ > pid-$SONDE_TRIAL; test -e go || exec sleep 200; echo {x:float:0..1}"


# A strategy of the user's, by a name of its own, that computes in Python for a minute.
STRATEGY = """
import time
from pathlib import Path
from sonde.strategies.sobol import Sobol
class Slow(Sobol):
    def suggest(self, space, history, count, key):
        if len(history) >= 2 and not Path("go").exists():
            Path("begun").touch()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                sum(range(1000))
        return super().suggest(space, history, count, key)
"""
NAMED = "from sonde.strategies import registry; registry._WHERE['slow'] = ('slow', 'Slow');"


def start(*command: str, trials: int = 4, **options: Any) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", START, "run", "-n", str(trials), "-j", "2", "--", *command]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def written(pattern: str, count: int) -> list[int]:
    """Wait until that many processes have written their numbers."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        texts = [path.read_text().strip() for path in Path.cwd().glob(pattern)]
        if len(texts) == count and all(texts):
            return [int(text) for text in texts]
        time.sleep(0.02)
    raise TimeoutError(pattern)


def states() -> Counter[str]:
    study = sonde.load("sqlite:///sonde.db", "default")
    found = Counter(str(trial.state) for trial in study.trials)
    study.storage.close()
    return found


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_kills_all_and_the_study_goes_on_later(name: str, is_gone: Callable[[int], bool]) -> None:
    process = start("sh", "-c", SLOW)
    pids = written("pid-*", 4)
    process.send_signal(getattr(signal, name))
    out, err = outputs(process)
    assert process.returncode == 128 + getattr(signal, name)
    assert out == ""
    assert err.splitlines()[-1] == "interrupted after 0 of 4 trials; the same command continues the study"
    assert "Traceback" not in err
    assert all(is_gone(pid) for pid in pids)
    assert states() == {"lost": 2, "waiting": 2}


def test_the_same_command_continues() -> None:
    process = start("sh", "-c", QUICK)
    written("pid-*", 2)
    process.send_signal(signal.SIGINT)
    outputs(process)
    assert process.returncode == 130
    Path("go").touch()
    process = start("sh", "-c", QUICK)
    out, err = outputs(process)
    assert process.returncode == 0, err
    assert out.startswith("default: the best of 4 trials is trial ")
    assert states()["completed"] == 4


def test_a_terminal_interrupts_the_whole_foreground_and_no_program_sees_it() -> None:
    """Ctrl-C goes to every process of the group; ours must not take it for the program's own end."""
    process = start("sh", "-c", SLOW, start_new_session=True)
    written("pid-*", 4)
    os.killpg(process.pid, signal.SIGINT)
    outputs(process)
    assert process.returncode == 130
    assert "failed" not in states()


@pytest.mark.parametrize("delay", [0.0, 0.07, 0.21])
def test_an_interruption_at_any_moment_loses_nothing(delay: float) -> None:
    process = start("sh", "-c", "touch begun; echo {x:float:0..1}", trials=1000)
    deadline = time.monotonic() + 100
    while not Path("begun").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = outputs(process)
    assert process.returncode == 130, err
    assert states().keys() <= {"completed", "lost", "waiting"}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_during_a_suggestion_ends_the_run_at_once(name: str) -> None:
    Path("slow.py").write_text(STRATEGY)
    command = [sys.executable, "-c", NAMED + START, "run", "-n", "5", "--strategy", "slow", "--", "echo",
               "{x:float:0..1}"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 100
    while not Path("begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    begun = time.monotonic()
    process.send_signal(getattr(signal, name))
    out, err = outputs(process)
    assert time.monotonic() - begun < 20  # of the 60 that the suggestion takes
    assert process.returncode == 128 + getattr(signal, name)
    assert out == ""
    assert err.splitlines()[-1] == "interrupted after 2 of 5 trials; the same command continues the study"
    assert "Traceback" not in err
    assert states() == {"completed": 2}
    Path("go").touch()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100)  # no other process is the suggester
    assert ended.returncode == 0, ended.stderr
    assert states() == {"completed": 5}
