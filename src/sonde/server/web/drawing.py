"""What the child process of the dashboard computes of a study: its figures, their numbers, and why it suggests so."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sonde.errors import OptionError, SondeError
from sonde.server.wire import to_wire
from sonde.study import Study

if TYPE_CHECKING:
    from sonde.plots import Table

MOST_ROWS = 1000  # of the numbers behind a figure
OWN = ("data", "self")  # arguments that are no options of a figure


def figures(study: Study) -> dict[str, Any]:
    """Return the figures that a study has, with their options."""
    return {"figures": [
        {"name": name, "title": title, "options": _options(study, name)}
        for name, title in study.plot.names().items()
    ]}  # fmt: skip


def figure(study: Study, name: str, options: Mapping[str, str], *, data: bool) -> dict[str, Any]:
    """Return a figure as Plotly's JSON, as text; with ``data`` its numbers."""
    if name not in study.plot.names(everything=True):
        raise OptionError(f"there is no figure {name[:100]!r}; this study has {', '.join(study.plot.names())}")
    known = _options(study, name)
    for option in options:
        if option not in known:
            raise OptionError(
                f"the figure {name!r} has no option {option[:100]!r}; it has {', '.join(known) or 'none'}"
            )
    draw = getattr(study.plot, name)
    given = {option: _value(text) for option, text in options.items()}
    try:
        return _numbers(draw(**given, data=True)) if data else {"figure": draw(**given).to_json()}
    except OptionError:
        raise
    except SondeError as error:  # such as no result yet: it is what there is to show
        problem = {"problem": str(error)}
        return problem if data else {"figure": json.dumps(problem)}


def _numbers(table: Table) -> dict[str, Any]:
    rows = [list(row.values()) for row in table.select(slice(MOST_ROWS)).rows()]
    return {"columns": table.names, "rows": to_wire(json.loads(json.dumps(rows, default=str))), "total": len(table),
            "note": table.note}  # fmt: skip


def explain(study: Study) -> dict[str, Any]:
    """Return which strategy suggests, and why."""
    return {"text": study.explain()}


def _options(study: Study, name: str) -> list[str]:
    return [option for option in inspect.signature(getattr(study.plot, name)).parameters if option not in OWN]


def _value(text: str) -> Any:
    """Return the value of an option: JSON, or else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
