"""Strategies by name. A model-based one is imported when it is asked for, so that nobody waits for what is not used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
    return make_strategy(strategy)


def make_strategy(name: str, **options: Any) -> Strategy:
    """Return a strategy with options of its own."""
    module, kind = _WHERE[name]
    made: Strategy = getattr(import_module(module), kind)(**options)
    return made
