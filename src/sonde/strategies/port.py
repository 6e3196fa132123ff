"""The interface that every strategy implements."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.space.choices import same
from sonde.trials import History


class Model(Protocol):
    """The surrogate of a strategy, for values signed so that lower is better."""

    def predict(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return posterior means and standard deviations (m,) at rows (m, d)."""
        ...

    def leave_one_out(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return numbers of completed trials; for each, given the others: mean, standard deviation, z-score.

        The z-score is (mean - value) / standard deviation on the scale of the model: positive where a value is better
        than predicted.
        """
        ...


@runtime_checkable
class Draws(Protocol):
    """What a model may have as well: functions drawn from its posterior."""

    def functions(self, count: int, rng: np.random.Generator) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return functions drawn from the posterior, without noise: they take rows (m, d) to values (m, count)."""
        ...


@runtime_checkable
class KnowsFailures(Protocol):
    """What a model may have as well: the probability that a configuration works."""

    def success(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities (m,) that trials at rows (m, d) complete and meet the measured constraints."""
        ...


class Distributions(NamedTuple):
    """How a distribution over the configurations has moved: one entry for each kept generation.

    ``probabilities`` has (generations, choices) for each parameter that is a bit or a category. ``means`` and ``stds``
    have (generations,) for each other parameter, on its scale from 0 to 1.
    """

    generations: NDArray[np.int64]
    results: NDArray[np.int64]  # how many had arrived when the generation began
    probabilities: Mapping[str, NDArray[np.float64]]
    means: Mapping[str, NDArray[np.float64]]
    stds: Mapping[str, NDArray[np.float64]]


class Strategy(ABC):
    """Chooses the configurations to evaluate next.

    A strategy may keep caches, but the same space, history, count and key give the same rows in any process.
    """

    name: str
    _given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    @abstractmethod
    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return ``count`` rows of the codec: feasible, and distinct from each other and from the history.

        On a finite space that is nearly used up there are fewer rows, at the end none.
        """

    @abstractmethod
    def explain(self, space: Space, history: History) -> str:
        """Say in a sentence what this strategy does with this history, and why."""

    def chosen(self, space: Space, history: History) -> str:
        """Name the strategy that suggests next; it fits nothing, so that it is quick where ``explain`` is not."""
        return self.name

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Keep the arguments for ``repr`` and ``options``."""
        self = super().__new__(cls)
        self._given = (args, options)
        return self

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that differ from their defaults."""
        parameters = inspect.signature(type(self)).parameters
        args, options = self._given
        given = dict(zip(parameters, args, strict=False)) | options
        return {
            name: value
            for name, value in given.items()
            if name not in parameters or not same(value, parameters[name].default)
        }

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def model(self, space: Space, history: History) -> Model | None:
        """Return the surrogate fitted to a history with a completed trial; None where the strategy has none."""
        return None

    def learns_distributions(self, space: Space, history: History) -> bool:
        """Whether ``distributions`` returns some."""
        return False

    def distributions(self, space: Space, history: History, seed: int) -> Distributions | None:
        """Return how its distribution over the space has moved; None where the strategy learns none."""
        return None
