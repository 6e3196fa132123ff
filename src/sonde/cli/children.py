"""The running programs, each in a process group of its own; none outlives Sonde.

``stop`` may be called from a signal handler: it kills all groups, and no program can start afterwards.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

KEPT = 64 * 1024  # bytes kept of each output: a program may print for days
_CHUNK = KEPT
_PATIENCE = 1.0  # seconds to wait for an output that a background program keeps open


@dataclass(frozen=True)
class Ended:
    """How a program ended; ``timed_out`` if it was killed for its time. Outputs are the last ``KEPT`` bytes."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False


class Children:
    """Starts programs, and stops them all at once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: a second signal may interrupt the handler of the first
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def run(self, arguments: Sequence[str], environment: Mapping[str, str], seconds: float | None = None) -> Ended:
        """Run a program to its end, at most ``seconds``.

        Raise ``OSError`` if it cannot be started, ``KeyboardInterrupt`` after ``stop``.
        """
        process = self._start(arguments, environment)
        try:
            outputs = [_Tail(process.stdout), _Tail(process.stderr)]
            timed_out = not _ends_within(process, seconds)
            code = process.wait()
            texts = [output.text() for output in outputs]
        finally:
            with self._lock:
                self._running.discard(process)
        if self.stopped:
            raise KeyboardInterrupt  # a killed program has no result
        return Ended(code, texts[0], texts[1], timed_out)

    def stop(self) -> None:
        """Kill all programs, and start none any more."""
        with self._lock:
            self.stopped = True
            for process in list(self._running):
                _kill_group(process)

    def _start(self, arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self._lock:  # so that stop() never misses a program that is starting
            if self.stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=dict(environment), start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
            return process


class _Tail(threading.Thread):
    """Reads an output to its end and keeps the last part of it."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._kept = b""
        self.start()

    def run(self) -> None:
        """Read until the program closes its end."""
        if self._pipe is None:
            return
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), _CHUNK):
                self._kept = (self._kept + chunk)[-KEPT:]

    def text(self) -> str:
        """Return the kept output; do not wait long for programs left in the background."""
        self.join(_PATIENCE)
        return self._kept.decode("utf-8", "replace")


def _ends_within(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    """Wait for a program, or kill it after ``seconds``; return whether it ended by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        _kill_group(process)
        return False
    return True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # it may have ended meanwhile
        os.killpg(process.pid, signal.SIGKILL)
