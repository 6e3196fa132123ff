"""The bodies of requests and answers, checked by pydantic, with examples for the OpenAPI document.

They check kinds and ranges. What depends on the study (parameters, objectives, derivatives) is checked by the code that
the Python interface uses.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sonde.study.checks import LONGEST_NOTE
from sonde.text import is_encodable

MAX_TRIALS = 10_000  # of one request
BIGGEST = 2**31 - 1  # of the database's column
MAX_SECONDS = 1e9


def _storable(text: str) -> str:
    if "\0" in text or not is_encodable(text):
        raise ValueError("must not have a NUL or half of a surrogate pair, which no database can store")
    return text


def _plain(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except RecursionError:
        raise ValueError("is nested too deep") from None
    return value


Text = Annotated[str, Field(max_length=500), AfterValidator(_storable)]
TrialToken = Annotated[str, Field(pattern="^[0-9a-f]{32}$", examples=["5f2b8c0e6a1d4f7e9b3c2d1a0f8e7d6c"])]
Tokens = Annotated[list[TrialToken], Field(min_length=1, max_length=MAX_TRIALS)]
TrialNumber = Annotated[int, Field(ge=0, le=BIGGEST)]
Lease = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = Finite | Literal["nan", "inf", "-inf"]
Point = Annotated[tuple[Finite, Number], Field(strict=False)]  # JSON has lists only
Params = Annotated[dict[str, Any], Field(examples=[{"lr": 0.01, "layers": 3}]), AfterValidator(_plain)]
Attributes = Annotated[dict[str, Any], Field(examples=[{"host": "gpu-7"}]), AfterValidator(_plain)]
Plain = Annotated[Any, AfterValidator(_plain)]


class Model(BaseModel):
    """Strict: text is no number, and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NewStudy(Model):
    """A study to create; the same settings again find it."""

    name: Annotated[str, Field(min_length=1, max_length=500, examples=["cnn"])]
    space: Annotated[
        dict[str, Any],
        Field(examples=[{"parameters": {"lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": True}}}]),
        AfterValidator(_plain),
    ]
    direction: Annotated[str, Field(max_length=100_000)] = "minimize"
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    strategy: Annotated[str, Field(max_length=500)] = "auto"
    key: TrialToken | None = None


class Ask(Model):
    """An ask for trials. The same tokens again get the same trials."""

    count: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = 1
    tokens: Tokens | None = None
    worker: Text | None = None
    lease: Lease | None = 60.0
    limit: Annotated[int, Field(ge=0, le=BIGGEST)] | None = None
    wait: Annotated[float, Field(ge=0, le=60)] = 20.0


class Withdraw(Model):
    """An ask that is given up."""

    tokens: Tokens
    worker: Text | None = None


class TrialName(Model):
    """A trial, by number and, where known, by token."""

    trial: TrialNumber
    token: TrialToken | None = None


class Tell(TrialName):
    """A result: a value, or why the trial failed, or that it was stopped."""

    value: Annotated[
        Any, Field(description="a number, or numbers by objective", examples=[0.31]), AfterValidator(_plain)
    ] = None
    gradient: Plain = None
    hessian: Plain = None
    noise: Plain = None
    constraints: Annotated[dict[str, Number], Field(examples=[{"memory": -2.5}])] | None = None
    failed: Annotated[str, Field(max_length=1_000_000)] | None = None
    stopped: bool = False
    mean: Finite | None = None
    std: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    attributes: Attributes | None = None
    params: Params | None = None
    worker: Text | None = None


class Report(TrialName):
    """Points of a learning curve: step and value."""

    reports: Annotated[list[Point], Field(max_length=MAX_TRIALS, examples=[[[1, 0.9], [2, 0.7]]])]
    decide: bool = False


class Heartbeat(Model):
    """The trials that a worker still runs."""

    tokens: Annotated[list[TrialToken], Field(max_length=MAX_TRIALS)]
    lease: Lease
    worker: Text | None = None


