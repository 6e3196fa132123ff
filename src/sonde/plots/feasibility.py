"""Where trials work: the model's probability that one completes and meets the measured constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sonde.arrays import Array, Integers
from sonde.errors import NoResult
from sonde.plots.activity import in_words, required
from sonde.plots.anchors import FAINTEST, Anchor, anchors, nearest, rows_around
from sonde.plots.drawing import MODEL, dropdown
from sonde.plots.effects import ranked
from sonde.plots.figure import Figure
from sonde.plots.grids import axis_layout, grid, positions, texts_of, varied
from sonde.plots.pairs import checked_pair, chosen_pair, has_pairs
from sonde.plots.source import Source
from sonde.plots.states import shown_states
from sonde.plots.surfaces import mesh, needed, surface
from sonde.plots.table import Table, joined
from sonde.plots.text import escaped
from sonde.plots.theme import SCALE, STATES
from sonde.strategies.port import KnowsFailures
from sonde.trials.reason import one_line

NEAREST = 500  # trials that are shown
ROOM = 0.02  # around a line, for points at its ends
FAINTEST_FAILURE = 0.6  # share of the ink of a failure that is far away: failures are what one looks for
MANY = 5_000  # trials above which those that are shown are read by themselves
TITLE = "Probability that a trial works"
ALL_WORK = "no trial has failed, and none breaks a measured constraint"
NONE_WORKS = "no trial has worked yet, so there is nothing to learn from where; study.trials has the errors"
UNKNOWN = "the model of this strategy does not say how likely a failure is"
ENDED = ("completed", "failed", "infeasible")


def table(source: Source, *, x: str | None = None, y: str | None = None, at: Mapping[str, Any] | None = None) -> Table:
    """Return the probability that a trial works over two parameters (or one), and the trials nearest to the plane.

    Rows of kind ``model`` have the probability; the others are trials by their state, with the reason of a failure.
    """
    space, history = source.space, source.history
    if x is None or y is None or len(varied(space)) > 1:
        checked_pair(space, x, y)
    around = anchors(space, history, at)
    states = shown_states(history)
    if not np.isin(states, ENDED[1:]).any():
        return Table({}, ALL_WORK)
    try:
        model = source.model(history.objectives.names[0] if history.objectives.several else None)
    except NoResult:
        return Table({}, NONE_WORKS)
    if not isinstance(model, KnowsFailures):
        return Table({}, UNKNOWN)
    names = _names(source, model, x, y)
    note = "probability of completing and of meeting the measured constraints, by the model"
    return joined([_plane(source, model, states, anchor, names) for anchor in around], note)


def figure(shown: Table, source: Source) -> Figure:
    """Draw the probability as a map, or as a line of one parameter, with the trials; a menu moves the others."""
    if not len(shown):
        return Figure.empty(TITLE, shown.note)
    space, x, y = source.space, shown["x_parameter"][0], shown["y_parameter"][0]
    others = list(dict.fromkeys(shown["others"]))
    groups = [_group(shown.select(np.array(shown["others"]) == other), source) for other in others]
    traces, menu = dropdown(groups, [f"others at: {other}" for other in others])
    where = in_words(space, needed(space, x, y) if y else required(space, x))
    note = f"the {NEAREST} nearest trials at most, paler further from the plane"
    up = axis_layout(space, y) if y else {"title": {"text": "probability"}, "range": [-0.02, 1.02], "tickformat": ".0%"}
    return Figure.of(traces, {
        "title": {"text": TITLE, "subtitle": {"text": note}}, "height": 540, "margin": {"t": 112},
        "xaxis": axis_layout(space, x, f"where {where}" if where else "", 0.0 if y else ROOM), "yaxis": up, **menu,
    })  # fmt: skip


def _names(source: Source, model: KnowsFailures, x: str | None, y: str | None) -> tuple[str, str | None]:
    """Return the two parameters that matter most for failures, in place of those that are not named."""
    space = source.space
    if not has_pairs(space):
        return (varied(space) or [space.names[0]])[0], None
    return chosen_pair(space, x, y, lambda: ranked(space, model.success, source.seed))


def _plane(
    source: Source, model: KnowsFailures, states: Any, anchor: Anchor, names: tuple[str, str | None]
) -> dict[str, Any]:
    space, history, (x, y) = source.space, source.history, names
    columns = [space.names.index(name) for name in names if name is not None]
    numbers, rows = _points(source, anchor, x, y)
    chance = np.where(space.feasible_rows(rows), model.success(rows), np.nan)
    done = np.flatnonzero(np.isin(states, ENDED))
    done = done[~np.isnan(history.rows[done][:, columns]).any(axis=1)]
    chosen, near = nearest(space, history.rows[done], rows[0], columns, NEAREST)
    trials, count = done[chosen], len(rows)
    places = np.concatenate([numbers, history.rows[trials][:, columns]])
    up = places[:, 1] if y is not None else np.full(len(places), np.nan)
    return {
        "others": anchor.name, "x_parameter": x, "y_parameter": y, "kind": ["model"] * count + states[trials].tolist(),
        "x": places[:, 0], "x_label": texts_of(space, x, places[:, 0]),
        "y": up, "y_label": texts_of(space, y, up) if y is not None else [None] * len(up),
        "probability": np.concatenate([chance, np.full(len(trials), np.nan)]),
        "trial": np.concatenate([np.full(count, -1), trials]), "reason": [None] * count + _reasons(source, trials),
        "near": np.concatenate([np.full(count, np.nan), near]),
    }  # fmt: skip


def _points(source: Source, anchor: Anchor, x: str, y: str | None) -> tuple[Array, Array]:
    """Return the numbers (m, 1 or 2) of the varied parameters, and the rows (m, d)."""
    space = source.space
    if y is not None:
        return mesh(space, anchor, x, y)
    numbers = grid(space, x)[:, None]
    return numbers, rows_around(space, anchor, [space.names.index(x)], numbers, required(space, x))


def _reasons(source: Source, numbers: Integers) -> list[str | None]:
    """Return why each trial did not work: its error, or the constraints that it breaks."""
    history, many = source.history, len(source.history) > MANY
    known = [] if many else source.trials
    reasons: list[str | None] = []
    for number, failed in zip(numbers.tolist(), np.isin(numbers, history.failed.numbers), strict=True):
        broken = [name for name, level in history.constraints.get(number, {}).items() if level > 0]
        error = (source.trial(number) if many else known[number]).error if failed else None
        reasons.append(one_line(error) if error else f"breaks {', '.join(broken)}" if broken else None)
    return reasons


def _group(shown: Table, source: Source) -> list[dict[str, Any]]:
    """Return the traces of one place of the other parameters."""
    kinds = np.array(shown["kind"])
    model = shown.select(kinds == "model")
    states = [state for state in ENDED if state in kinds]
    return [_model(model, source), *(_trials(shown.select(kinds == state), source, state) for state in states)]


def _model(model: Table, source: Source) -> dict[str, Any]:
    x, y = model["x_parameter"][0], model["y_parameter"][0]
    if y is None:
        places = positions(source.space, x, model["x"])
        look = {"marker": {"color": MODEL, "symbol": "square", "size": 9}, "line": {"color": MODEL, "width": 2.5}}
        mode = "lines" if source.space[x].ordered else "markers"
        return {"type": "scatter", "mode": mode, "x": places, "y": model["probability"], "name": "model", **look,
                "hovertemplate": "%{x}: %{y:.0%}<extra>model</extra>"}  # fmt: skip
    scale = [[1 - at, colour] for at, colour in SCALE[::-1]]  # good is bright
    return {
        **surface(source.space, x, y, model, "probability"), "zmin": 0, "zmax": 1, "colorscale": scale,
        "colorbar": {"tickformat": ".0%", "thickness": 12}, "hovertemplate": "%{x}, %{y}<br>%{z:.0%}<extra></extra>",
    }  # fmt: skip


def _trials(trials: Table, source: Source, state: str) -> dict[str, Any]:
    """Return the trials of a state; of one parameter they stand at the top where they work, and at the bottom."""
    colour, symbol = STATES[state]
    flat = trials["y_parameter"][0] is None
    at = 1.0 if state == "completed" else 0.0
    x = positions(source.space, trials["x_parameter"][0], trials["x"])
    y = np.full(len(trials), at) if flat else positions(source.space, trials["y_parameter"][0], trials["y"])
    reasons = [f"trial {number}" + (f": {escaped(reason, 120)}" if reason else " worked")
               for number, reason in zip(trials["trial"], trials["reason"], strict=True)]  # fmt: skip
    return {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "cliponaxis": False,
        "name": state if state != "completed" else "worked",
        "text": reasons, "hovertemplate": "%{text}<extra></extra>", "customdata": trials["trial"],
        "marker": {"color": colour, "symbol": symbol, "size": 7 if state == "completed" else 9,
                   "line": {"color": "#ffffff", "width": 1},
                   "opacity": np.maximum(trials["near"], FAINTEST if state == "completed" else FAINTEST_FAILURE)},
    }  # fmt: skip
