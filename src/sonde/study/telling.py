"""Converts the user's results to outcomes: one told result, or finished trials of other sources."""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from sonde.errors import OptionError
from sonde.space import Categorical, Parameter, Space
from sonde.space.choices import plain, to_json
from sonde.storage.port import FinishedTrial
from sonde.study import checks, export
from sonde.trials import Evaluation, Outcome, State, Trial, TrialRecord, failure, to_outcome
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.outcome import stopped
from sonde.trials.trial import Batch, pack_row

EXTRAS = ("gradient", "hessian", "noise", "constraints")
_TOLD = {"params", "value", "failed", "attributes", "curve", *EXTRAS}
_PREDICTED = {"mean", "std"}  # of the final value of a stopped trial
_SHOWN = {"number", "state", "error", "worker", "created", "started", "finished", "duration", "retry_of", "token",
          "study", "revision", "seen", "suggested_in", "batch", *_PREDICTED}  # fmt: skip

_INACTIVE = object()


def outcome(
    space: Space, value: Any, failed: str | None, extras: Mapping[str, Any], objectives: Objectives = ONE
) -> Outcome:
    """Return the checked outcome of a value with those extras that are not None, or of a failure."""
    extras = {name: told for name, told in extras.items() if told is not None}
    if failed is not None:
        if not isinstance(failed, str):
            raise OptionError(f"failed= takes the reason, a text such as 'out of memory', got {failed!r}")
        if value is not None or extras:
            raise OptionError("tell takes a value or failed=, not both")
        return failure(failed)
    if value is None:
        raise OptionError("tell needs a value, or failed='why it failed', or stopped=True")
    if isinstance(value, Evaluation):
        if extras:
            raise OptionError(f"an Evaluation has its own {', '.join(extras)}; leave out {', '.join(extras)}")
        return to_outcome(value, space, objectives)
    return to_outcome(Evaluation(value, **extras), space, objectives)


class Imported(NamedTuple):
    """A finished trial of another source, and its learning curve."""

    trial: FinishedTrial
    curve: list[tuple[float, float]]


def nothing_else(value: Any, failed: str | None, extras: Mapping[str, Any]) -> None:
    """Raise if more is told of a trial that was stopped."""
    if value is not None or failed is not None or any(told is not None for told in extras.values()):
        raise OptionError("tell takes stopped=True alone: a stopped trial has no result but its learning curve")


def entries(given: Any) -> Iterable[Any]:
    """Return the entries of what a user gave: a list, a study, a DataFrame, or the file of an export."""
    if isinstance(given, str | os.PathLike):
        return _read_file(Path(given))
    if hasattr(given, "to_dict"):  # a DataFrame
        return list(given.to_dict("records"))
    listed = getattr(given, "trials", given)  # of a study, or a result
    if isinstance(listed, Mapping) or not isinstance(listed, Iterable):
        raise OptionError(
            "add_trials takes a list of dicts with params and value (or failed), a study, a DataFrame, or the path of "
            f"an export in CSV or JSON, got {given!r}"
        )
    return listed


