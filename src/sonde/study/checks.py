"""Checks of the arguments of the public interface; error messages say what to do."""

from __future__ import annotations

import math
import numbers
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from sonde.errors import OptionError
from sonde.execution import adapted
from sonde.space.parameters import as_float
from sonde.text import is_encodable
from sonde.trials.attributes import plain_attributes

LONGEST_NOTE = 100_000  # characters

DEFAULT_NAME = "default"  # on the command line, too


def count(value: Any, name: str, *, least: int = 1) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise OptionError(f"{name} must be a whole number, {least} or more, got {value!r}")
    return int(value)


def optional_count(value: Any, name: str) -> int | None:
    """Return a positive whole number or None."""
    return None if value is None else count(value, name)


def seconds(value: Any, name: str) -> float | None:
    """Return a positive number of seconds or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) > 0 or math.isnan(value):
        raise OptionError(f"{name} must be a positive number of seconds, or None, got {value!r}")
    return float(value)


def seed(value: Any) -> int:
    """Return the seed; None draws a random one."""
    if value is None:
        return secrets.randbits(48)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 0 <= int(value) < 2**63:
        raise OptionError(f"seed must be a whole number from 0 to 2**63 - 1, or None, got {value!r}")
    return int(value)


def name(value: Any, *, stored: bool = False) -> str:
    """Return the study's name; None is ``default`` in a database, and a new name in memory."""
    if value is None:
        return DEFAULT_NAME if stored else f"study-{secrets.token_hex(4)}"
    if not isinstance(value, str) or not value.strip() or "\0" in value or len(value) > 500:
        raise OptionError(f"name must be a non-empty string of at most 500 characters, got {value!r}")
    if not is_encodable(value):
        raise OptionError(f"name has a lone surrogate (half a character), which no database can store, got {value!r}")
    return value


def note(value: Any) -> str:
    """Return a note."""
    if not isinstance(value, str) or len(value) > LONGEST_NOTE:
        got = f"{len(value):,} characters" if isinstance(value, str) else repr(value)
        raise OptionError(f"a note must be a text of at most {LONGEST_NOTE:,} characters, got {got}")
    if "\0" in value or not is_encodable(value):
        raise OptionError("the note has a NUL or a lone surrogate (half a character), which no database can store")
    return value


def exceptions(value: Any) -> tuple[type[BaseException], ...]:
    """Return ``catch`` as a tuple of exception classes."""
    classes = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in classes):
        raise OptionError(f"catch must be an exception class or a tuple of them, got {value!r}")
    return classes


def attributes(value: Any) -> Mapping[str, Any]:
    """Return the attributes; None is an empty dict."""
    if value is not None and not isinstance(value, Mapping):
        raise OptionError(f"attributes must be a dict by name, got {value!r}")
    return plain_attributes(value or {})


def executor(value: Any) -> Any:
    """Return what calls are submitted to, or None."""
    if value is not None and not callable(getattr(value, "submit", None)):
        raise OptionError(
            "executor must have submit(function, *args), as the pools of concurrent.futures, a Dask Client and "
            f"sonde.execution.RayExecutor(), got {value!r}"
        )
    return adapted(value)


def callbacks(value: Any) -> list[Any]:
    """Return the callbacks as a list."""
    listed = list(value) if isinstance(value, Iterable) else [value] if value is not None else []
    for callback in listed:
        if not callable(callback):
            raise OptionError(f"callbacks take (study, trial); {callback!r} cannot be called")
    return listed


def stopping(value: Any) -> str:
    """Return ``stopping``."""
    if value not in ("auto", "none"):
        raise OptionError(f"stopping must be 'auto' or 'none', got {value!r}")
    return str(value)


def curve(value: Any) -> list[tuple[float, float]]:
    """Return a learning curve as pairs of step and value; None is an empty one."""
    try:
        pairs = [(float(step), float(level)) for step, level in (() if value is None else value)]
    except (TypeError, ValueError):
        raise OptionError(f"curve must be a list of pairs of step and value, got {value!r}") from None
    if not all(math.isfinite(step) for step, _ in pairs):
        raise OptionError("curve has a step that is not finite")
    return pairs


def predicted(mean: Any, std: Any) -> tuple[float, float] | None:
    """Return mean and deviation of the predicted final value of a stopped trial; None where it has none."""
    if mean is None or std is None:
        return None
    centre, deviation = as_float(mean), as_float(std)
    if (
        centre is None
        or deviation is None
        or not (math.isfinite(centre) and math.isfinite(deviation) and deviation >= 0)
    ):
        raise OptionError(
            f"mean and std of a stopped trial must be finite numbers, std zero or more, got {mean!r} and {std!r}"
        )
    return centre, deviation
