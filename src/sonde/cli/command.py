"""A program as an objective: run it with a trial's values, read the last number that it prints.

A program with several objectives prints a number for each, as JSON, on its last line.

With ``--report``, what it prints on its way is its learning curve, and a program that is not worth going on is ended.

An error of the program makes a failed trial with the reason. A program that cannot be started ends the run, because
other configurations would not help, and the trial goes back to the queue.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.cli.children import Children, Ended
from sonde.cli.objectives import values_in
from sonde.cli.reports import Lines
from sonde.cli.template import Template
from sonde.errors import EndOfRun, EvaluationError, OptionError, SondeError, Stopped

if TYPE_CHECKING:
    from sonde.trials import Trial

_SHOWN = 2000  # characters of standard error that a failed trial keeps

# Possessive quantifiers (++, *+) do not backtrack, so that the time is linear even for a megabyte of digits. No match
# is lost: after fewer digits the next digit would follow the number directly.
_NOISE = re.compile(
    r"""\x1b\[[0-?]*+[ -/]*+[@-~]                                    # a colour code, which ends with a letter
      | \b\d{1,2}:\d{2}(?::\d{2}(?:\.\d++)?)?\b                     # a time
      | (?:±|\+/?-)\s*+[\d.]++(?:e[+-]?\d++)?                       # a spread""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(
    r"""(?<![\w.+-])                                                 # not part of a word, a version or a date
        [+-]?(?: (?: \d++(?:\.\d++|\.?) | \.\d++ )(?:e[+-]?\d++)? | (?ai:nan|inf(?:inity)?) )
        (?!\w|\.\w|[+-]\w)""",
    re.VERBOSE | re.IGNORECASE,
)


class CannotStart(EndOfRun):
    """The program cannot be started. The run ends, and the trial does not fail."""


@dataclass(frozen=True)
class Command:
    """The objective of ``sonde run``."""

    template: Template
    study: str
    children: Children
    trial_timeout: float | None = None
    objectives: tuple[str, ...] = ()  # the names of several
    report: bool = False  # whether to read learning curves
    pattern: re.Pattern[str] | None = None  # of a report; None: JSON

    def __call__(self, trial: Trial) -> float | dict[str, Any]:
        """Return the program's result; of several objectives, by name."""
        arguments = self.template.render(trial.params)
        try:
            hopeless = self._watch(trial) if self.report else None
            ended = self.children.run(arguments, self._environment(trial), self.trial_timeout, hopeless)
        except OSError as error:
            raise CannotStart(f"cannot start {arguments[0]!r}: {error.strerror or error}") from None
        except ValueError as error:  # a null character in an argument
            raise CannotStart(f"cannot start {arguments[0]!r}: {error}") from None
        if ended.timed_out:
            reason = f"took longer than trial_timeout={self.trial_timeout:g} s and was stopped"
            raise EvaluationError(_with_stderr(reason, ended))
        if ended.stopped:
            raise Stopped
        return read_result(ended, self.objectives)

    def _watch(self, trial: Trial) -> Callable[[str], bool]:
        """Return a function that reports what a line has, and says whether the trial is hopeless."""
        lines = Lines(self.pattern)

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

    def _environment(self, trial: Trial) -> dict[str, str]:
        from sonde.study.export import document

        params = json.dumps(document(trial)["params"])
        own = {"SONDE_STUDY": self.study, "SONDE_TRIAL": str(trial.number), "SONDE_PARAMS": params}
        prompt = {"PYTHONUNBUFFERED": "1"} if self.report else {}  # else Python writes to a pipe by the block
        return os.environ | own | prompt


def check_program(template: Template) -> None:
    """Raise ``OptionError`` if the program does not exist, before a study is created."""
    if template.program.names:
        return
    program = template.program.render({})
    if shutil.which(program) is None:
        raise OptionError(f"cannot start {program!r}: there is no such program; check its spelling and your PATH")


def read_result(ended: Ended, objectives: tuple[str, ...] = ()) -> float | dict[str, Any]:
    """Return the value, or those of several objectives, that a program printed; else raise ``EvaluationError``."""
    if ended.code != 0:
        raise EvaluationError(_with_stderr(_ending(ended.code), ended))
    if objectives:
        try:
            return values_in(ended.stdout, objectives)
        except EvaluationError as error:
            raise EvaluationError(_with_stderr(str(error), ended)) from None
    value = last_number(ended.stdout)
    if value is None:
        raise EvaluationError(_with_stderr("no number on standard output; print the result last", ended))
    return value


def last_number(text: str) -> float | None:
    """Return the last number of a text, or None; in time proportional to its length.

    A number stands alone or next to punctuation: ``loss=0.31``, ``95%`` and ``(1e-5)`` are numbers; ``3.2s``,
    ``epoch10``, ``resnet-50``, ``1.2.3``, ``2024-01-05`` and ``12:30:05`` are not, nor is the spread in
    ``0.95 ± 0.02``. ``nan`` and ``inf`` count, and make a failed trial.
    """
    found = _NUMBER.findall(_NOISE.sub(" ", text))
    return float(found[-1]) if found else None


def _ending(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _with_stderr(reason: str, ended: Ended) -> str:
    end = ended.stderr.strip()[-_SHOWN:]
    return f"{reason}\n{end}" if end else reason
