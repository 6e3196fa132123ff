"""Advice on the results: failures, noise, what is left to gain, and what cannot be learned yet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.report.evidence import Evidence
from sonde.report.failures import ended, reasons_of, region_of
from sonde.report.markup import plural
from sonde.strategies.at_bounds import LITTLE
from sonde.strategies.history_warnings import messages
from sonde.strategies.initial_design import first_count
from sonde.trials import State

MANY = 0.1  # share of failures with one reason that is worth a sentence
FEW = 5  # failures below which there is none
LOUD = 2.0  # noise in units of the gain left
PATIENCE = 20  # trials without an improvement, and as many for each five parameters


def failures(evidence: Evidence) -> Iterator[str]:
    """Name a reason for which many trials failed, and where."""
    history = evidence.history
    count = history.count(State.COMPLETED, State.FAILED)
    found = reasons_of(evidence.study.trials) if history.count(State.FAILED) >= FEW else []
    for reason in found:
        if len(reason.trials) < max(FEW, MANY * count):
            return
        numbers = np.flatnonzero(ended(history.states))
        failed = np.isin(numbers, [trial.number for trial in reason.trials])
        region = region_of(evidence.space, history.rows[numbers], failed)
        where = (
            f" With {region.where} it is {region.failed:,} of {region.trials:,}: leave that out of the space, or "
            "correct the objective there."
            if region
            else ""
        )
        yield f"{len(reason.trials):,} of {count:,} trials failed with “{reason.text[:200]}”.{where}"


def warned(evidence: Evidence) -> Iterator[str]:
    """Repeat what the strategies warn of."""
    for message in messages(evidence.history):
        yield f"{message[0].upper()}{message[1:]}{'' if message.endswith('?') else '.'}"


def too_few(evidence: Evidence) -> Iterator[str]:
    """Say that there are fewer results than the initial design has."""
    done, first = len(evidence.history.completed), first_count(evidence.space)
    if 0 < done < first:
        yield (
            f"So far the trials spread over the space: a model of {plural(len(evidence.space), 'parameter')} begins "
            f"with {first} results, and there {'is' if done == 1 else 'are'} {done}."
        )


def noise(evidence: Evidence) -> Iterator[str]:
    """Compare the noise with the gain that is left."""
    if not evidence.noisy or len(evidence.history.completed) < first_count(evidence.space):
        return
    outlook = evidence.outlook
    if outlook is None:
        return
    declared = evidence.history.noise[evidence.history.measured.numbers]
    known = declared[declared > 0]
    level = float(np.median(known)) if len(known) else outlook.noise
    if level > LOUD * outlook.gain:
        times = f"{level / outlook.gain:.2g} times" if outlook.gain > level / 1000 else "over 1,000 times"
        yield (
            f"The noise{evidence.named} (standard deviation {level:.3g}) is {times} the improvement that the model "
            f"still expects ({outlook.gain:.3g}): evaluate the best configurations again, or average more in a trial."
        )


def plateau(evidence: Evidence) -> Iterator[str]:
    """Say that many trials brought nothing and that the model expects little."""
    values = evidence.history.values[evidence.usable]
    if not len(values) or np.ptp(values) == 0:
        return
    since = len(values) - 1 - int(np.argmin(values))
    if since < PATIENCE * max(1.0, len(evidence.space) / 5):
        return
    outlook, spread = evidence.outlook, evidence.spread
    if outlook is not None and outlook.gain < LITTLE * spread:
        yield (
            f"The last {since:,} results brought no improvement, and the model expects {outlook.gain:.2g} more at "
            f"most, {outlook.gain / spread:.1g} of the distance from the median to the best: more trials may not pay."
        )