class TrialNames(Model):
    """Trials to release or cancel."""

    trials: Annotated[list[TrialName], Field(max_length=MAX_TRIALS)]


class Enqueue(Model):
    """Configurations to run before any suggestion."""

    params: Annotated[list[Params], Field(min_length=1, max_length=MAX_TRIALS)]
    attributes: Attributes | None = None
    tokens: Tokens | None = None


class Note(Model):
    """A note, of the study or of a trial; an empty text removes it."""

    text: Annotated[str, Field(max_length=LONGEST_NOTE, examples=["restarted with the new data"])]
    trial: TrialNumber | None = None


class Add(Model):
    """Finished trials of another source."""

    trials: Annotated[
        list[dict[str, Any]],
        Field(min_length=1, max_length=MAX_TRIALS, examples=[[{"params": {"lr": 0.01}, "value": 0.4}]]),
        AfterValidator(_plain),
    ]
    tokens: Tokens | None = None


# answers


class Answer(BaseModel):
    """An answer; it describes, it does not check."""


class Problem(Answer):
    """What went wrong, and what to do."""

    error: Annotated[str, Field(examples=["StudyNotFound"])]
    message: str
    remedy: str


class Status(Answer):
    """Whether the service works."""

    status: Annotated[str, Field(examples=["ok"])]


class Suggesting(Answer):
    """Who computes suggestions now, if anybody does, for how many seconds, and how many asks wait for one."""

    suggester: str | None
    seconds: float
    asks: int


class Study(Answer):
    """A study with its trials counted by state."""

    name: str
    key: str
    space: dict[str, Any]
    direction: str
    seed: int
    strategy: str
    created: str
    counts: Annotated[dict[str, int], Field(examples=[{"running": 3, "completed": 40}])]
    paused: bool
    suggesting: Suggesting
    note: str


class StudyInList(Answer):
    """A study in the list."""

    name: str
    key: str
    direction: str
    seed: int
    strategy: str
    created: str
    counts: dict[str, int]
    best: float | None
    paused: bool


class Trial(Answer):
    """A trial."""

    number: int
    state: Annotated[str, Field(examples=["completed"])]
    params: dict[str, Any]
    value: Any = None
    gradient: Any = None
    hessian: Any = None
    noise: Any = None
    constraints: dict[str, Any] | None = None
    error: str | None = None
    worker: str | None = None
    created: str | None = None
    started: str | None = None
    finished: str | None = None
    duration: float | None = None
    retry_of: int | None = None
    seen: Annotated[int | None, Field(description="the revision that its suggestion knows")] = None
    suggested_in: Annotated[float | None, Field(description="its share of the seconds of its batch")] = None
    batch: Annotated[list[int] | None, Field(description="first number and count of its batch")] = None
    attributes: dict[str, Any] = {}
    mean: Any = None
    std: Any = None
    curve: list[Any] = []
    token: str | None = None
    study: str
    revision: Annotated[int | None, Field(description="of its last change, in a list of changed trials")] = None


class Asked(Answer):
    """Trials to run. Where some are missing, ask again with the same tokens."""

    trials: list[Trial]
    tokens: list[str]
    missing: int
    exhausted: bool
    paused: bool


class Reported(Answer):
    """The trial's number, or null where it is unknown, and whether to stop it."""

    trial: int | None
    should_stop: bool


class Notes(Answer):
    """The note of the study, and those of trials by number."""

    study: str
    trials: Annotated[dict[str, str], Field(examples=[{"17": "look at this one"}])]


class Numbers(Answer):
    """The numbers of new trials."""

    numbers: list[int]


class Nothing(Answer):
    """An empty answer."""


class Trials(Answer):
    """Changed trials. ``revision`` is what the reader has now; where there is ``more``, read on from there."""

    revision: int
    trials: list[Trial]
    more: bool


class Reports(Answer):
    """New reports: number of the trial, step, value."""

    revision: int
    reports: list[list[Any]]
