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
    Advice(about_space.unimportant, each=True),
    Advice(about_results.noise, each=True),
    Advice(about_results.plateau, several=False),
)


def advice(study: Reported) -> list[str]:
    """Return what the results advise, the most urgent first."""
    objectives = study.objectives
    whole = Evidence(study)
    parts = [Evidence(study, name) for name in objectives.names] if objectives.several else [whole]
    return [
        sentence
        for each in ADVICE
        if each.several or not objectives.several
        for evidence in (parts if each.each else [whole])
        for sentence in each.sentences(evidence)
    ]
