"""Converts the reports of workers to outcomes."""

from __future__ import annotations

import warnings
from typing import Any

from sonde.errors import EndOfRun, EvaluationError
from sonde.execution import Future, Report
from sonde.space import Space
from sonde.trials import Outcome, Trial, failure, to_outcome
from sonde.trials.attributes import plain_attribute
from sonde.trials.outcome import describe


def report_of(future: Future) -> Report:
    """Return a finished future's report; an error of the executor itself means that the worker died."""
    try:
        report = future.result()
    except (KeyboardInterrupt, EndOfRun):
        raise
    except BaseException as error:
        return Report(error=f"the worker died: {describe(error).splitlines()[0]}", exception=None)
    if not isinstance(report, Report):
        return Report(error=f"the executor returned {type(report).__name__} instead of the task's report")
    return report


def report_if_done(future: Future) -> Report | None:
    """Return the report if there is one; None if the interrupt ended the worker, too."""
    try:
        report = future.result() if future.done() else None
    except BaseException:
        return None
    return report if isinstance(report, Report) else None


def outcome_of(report: Report, space: Space) -> Outcome:
    """Return the outcome of a report."""
    if report.error is not None:
        return failure(report.error)
    try:
        return to_outcome(report.result, space)
    except EvaluationError as error:
        return failure(error)


def sendable(attributes: Any, trial: Trial) -> dict[str, Any]:
    """Return attributes as plain JSON data; drop others with a warning, so that the result is not lost."""
    kept = {}
    for name, value in attributes.items():
        try:
            kept[name] = plain_attribute(name, value)
        except (TypeError, ValueError) as error:
            warnings.warn(
                f"trial {trial.number}: attribute {name!r} is not JSON-able and was dropped ({error})", stacklevel=2
            )
    return kept
