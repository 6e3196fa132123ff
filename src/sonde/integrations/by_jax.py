"""Derivatives by JAX: in float64, compiled where that is possible.

Discrete values are constants of a compiled program, so they may select branches and shapes. There is one program for
each combination of them. A function that needs the concrete value of a traced float (``if p["x"] > 0``) cannot be
compiled. It runs operation by operation, which gives the derivatives along the branch that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp

from sonde.integrations.derivatives import UserFunction, not_a_number, symmetric
from sonde.trials import Evaluation

MAX_PROGRAMS = 64  # compiled programs need memory; the oldest is dropped first

UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,  # if and while on values, int(x)
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerArrayConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)

Program = Callable[[dict[str, float]], tuple[Any, Any, Any]]


class ByJax:
    """Differentiates one function with JAX."""

    def __init__(self, fun: UserFunction, hessian: bool) -> None:
        self._fun, self._hessian = fun, hessian
        self._programs: dict[tuple[tuple[str, ...], bytes], Program] = {}

    def __call__(self, params: Mapping[str, Any], names: tuple[str, ...]) -> Evaluation:
        """Return value and derivatives with respect to the named floats."""
        # Python floats are weakly typed: next to the function's own arrays they take the precision of those.
        floats = {name: float(params[name]) for name in names}
        with jax.enable_x64(True):
            if not names:
                return Evaluation(float(_number(self._fun(dict(params)))))
            value, gradient, hessian = self._run(params, floats)
        by_name = {name: float(gradient[name]) for name in names}
        second = symmetric(hessian, names) if self._hessian else None
        return Evaluation(float(value), gradient=by_name, hessian=second)

    def _run(self, params: Mapping[str, Any], floats: dict[str, float]) -> tuple[Any, Any, Any]:
        uncompiled = self._program(params)
        key = _key(params, floats)
        if key is None:
            return uncompiled(floats)
        try:
            return self._cached(key, jax.jit(uncompiled))(floats)
        except UNTRACEABLE:
            self._programs[key] = uncompiled
        return uncompiled(floats)

    def _program(self, params: Mapping[str, Any]) -> Program:
        value_and_gradient = jax.value_and_grad(lambda floats: _number(self._fun({**params, **floats})))

        def first(floats: dict[str, float]) -> tuple[Any, Any, Any]:
            return *value_and_gradient(floats), None

        def second(floats: dict[str, float]) -> tuple[Any, Any, Any]:
            def gradient_with_value(floats: dict[str, float]) -> tuple[Any, Any]:
                value, gradient = value_and_gradient(floats)
                return gradient, (value, gradient)

            hessian, (value, gradient) = jax.jacfwd(gradient_with_value, has_aux=True)(floats)
            return value, gradient, hessian

        return second if self._hessian else first

    def _cached(self, key: tuple[tuple[str, ...], bytes], program: Program) -> Program:
        if key not in self._programs:
            for oldest in list(self._programs)[: 1 - MAX_PROGRAMS]:
                self._programs.pop(oldest, None)
            self._programs[key] = program
        return self._programs[key]


def _key(params: Mapping[str, Any], floats: Mapping[str, float]) -> tuple[tuple[str, ...], bytes] | None:
    """Return the cache key of a program: float names and pickled discrete values; None if they cannot be pickled."""
    try:
        return tuple(floats), cloudpickle.dumps([(name, params[name]) for name in params if name not in floats])
    except Exception:
        return None


def _number(result: Any) -> Any:
    expected = "one real number (noise and constraints can only be reported by an objective without autograd)"
    try:
        array = None if result is None else jnp.asarray(result)
    except (TypeError, ValueError):
        array = None
    real = array is not None and any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer))
    if array is None or not real or array.shape:
        raise not_a_number(result, expected)
    return array.astype(float)
