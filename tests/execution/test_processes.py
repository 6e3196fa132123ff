from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sonde.execution import Processes


@pytest.fixture
def one() -> Iterator[Processes]:
    processes = Processes(1)
    yield processes
    processes.shutdown()


def result(processes: Processes, function: Any, *arguments: Any) -> Any:
    return processes.submit(function, *arguments).result(60)


def test_workers_ignore_ctrl_c(one: Processes) -> None:
    """A worker that took it would end with a traceback on the terminal, whether it works or waits."""
    pid = result(one, os.getpid)
    os.kill(pid, signal.SIGINT)
    busy = one.submit(time.sleep, 0.3)
    os.kill(pid, signal.SIGINT)
    assert busy.result(60) is None
    assert result(one, os.getpid) == pid


def test_programs_started_by_an_objective_do_not_ignore_ctrl_c(one: Processes) -> None:
    code = "from signal import *; print(getsignal(SIGINT) is default_int_handler, SIGINT in pthread_sigmask(0, []))"
    assert result(one, subprocess.check_output, [sys.executable, "-c", code]) == b"True False\n"


def test_this_process_does_not_ignore_ctrl_c(one: Processes) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    result(one, os.getpid)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_killed_process_is_replaced(one: Processes) -> None:
    pid = result(one, os.getpid)
    call = one.submit(time.sleep, 60)
    one.kill(call)
    assert result(one, os.getpid) != pid
