"""The automatic choice: an ordered table of (condition, strategy, reason). The first row that applies is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.initial_design import first_count, ready
from sonde.strategies.port import Model, Strategy
from sonde.strategies.registry import resolve_strategy
from sonde.trials import History


class Row(NamedTuple):
    """One line of the table."""

    applies: Callable[[Space, History], bool]
    strategy: str
    reason: str


MANY = 1000  # benchmarks/dngo/speed: beyond, a suggestion of dngo costs less; benchmarks/dngo/ablation: and knows more

TABLE = (
    Row(
        lambda space, history: history.has_gradients,
        "fobo",
        "gradients were told",  # benchmarks/fobo/regularisation: ahead of gp at 10, 20, 40 evaluations; and figure5
    ),
    Row(
        lambda space, history: not ready(history, first_count(space)),
        "sobol",
        "there are too few results to learn from",
    ),
    Row(
        lambda space, history: len(history.arrivals) <= MANY,
        "gp",
        f"there are at most {MANY} results, failures included, few enough for an exact model of them",
    ),
    Row(
        lambda space, history: _unordered(space),
        "igo",
        # benchmarks/igo/switch: on 64 bits even with dngo from there on, at a thousandth of the time
        f"all parameters are bits or categories and there are more than {MANY} results",
    ),
    Row(
        lambda space, history: True,
        "dngo",
        f"there are more than {MANY} results, failures included, too many for an exact model of them",
    ),
)


def _unordered(space: Space) -> bool:
    """Whether there is nothing to slide along: every parameter has no order, or two values."""
    return all(not parameter.ordered or parameter.size <= 2 for parameter in space.parameters.values())


class Auto(Strategy):
    """Chooses by the table."""

    name = "auto"

    def __init__(self) -> None:
        self._made: dict[str, Strategy] = {}

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Let the strategy that applies suggest."""
        return self._strategy(space, history).suggest(space, history, count, key)

    def explain(self, space: Space, history: History) -> str:
        """Name the strategy and the reason."""
        strategy, reason = self._strategy(space, history), self._row(space, history).reason
        return f"{strategy.name}, because {reason}: {strategy.explain(space, history)}"

    def model(self, space: Space, history: History) -> Model | None:
        """Return the model of the strategy that applies."""
        return self._strategy(space, history).model(space, history)

    def _strategy(self, space: Space, history: History) -> Strategy:
        name = self._row(space, history).strategy
        if name not in self._made:  # kept, because a strategy may have caches
            self._made[name] = resolve_strategy(name)
        return self._made[name]

    def _row(self, space: Space, history: History) -> Row:
        return next(row for row in TABLE if row.applies(space, history))
