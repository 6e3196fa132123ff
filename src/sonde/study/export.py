"""Trials as tables: one row for each trial, one column for each parameter. ``telling`` reads them back."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.errors import OptionError
from sonde.extras import require
from sonde.space import Space
from sonde.space.choices import label, plain, to_json
from sonde.trials import Outcome, State, Trial, TrialRecord
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.trial import pack_row, to_trial

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "json")
_BEFORE = ("number", "state", "value")
_AFTER = ("noise", "error", "worker", "created", "started", "finished", "duration", "retry_of")
_DOCUMENT = ("number", "state", "params", "value", "gradient", "hessian", "noise", "constraints", "error", "worker",
             "created", "started", "finished", "duration", "retry_of", "seen", "suggested_in", "batch", "attributes",
             "mean", "std", "curve")  # fmt: skip
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # a formula of a spreadsheet, or text that looks as if it had been quoted
_QUOTED = re.compile(r"'+[=+\-@\t\r]")


def table(trials: Sequence[Trial], space: Space, *, inactive: Any = None) -> list[dict[str, Any]]:
    """Return one flat dict for each trial, all with the same keys; inactive parameters have the value ``inactive``."""
    values, noise = (_keys(_named(getattr(trial, name)) for trial in trials) for name in ("value", "noise"))
    levels = _keys(trial.constraints for trial in trials)
    gradients = _keys(trial.gradient for trial in trials)
    attributes = _keys(trial.attributes for trial in trials)
    hessian = ("hessian",) if any(trial.hessian for trial in trials) else ()
    predicted = ("mean", "std") if any(trial.state is State.STOPPED for trial in trials) else ()
    curves = any(trial.curve for trial in trials)
    return [
        {
            **{name: getattr(trial, name) for name in _BEFORE if name != "value" or not values},
            **{f"value_{name}": _named(trial.value).get(name) for name in values},
            **{f"params_{name}": trial.params.get(name, inactive) for name in space.names},
            **{f"gradient_{name}": (trial.gradient or {}).get(name) for name in gradients},
            **dict.fromkeys(hessian, trial.hessian),
            **{f"constraints_{name}": (trial.constraints or {}).get(name) for name in levels},
            **{f"attributes_{name}": trial.attributes.get(name) for name in attributes},
            **{f"noise_{name}": _named(trial.noise).get(name) for name in noise},
            **{name: getattr(trial, name) for name in (*predicted, *_AFTER) if name != "noise" or not noise},
            **({"curve": list(map(list, trial.curve)) or None} if curves else {}),
        }
        for trial in trials
    ]


def document(trial: Trial, space: Space | None = None) -> dict[str, Any]:
    """Return a trial as JSON-able data, complete; with its space, ``telling`` can read back choices of any kind."""
    data = {name: getattr(trial, name) for name in _DOCUMENT}
    data |= {"state": trial.state.value, "params": configuration(trial.params, space)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in data.items()}


def configuration(params: Mapping[str, Any], space: Space | None = None) -> dict[str, Any]:
    """Return a configuration as readable JSON.

    A choice that reads as another choice of the space does, (1, 2) beside [1, 2], is written as the space is stored.
    """
    return {
        name: to_json(value) if space is not None and space[name].ambiguous(value) else plain(value)
        for name, value in params.items()
    }


def told(outcome: Outcome, space: Space, objectives: Objectives = ONE) -> dict[str, Any]:
    """Return an outcome as JSON-able arguments of ``Study.tell``, with ``mean`` and ``std`` of a stopped trial."""
    if outcome.state is State.FAILED:
        return {"failed": outcome.error}
    shown = to_trial(TrialRecord(0, outcome.state, pack_row([math.nan] * len(space)), outcome), space, None, objectives)
    if outcome.state is State.STOPPED:
        return {"stopped": True, "mean": shown.mean, "std": shown.std}
    every = {name: getattr(shown, name) for name in ("value", "gradient", "hessian", "noise", "constraints")}
    for name in ("gradient", "hessian"):
        known = every[name] or {}
        by_objective = {one: _of_ordered(known[one], space) for one in known} if objectives.several else None
        every[name] = None if every[name] is None else by_objective or _of_ordered(known, space)
    return {name: own for name, own in every.items() if own is not None}


def finite(data: Any) -> Any:
    """Return JSON-able data with NaN and infinity, which JSON lacks, as the texts nan, inf and -inf.

    ``float`` reads such a text.
    """
    if isinstance(data, float):
        return data if math.isfinite(data) else str(data)
    if isinstance(data, Mapping):
        return {name: finite(item) for name, item in data.items()}
    return [finite(item) for item in data] if isinstance(data, list | tuple) else data


def dataframe(trials: Sequence[Trial], space: Space) -> pd.DataFrame:
    """Return the table as a DataFrame; an inactive parameter is NaN, also if None is a choice."""
    require("pandas", extra="pandas")
    import pandas as pd

    rows = table(trials, space, inactive=math.nan)
    columns = list(rows[0]) if rows else [*_BEFORE, *(f"params_{name}" for name in space.names), *_AFTER]
    frame = pd.DataFrame(rows, columns=columns)
    for name, parameter in space.parameters.items():
        if None in parameter:  # pandas would turn it into NaN in a column of text or numbers
            frame[f"params_{name}"] = pd.Series([row[f"params_{name}"] for row in rows], dtype=object)
    return frame


def text(trials: Sequence[Trial], space: Space, kind: str, *, raw: bool = False) -> str:
    """Return all trials as CSV or JSON text; ``raw`` does not quote cells that a spreadsheet would run."""
    if kind == "json":
        return json.dumps([document(trial, space) for trial in trials], indent=1)
    if kind != "csv":
        raise OptionError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    rows = [
        {name: cell(name, value, raw=raw) for name, value in row.items()} for row in table(trials, space, inactive="")
    ]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else list(_BEFORE))
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode("utf-8", "backslashreplace").decode()  # lone surrogates have no UTF-8


def write(trials: Sequence[Trial], space: Space, path: str | os.PathLike[str], *, raw: bool = False) -> None:
    """Write all trials to a file, in the format of its ending."""
    target = Path(path)
    kind = target.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise OptionError(f"the file must end in .csv or .json, got {str(target)!r}")
    target.write_text(text(trials, space, kind, raw=raw), encoding="utf-8", newline="")


def cell(column: str, value: Any, *, raw: bool = False) -> str:
    """Return the text of a CSV cell: empty for a missing value, ``None`` for the choice None."""
    if column.startswith("params_"):
        written = label(value) if not isinstance(value, str) else value
    elif value is None:
        return ""
    elif (
        column in ("hessian", "curve")
        or isinstance(value, dict)
        or (column.startswith("attributes_") and not _is_words(value))
    ):
        written = json.dumps(value)
    else:
        written = str(value)
    wants_quote = isinstance(value, int | float) is False and _FORMULA.match(written) is not None
    return f"'{written}" if wants_quote and not raw else written


def unquoted(written: str) -> str:
    """Return the text of a cell without the apostrophe that ``cell`` put before a formula."""
    return written[1:] if _QUOTED.match(written) else written


def _of_ordered(derivatives: Any, space: Space) -> Any:
    """Return derivatives by parameter without those of parameters without order, which cannot be told by name."""
    if not isinstance(derivatives, Mapping):
        return derivatives
    return {name: _of_ordered(own, space) for name, own in derivatives.items() if space[name].ordered}


def _is_words(value: Any) -> bool:
    """Whether an attribute is text that cannot be mistaken for JSON."""
    if not isinstance(value, str):
        return False
    try:
        json.loads(value)
    except ValueError:
        return bool(value)
    return False


def _named(value: Any) -> Mapping[str, Any]:
    """Return the values of several objectives by name; nothing for a single number."""
    return value if isinstance(value, Mapping) else {}


def _keys(mappings: Any) -> list[str]:
    """Return the keys of all mappings, in the order of their first appearance."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping or ()))
