"""The one small port that every method implements."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.trials import History

_ANY = object()


class Model(Protocol):
    """What a strategy believes about values, signed so that lower is better."""

    def predict(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return means and standard deviations (m,) of the values of rows (m, d)."""
        ...

    def leave_one_out(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return numbers of completed trials, and for each, given the others: mean, standard deviation, score."""
        ...


class Strategy(ABC):
    """Chooses what to try next.

    A strategy may keep caches, but the same space, history, count and key give the same rows in any process.
    """

    name: str
    _given: dict[str, Any]

    @abstractmethod
    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return ``count`` rows of the codec, feasible and distinct from each other and from the history.

        On a finite space that is nearly used up, as many as are left; none if it is used up.
        """

    @abstractmethod
    def explain(self, space: Space, history: History) -> str:
        """Say in a sentence what this strategy does here, and why."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _remembered(cls.__init__))  # noqa: B010

    def __repr__(self) -> str:
        given: dict[str, Any] = vars(self).get("_given", {})
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def model(self, space: Space, history: History) -> Model | None:
        """Return what is believed after a history with a completed trial; None where the strategy has no model."""
        return None


def _remembered(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that keeps the options that are not the default ones: ``GP(acquisition='ucb')``."""
    signature = inspect.signature(init)

    @wraps(init)
    def remembering(self: Strategy, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        given = dict(list(signature.bind(self, *args, **options).arguments.items())[1:])
        for known in signature.parameters.values():
            if known.kind is known.VAR_KEYWORD:
                given |= given.pop(known.name, {})
        defaults = {known.name: known.default for known in signature.parameters.values()}
        # The outermost constructor is the last to come here: it is the one that the user called.
        self._given = {name: value for name, value in given.items() if value is not defaults.get(name, _ANY)}

    return remembering
