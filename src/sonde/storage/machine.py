"""The machine's uptime, and whether another process of this machine is alive.

Both come from Linux. On other systems leases are measured by the wall clock, and a dead process is noticed
when its lease ends.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

_GONE = ("Z", "X", "x")  # states of a process that has ended and whose parent has not waited for it yet


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Return the id of this boot of the kernel, the same in all containers; "" where the system has none."""
    return _read("/proc/sys/kernel/random/boot_id").strip()


def uptime() -> float:
    """Return the seconds since the machine started. All its processes agree on them, and nobody can set them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def this_process() -> str:
    """Return a unique id of this process: boot, PID namespace, PID and start time.

    "" where these are unknown, or where ``/proc`` shows another PID namespace than this process's.
    """
    try:
        if not boot_id() or os.readlink("/proc/self") != str(os.getpid()):
            return ""
        return "/".join((boot_id(), os.readlink("/proc/self/ns/pid"), str(os.getpid()), _started(os.getpid())))
    except (OSError, IndexError):
        return ""


def is_dead(process: str) -> bool:
    """Whether a process is known to have ended. False: it is alive, or this process cannot tell."""
    here = this_process().split("/")
    boot, namespace, pid, started = process.split("/") if process.count("/") == 3 else ("", "", "", "")
    if len(here) != 4 or (boot, namespace) != (here[0], here[1]) or not pid.isdigit():
        return False
    try:
        return _started(int(pid)) != started
    except FileNotFoundError:
        return True
    except (OSError, IndexError):
        return False


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the boot; "" if it has ended and is a zombie."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return "" if fields[0] in _GONE else fields[19]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
