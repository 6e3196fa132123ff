"""Several objectives on the command line: the options that declare them, and the preference among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from sonde.errors import OptionError

EXAMPLE = "--objective loss:minimize --objective latency:minimize"
_DIRECTIONS = {"minimize": "minimize", "maximize": "maximize", "min": "minimize", "max": "maximize"}

objective_option = click.option(
    "--objective", "objectives", metavar="NAME:DIRECTION", multiple=True,
    help="One of several objectives, e.g. loss:minimize; repeated. The program prints JSON on its last line.",
)  # fmt: skip
threshold_option = click.option(
    "--threshold", "thresholds", metavar="NAME=NUMBER", multiple=True,
    help="The worst value of an objective that is of interest, e.g. latency=20; may be repeated.",
)  # fmt: skip
weights_option = click.option(
    "--weights", metavar="NAME=NUMBER,...",
    help="Of several objectives, show one trial: how much each matters, e.g. loss=2,latency=1.",
)  # fmt: skip


def declared(
    objectives: Sequence[str], thresholds: Sequence[str], direction: str | None
) -> tuple[dict[str, str] | None, dict[str, float] | None]:
    """Return the options as ``objectives`` and ``thresholds`` of ``Study``; None for a study of one objective."""
    if not objectives:
        if thresholds:
            raise OptionError(f"--threshold is for several objectives; declare them, e.g. {EXAMPLE}")
        return None, None
    if direction is not None:
        raise OptionError("give --direction for one objective or --objective for each of several, not both")
    named = _unique([_objective(text) for text in objectives], "--objective")
    if len(named) == 1:
        (only,) = named.values()
        raise OptionError(
            f"--objective needs two or more, such as {EXAMPLE}; for one, give --direction {only} and print the value "
            "last"
        )
    limits = numbers_in(thresholds, "--threshold", "latency=20")
    return named, limits or None


def weights_in(text: str) -> dict[str, float]:
    """Return the option ``--weights`` as ``weights`` of ``Study.best``."""
    return numbers_in(text.split(","), "--weights", "loss=2,latency=1")


def numbers_in(texts: Sequence[str], option: str, example: str) -> dict[str, float]:
    """Return an option NAME=NUMBER that may be repeated."""
    return _unique([_number(text, option, example) for text in texts], option)


def _objective(text: str) -> tuple[str, str]:
    name, direction = (part.strip() for part in text.rpartition(":")[::2])
    if not name or direction not in _DIRECTIONS:
        raise OptionError(f"--objective must be NAME:minimize or NAME:maximize, e.g. loss:minimize, got {text!r}")
    return name, _DIRECTIONS[direction]


def as_number(text: str) -> float | None:
    """Return a text as a number; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def _number(text: str, option: str, example: str) -> tuple[str, float]:
    name, _, written = text.rpartition("=")
    number = as_number(written)
    if number is None:
        raise OptionError(f"{option} must be NAME=NUMBER, e.g. {example}, got {text!r}")
    return name.strip(), number


def _unique(pairs: Sequence[tuple[str, Any]], option: str) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{option} names {name!r} twice; once is enough")
    return dict(pairs)
