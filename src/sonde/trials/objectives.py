"""The objectives of a study: one that is minimized or maximized, or several by name.

The text of a header is ``"minimize"``, ``"maximize"``, or for several a JSON object such as
``{"loss": "minimize", "latency": {"direction": "minimize", "threshold": 20.0}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.space.parameters import as_float

DIRECTIONS = ("minimize", "maximize")
SHORT = {"min": "minimize", "max": "maximize"}
EXAMPLE = "objectives={'loss': 'minimize', 'latency': 'minimize'}"


@dataclass(frozen=True)
class Objective:
    """A number to minimize or maximize. A value worse than the threshold does not interest."""

    name: str = "value"
    direction: str = "minimize"
    threshold: float | None = None

    @property
    def sign(self) -> float:
        """What a value is multiplied by so that lower is better."""
        return 1.0 if self.direction == "minimize" else -1.0


@dataclass(frozen=True)
class Objectives:
    """The objectives of a study, in their order."""

    each: tuple[Objective, ...] = (Objective(),)

    @classmethod
    def of(
        cls, direction: Any = None, several: Any = None, thresholds: Mapping[str, float] | None = None
    ) -> Objectives:
        """Return checked objectives: one of a direction, or several by name or as a list of directions."""
        if several is None:
            if thresholds is not None:
                raise OptionError(f"thresholds= is for several objectives, such as {EXAMPLE}")
            return cls((Objective(direction=checked_direction("minimize" if direction is None else direction)),))
        if direction is not None:
            raise OptionError("give direction= for one objective or objectives= for several, not both")
        named = _named(several)
        limits = _thresholds(thresholds, named)
        return cls(tuple(Objective(name, own, limits.get(name)) for name, own in named.items()))

    @classmethod
    def from_text(cls, text: str) -> Objectives:
        """Return the objectives of a stored study."""
        if text in DIRECTIONS:
            return cls((Objective(direction=text),))
        stored = {
            name: own if isinstance(own, dict) else {"direction": own, "threshold": None}
            for name, own in json.loads(text).items()
        }
        return cls(tuple(Objective(name, own["direction"], own["threshold"]) for name, own in stored.items()))

    def __len__(self) -> int:
        return len(self.each)

    def __str__(self) -> str:
        if not self.several:
            return self.each[0].direction
        return json.dumps(
            {
                one.name: one.direction
                if one.threshold is None
                else {"direction": one.direction, "threshold": one.threshold}
                for one in self.each
            }
        )

    @property
    def described(self) -> str:
        """The objectives in words, for people: ``minimize loss, maximize accuracy``."""
        if not self.several:
            return self.each[0].direction
        return ", ".join(f"{one.direction} {one.name}" for one in self.each)

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self.each) > 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(one.name for one in self.each)

    @cached_property
    def signs(self) -> Array:
        """What the values (K,) are multiplied by so that lower is better."""
        return np.array([one.sign for one in self.each])

    @cached_property
    def thresholds(self) -> Array:
        """The thresholds (K,), multiplied by the signs; NaN where there is none."""
        limits = np.array([np.nan if one.threshold is None else one.threshold for one in self.each])
        return np.asarray(self.signs * limits)

    def index(self, name: Any, what: str = "objective") -> int:
        """Return the place of an objective by its name."""
        if name not in self.names:
            raise OptionError(f"there is no {what} {name!r}; the objectives are {', '.join(self.names)}")
        return self.names.index(name)


ONE = Objectives()


def checked_direction(value: Any, what: str = "direction") -> str:
    """Return a direction; ``min`` and ``max`` are short for it."""
    known = SHORT.get(value, value) if isinstance(value, str) else value
    if known not in DIRECTIONS:
        raise OptionError(f"{what} must be 'minimize' or 'maximize', got {value!r}")
    return str(known)


def _named(several: Any) -> dict[str, str]:
    if isinstance(several, Mapping):
        named = dict(several)
    elif isinstance(several, Sequence) and not isinstance(several, str):
        named = {str(i): own for i, own in enumerate(several)}
    else:
        raise OptionError(f"objectives must be a dict by name or a list of directions, as {EXAMPLE}, got {several!r}")
    if len(named) < 2:
        raise OptionError(f"objectives needs two or more, such as {EXAMPLE}, got {several!r}; for one, give direction=")
    for name in named:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 100:
            raise OptionError(
                f"the name of an objective must be a printable text of at most 100 characters, got {name!r}"
            )
    return {name: checked_direction(own, f"the direction of {name!r}") for name, own in named.items()}


def _thresholds(thresholds: Any, named: Mapping[str, str]) -> dict[str, float]:
    if thresholds is not None and not isinstance(thresholds, Mapping):
        raise OptionError(f"thresholds must be a dict of numbers by objective ({', '.join(named)}), got {thresholds!r}")
    known = {}
    for name, limit in (thresholds or {}).items():
        number = as_float(limit)
        if name not in named:
            raise OptionError(f"thresholds names {name!r}; the objectives are {', '.join(named)}")
        if number is None or not np.isfinite(number):
            raise OptionError(f"the threshold of {name!r} must be a finite number, got {limit!r}")
        known[name] = number
    return known
