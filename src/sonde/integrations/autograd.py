"""Derivatives for nothing: a function written in JAX or PyTorch becomes an objective that tells its gradient.

Differentiated are the Float parameters of a trial. Whole numbers, switches and categories reach the function as they
are, categories that happen to be floats included, and have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from importlib import import_module
from typing import Any

from sonde.errors import OptionError
from sonde.extras import require
from sonde.integrations.derivatives import Derivatives, Function
from sonde.trials import Evaluation, Trial

_WHERE = {
    "jax": ("sonde.integrations.by_jax", "ByJax"),
    "torch": ("sonde.integrations.by_torch", "ByTorch"),
}


def autograd(fun: Function, hessian: bool = False, *, framework: str = "jax") -> Autograd:
    """Make a function of the parameters an objective that tells its gradient.

    Parameters
    ----------
    fun
        Takes a dict of the parameters, returns one number. Its floats are traced by JAX in float64, or are PyTorch's
        float64 tensors; everything else comes as it is. With JAX it is compiled once for each set of discrete values
        (so it must be pure, as always there), or run as it is where it decides on values in Python.
    hessian
        Tell second derivatives too.
    framework
        ``"jax"`` or ``"torch"``: each needs its extra, ``pip install 'sonde[jax]'`` or ``'sonde[torch]'``.

    Example
    -------
    >>> bowl = sonde.autograd(lambda p: (p["x"] - 1) ** 2 + jnp.exp(p["y"]))
    >>> sonde.minimize(bowl, space, n_trials=20)
    """
    if not callable(fun):
        raise OptionError(f"autograd takes a function of the parameters, got {fun!r}")
    if not isinstance(hessian, bool):
        raise OptionError(f"hessian must be True or False, got {hessian!r}")
    if framework not in _WHERE:
        raise OptionError(f"framework must be one of {', '.join(_WHERE)}, got {framework!r}")
    require(framework, extra=framework)
    return Autograd(fun, hessian, framework)


class Autograd:
    """An objective with its derivatives; made by ``sonde.autograd``. It travels to workers without its caches."""

    def __init__(self, fun: Function, hessian: bool, framework: str) -> None:
        update_wrapper(self, fun)
        self._fun, self._hessian, self._framework = fun, hessian, framework
        self._derive: Callable[[Mapping[str, Any], tuple[str, ...]], Derivatives] | None = None

    def __call__(self, trial: Mapping[str, Any]) -> Evaluation:
        """Return value, gradient and, if asked for, Hessian at a trial or any dict of parameters."""
        if self._derive is None:  # here and not before: a process that only sends it to workers need not load JAX
            module, name = _WHERE[self._framework]
            self._derive = getattr(import_module(module), name)(self._fun, self._hessian)
        value, gradient, hessian = self._derive(dict(trial), _floats(trial))
        return Evaluation(value, gradient=gradient, hessian=hessian)

    def __repr__(self) -> str:
        return f"autograd({self._fun!r}, hessian={self._hessian}, framework={self._framework!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Autograd, (self._fun, self._hessian, self._framework)


def _floats(trial: Mapping[str, Any]) -> tuple[str, ...]:
    known = trial.floats if isinstance(trial, Trial) else None
    return tuple(name for name, value in trial.items() if isinstance(value, float) and (known is None or name in known))
