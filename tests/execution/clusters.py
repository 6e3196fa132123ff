"""Objectives and checks for clusters; a worker cannot import a test's module, so that objectives are closures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def wait_for(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something holds, and return it."""
    deadline = time.monotonic() + seconds
    while not (held := what()):
        assert time.monotonic() < deadline, f"not after {seconds:g} s"
        time.sleep(0.02)
    return held


def gate(folder: Path) -> Callable[[str], None]:
    """Return a function that notes its process in a file, and waits until the test opens the gate."""

    def passing(name: str) -> None:
        import os
        import time
        import uuid
        from pathlib import Path

        (Path(folder) / f"{name}-{uuid.uuid4().hex}").write_text(str(os.getpid()))
        deadline = time.monotonic() + 120
        while not (Path(folder) / "open").exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    return passing


def open_gate(folder: Path) -> None:
    (folder / "open").touch()


def arrived(folder: Path, name: str) -> list[int]:
    """Return the processes that have come to the gate."""
    return [int(text) for path in folder.glob(f"{name}-*") if (text := path.read_text())]


def large(folder: Path) -> Any:
    """Return an objective of 8 MB that notes the process each time it is unpickled."""

    def note() -> None:
        import os
        import uuid
        from pathlib import Path

        (Path(folder) / f"unpickled-{uuid.uuid4().hex}").write_text(str(os.getpid()))

    class Large:
        def __init__(self) -> None:
            self.data = bytes(8_000_000)

        def __setstate__(self, state: Any) -> None:
            self.__dict__.update(state)
            note()

        def __call__(self, trial: Any) -> float:
            return len(self.data) / 8e6 + trial["x"]

    return Large()


def reporting() -> Callable[[Any], float]:
    def objective(trial: Any) -> float:
        for step in range(3):
            trial.report(step, trial["x"] + 1 / (step + 1))
            trial.should_stop()
        return float(trial["x"])

    return objective


@contextmanager
def opened_in_the_end(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        open_gate(folder)
