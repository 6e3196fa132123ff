"""This machine and its processes: what a clock that nobody can set says, and whether a process still lives.

Both come from Linux's ``/proc``. Elsewhere nothing is known: leases run by the wall clock, and who has vanished is
found out when its lease ends.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

_GONE = ("Z", "X", "x")  # states of a process that has ended and is not yet collected


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Return what names this boot of the kernel, the same in all its containers; "" where there is no such thing."""
    return _read("/proc/sys/kernel/random/boot_id").strip()


def uptime() -> float:
    """Return the seconds since the machine started: the same for all its processes, and no one can set them."""
    return float(_read("/proc/uptime").split()[0])


def this_process() -> str:
    """Return what tells this process from every other that ever was: boot, PID namespace, PID and start time.

    "" where that cannot be told, also where ``/proc`` shows another PID namespace than ours.
    """
    try:
        if not boot_id() or os.readlink("/proc/self") != str(os.getpid()):
            return ""
        return "/".join((boot_id(), os.readlink("/proc/self/ns/pid"), str(os.getpid()), _started(os.getpid())))
    except (OSError, IndexError):
        return ""


def is_dead(process: str) -> bool:
    """Whether that process is known to have ended. False means that it lives, or that nobody here can tell."""
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
    """Return when a process started, in ticks since the boot; "" if it has ended and is not yet collected."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return "" if fields[0] in _GONE else fields[19]


def _read(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY)  # a tenth of what open() takes: this is a clock
    except OSError:
        return ""
    try:
        return os.read(file, 256).decode("ascii", "replace")
    finally:
        os.close(file)