def _read_file(path: Path) -> list[Any]:
    """Return the entries of an export."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            if path.suffix == ".csv":
                return list(csv.DictReader(file))
            if path.suffix == ".json":
                return list(json.load(file))
    except (OSError, ValueError, TypeError) as error:
        raise OptionError(f"{path} cannot be read as an export: {error}") from None
    raise OptionError(f"{path} must end in .csv or .json, as the files of study.export")


def imported(space: Space, trials: Iterable[Any], objectives: Objectives = ONE) -> list[Imported]:
    """Return finished trials; trials without a result are skipped with a warning."""
    importer = Importer(space)
    read = [_finished(importer, position, entry, objectives) for position, entry in enumerate(trials)]
    kept = [one for one in read if one is not None]
    if len(kept) < len(read):
        skipped = f"{len(read) - len(kept)} of {len(read)} trials"
        warnings.warn(
            f"{skipped} have no result (waiting, running, lost or cancelled) and were not added", stacklevel=3
        )
    return kept


def _finished(importer: Importer, position: int, entry: Any, objectives: Objectives) -> Imported | None:
    """Return one finished trial; errors name its position."""
    space = importer.space
    try:
        known = importer.read(entry)
        if known is None:
            return None
        extras = {name: known.get(name) for name in EXTRAS}
        if "stopped" in known:
            told = stopped(*known["stopped"])
        else:
            told = outcome(space, known.get("value"), known.get("failed"), extras, objectives)
        trial = pack_row(space.row(known["params"])), told, checks.attributes(known.get("attributes"))
        return Imported(trial, checks.curve(known.get("curve")))
    except ValueError as error:
        raise type(error)(f"trials[{position}]: {error}") from None


def to_record(importer: Importer, document: Mapping[str, Any], objectives: Objectives = ONE) -> TrialRecord:
    """Return the record that a document of ``export`` shows; it may have a ``token``."""
    state, space = State(document["state"]), importer.space
    told: Outcome | None = None
    if state is State.STOPPED:
        told = stopped(*(checks.predicted(document["mean"], document["std"]) or ()))
    elif state.finished:
        extras = {name: document.get(name) for name in EXTRAS}
        told = outcome(space, document["value"], document["error"], extras, objectives)
    return TrialRecord(
        number=document["number"],
        state=state,
        row=pack_row(space.codec.row(importer.configuration(document["params"]))),
        outcome=told,
        worker=document["worker"],
        created=_seconds(document["created"]) or 0.0,
        started=_seconds(document["started"]),
        finished=_seconds(document["finished"]),
        retry_of=document["retry_of"],
        attributes=document["attributes"],
        token=document.get("token"),
        seen=document.get("seen"),
        suggested_in=document.get("suggested_in"),
        batch=Batch(*document["batch"]) if document.get("batch") else None,
    )


class Importer:
    """Reads entries of ``add_trials`` for one space.

    Dicts with ``params`` and ``value``, trials of another study, the documents of a JSON export, the rows of a CSV
    export (``csv.DictReader``) or of a DataFrame, which may name the parameters as they are: all become
    ``{"params": ..., "value" or "failed": ..., ...}``. An export writes choices that JSON or CSV cannot hold in a plain
    form (a tuple as a list, a function as its name). The importer maps the plain form back to the choice.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: dict[str, dict[str, list[Any]]] = {}

    def read(self, entry: Any) -> dict[str, Any] | None:
        """Return the entry in the common form; None for a trial without a result."""
        if isinstance(entry, Trial):
            entry = {name: getattr(entry, name) for name in (*_TOLD - {"failed"}, "state", "error", *_PREDICTED)}
        elif isinstance(entry, Mapping) and any(str(key).startswith("params_") for key in entry):
            entry = self._nested(entry)
        elif isinstance(entry, Mapping) and "params" not in entry and set(self.space.names) & set(entry) - _TOLD:
            entry = self._nested({f"params_{key}" if key in self.space.names else key: entry[key] for key in entry})
        if not isinstance(entry, Mapping) or "params" not in entry or set(entry) - _TOLD - _SHOWN:
            raise OptionError(
                f'must be a dict with params and value (or failed), {{"params": {{...}}, "value": 0.4}}, got {entry!r}'
            )
        if "state" not in entry:
            return {name: entry[name] for name in entry if name in _TOLD} | self._params(entry["params"])
        return self._of_state(entry)

    def _of_state(self, entry: Mapping[str, Any]) -> dict[str, Any] | None:
        if entry["state"] not in list(State):
            raise OptionError(f"state must be one of {', '.join(State)}, got {entry['state']!r}")
        if not State(entry["state"]).finished:
            return None
        known = {name: entry[name] for name in _TOLD if entry.get(name) is not None} | self._params(entry["params"])
        if entry["state"] == State.FAILED:
            return _kept(known) | {"failed": entry.get("error") or "failed without a reason"}
        if entry["state"] == State.STOPPED:
            mean, std = (entry.get(name) for name in ("mean", "std"))
            return _kept(known) | {"stopped": checks.predicted(mean, std) or ()}
        return known

    def _params(self, params: Any) -> dict[str, Any]:
        return {"params": self.configuration(params) if isinstance(params, Mapping) else params}

    def configuration(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration that ``export.configuration`` wrote."""
        return {name: self._restored(name, value) for name, value in params.items()}

    def _restored(self, name: str, value: Any) -> Any:
        """Return the choice with this plain form; other values unchanged, for the space to check."""
        parameter = self.space.parameters.get(name)
        if not isinstance(parameter, Categorical) or value in parameter:
            return value
        return self._only("plain", name, parameter, _text(value), value)

    def _only(self, form: str, name: str, parameter: Categorical, text: str, value: Any) -> Any:
        if f"{form} {name}" not in self._known:
            known = self._known.setdefault(f"{form} {name}", {})
            for choice in parameter.choices:
                for shown in _forms(choice) if form == "plain" else {export.cell("params_", choice, raw=True)}:
                    known.setdefault(shown, []).append(choice)
        found = self._known[f"{form} {name}"].get(text, [value])
        if len(found) > 1:
            raise OptionError(f"parameter {name!r}: {value!r} may be any of {found}; pass the choice itself")
        return found[0]

    # rows of tables

    def _nested(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of a table in the form of a document."""
        written = all(isinstance(value, str | None) for value in row.values())  # a row of a file, not of a DataFrame
        given = {name: _read(name, value) if written else value for name, value in row.items() if not _missing(value)}
        entry: dict[str, Any] = {name: given[name] for name in given if name in _TOLD | _SHOWN}
        for group in ("value", "noise", "gradient", "constraints", "attributes"):
            inside = {name: value for name, value in given.items() if name.startswith(f"{group}_")}
            if inside:
                entry[group] = {name.partition("_")[2]: value for name, value in inside.items()}
        columns = [(name, own) for name, own in self.space.parameters.items() if f"params_{name}" in row]
        shown = {name: self._value(name, own, row[f"params_{name}"], written) for name, own in columns}
        entry["params"] = {name: value for name, value in shown.items() if value is not _INACTIVE}
        unknown = [name for name in row if name.startswith("params_") and name[7:] not in self.space.parameters]
        if unknown:
            raise OptionError(f"there is no parameter {unknown[0][7:]!r}; the space has {', '.join(self.space.names)}")
        return entry

    def _value(self, name: str, parameter: Parameter, shown: Any, written: bool) -> Any:
        if _missing(shown):
            if shown in parameter:  # None in a DataFrame, where an inactive parameter is NaN
                return shown
            empty = (one for one in ("", None) if parameter.when is None and one in parameter)
            return next(empty, _INACTIVE)
        if not written:
            return shown
        if isinstance(parameter, Categorical):
            return self._only("cell", name, parameter, export.unquoted(shown), shown)
        return {"True": True, "False": False}.get(shown, _number(shown))


def _kept(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trial without a value has."""
    return {name: known[name] for name in ("params", "attributes", "curve") if name in known}


def _seconds(moment: str | None) -> float | None:
    """Return a time of a document as seconds since the epoch."""
    return None if moment is None else datetime.fromisoformat(moment).timestamp()


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and value != value)


def _read(column: str, cell: str) -> Any:
    """Return the value of a cell of a file."""
    written = export.unquoted(cell)
    if column in ("hessian", "curve") or column.startswith(("gradient_", "attributes_")):
        try:
            return json.loads(written)
        except ValueError:
            return written
    return written if column in _SHOWN - _PREDICTED else _number(written)


def _number(written: str) -> Any:
    try:
        return float(written)
    except ValueError:
        return written


def _forms(choice: Any) -> set[str]:
    """Return the texts of a choice in documents: plain, and as the space is stored."""
    return {_text(plain(choice)), _text(to_json(choice))}


def _text(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return ""
