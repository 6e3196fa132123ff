"""Derivatives by JAX: in float64, compiled where that is possible.

The discrete values are constants of a program, so that they may choose branches and shapes: one program for each set
of them. A function that asks for the number behind a traced float (``if p["x"] > 0``) cannot be compiled; it is run op
by op, which gives the derivatives along the branch it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp

from sonde.integrations.derivatives import Derivatives, Function, no_number, symmetric

MAX_PROGRAMS = 64  # compiled programs are not small; the oldest goes first

UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,  # if and while on values, int(x)
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerArrayConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)

Program = Callable[[dict[str, float]], tuple[Any, Any, Any]]


class ByJax:
    """Differentiates one function."""

    def __init__(self, fun: Function, hessian: bool) -> None:
        self._fun, self._hessian = fun, hessian
        self._programs: dict[tuple[tuple[str, ...], bytes], Program] = {}

    def __call__(self, params: Mapping[str, Any], names: tuple[str, ...]) -> Derivatives:
        """Return value and derivatives with respect to the named floats."""
        # Python's floats: beside arrays of the function's own they give way in precision, as they would without us.
        floats = {name: float(params[name]) for name in names}
        with jax.enable_x64(True):
            if not names:
                return Derivatives(float(_number(self._fun(dict(params)))))
            value, gradient, hessian = self._run(params, floats)
        slopes = {name: float(gradient[name]) for name in names}
        return Derivatives(float(value), slopes, symmetric(hessian, names) if self._hessian else None)

    def _run(self, params: Mapping[str, Any], floats: dict[str, float]) -> tuple[Any, Any, Any]:
        as_it_is = self._program(params)
        key = _key(params, floats)
        if key is None:
            return as_it_is(floats)
        try:
            return self._kept(key, jax.jit(as_it_is))(floats)
        except UNTRACEABLE:
            self._programs[key] = as_it_is
        return as_it_is(floats)

    def _program(self, params: Mapping[str, Any]) -> Program:
        slopes = jax.value_and_grad(lambda floats: _number(self._fun({**params, **floats})))

        def first(floats: dict[str, float]) -> tuple[Any, Any, Any]:
            return *slopes(floats), None

        def second(floats: dict[str, float]) -> tuple[Any, Any, Any]:
            def slopes_and_all(floats: dict[str, float]) -> tuple[Any, Any]:
                value, gradient = slopes(floats)
                return gradient, (value, gradient)

            hessian, (value, gradient) = jax.jacfwd(slopes_and_all, has_aux=True)(floats)
            return value, gradient, hessian

        return second if self._hessian else first

    def _kept(self, key: tuple[tuple[str, ...], bytes], program: Program) -> Program:
        if key not in self._programs:
            for oldest in list(self._programs)[: 1 - MAX_PROGRAMS]:
                self._programs.pop(oldest, None)
            self._programs[key] = program
        return self._programs[key]


def _key(params: Mapping[str, Any], floats: Mapping[str, float]) -> tuple[tuple[str, ...], bytes] | None:
    """Return what a program is for: equal bytes are equal values, of whatever type. None for what cannot be packed."""
    try:
        return tuple(floats), cloudpickle.dumps([(name, params[name]) for name in params if name not in floats])
    except Exception:
        return None


def _number(result: Any) -> Any:
    expected = "one real number (noise and constraints can only be told by an objective without autograd)"
    try:
        array = None if result is None else jnp.asarray(result)
    except (TypeError, ValueError):
        array = None
    real = array is not None and any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer))
    if array is None or not real or array.shape:
        raise no_number(result, expected)
    return array.astype(float)
