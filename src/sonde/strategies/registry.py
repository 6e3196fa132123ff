"""Strategies by name. A model-based one is imported when it is asked for, so that nobody waits for what is not used."""

from __future__ import annotations

from importlib import import_module

from sonde.errors import OptionError
from sonde.strategies.port import Strategy

_WHERE = {
    "auto": ("sonde.strategies.auto", "Auto"),
    "random": ("sonde.strategies.random", "Random"),
    "dngo": ("sonde.strategies.dngo", "DNGO"),
    "fobo": ("sonde.strategies.fobo", "FOBO"),
    "igo": ("sonde.strategies.igo", "IGO"),
    "gp": ("sonde.strategies.gp", "GP"),
    "sobol": ("sonde.strategies.sobol", "Sobol"),
}


def resolve_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy of a name; a strategy is itself."""
    if isinstance(strategy, Strategy):
        return strategy
    if not isinstance(strategy, str) or strategy not in _WHERE:
        raise OptionError(f"strategy must be one of {', '.join(_WHERE)} or a Strategy object, got {strategy!r}")
    module, name = _WHERE[strategy]
    made: Strategy = getattr(import_module(module), name)()
    return made
