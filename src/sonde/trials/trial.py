"""A trial as storage keeps it (``TrialRecord``) and as the user is shown it (``Trial``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from sonde.errors import EvaluationError, OtherWord, StorageError
from sonde.hints import TRIAL_ATTRIBUTES, unknown_attribute
from sonde.html import card, chart
from sonde.space import Space
from sonde.trials.objectives import ONE, Objectives
from sonde.trials.outcome import Outcome, real, unpack_gradient, unpack_hessian, unpack_objectives
from sonde.trials.reason import one_line
from sonde.trials.state import State
from sonde.trials.suggesting import suggested


class Batch(NamedTuple):
    """The call of the strategy that a suggestion is of: the number that its key is made of, and for how many it was."""

    first: int
    size: int


class TrialKey(NamedTuple):
    """Identifies a trial: by the token drawn when it was asked for, or by its number if there is no token."""

    number: int
    token: str | None = None


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A trial as it is stored. ``row`` is the codec's row, packed; times are seconds since the epoch.

    A suggested trial has ``seen``, the revision of the history that it was suggested from, ``suggested_in``, its share
    of the seconds that its batch took, and ``batch``.
    """

    number: int
    state: State
    row: bytes
    outcome: Outcome | None = None
    worker: str | None = None
    created: float = 0.0
    started: float | None = None
    finished: float | None = None
    retry_of: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    token: str | None = None
    seen: int | None = None
    suggested_in: float | None = None
    batch: Batch | None = None


class Reporter(Protocol):
    """Takes a trial's reports and says whether to stop it."""

    told_to_stop: bool  # what it last said

    def report(self, step: float, value: float) -> None:
        """Add to the trial's learning curve."""

    def should_stop(self) -> bool:
        """Whether the trial is not worth going on."""


class _Absent(str):
    """The name of a parameter without a value in a trial; a ``KeyError`` shows its repr, which says why."""

    trial: Trial

    def __repr__(self) -> str:
        return (
            f"{str(self)!r} (trial {self.trial.number} has no value for it: it is no parameter, or inactive because "
            f"its when= does not hold; active are {', '.join(self.trial.params)}; trial.get gives None instead)"
        )


