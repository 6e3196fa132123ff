"""The automatic choice of a strategy: the first rule of an ordered table whose condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.initial_design import first_count, ready
from sonde.strategies.port import Distributions, Model, Strategy
from sonde.strategies.registry import resolve_strategy
from sonde.strategies.sobol import AroundCentre, CentreFirst
from sonde.strategies.waiting import waited_too_long
from sonde.trials import History


class Rule(NamedTuple):
    """A condition, the strategy to use where it holds, the reason for ``explain``, and numbers after it."""

    applies: Callable[[Space, History], bool]
    strategy: str
    reason: str
    numbers: Callable[[Space, History], str] = lambda space, history: ""


# observations up to which the exact Gaussian process is used; beyond, a suggestion of dngo costs less
# (benchmarks/dngo/speed) and its surrogate predicts better (benchmarks/dngo/ablation)
EXACT_GP_LIMIT = 1000

TABLE = (
    Rule(
        lambda space, history: history.has_gradients,
        "fobo",
        "gradients were told",  # benchmarks/fobo/regularisation: ahead of gp at 10, 20, 40 evaluations; and figure5
    ),
    Rule(
        lambda space, history: not ready(history, first_count(space)),
        "sobol",
        "there are too few results to learn from",
    ),
    Rule(
        lambda space, history: _few(history) and _unordered(space) and waited_too_long(space, history) is not None,
        "igo",
        # benchmarks/igo/waiting: by seconds ahead of gp, by calls level
        "all parameters are bits or categories and the trials are too quick to wait for a Gaussian process",
        lambda space, history: f" ({waited_too_long(space, history)})",
    ),
    Rule(
        lambda space, history: _few(history),
        "gp",
        f"there are at most {EXACT_GP_LIMIT} results, failures included, few enough for an exact Gaussian process",
    ),
    Rule(
        lambda space, history: _unordered(space),
        "igo",
        # benchmarks/igo/switch: as good as dngo on 64 bits from there on, at a thousandth of the time
        f"all parameters are bits or categories and there are more than {EXACT_GP_LIMIT} results",
    ),
    Rule(
        lambda space, history: True,
        "dngo",
        f"there are more than {EXACT_GP_LIMIT} results, failures included, too many for an exact Gaussian process",
    ),
)


def _unordered(space: Space) -> bool:
    """Whether every parameter is a bit or a category: it has no order, or at most two values."""
    return all(not parameter.ordered or parameter.size <= 2 for parameter in space.parameters.values())


def _few(history: History) -> bool:
    """Whether there are few enough results for an exact Gaussian process."""
    return len(history.arrivals) <= EXACT_GP_LIMIT


class Auto(Strategy):
    """Chooses a strategy by the table of rules."""

    name = "auto"

    def __init__(self) -> None:
        self._strategies: dict[str, Strategy] = {}
        self._one, self._several = AroundCentre(), CentreFirst()  # the initial designs of gp

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return the suggestions of the chosen strategy."""
        return self._strategy(space, history).suggest(space, history, count, key)

    def chosen(self, space: Space, history: History) -> str:
        """Name the chosen strategy and the reason."""
        rule = self._rule(space, history)
        return f"{rule.strategy}, because {rule.reason}{rule.numbers(space, history)}"

    def explain(self, space: Space, history: History) -> str:
        """Name the chosen strategy, the reason, and what that strategy does."""
        return f"{self.chosen(space, history)}: {self._strategy(space, history).explain(space, history)}"

    def model(self, space: Space, history: History) -> Model | None:
        """Return the surrogate of the chosen strategy."""
        return self._strategy(space, history).model(space, history)

    def learns_distributions(self, space: Space, history: History) -> bool:
        """Whether the chosen strategy has a distribution."""
        return self._strategy(space, history).learns_distributions(space, history)

    def distributions(self, space: Space, history: History, seed: int) -> Distributions | None:
        """Return how the distribution of the chosen strategy has moved."""
        return self._strategy(space, history).distributions(space, history, seed)

    def _strategy(self, space: Space, history: History) -> Strategy:
        name = self._rule(space, history).strategy
        if name == "sobol":
            return self._several if history.objectives.several else self._one
        if name not in self._strategies:  # kept for its caches
            self._strategies[name] = resolve_strategy(name)
        return self._strategies[name]

    def _rule(self, space: Space, history: History) -> Rule:
        return next(rule for rule in TABLE if rule.applies(space, history))
