"""The running programs, each in a process group of its own, and the signals that end them; none outlives Sonde.

``stop`` may be called from a signal handler: it kills all groups, and no program can start afterwards.

What programs print is read as they go: the last part is kept, and all of it may be written to files.
"""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, BinaryIO

from sonde.cli.reports import split_lines

KEPT = 64 * 1024  # bytes kept of each output: a program may print for days
_CHUNK = KEPT
_TO_END = 10.0  # seconds after SIGTERM before SIGKILL
_PATIENCE = 1.0  # seconds to wait for an output that a background program keeps open
# SIGHUP (closed terminal; not on Windows) reaches only this process: the programs have sessions of their own.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True)
class Ended:
    """How a program ended: by itself, killed for its time, or stopped because it was not worth going on.

    Outputs are the last ``KEPT`` bytes.
    """

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    stopped: bool = False


class Children:
    """Starts programs, and stops them all at once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: a second signal may interrupt the handler of the first
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], seconds: float | None = None,
        hopeless: Callable[[str], bool] | None = None, logs: Path | None = None,
    ) -> Ended:  # fmt: skip
        """Run a program to its end, at most ``seconds``, or until ``hopeless`` says so of a line that it printed.

        ``logs`` is a folder for the files ``stdout`` and ``stderr``. Raise ``OSError`` if the program cannot be
        started, ``KeyboardInterrupt`` after ``stop``.
        """
        process = self._start(arguments, environment)
        ending = _Ending(process)
        try:
            outputs = [
                _Tail(process.stdout, _Log(logs and logs / "stdout"), hopeless, ending.begin),
                _Tail(process.stderr, _Log(logs and logs / "stderr")),
            ]
            timed_out = not _ends_within(process, seconds)
            code = process.wait()
            texts = [output.text() for output in outputs]
        finally:
            ending.over()
            with self._lock:
                self._running.discard(process)
        if self.stopped:
            raise KeyboardInterrupt  # a killed program has no result
        return Ended(code, texts[0], texts[1], timed_out, ending.begun)

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


class EndedBySignal(KeyboardInterrupt):
    """A signal ended the run."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.exit_code = 128 + number  # the convention of shells


@contextmanager
def ending_on_signals(*stops: Callable[[], None]) -> Iterator[None]:
    """Call ``stops`` on a signal, then raise ``EndedBySignal``; ignored signals (nohup) stay ignored.

    Inside a transaction of the study the interrupt is raised after it. A second signal is raised at once.
    """
    from sonde.study.interrupts import interrupt

    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        for stop in stops:
            stop()
        interrupt(EndedBySignal(number))

    handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in handled}
    try:
        yield
    except BaseException:  # whatever a signal has interrupted may fail in its own way
        if not received:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise EndedBySignal(received[0])


class _Ending:
    """Ends a program that is not worth going on: SIGTERM, so that it may tidy up, then SIGKILL."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._kill = threading.Timer(_TO_END, _kill_group, [process])
        self._kill.daemon = True
        self.begun = False

    def begin(self) -> None:
        """Ask the program to end."""
        self.begun = True
        _kill_group(self._process, signal.SIGTERM)
        self._kill.start()

    def over(self) -> None:
        """The program has ended."""
        self._kill.cancel()


class _Log:
    """A file that gets an output as it comes, or none. That it cannot be written is a warning: the result counts."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> None:
        with self._forgiving():
            self._file = (
                None if self._path is None else open(self._path, "wb", buffering=0)
            )  # so that it can be followed

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, chunk: bytes) -> None:
        """Write what came."""
        with self._forgiving():
            if self._file is not None:
                self._file.write(chunk)

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            warnings.warn(f"{self._path} is not complete: {error.strerror}", stacklevel=2)


class _Tail(threading.Thread):
    """Reads an output to its end and keeps the last part of it; calls ``then`` after the first hopeless line."""

    def __init__(
        self, pipe: IO[bytes] | None, log: _Log, hopeless: Callable[[str], bool] | None = None,
        then: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        super().__init__(daemon=True)
        self._pipe, self._log = pipe, log
        self._kept = b""
        self._hopeless, self._then = hopeless, then
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._line = ""
        self.start()

    def run(self) -> None:
        """Read until the program closes its end."""
        if self._pipe is None:
            return
        with self._pipe, self._log:
            while chunk := os.read(self._pipe.fileno(), _CHUNK):
                self._kept = (self._kept + chunk)[-KEPT:]
                self._log.write(chunk)
                if self._hopeless is not None:
                    self._look(self._decode(chunk), self._hopeless)

    def _look(self, text: str, hopeless: Callable[[str], bool]) -> None:
        """Look at the lines that are complete."""
        *lines, self._line = split_lines(self._line, text)
        if any(hopeless(line) for line in lines):
            self._hopeless = None
            self._then()

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


def _kill_group(process: subprocess.Popen[bytes], number: int = getattr(signal, "SIGKILL", 9)) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # it may have ended meanwhile
        os.killpg(process.pid, number)
