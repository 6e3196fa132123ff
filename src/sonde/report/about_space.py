"""Advice on the space: bounds that hold the best trials back, and scales that do not fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.errors import SondeError
from sonde.html import cut
from sonde.plots.axes import axis_of
from sonde.report.evidence import Evidence
from sonde.strategies import at_bounds as bounds
from sonde.strategies.at_bounds import LITTLE
from sonde.strategies.initial_design import first_count

MOST = 10  # names in a sentence
IMPORTANT = 0.02  # share of the variance that a parameter may have with certainty
POINTS = 33  # along a parameter
LOWEST, STRETCHED = 0.1, 0.4  # the lowest tenth of a range, and the part of the warped scale that it must fill


def at_bounds(evidence: Evidence) -> Iterator[str]:
    """Name the bounds at which the best trials lie."""
    yield from bounds.at_bounds(evidence.space, evidence.history, evidence.top)


def not_logarithmic(evidence: Evidence) -> Iterator[str]:
    """Name the parameters on a linear scale whose lowest values the model spreads out."""
    surrogate = getattr(evidence.model, "surrogate", None)
    features = getattr(surrogate, "features", None)
    warp = np.reshape(getattr(features, "warp", ()) or np.zeros(2 * len(evidence.space)), (2, -1))
    for column, (name, parameter) in enumerate(evidence.space.items()):
        axis = axis_of(evidence.space, name)
        if not parameter.ordered or axis.log or axis.low < 0:
            continue
        a, b = np.exp(warp[:, column])
        filled = 1 - (1 - LOWEST**a) ** b
        if filled >= STRETCHED:
            kind = type(parameter).__name__
            low = f"{axis.low:.6g}" if axis.low > 0 else "low above 0"
            remedy = f"{kind}({low}, {axis.high:.6g}, log=True)"
            where = f"the lowest {LOWEST:.0%} of {cut(name)}'s range"
            yield (
                f"The model stretches {where} to {filled:.0%} of its scale: the values{evidence.named} change most "
                f"there. A logarithmic scale fits better: {remedy}."
            )


def unimportant(evidence: Evidence) -> Iterator[str]:
    """Name the parameters that hardly change any value, neither over the space nor at the best trial."""
    found = [dict(_idle(each)) for each in evidence.each]
    idle = {name: max(each[name] for each in found) for name in found[0] if all(name in each for each in found)}
    if idle and len(idle) < len(evidence.space):
        names = ", ".join(cut(name) for name in list(idle)[:MOST])
        more = f" and {len(idle) - MOST} more" if len(idle) > MOST else ""
        most = max(0.001, *idle.values())
        whose = "each has" if len(idle) > 1 else "it has"
        several = evidence.history.objectives.several
        yield (
            f"{'No value depends much' if several else 'The value hardly depends'} on {names}{more}: {whose} at most "
            f"{most:.1%} of the variance of the model, with its interactions (upper end of the 95% interval). "
            f"Fix {'them' if len(idle) > 1 else 'it'}."
        )


def _idle(evidence: Evidence) -> Iterator[tuple[str, float]]:
    """Yield the parameters that hardly change one value, and the upper ends of the intervals of their importance."""
    if len(evidence.history.completed) < first_count(evidence.space):
        return
    try:
        shown = evidence.study.plot.importance(pairs=0, objective=evidence.objective, data=True)
    except SondeError:  # no model of these results, or the extra is missing
        return
    for row in shown.rows():
        name, high = row["parameter"], row["high"]
        if row["kind"] == "total" and high < IMPORTANT and _change(evidence, name) <= LITTLE * evidence.spread:
            yield name, high


def _change(evidence: Evidence, name: str) -> float:
    """Return by how much the model's mean changes along a parameter, with the others as in the best trial."""
    assert evidence.model is not None
    units = np.tile(evidence.history.units[evidence.best], (POINTS, 1))
    units[1:, evidence.space.names.index(name)] = np.linspace(0, 1, POINTS - 1)
    rows = evidence.space.codec.decode(units)
    return float(np.ptp(evidence.model.predict(rows[evidence.space.feasible_rows(rows)])[0]))
