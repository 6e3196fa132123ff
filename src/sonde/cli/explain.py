"""``sonde explain``: which strategy suggests the next trial, why, and how well its model predicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from sonde.cli import output
from sonde.cli.opening import existing_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.errors import NoResult
from sonde.text import printable

if TYPE_CHECKING:
    from sonde.study import Study


@click.command
@anywhere_option
@token_option
@name_option
@json_option
def explain(storage: str, name: str | None, as_json: bool) -> None:
    """Say which strategy suggests the next trial and why, and how well its model predicts the results.

    The diagnosis predicts each result from the others (leave-one-out); it needs three results, and with thousands of
    them some seconds.

    \b
    Examples:
      sonde explain
      sonde explain --name cnn --json
    """
    with existing_study(storage, name, suggests=True) as study:
        why = study.explain()
        if not as_json:
            click.echo(printable(why))
        diagnosis = _diagnosis(study)
        if as_json:
            output.print_json({"study": study.name, "why": why, **_document(diagnosis)})
            return
        for line in _lines(diagnosis):
            click.echo(printable(line))


def _diagnosis(study: Study) -> Any:
    """Return a diagnosis, those of several objectives by name, or why there is none."""
    try:
        return study.diagnose()
    except NoResult as error:
        return str(error)


def _lines(diagnosis: Any) -> list[str]:
    if isinstance(diagnosis, str):
        return [f"no diagnosis: {diagnosis}"]
    if isinstance(diagnosis, Mapping):
        return [f"{name}: {own}" for name, own in diagnosis.items()]
    return [str(diagnosis)]


def _document(diagnosis: Any) -> dict[str, Any]:
    if isinstance(diagnosis, str):
        return {"diagnosis": None, "no_diagnosis": diagnosis}
    if isinstance(diagnosis, Mapping):
        return {"diagnosis": {name: _numbers(own) for name, own in diagnosis.items()}}
    return {"diagnosis": _numbers(diagnosis)}


def _numbers(diagnosis: Any) -> dict[str, Any]:
    """Return a diagnosis as JSON-able data; the rank correlation of equal values is null."""
    each = zip(
        diagnosis.numbers.tolist(), diagnosis.values.tolist(), diagnosis.means.tolist(), diagnosis.stds.tolist(),
        diagnosis.scores.tolist(), strict=True,
    )  # fmt: skip
    return {
        "results": len(diagnosis.values),
        "rank_correlation": _finite(diagnosis.correlation),
        "within_95": diagnosis.coverage,
        "trials": [
            {"trial": number, "value": value, "mean": _finite(mean), "std": _finite(std), "score": _finite(score)}
            for number, value, mean, std, score in each
        ],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
