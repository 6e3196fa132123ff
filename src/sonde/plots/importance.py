"""How much each parameter matters: functional ANOVA of the model, by Sobol' indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import NoResult, OptionError
from sonde.plots.activity import in_words, share
from sonde.plots.drawing import interval_lines
from sonde.plots.effects import Both, Function, Measured, measured
from sonde.plots.figure import Figure
from sonde.plots.grids import varied
from sonde.plots.panels import axes_of, panels
from sonde.plots.source import Source
from sonde.plots.table import Table, joined
from sonde.plots.text import escaped
from sonde.plots.theme import GREEN, GREY, SKY
from sonde.sampling import Key
from sonde.strategies.port import Draws

DRAWN = 64  # functions
PAIRS, MOST_PAIRS = 6, 100
SHOWN = 20  # bars
LEAST = 0.005  # interaction of a pair that is drawn
TITLE = "Importance"
INTERVAL = (0.025, 0.975)


def table(source: Source, *, pairs: int = PAIRS, objective: str | None = None) -> Table:
    """Return main effects, total effects and the strongest interactions, as shares of the model's variance.

    Rows of kind ``main`` and ``total`` are of a parameter, those of kind ``interaction`` of a pair. ``mean``, ``low``
    and ``high`` are of functions drawn from the model's posterior.
    """
    if not isinstance(pairs, int) or isinstance(pairs, bool) or not 0 <= pairs <= MOST_PAIRS:
        raise OptionError(f"pairs must be a whole number from 0 to {MOST_PAIRS}, got {pairs!r}")
    if objective is not None:
        source.objectives.index(objective)
    space, names = source.space, varied(source.space)
    try:
        function, drawn = _functions(source, objective)
    except NoResult as reason:
        return Table({}, str(reason))
    if not names:
        return Table({}, "no parameter has more than one value")
    found = measured(space, names, function, pairs, source.seed)
    parts = [_effect(source, found, i, kind) for kind in ("main", "total") for i in np.argsort(-_mean(found.total))]
    parts += [_interaction(found, i) for i in np.argsort(-_mean(found.interactions))]
    return joined(parts, _note(source, drawn, found))


def figure(shown: Table, source: Source, *, objective: str | None = None) -> Figure:
    """Draw main effect and interactions of each parameter as one bar, and a panel of the strongest pairs."""
    kinds = np.array(shown["kind"] if len(shown) else [])
    main, total = (shown.select(kinds == kind).select(slice(SHOWN)) for kind in ("main", "total"))
    pairs = shown.select((kinds == "interaction") & (shown["mean"] >= LEAST) if len(shown) else []).select(slice(SHOWN))
    title = TITLE if objective is None else f"{TITLE} for {escaped(objective)}"
    if not len(shown) or not np.isfinite(total["mean"]).any():
        return Figure.empty(title, shown.note if not len(shown) else "the model is the same everywhere")
    left, *right = panels(2 if len(pairs) else 1, 2, 0.3)
    traces = [*_bars(main, total), _whiskers(total)]
    rows = max(len(total), len(pairs), 4)
    layout = axes_of(left, _shares(total, "share of the variance"), _names(total, rows))
    for panel in right:
        traces += [{**trace, **panel.axes} for trace in (_pair_bars(pairs), _whiskers(pairs))]
        layout |= axes_of(panel, _shares(pairs, "share of the variance, of pairs"), _names(pairs, rows))
    return Figure.of(traces, {
        **layout, "title": {"text": title, "subtitle": {"text": _subtitle(shown, source, len(total))}},
        "barmode": "stack", "legend": {"traceorder": "normal"}, "height": 190 + 30 * rows, "margin": {"t": 100},
    })  # fmt: skip


def _functions(source: Source, objective: str | None) -> tuple[Function, bool]:
    """Return functions drawn from the posterior; of a model that draws none, its mean."""
    model = source.model(objective)
    if isinstance(model, Draws):
        return model.functions(DRAWN, Key(source.seed, 0).rng()), True
    return lambda rows: np.repeat(model.predict(rows)[0][:, None], DRAWN, axis=1), False


def _mean(effects: Both) -> Array:
    return np.asarray(np.nan_to_num(effects[0].mean(axis=1)))


def _effect(source: Source, found: Measured, i: int, kind: str) -> dict[str, Any]:
    needed = found.needed[i]
    return {
        "kind": kind, "parameter": found.names[i], "other": None, **_summary(getattr(found, kind), i),
        "active": share(source.space, needed), "where": in_words(source.space, needed),
    }  # fmt: skip


def _interaction(found: Measured, i: int) -> dict[str, Any]:
    one, other = found.pairs[i]
    return {"kind": "interaction", "parameter": one, "other": other, **_summary(found.interactions, i), "active": 1.0,
            "where": ""}  # fmt: skip


def _summary(effects: Both, i: int) -> dict[str, Array]:
    low, high = np.quantile(effects[1][i], INTERVAL)
    return {"mean": effects[0][i].mean(keepdims=True), "low": np.array([low]), "high": np.array([high])}


def _note(source: Source, drawn: bool, found: Measured) -> str:
    of = f"{DRAWN} functions drawn from the model" if drawn else "the model's mean (it draws no functions)"
    parts = [
        f"functional ANOVA: Sobol' indices of {of} at {found.count} points, uniform on the scale of each parameter",
        "intervals of 95% over the functions, each on a bootstrap of the points",
    ]
    if any(found.needed):
        parts.append("a conditional parameter (*) is measured where it is active")
    if source.space.constraints:
        parts.append("known constraints are not applied")
    return "; ".join(parts)


def _subtitle(shown: Table, source: Source, bars: int) -> str:
    count = len(varied(source.space))
    first = shown.note.replace("functional ANOVA: ", "").split("; ")
    more = [f"the first {bars} of {count} parameters"] if bars < count else []
    return "<br>".join([first[0], "; ".join([*first[1:], *more])])


def _bars(main: Table, total: Table) -> list[dict[str, Any]]:
    alone = np.clip(main["mean"], 0.0, total["mean"])  # an estimate of a small share may be negative
    y = _labels(total)
    look = {"type": "bar", "orientation": "h", "y": y}
    return [
        {**look, "x": alone, "name": "alone", "marker": {"color": GREEN},
         "hovertemplate": "%{y} alone: %{x:.3f}<extra></extra>"},
        {**look, "x": total["mean"] - alone, "name": "with others", "marker": {"color": SKY},
         "hovertemplate": "%{y} with others: %{x:.3f}<extra></extra>"},
    ]  # fmt: skip


def _pair_bars(pairs: Table) -> dict[str, Any]:
    return {
        "type": "bar", "orientation": "h", "x": pairs["mean"], "y": _labels(pairs), "name": "pairs",
        "marker": {"color": SKY}, "showlegend": False, "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
    }  # fmt: skip


def _whiskers(shown: Table) -> dict[str, Any]:
    drawn = interval_lines(_labels(shown), shown["low"], shown["high"], GREY, 1.5)
    return {
        **drawn,
        "x": drawn["y"],
        "y": drawn["x"],
        "name": "95% interval",
        "showlegend": shown["kind"][0] == "total",
    }


def _labels(shown: Table) -> list[str]:
    """Return the names of the bars: short, each another one."""
    names: list[str] = []
    for one, other, where in zip(shown["parameter"], shown["other"], shown["where"], strict=True):
        name = escaped(one, 24) if other is None else f"{escaped(one, 18)} and {escaped(other, 18)}"
        name += " *" if where else ""
        names.append(name if name not in names else f"{name} #{len(names) + 1}")
    return names


def _names(shown: Table, rows: int) -> dict[str, Any]:
    """Return an axis with room for as many rows, so that bars of both panels are equally wide."""
    labels = _labels(shown)
    return {"type": "category", "categoryorder": "array", "categoryarray": labels[::-1],
            "range": [len(labels) - rows - 0.5, len(labels) - 0.5]}  # fmt: skip


def _shares(shown: Table, title: str) -> dict[str, Any]:
    most = float(np.nanmax(shown["high"]))
    return {"title": {"text": title}, "range": [0, max(1.05 * most, 0.01)]}
