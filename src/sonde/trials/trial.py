"""A trial as storage keeps it (``TrialRecord``) and as the user is shown it (``Trial``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from sonde.space import Space
from sonde.trials.outcome import Outcome, unpack_gradient, unpack_hessian
from sonde.trials.state import State


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """Everything stored of a trial. ``row`` is the codec's row, packed; times are seconds since the epoch."""

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


@dataclass(frozen=True, eq=False)
class Trial(Mapping[str, Any]):
    """One configuration and what became of it: a Mapping of its parameters, so ``train(**trial)`` works.

    ``attributes`` is a dict of the user's own: what the objective puts there is stored with the result.
    Everything else is a snapshot, read-only.
    """

    number: int
    params: Mapping[str, Any]
    state: State = State.RUNNING
    value: float | None = None
    gradient: Mapping[str, float] | None = None
    hessian: Mapping[str, Mapping[str, float]] | None = None
    noise: float | None = None
    constraints: Mapping[str, float] | None = None
    error: str | None = None
    worker: str | None = None
    created: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    retry_of: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    floats: frozenset[str] | None = field(default=None, repr=False)  # which parameters of the space are Float, if known
    mean: float | None = None  # of the value, as the model believes it: of the best trial where values are noisy
    std: float | None = None

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

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Trial) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.number)


def pack_row(row: Any) -> bytes:
    """Return a row of numbers as it is stored."""
    return np.asarray(row, dtype="<f8").tobytes()


def to_trial(record: TrialRecord, space: Space) -> Trial:
    """Return the user's view of a record."""
    outcome = record.outcome or Outcome(record.state)
    return Trial(
        number=record.number,
        params=space.codec.configuration(np.frombuffer(record.row, dtype="<f8")),
        state=record.state,
        value=outcome.value,
        gradient=_named_gradient(outcome.gradient, space),
        hessian=_named_hessian(outcome.hessian, space),
        noise=outcome.noise,
        constraints=outcome.constraints,
        error=outcome.error,
        worker=record.worker,
        created=_moment(record.created),
        started=_moment(record.started),
        finished=_moment(record.finished),
        retry_of=record.retry_of,
        attributes=dict(record.attributes),
        floats=space.floats,
    )


def _named_gradient(packed: bytes | None, space: Space) -> dict[str, float] | None:
    gradient = unpack_gradient(packed)
    if gradient is None:
        return None
    return {name: slope for name, slope in zip(space.names, gradient.tolist(), strict=True) if slope == slope}


def _named_hessian(packed: bytes | None, space: Space) -> dict[str, dict[str, float]] | None:
    hessian = unpack_hessian(packed, len(space))
    if hessian is None:
        return None
    lines = {
        name: {other: bend for other, bend in zip(space.names, line, strict=True) if bend == bend}
        for name, line in zip(space.names, hessian.tolist(), strict=True)
    }
    return {name: line for name, line in lines.items() if line}


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
