"""Trials as tables: one row a trial, parameters in columns of their own."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.errors import MissingExtra, OptionError
from sonde.space import Space
from sonde.space.choices import to_json
from sonde.trials import Trial

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "json")
_BEFORE = ("number", "state", "value")
_AFTER = ("noise", "error", "worker", "created", "started", "finished", "duration", "retry_of")


def table(trials: Sequence[Trial], space: Space) -> list[dict[str, Any]]:
    """Return one flat dict a trial, all with the same keys."""
    levels = _keys(trial.constraints for trial in trials)
    slopes = _keys(trial.gradient for trial in trials)
    own = _keys(trial.attributes for trial in trials)
    return [
        {
            **{name: getattr(trial, name) for name in _BEFORE},
            **{f"params_{name}": trial.params.get(name) for name in space.names},
            **{f"gradient_{name}": (trial.gradient or {}).get(name) for name in slopes},
            **{f"constraints_{name}": (trial.constraints or {}).get(name) for name in levels},
            **{f"attributes_{name}": trial.attributes.get(name) for name in own},
            **{name: getattr(trial, name) for name in _AFTER},
        }
        for trial in trials
    ]


def document(trial: Trial) -> dict[str, Any]:
    """Return a trial as JSON-able data, nothing left out."""
    times = {name: getattr(trial, name) for name in ("created", "started", "finished")}
    return {
        "number": trial.number,
        "state": trial.state.value,
        "params": {name: _plain(value) for name, value in trial.params.items()},
        "value": trial.value,
        "gradient": trial.gradient,
        "hessian": trial.hessian,
        "noise": trial.noise,
        "constraints": trial.constraints,
        "error": trial.error,
        "worker": trial.worker,
        **{name: None if time is None else time.isoformat() for name, time in times.items()},
        "duration": trial.duration,
        "retry_of": trial.retry_of,
        "attributes": trial.attributes,
    }


def dataframe(trials: Sequence[Trial], space: Space) -> pd.DataFrame:
    """Return the table as a DataFrame."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    rows = table(trials, space)
    columns = list(rows[0]) if rows else [*_BEFORE, *(f"params_{name}" for name in space.names), *_AFTER]
    return pd.DataFrame(rows, columns=columns)


def text(trials: Sequence[Trial], space: Space, kind: str) -> str:
    """Return all trials as CSV or JSON text."""
    if kind == "json":
        return json.dumps([document(trial) for trial in trials], indent=1)
    if kind != "csv":
        raise OptionError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    rows = table(trials, space)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else list(_BEFORE))
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def write(trials: Sequence[Trial], space: Space, path: str | os.PathLike[str]) -> None:
    """Write all trials to a file, in the format of its ending."""
    target = Path(path)
    kind = target.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise OptionError(f"the file must end in .csv or .json, got {str(target)!r}")
    target.write_text(text(trials, space, kind), encoding="utf-8", newline="")


def _keys(mappings: Any) -> list[str]:
    """Return the keys of all mappings, in the order of their first appearance."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping or ()))


def _plain(value: Any) -> Any:
    """Tuples and lists are lists for a reader; what JSON cannot hold is its label."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    encoded = to_json(value)
    return next(iter(encoded.values())) if isinstance(encoded, dict) else encoded
