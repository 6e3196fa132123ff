"""A strategy is a function of the history: ``suggest(space, history, count, key)`` returns the next configurations.

A strategy may cache what it derives from the history, but its state is never the only copy. ``port`` is the interface,
``registry`` finds a strategy by name, ``auto`` chooses one. ``novelty`` keeps suggestions feasible and distinct.

``random`` and ``sobol`` use no model. ``bayesian`` fits a surrogate and maximises an acquisition function (``gp``,
``dngo``). ``first_order`` does so with gradients of the objective (``fobo``). ``natural_gradient`` adapts a
distribution over a discrete space (``igo``).
"""

from sonde.strategies.port import Strategy
from sonde.strategies.registry import record, resolve_strategy

__all__ = ["Strategy", "record", "resolve_strategy"]
