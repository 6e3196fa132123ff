"""Learning curves of programs: the option ``--report``, and what it finds in the lines that a program prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import click

from sonde.errors import OptionError

LONGEST = 4000  # characters of a line that are searched: patterns of users may need time beyond their square
EXAMPLE = r"--report 'epoch (?P<step>\d+).*loss=(?P<value>\S+)'"

report_option = click.option(
    "--report", "pattern", metavar="PATTERN",
    help="Read learning curves: a regular expression with (?P<value>...) and, if there are steps, (?P<step>...), "
    'searched in each line as it is printed; or "json" for lines such as {"step": 3, "value": 0.41}.',
)  # fmt: skip
stopping_option = click.option(
    "--stopping", metavar="<auto|none>", type=click.Choice(["auto", "none"]), default="auto",
    help="Whether to end programs that are not worth going on by their learning curve (SIGTERM, then SIGKILL).",
)  # fmt: skip


@dataclass
class Lines:
    """Finds reports in the lines of one program; without a pattern they are JSON."""

    pattern: re.Pattern[str] | None
    _count: int = field(default=0, init=False)  # the step of a pattern without steps

    def read(self, line: str) -> tuple[float, float] | None:
        """Return step and value of a line, or None."""
        found = self._json(line) if self.pattern is None else self._match(line)
        if found is None:
            return None
        self._count += 1
        step, value = found
        return float(self._count) if step is None else step, value

    def _match(self, line: str) -> tuple[float | None, float] | None:
        match = self.pattern.search(line[:LONGEST]) if self.pattern else None
        if match is None:
            return None
        named = match.groupdict()
        value, step = _number(named["value"]), _number(named.get("step"))
        return None if value is None or ("step" in named and step is None) else (step, value)

    def _json(self, line: str) -> tuple[float | None, float] | None:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(told, dict) or not isinstance(told.get("value"), int | float):
            return None
        step = told.get("step")
        return (None if step is None else float(step), float(told["value"])) if _is_step(step) else None


def reader(pattern: str | None) -> Callable[[], Lines] | None:
    """Return what makes the reader of a program's lines by the option; None where no curves are read."""
    if pattern is None:
        return None
    return partial(Lines, None if pattern == "json" else _compiled(pattern))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise OptionError(f"--report is not a regular expression ({error}); an example is {EXAMPLE}") from None
    if "value" not in found.groupindex:
        raise OptionError(f"--report needs a group of the name value, as in {EXAMPLE}")
    return found


def split_lines(rest: str, text: str) -> Iterator[str]:
    """Yield the lines of a text that follows ``rest``, then what is left of the last one; \\r ends a line, too."""
    *lines, last = re.split(r"[\r\n]", rest + text)
    yield from lines
    yield last[-LONGEST:]


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text.strip(" ,;%"))
    except ValueError:
        return None


def _is_step(step: object) -> bool:
    return step is None or (isinstance(step, int | float) and step == step and abs(step) != float("inf"))
