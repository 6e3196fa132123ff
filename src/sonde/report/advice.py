"""Advice: sentences that follow from the trials and the model, each with its numbers. Without evidence there is none.

A piece of advice is a function from ``Evidence`` to sentences, and a row of ``ADVICE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sonde.report import about_results, about_space
from sonde.report.evidence import Evidence
from sonde.report.source import Reported


class Advice(NamedTuple):
    """A function that gives advice; ``each``: it looks at one objective at a time."""

    sentences: Callable[[Evidence], Iterable[str]]
    each: bool = False
    several: bool = True  # whether it is meant for several objectives, too


ADVICE = (
    Advice(about_results.warned),
    Advice(about_results.failures),
    Advice(about_results.too_few),
    Advice(about_space.at_bounds),
    Advice(about_space.not_logarithmic, each=True),
    Advice(about_space.unimportant),
    Advice(about_results.noise, each=True),
    Advice(about_results.plateau, several=False),
)


def advice(study: Reported) -> list[str]:
    """Return what the results advise, the most urgent first."""
    whole = Evidence(study)
    return [
        sentence
        for rule in ADVICE
        if rule.several or not study.objectives.several
        for evidence in (whole.each if rule.each else [whole])
        for sentence in rule.sentences(evidence)
    ]
