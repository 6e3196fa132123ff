"""The best so far of several studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.pareto.hypervolume import reference_point
from sonde.plots.axes import beyond, trial_axis, value_axis
from sonde.plots.figure import Figure
from sonde.plots.history import SHOWN, moves
from sonde.plots.source import Source
from sonde.plots.states import best_so_far, shown_states, usable
from sonde.plots.table import Table
from sonde.plots.text import distinct, escaped
from sonde.plots.theme import COLOURS
from sonde.plots.volumes import volumes

DASHES = ("solid", "dash", "dot", "dashdot")  # so that lines which coincide are both seen


def table(studies: Sequence[Source], objective: str | None = None) -> Table:
    """Return study, trial (counted from one, of those that have ended) and the best after it."""
    _check(studies, objective)
    several = studies[0].objectives.several and objective is None
    reference = _reference(studies) if several else None
    parts = [_best(study, objective, reference) for study in studies]
    names = distinct([study.name for study in studies])
    whole = [name for name, best in zip(names, parts, strict=True) for _ in best]
    trials = [np.arange(1, len(best) + 1) for best in parts]
    note = f"best: hypervolume from the reference point {_shown(reference, studies[0])}" if several else ""
    return Table({"study": whole, "trial": np.concatenate(trials), "best": np.concatenate(parts)}, note)


def figure(shown: Table, source: Source, objective: str | None = None, *, log: bool | None = None) -> Figure:
    """Draw a line for each study, where it improves."""
    title = "Best so far of each study"
    if not np.isfinite(shown["best"]).any():
        return Figure.empty(title, "None of these studies has a result yet.")
    several = source.objectives.several and objective is None
    axis = value_axis(shown["best"], "hypervolume" if several else objective or source.objectives.names[0], log=log)
    names = np.array(shown["study"], dtype=object)
    traces = [_line(name, shown.select(names == name), turn) for turn, name in enumerate(dict.fromkeys(shown["study"]))]
    return Figure.of(traces, {
        "title": {"text": title, "subtitle": {"text": beyond(shown["best"], axis)}}, "showlegend": True,
        "xaxis": trial_axis(np.sort(shown["trial"]), "trials"), "yaxis": axis,
    })  # fmt: skip


def _line(name: str, own: Table, turn: int) -> dict[str, Any]:
    places = np.union1d(moves(own["best"]), [len(own) - 1])
    places = places[np.isfinite(own["best"][places])]
    colour, dash = COLOURS[turn % len(COLOURS)], DASHES[turn % len(DASHES)]
    return {
        "type": "scatter", "mode": "lines", "name": escaped(name, 40), "x": own["trial"][places],
        "y": own["best"][places], "line": {"shape": "hv", "width": 2.5, "color": colour, "dash": dash},
        "hovertemplate": "best after %{x} trials: %{y:.6g}",
    }  # fmt: skip


def _check(studies: Sequence[Source], objective: str | None) -> None:
    if not studies:
        raise OptionError("compare needs at least one study")
    first = studies[0]
    for study in studies:
        if not hasattr(study, "objectives") or not hasattr(study, "history"):
            raise OptionError(f"compare takes studies, got {study!r}; sonde.Study.load opens one")
        if objective is not None:
            study.objectives.index(objective)
        elif [(one.name, one.sign) for one in study.objectives.each] != [
            (one.name, one.sign) for one in first.objectives.each
        ]:
            raise OptionError(
                f"the studies {first.name!r} and {study.name!r} have other objectives ({first.objectives.described}; "
                f"{study.objectives.described}); compare one that they share: objective=..."
            )


def _best(study: Source, objective: str | None, reference: Array | None) -> Array:
    """Return the best after each trial that has ended."""
    history = study.history
    ended = np.isin(shown_states(history), SHOWN)
    if reference is not None:
        return volumes(history, reference)[ended]
    return best_so_far(history, 0 if objective is None else study.objectives.index(objective))[ended]


def _reference(studies: Sequence[Source]) -> Array:
    """Return one reference point for all (K,), higher is better: the strictest thresholds, or below all fronts."""
    counted = [-study.history.outcomes[usable(study.history)] for study in studies]
    y = np.concatenate(counted)
    limits = np.array([-study.objectives.thresholds for study in studies])
    limit = np.where(np.isnan(limits).any(axis=0), np.nan, limits.max(axis=0))
    return np.where(np.isnan(limit), reference_point(y) if len(y) else np.zeros(len(limit)), limit)


def _shown(reference: Array | None, study: Source) -> str:
    if reference is None:
        return ""
    natural = -study.objectives.signs * reference
    return ", ".join(f"{name} {value:.6g}" for name, value in zip(study.objectives.names, natural, strict=True))
