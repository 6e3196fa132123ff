"""The program of a child process: ``python -m sonde.server.suggester``, started by the server for one study.

It reads a line of JSON for each command and answers with one. It ends when its input ends, so that no child outlives
the server.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from sonde.errors import NoResult, OptionError, SondeError
from sonde.server.web import drawing
from sonde.server.wire import to_wire
from sonde.study import Study
from sonde.study.curves import Curves, Settings
from sonde.study.export import document
from sonde.study.suggester import Suggester
from sonde.trials import TrialKey
from sonde.trials.outcome import describe

Answer = dict[str, Any]


class Commands:
    """What a child does for its study."""

    def __init__(self, storage: str, name: str) -> None:
        self._study = Study.load(storage, name)
        key = self._study.storage.find_study(name).key
        objectives = self._study.objectives
        self._suggester = Suggester(self._study)
        self._curves = Curves(
            self._study.storage, Settings(key, self._study.seed, objectives.each[0].sign, not objectives.several)
        )

    def suggest(self, ahead: int) -> Answer:
        """Suggest for all waiting asks, and until so many trials wait."""
        started = time.monotonic()
        begun = self._suggester.begin(ahead)
        added = self._suggester.serve(begun)
        exhausted, seconds = self._suggester.exhausted, time.monotonic() - started
        return {"added": added, "exhausted": exhausted, "seconds": seconds, "paused": begun.paused}

    def best(self) -> Answer:
        """Return the best trial; None with the reason if there is none yet."""
        try:
            found = self._study.best()
        except NoResult as error:
            return {"trial": None, "reason": str(error)}
        return {"trial": to_wire(document(found)) | {"token": found.token, "study": found.study}}

    def should_stop(self, number: int) -> Answer:
        """Return whether a running trial is hopeless by its learning curve."""
        self._curves.update()
        return {"should_stop": self._curves.should_stop(number)}

    def stopped(self, number: int, token: str | None) -> Answer:
        """Return the predicted final value of a trial that was stopped."""
        outcome = self._curves.stopped(TrialKey(number, token))
        return {"mean": outcome.value, "std": outcome.noise}

    def figures(self) -> Answer:
        """Return the figures of the study."""
        return drawing.figures(self._study)

    def figure(self, name: str, options: dict[str, str], data: bool) -> Answer:
        """Return a figure, or its numbers."""
        return drawing.figure(self._study, name, options, data=data)

    def explain(self) -> Answer:
        """Return which strategy suggests, and why."""
        return drawing.explain(self._study)


def main() -> None:
    """Do what the server says, until it says no more. The argument lowers the priority of this process."""
    os.nice(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    answers = _own_output()
    first = sys.stdin.readline()
    if not first:  # the server has ended before it had a study for this process
        return
    opening = json.loads(first)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    commands: Commands | None = None
    while True:
        command = json.loads(lines.get())
        number, what = command.pop("id"), command.pop("do")
        try:
            if commands is None:
                commands = Commands(opening["storage"], opening["study"])
            do: Callable[..., Answer] = getattr(commands, what)
            answer = do(**command)
        except SondeError as error:
            answer = {"error": str(error), "refused": isinstance(error, OptionError)}
        except Exception as error:  # of a strategy: the server must learn the reason
            answer = {"error": describe(error)}
        try:
            answers.write(json.dumps({"id": number, **answer}) + "\n")
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # the server has ended


def _read(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)  # the server has ended, or has no more use for this process; nobody waits for its suggestion


def _own_output() -> TextIO:
    """Return the standard output for answers only; what libraries print goes to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8")


if __name__ == "__main__":
    main()
