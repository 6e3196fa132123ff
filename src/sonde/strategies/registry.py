"""Strategies by name. A strategy is imported on first use, so that nobody waits for a library that is not used."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from sonde.errors import OptionError
from sonde.strategies.port import Strategy

_WHERE = {
    "auto": ("sonde.strategies.auto", "Auto"),
    "random": ("sonde.strategies.random", "Random"),
    "dngo": ("sonde.strategies.bayesian.dngo", "DNGO"),
    "fobo": ("sonde.strategies.first_order.fobo", "FOBO"),
    "igo": ("sonde.strategies.natural_gradient.igo", "IGO"),
    "gp": ("sonde.strategies.bayesian.gp", "GP"),
    "sobol": ("sonde.strategies.sobol", "Sobol"),
    "dngo_paper": ("sonde.strategies.bayesian.paper_dngo", "PaperDNGO"),
    "fobo_paper": ("sonde.strategies.first_order.algorithm1", "Algorithm1"),
}


def resolve_strategy(strategy: Any) -> Strategy:
    """Return the strategy of a name, such as ``"gp"`` or ``"gp(batch='joint')"``, or of a class; an object as it is."""
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, type) and issubclass(strategy, Strategy):
        return strategy()
    name, options = _read(strategy) if isinstance(strategy, str) else (None, {})
    if name not in _WHERE:
        raise OptionError(f"strategy must be one of {', '.join(_WHERE)} or a Strategy object, got {strategy!r}")
    try:
        return make_strategy(name, **options)
    except TypeError as error:
        raise OptionError(f"strategy {strategy!r} has an option that it does not know: {error}") from None


def record(strategy: Strategy) -> str:
    """Return a strategy as text for storage, e.g. ``dngo(device='gpu')``; options that are objects are left out."""
    options = [f"{name}={value!r}" for name, value in strategy.options.items() if _readable(value)]
    return f"{strategy.name}({', '.join(options)})" if options else strategy.name


def _readable(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (SyntaxError, ValueError):
        return False


def _read(text: str) -> tuple[str | None, dict[str, Any]]:
    """Return the name and the options of a strategy as text; the name is None where the text is malformed."""
    if text.isidentifier():
        return text, {}
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            return call.func.id, {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError):
        pass
    return None, {}


def make_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of a name with these options."""
    module, kind = _WHERE[name]
    made: Strategy = getattr(import_module(module), kind)(**options)
    return made