@dataclass(frozen=True, eq=False)
class Trial(Mapping[str, Any]):
    """One configuration and its result: a Mapping of its parameters, so ``train(**trial)`` works.

    The objective may write to the dict ``attributes``, which is stored with the result. Everything else is a read-only
    snapshot.
    """

    number: int
    params: Mapping[str, Any]
    state: State = State.RUNNING
    value: Any = None  # a number; of several objectives a dict by name, and so are gradient, Hessian and noise
    gradient: Mapping[str, Any] | None = None
    hessian: Mapping[str, Any] | None = None
    noise: float | Mapping[str, float] | None = None
    constraints: Mapping[str, float] | None = None
    error: str | None = None
    worker: str | None = None
    created: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    retry_of: int | None = None
    # of a suggested trial: the revision of the history it was suggested from, and its share of the seconds of its batch
    seen: int | None = None
    suggested_in: float | None = None
    batch: Batch | None = field(default=None, repr=False)
    attributes: dict[str, Any] = field(default_factory=dict)
    # kind and range of every parameter of the space, if known
    declared: Mapping[str, tuple[Any, ...]] | None = field(default=None, repr=False)
    # posterior mean of the objective: for the best trial, if values are noisy; predicted final value of a stopped one
    mean: float | None = None
    std: float | None = None
    curve: Sequence[tuple[float, float]] = field(default=(), repr=False)  # what it reported: (step, value), by step
    token: str | None = field(default=None, repr=False)  # identifies the trial; drawn when it was asked for
    study: str | None = field(default=None, repr=False)  # the UUID of its study
    reporter: Reporter | None = field(default=None, repr=False)

    def report(self, step: float, value: float) -> None:
        """Add a value on the way to the result, such as the loss after an epoch; NaN or inf: training diverged.

        Reports may come late, twice or out of order. The values need not be of the objective itself, but as for the
        objective lower, or higher, is better.
        """
        number = real(step, "the step of a report")
        if not math.isfinite(number):
            raise EvaluationError(f"the step of a report must be finite, such as an epoch, got {number}")
        self._reporter.report(number, real(value, "the value of a report"))

    def should_stop(self) -> bool:
        """Whether it is not worth going on, by what was reported so far; then return None from the objective.

        The trial is then stopped, and the surrogate learns from its predicted final value.
        """
        return self._reporter.should_stop()

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """Return ``trial[name]``, for objectives written for Optuna; it must be declared with the same range."""
        return float(suggested(self, name, ("Float", low, high, log, step)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """Return ``trial[name]``, for objectives written for Optuna; it must be declared with the same range."""
        return int(suggested(self, name, ("Int", low, high, log, step)))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Return ``trial[name]``, for objectives written for Optuna; it must be declared with the same choices."""
        return suggested(self, name, ("Categorical",), choices)

    def __getattr__(self, name: str) -> Any:
        own = {known: f"trial[{known!r}]" for known in self.__dict__.get("params", ())}
        unknown_attribute("Trial", name, {**own, **TRIAL_ATTRIBUTES}, OtherWord)

    @property
    def _reporter(self) -> Reporter:
        if self.reporter is None:
            raise EvaluationError(
                f"trial {self.number} cannot report: only trials that were asked for can, those of an objective and of "
                "study.ask"
            )
        return self.reporter

    @property
    def told_to_stop(self) -> bool:
        """Whether ``should_stop`` has said so."""
        return self.reporter is not None and self.reporter.told_to_stop

    @property
    def duration(self) -> float | None:
        """Seconds from start to finish."""
        if self.started is None or self.finished is None:
            return None
        return (self.finished - self.started).total_seconds()

    @property
    def feasible(self) -> bool:
        """Whether it completed and every measured constraint is at most zero."""
        return self.state is State.COMPLETED and all(level <= 0 for level in (self.constraints or {}).values())

    def _repr_html_(self) -> str:
        result = {"value": self.value, "mean": self.mean, "std": self.std, "noise": self.noise,
                  "constraints": self.constraints, "seconds": self.duration, "worker": self.worker}  # fmt: skip
        facts = [("state", self.state), *((f"\u2003{name}", value) for name, value in self.params.items())]
        facts += [(name, value) for name, value in result.items() if value is not None]
        facts += [("failed", one_line(self.error))] if self.error else []
        steps, values = zip(*self.curve, strict=True) if self.curve else ((), ())
        return card(f"Trial {self.number}", facts, chart(steps, line=values, what="what it reported, by step"))

    def __getitem__(self, name: str) -> Any:
        try:
            return self.params[name]
        except KeyError:
            absent = _Absent(name)
            absent.trial = self
            raise KeyError(absent) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return {**vars(self), "reporter": None} == {**vars(other), "reporter": None}

    def __hash__(self) -> int:
        return hash(self.number)


def columns(record: TrialRecord, revision: int) -> tuple[Any, ...]:
    """Return a record as a row of ``Changes``."""
    outcome = record.outcome or Outcome(record.state)
    return (record.number, record.state, revision, record.row, outcome.value, outcome.noise, outcome.gradient,
            outcome.hessian, outcome.constraints, outcome.objectives, _seconds(record))  # fmt: skip


def _seconds(record: TrialRecord) -> float | None:
    """Return the seconds from start to finish of a suggested trial."""
    if record.seen is None or record.started is None or record.finished is None:
        return None
    return record.finished - record.started


def pack_row(row: Any) -> bytes:
    """Return a row of numbers as it is stored."""
    return np.asarray(row, dtype="<f8").tobytes()


def unpack_row(packed: bytes, number: int, size: int) -> Any:
    """Return a stored row of numbers; raise ``StorageError`` where it is not one number for each parameter."""
    if len(packed) != 8 * size:
        raise StorageError(
            f"trial {number} is damaged in the database: it has {len(packed)} bytes of parameters, not {8 * size}; "
            "restore the database from a copy, or delete that row"
        )
    return np.frombuffer(packed, dtype="<f8")


def to_trial(record: TrialRecord, space: Space, study: str | None = None, objectives: Objectives = ONE) -> Trial:
    """Return the user's view of a record."""
    outcome = record.outcome or Outcome(record.state)
    value, noise = _told_values(outcome, objectives, record.number)
    predicted = (outcome.value, outcome.noise) if record.state is State.STOPPED else (None, None)
    return Trial(
        number=record.number,
        params=space.codec.configuration(unpack_row(record.row, record.number, len(space))),
        state=record.state,
        value=value,
        gradient=_by_objective(outcome.gradient, partial(_named_gradient, space=space), objectives),
        hessian=_by_objective(outcome.hessian, partial(_named_hessian, space=space), objectives),
        noise=noise,
        constraints=outcome.constraints,
        error=outcome.error,
        worker=record.worker,
        created=_moment(record.created),
        started=_moment(record.started),
        finished=_moment(record.finished),
        retry_of=record.retry_of,
        seen=record.seen,
        suggested_in=record.suggested_in,
        batch=record.batch,
        attributes=dict(record.attributes),
        mean=predicted[0],
        std=predicted[1],
        declared=space.declared,
        token=None if record.state is State.WAITING else record.token,  # the process that asks for it draws a new one
        study=study,
    )


def _told_values(outcome: Outcome, objectives: Objectives, number: int) -> tuple[Any, Any]:
    """Return value and noise; of several objectives, by name."""
    if outcome.state is State.STOPPED:
        return None, None
    if outcome.objectives is None:
        return outcome.value, outcome.noise
    values, deviations = unpack_objectives(checked_objectives(outcome.objectives, number, len(objectives)))
    noise = {name: own for name, own in zip(objectives.names, deviations.tolist(), strict=True) if own == own}
    return dict(zip(objectives.names, values.tolist(), strict=True)), noise or None


def _by_objective(packed: bytes | None, named: Callable[[bytes | None], Any], objectives: Objectives) -> Any:
    """Return derivatives by name; those of several objectives by objective, where they are known."""
    if packed is None or not objectives.several:
        return named(packed)
    size = len(packed) // len(objectives)
    every = {name: named(packed[k * size : (k + 1) * size]) for k, name in enumerate(objectives.names)}
    return {name: own for name, own in every.items() if own}


def checked_objectives(packed: bytes, number: int, count: int) -> bytes:
    """Return the packed values of several objectives; raise ``StorageError`` where they are not one for each."""
    if len(packed) != 16 * count:
        raise StorageError(
            f"trial {number} is damaged in the database: it has {len(packed)} bytes of values, not {16 * count}; "
            "restore the database from a copy, or delete that row"
        )
    return packed


def _named_gradient(packed: bytes | None, space: Space) -> dict[str, float] | None:
    gradient = unpack_gradient(packed)
    if gradient is None:
        return None
    return {name: entry for name, entry in zip(space.names, gradient.tolist(), strict=True) if entry == entry}


def _named_hessian(packed: bytes | None, space: Space) -> dict[str, dict[str, float]] | None:
    hessian = unpack_hessian(packed, len(space))
    if hessian is None:
        return None
    lines = {
        name: {other: entry for other, entry in zip(space.names, line, strict=True) if entry == entry}
        for name, line in zip(space.names, hessian.tolist(), strict=True)
    }
    return {name: line for name, line in lines.items() if line}


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):  # a wrong clock when it was stored
        return None
