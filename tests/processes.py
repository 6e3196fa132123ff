"""Processes of tests: forks of a server in which Sonde and its libraries are loaded, which start in milliseconds; and
the end of others, or what they did instead.
"""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
from multiprocessing.context import ForkServerProcess

LOADED = [
    "sonde.study",
    "sonde.execution",
    "sonde.storage.sql",
    "sonde.strategies.sobol",
    "alembic.command",
    "alembic.config",
    "numpy.random",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
]


def start(code: str, *arguments: str, **names: object) -> ForkServerProcess:
    """Run a program as ``python -c`` does, with these names defined: a worker cannot import a test's module."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    program = f"import sys; sys.argv[1:] = {arguments!r}\n{code}"
    process = context.Process(target=exec, args=(program, names), daemon=True)
    process.start()
    return process


def outputs(process: subprocess.Popen[str], seconds: float = 100) -> tuple[str, str]:
    """Wait for the end of a program and return what it printed; if it hangs, end it and show where."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # with PYTHONFAULTHANDLER: prints the stacks of all threads
        _, errors = process.communicate(timeout=seconds)
        raise AssertionError(f"{process.args} did not end within {seconds} seconds\n{errors}") from None
