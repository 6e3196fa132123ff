"""An overview of a study as text for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sonde.cli import output
from sonde.cli.overview import Overview, Running
from sonde.cli.textplot import axis, step_plot
from sonde.text import printable
from sonde.trials import State

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text

WORKERS = 6  # running trials that are shown
PARAMETERS = 12
OBJECTIVES = 6
_PLOT = (60, 8)  # largest width, and height, of the plot
_MARGIN = 12  # columns beside the plot: the labels
_NAME = 28  # columns of a name


def panel(view: Overview, console: Console, total: int | None = None, why: str | None = None) -> Group:
    """Return a study as text that fits the console."""
    from rich.console import Group
    from rich.text import Text

    title = Text(printable(view.header.name), style="bold", no_wrap=True, overflow="ellipsis")
    rows: list[tuple[str, RenderableType]] = [
        ("objective", Text(printable(_goal(view)), no_wrap=True, overflow="ellipsis")),
        ("strategy", Text(printable(view.header.strategy if why is None else why))),
        ("state", Text(view.state)),
        *([("suggester", Text(suggester))] if (suggester := _suggester(view)) else []),
        ("trials", Text(_counts(view))),
        *_results(view, console),
        ("workers", _workers(view)),
        *([("failures", _failures(view))] if view.failures else []),
        ("end", Text(_end(view, total))),
    ]
    return Group(title, Text(), _grid(rows))


def document(view: Overview, total: int | None = None, why: str | None = None) -> dict[str, Any]:
    """Return a study as JSON-able data."""
    from sonde.space.choices import plain

    several = view.objectives.several
    best = view.best
    return {
        "study": view.header.name,
        "direction": None if several else view.header.direction,
        "objectives": {one.name: one.direction for one in view.objectives.each} if several else None,
        "parameters": view.space.names,
        "strategy": view.header.strategy,
        "why": why,
        "seed": view.header.seed,
        "created": _iso(view.header.created),
        "state": view.state,
        "suggesting": {name: own for name, own in view.status._asdict().items() if name != "paused"},
        "counts": {str(state): view.counts.get(state, 0) for state in State},
        "best": None if best is None else {
            "trial": best.trial, "value": best.value, "params": {name: plain(own) for name, own in best.params.items()}
        },
        "improvements": [one._asdict() for one in view.improvements],
        "front": view.front if several else None,
        "ranges": [one._asdict() for one in view.ranges],
        "running": [one._asdict() | {"since": _iso(one.since)} for one in view.running],
        "failures": [one._asdict() for one in view.failures],
        "rate": view.rate,
        "total": total,
        "end": _iso(view.end(total)),
    }  # fmt: skip


def _results(view: Overview, console: Console) -> Iterable[tuple[str, RenderableType]]:
    """Return the best trial and the history of the best, or the front of several objectives."""
    from rich.console import Group
    from rich.text import Text

    if view.objectives.several:
        return [("front", Group(Text(output.counted(view.front)), _ranges(view)))]
    if view.best is None:
        return [("best", Text("none yet"))]
    found = Text.assemble((output.short(view.best.value), "bold"), f"  trial {view.best.trial}")
    return [("best", Group(found, _params(view))), *_plot(view, console)]


def _plot(view: Overview, console: Console) -> Iterable[tuple[str, RenderableType]]:
    from rich.text import Text

    steps = [(one.results, one.value) for one in view.improvements]
    width = min(_PLOT[0], console.width - _MARGIN - len("objective") - 2)
    if width < 10:  # a terminal too narrow for a plot
        return []
    ascii_only = not console.encoding.lower().startswith("utf")
    lines = step_plot(steps, view.ended, width, _PLOT[1], ascii_only=ascii_only)
    log = ", log scale" if axis([value for _, value in steps]).log else ""
    legend = f"best of the first 1 to {view.ended} results{log}"
    return [("history", Text("\n".join([*lines, legend]), no_wrap=True, overflow="crop"))]


def _params(view: Overview) -> Table:
    params = list(view.best.params.items()) if view.best is not None else []
    rows = [(name, output.short(value)) for name, value in params[:PARAMETERS]]
    more = [("...", f"{len(params) - PARAMETERS} more; sonde best shows all")] if len(params) > PARAMETERS else []
    return _cells([*rows, *more])


def _ranges(view: Overview) -> Table:
    rows = [
        (one.name, f"{output.short(one.best)} to {output.short(one.worst)}", one.direction)
        for one in view.ranges[:OBJECTIVES]
    ]
    return _cells(rows)


def _suggester(view: Overview) -> str:
    """Return who computes suggestions, for how long, and how many asks wait."""
    who, seconds, asks = view.status.suggester, view.status.seconds, view.status.asks
    suggests = f"{printable(who)} for {duration(seconds)}" if who is not None else "nobody" if asks else ""
    return suggests + (f", {asks} {'ask waits' if asks == 1 else 'asks wait'}" if asks else "")


def _workers(view: Overview) -> RenderableType:
    from rich.text import Text

    if not view.running:
        return Text("none")
    rows = [(one.worker or "unnamed", f"trial {one.trial}", _for(one, view.now)) for one in view.running[:WORKERS]]
    more = view.counts.get(State.RUNNING, 0) - len(rows)
    return _cells([*rows, *([("...", f"{more} more", "")] if more > 0 else [])])


def _for(one: Running, now: float) -> str:
    return "" if one.since is None else f"for {duration(max(0.0, now - one.since))}"


def _failures(view: Overview) -> Text:
    """Return a line for each failure; only the reason is cut where it is too long."""
    from rich.text import Text

    width = max((len(str(one.trial)) for one in view.failures), default=0)
    lines = [f"trial {one.trial:<{width}}  {printable(one.reason)}" for one in view.failures]
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def _end(view: Overview, total: int | None) -> str:
    """Return when the study ends, and at which rate."""
    speed = "" if not view.rate else f"; {_rate(view.rate)}"
    if total is None:
        return f"unknown, give --total{speed}"
    done = f"{view.ended} of {output.counted(total)}"
    if view.ended >= total:
        return f"reached: {done}"
    end = view.end(total)
    if end is None:
        return f"unknown: {done}, and too few have run to know how fast"
    try:
        moment = f" ({datetime.fromtimestamp(end, UTC).astimezone():%Y-%m-%d %H:%M})"
    except (OverflowError, ValueError, OSError):  # beyond the calendar
        moment = ""
    return f"in {duration(end - view.now)}{moment}: {done}{speed}"


def _rate(per_second: float) -> str:
    for unit, seconds in (("a second", 1.0), ("a minute", 60.0), ("an hour", 3600.0)):
        if per_second * seconds >= 1:
            return f"{per_second * seconds:.3g} {unit}"
    return f"{per_second * 86400:.3g} a day"


def duration(seconds: float) -> str:
    """Return a number of seconds for people: 12 s, 3 min, 2 h 5 min, 3 d 4 h."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def _goal(view: Overview) -> str:
    parameters = f"{len(view.space)} parameter{'' if len(view.space) == 1 else 's'}"
    return f"{view.objectives.described}, {parameters}, seed {view.header.seed}"


def _counts(view: Overview) -> str:
    each = ", ".join(f"{view.counts[state]} {state}" for state in State if view.counts.get(state))
    return f"{view.trials}: {each}" if view.trials else "none yet"


def _cells(rows: Sequence[Sequence[str]]) -> Table:
    """Return rows of plain text; a name that is too long ends with an ellipsis."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for column in range(len(rows[0]) if rows else 0):
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME if column == 0 else None)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _grid(rows: Sequence[tuple[str, RenderableType]]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for label, content in rows:
        table.add_row(label, content)
    return table


def _iso(seconds: float | None) -> str | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # beyond the calendar
        return None
