"""A program as an objective: run it with a trial's values and read what it tells.

With ``--report``, what it prints on its way is its learning curve, and a program that is not worth going on is ended.

An error of the program makes a failed trial with the reason. A program that cannot be started ends the run, because
other configurations would not help, and the trial goes back to the queue.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.cli.children import Children, Ended
from sonde.cli.folder import RESULT, environment, trial_folder
from sonde.cli.reports import Lines
from sonde.cli.results import read_result, with_stderr
from sonde.cli.template import Template
from sonde.errors import EndOfRun, EvaluationError, OptionError, SondeError, Stopped

if TYPE_CHECKING:
    from sonde.study import Study
    from sonde.trials import Evaluation, Trial


class CannotStart(EndOfRun):
    """The program cannot be started. The run ends, and the trial does not fail."""


@dataclass(frozen=True)
class Command:
    """The objective of ``sonde run`` and ``sonde worker``."""

    template: Template
    study: str
    children: Children
    trial_timeout: float | None = None
    objectives: tuple[str, ...] = ()  # the names of several
    reader: Callable[[], Lines] | None = None  # of learning curves
    logs: Path | None = None

    def __call__(self, trial: Trial) -> float | Evaluation:
        """Return the program's result, and set the attributes that it tells."""
        arguments = self.template.render(trial.params)
        try:
            with trial_folder(self.logs, self.study, trial.number) as folder:
                if self.logs is not None:
                    trial.attributes["log"] = str(folder)
                ended = self._run(arguments, trial, folder)
                told = read_result(ended, folder / RESULT, self.objectives)
        except OSError as error:
            raise CannotStart(f"cannot start {arguments[0]!r}: {error.strerror or error}") from None
        except EvaluationError:
            raise
        except ValueError as error:  # a null character in an argument
            raise CannotStart(f"cannot start {arguments[0]!r}: {error}") from None
        trial.attributes.update(told.attributes)
        return told.result

    def _run(self, arguments: list[str], trial: Trial, folder: Path) -> Ended:
        """Run the program; raise if it was ended."""
        at_once = {"PYTHONUNBUFFERED": "1"} if self.reader or self.logs else {}  # else Python writes by the block
        ended = self.children.run(
            arguments, os.environ | environment(trial, self.study, folder) | at_once, self.trial_timeout,
            self._watch(trial), None if self.logs is None else folder,
        )  # fmt: skip
        if ended.timed_out:
            reason = f"took longer than trial_timeout={self.trial_timeout:g} s and was stopped"
            raise EvaluationError(with_stderr(reason, ended))
        if ended.stopped:
            raise Stopped
        return ended

    def _watch(self, trial: Trial) -> Callable[[str], bool] | None:
        """Return a function that reports what a line has, and says whether the trial is hopeless."""
        if self.reader is None:
            return None
        lines = self.reader()

        def hopeless(line: str) -> bool:
            found = lines.read(line)
            if found is None:
                return False
            try:
                trial.report(*found)
                return trial.should_stop()
            except SondeError as error:  # the program is not to blame
                warnings.warn(f"trial {trial.number}: a report was lost: {error}", stacklevel=2)
                return False

        return hopeless


def run_programs(
    study: Study, objective: Callable[[Trial], Any], children: Children, jobs: int, **options: Any
) -> None:
    """Run a study's loop with so many programs at once; afterwards no program is left running."""
    with ThreadPoolExecutor(jobs) as executor:
        try:
            study.optimize(objective, workers=jobs, executor=executor, **options)
        finally:
            children.stop()  # otherwise the executor would wait for them


def check_program(template: Template) -> None:
    """Raise ``OptionError`` if the program does not exist, before a study is created."""
    if template.program.names:
        return
    program = template.program.render({})
    if shutil.which(program) is None:
        raise OptionError(f"cannot start {program!r}: there is no such program; check its spelling and your PATH")
