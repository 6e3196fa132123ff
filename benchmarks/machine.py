"""The machine a benchmark ran on, and how it is kept to one core."""

import os
import platform
from pathlib import Path

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def use_one_core() -> None:
    """Keep this process and its children on one core, with one thread for every library. Call before importing them."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ.update(dict.fromkeys(_THREADS, "1"))


def describe_machine() -> str:
    """Return one line: processor, cores, Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
