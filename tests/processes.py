"""Processes that start in milliseconds: forks of a server in which Sonde and its libraries are loaded."""

from __future__ import annotations

import multiprocessing
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
