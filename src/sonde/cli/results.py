"""What a program tells of its trial: the last number that it prints, or JSON on its last line or in a file.

::

    {"value": 0.3, "gradient": {"lr": -2.0}, "noise": 0.01, "constraints": {"memory": -3}, "attributes": {"epochs": 9}}
    {"loss": 0.3, "latency": 12}                                        several objectives
    {"value": {"loss": 0.3, "latency": 12}, "gradient": {"loss": {"lr": -2.0}}}

A file must hold nothing else, so that no misspelt name is lost; on a line other names are the program's own.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde.cli.children import Ended
from sonde.errors import EvaluationError

if TYPE_CHECKING:
    from sonde.trials import Evaluation

_EXTRAS = ("gradient", "hessian", "noise", "constraints")
_SHOWN = 60  # characters of a text that cannot be read
_KEPT = 2000  # characters of standard error that a failed trial keeps

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


class Told(NamedTuple):
    """The result of a program and the attributes of its trial."""

    result: float | Evaluation
    attributes: Mapping[str, Any] = {}


def read_result(ended: Ended, file: Path | None = None, objectives: Sequence[str] = ()) -> Told:
    """Return what a program told, in the file if there is one; else raise ``EvaluationError`` with the reason.

    ``objectives`` are the names of several.
    """
    try:
        if ended.code != 0:
            raise EvaluationError(_ending(ended.code))
        if file is not None and file.exists():
            return _in_file(file, objectives)
        return _on_last_line(ended.stdout, objectives)
    except EvaluationError as error:
        raise EvaluationError(with_stderr(str(error), ended)) from None


def last_number(text: str) -> float | None:
    """Return the last number of a text, or None; in time proportional to its length.

    A number stands alone or next to punctuation: ``loss=0.31``, ``95%`` and ``(1e-5)`` are numbers; ``3.2s``,
    ``epoch10``, ``resnet-50``, ``1.2.3``, ``2024-01-05`` and ``12:30:05`` are not, nor is the spread in
    ``0.95 ± 0.02``. ``nan`` and ``inf`` count, and make a failed trial.
    """
    found = _NUMBER.findall(_NOISE.sub(" ", text))
    return float(found[-1]) if found else None


def with_stderr(reason: str, ended: Ended) -> str:
    """Return the reason of a failure with the end of what the program wrote to standard error."""
    end = ended.stderr.strip()[-_KEPT:]
    return f"{reason}\n{end}" if end else reason


def _in_file(file: Path, objectives: Sequence[str]) -> Told:
    try:
        told = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise EvaluationError(f"the result file cannot be read ({_cut(str(error))})") from None
    if isinstance(told, int | float) and not objectives:
        return Told(told)
    if not isinstance(told, dict):
        raise EvaluationError(f"the result file has no JSON object such as {_example(objectives)}")
    unknown = sorted(set(told) - {"value", "attributes", *_EXTRAS, *objectives})
    if unknown:
        known = ", ".join(dict.fromkeys([*(objectives or ["value"]), *_EXTRAS, "attributes"]))
        raise EvaluationError(f"the result file names {unknown[0]!r}; it may have {known}")
    return _told(told, objectives, "the result file")


def _on_last_line(text: str, objectives: Sequence[str]) -> Told:
    last = (text.strip().splitlines() or [""])[-1].strip()
    told = _object(last)
    if told is not None and (objectives or "value" in told):
        return _told(told, objectives, "the JSON on the last line")
    if objectives:
        if not last:
            raise EvaluationError(
                f"nothing on standard output; print JSON on the last line, such as {_example(objectives)}"
            )
        raise EvaluationError(f"the last line is not a JSON object such as {_example(objectives)}: {_cut(last)}")
    value = last_number(text)
    if value is None:
        raise EvaluationError("no number on standard output; print the result last")
    return Told(value)


def _told(told: Mapping[str, Any], objectives: Sequence[str], where: str) -> Told:
    """Return the result that an object has; values of several objectives may stand in it or in its ``value``."""
    from sonde.trials import Evaluation

    values = told["value"] if isinstance(told.get("value"), dict) else told
    missing = [name for name in objectives or ["value"] if name not in values]
    if missing:
        needed = ", ".join(objectives or ["value"])
        raise EvaluationError(f"{where} has no {', '.join(missing)}; it needs a number for each of {needed}")
    own = objectives if values is told else ()  # an objective may be called noise
    extras = {name: told[name] for name in _EXTRAS if told.get(name) is not None and name not in own}
    attributes = {} if "attributes" in own else told.get("attributes") or {}
    if not isinstance(attributes, dict):
        raise EvaluationError(f"{where} has attributes that are no object by name: {_cut(json.dumps(attributes))}")
    value = {name: values[name] for name in objectives} if objectives else told["value"]
    return Told(Evaluation(value, **extras), attributes)


def _object(line: str) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _example(objectives: Sequence[str]) -> str:
    return json.dumps(dict.fromkeys(objectives or ["value"], 0.5))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _ending(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
