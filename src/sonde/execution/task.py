"""The task of a worker: run the objective on one trial and report.

A task is pickled by cloudpickle, so that lambdas, closures and functions of a notebook work in any executor. It is
pickled once, and unpickled once in each process. Threads and this process call the objective directly.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import cloudpickle

from sonde.errors import EndOfRun, EvaluationError, OptionError, Stopped
from sonde.space.parameters import as_float
from sonde.trials import Evaluation, Trial
from sonde.trials.outcome import describe, real

_unpacking = threading.Lock()


@dataclass(frozen=True)
class Report:
    """The result of a trial, or its error with the exception, or that it was stopped early."""

    result: Any = None  # a number, those of several objectives, or an Evaluation
    error: str | None = None
    exception: BaseException | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    stopped: bool = False


class Task:
    """The objective as a function that can be sent to another process and returns a ``Report``."""

    def __init__(self, objective: Callable[[Trial], Any] | None, packed: bytes = b"") -> None:
        self._given, self._received = objective, packed

    def __call__(self, trial: Trial) -> Report:
        """Run the objective; its exceptions, ``sys.exit`` too, come back as a report."""
        try:
            returned = self._objective(trial)  # unpickled here, so that a missing module is reported, too
            if returned is None and trial.told_to_stop:
                return Report(stopped=True, attributes=dict(trial.attributes))
            result = returned if isinstance(returned, Evaluation) else _numbers(returned)
            return Report(result, attributes=dict(trial.attributes))
        except (KeyboardInterrupt, EndOfRun):
            raise
        except Stopped:
            return Report(stopped=True, attributes=dict(trial.attributes))
        except EvaluationError as error:
            return Report(error=str(error), exception=error, attributes=dict(trial.attributes))
        except BaseException as error:
            text = "".join(traceback.format_exception(error)).rstrip()
            return Report(error=text, exception=_portable(error), attributes=dict(trial.attributes))

    def prepare(self) -> None:
        """Unpickle the objective, which may import much, before the time of a trial counts."""
        _ = self._objective

    def check_packing(self) -> None:
        """Raise ``OptionError`` if the objective cannot be sent to another process."""
        try:
            _ = self._packed
        except Exception as error:
            raise OptionError(
                f"the objective cannot be sent to worker processes ({type(error).__name__}: {error}); it must "
                "not use objects of this process only, such as open files and locks; or use workers=1 and no "
                "trial_timeout"
            ) from error

    @property
    def _objective(self) -> Callable[[Trial], Any]:
        if self._given is not None:
            return self._given
        with _unpacking:  # once, also where several threads begin with it
            return _unpack(self._received)

    @cached_property
    def _packed(self) -> bytes:
        packed: bytes = self._received or cloudpickle.dumps(self._given)
        return packed

    def __reduce__(self) -> tuple[Any, ...]:
        return Task, (None, self._packed)


def prepare(function: Callable[..., Any]) -> None:
    """Load in a new process what a function needs; the call that follows reports any error."""
    with suppress(Exception):
        getattr(function, "prepare", lambda: None)()


def _numbers(returned: Any) -> Any:
    """Return a number, or those of several objectives, without the libraries that they may come from."""
    if isinstance(returned, Mapping):
        return {str(name): real(each, f"the objective's value of {name!r}") for name, each in returned.items()}
    if isinstance(returned, tuple | list):
        if len(returned) == 2 and as_float(returned[1]) is None:
            raise EvaluationError("the objective returned a pair; if that is (value, gradient), give jac=True")
        each = [real(one, "each of several values that the objective returned") for one in returned]
        return tuple(each) if isinstance(returned, tuple) else each
    return real(returned, "the objective's return value")


@lru_cache(maxsize=4)
def _unpack(packed: bytes) -> Callable[[Trial], Any]:
    objective: Callable[[Trial], Any] = cloudpickle.loads(packed)
    return objective


def _portable(error: BaseException) -> BaseException:
    """Return the exception if it can be pickled, else a RuntimeError with its message."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        return RuntimeError(describe(error))
    return error
