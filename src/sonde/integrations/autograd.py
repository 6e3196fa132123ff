"""Automatic differentiation: a function written in JAX or PyTorch becomes an objective that reports its gradient.

The Float parameters of a trial are differentiated. Int, Bool and Categorical parameters reach the function unchanged
and have no derivative, even if a category is a float.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from importlib import import_module
from typing import Any

from sonde.errors import OptionError
from sonde.extras import require
from sonde.integrations.derivatives import UserFunction
from sonde.trials import Evaluation

_BACKENDS = {
    "jax": ("sonde.integrations.by_jax", "ByJax"),
    "torch": ("sonde.integrations.by_torch", "ByTorch"),
}


def autograd(fun: UserFunction, hessian: bool = False, *, framework: str = "jax") -> Autograd:
    """Return an objective that reports the gradient of a function of the parameters.

    Parameters
    ----------
    fun
        Takes a dict of the parameters and returns one number. The floats are JAX tracers in float64 or PyTorch
        float64 tensors; all other values are unchanged. With JAX the function must be pure: it is compiled once for
        each combination of discrete values. If it branches on traced values in Python, it runs without compilation.
    hessian
        Report second derivatives too.
    framework
        ``"jax"`` or ``"torch"``: each needs its extra, ``pip install 'sonde[jax]'`` or ``'sonde[torch]'``.

    Example
    -------
    >>> objective = sonde.autograd(lambda p: (p["x"] - 1) ** 2 + jnp.exp(p["y"]))
    >>> sonde.minimize(objective, space, n_trials=20)
    """
    if not callable(fun):
        raise OptionError(f"autograd takes a function of the parameters, got {fun!r}")
    if not isinstance(hessian, bool):
        raise OptionError(f"hessian must be True or False, got {hessian!r}")
    if framework not in _BACKENDS:
        raise OptionError(f"framework must be one of {', '.join(_BACKENDS)}, got {framework!r}")
    require(framework, extra=framework)
    return Autograd(fun, hessian, framework)


class Autograd:
    """An objective with derivatives, made by ``sonde.autograd``. Pickling it leaves out the compiled programs."""

    def __init__(self, fun: UserFunction, hessian: bool, framework: str) -> None:
        update_wrapper(self, fun)
        self._fun, self._hessian, self._framework = fun, hessian, framework
        self._derive: Callable[[Mapping[str, Any], tuple[str, ...]], Evaluation] | None = None

    def __call__(self, trial: Mapping[str, Any]) -> Evaluation:
        """Return value, gradient and, if asked for, Hessian at a trial or any dict of parameters."""
        if self._derive is None:  # not earlier: a process that only sends it to workers need not import JAX
            module, name = _BACKENDS[self._framework]
            self._derive = getattr(import_module(module), name)(self._fun, self._hessian)
        return self._derive(dict(trial), _floats(trial))

    def __repr__(self) -> str:
        return f"autograd({self._fun!r}, hessian={self._hessian}, framework={self._framework!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Autograd, (self._fun, self._hessian, self._framework)


def _floats(trial: Mapping[str, Any]) -> tuple[str, ...]:
    declared = getattr(trial, "declared", None)
    return tuple(
        name
        for name, value in trial.items()
        if isinstance(value, float) and (declared is None or declared[name][0] == "Float")
    )
