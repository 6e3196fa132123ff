"""The machine a benchmark ran on, and how it is kept to one core."""

import os
import platform
from collections.abc import Collection
from pathlib import Path

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def use_one_core(core: int | None = None) -> None:
    """Keep this process and its children on one core, the first allowed one unless it is named."""
    use_cores({min(os.sched_getaffinity(0)) if core is None else core})


def use_cores(cores: Collection[int]) -> None:
    """Keep this process and its children on these cores, each library at a thread per core. Call before importing."""
    os.sched_setaffinity(0, cores)
    os.environ.update(dict.fromkeys(_THREADS, str(len(cores))))


def describe_machine() -> str:
    """Return one line: processor, cores, Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
