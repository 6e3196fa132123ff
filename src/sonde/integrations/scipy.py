"""Sonde in SciPy: ``scipy_minimize`` has the arguments and the result of ``scipy.optimize.minimize``."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, OptimizeResult, OptimizeWarning

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.hints import explains_keywords
from sonde.space import Space
from sonde.strategies import Strategy
from sonde.study import Study, checks
from sonde.study.best import best_value
from sonde.trials import Trial

OPTIONS = ("maxfev", "maxiter", "disp", "seed", "storage", "name", "workers")
METHODS_OF_SCIPY = {
    "nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa", "slsqp", "trust-constr",
    "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
}  # fmt: skip
WORDS = {name: f"write options={{'{name}': ...}}" for name in OPTIONS} | {"n_trials": "write options={'maxfev': ...}"}
UNUSED = "it says when to end; options={'maxfev': ...} does here"


@partial(explains_keywords, words=WORDS)
def scipy_minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | Strategy | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResult:
    """Minimize an expensive function of some numbers, with the arguments of ``scipy.optimize.minimize``.

    Parameters
    ----------
    fun, args
        The function ``fun(x, *args)`` of an array. Where it raises, or returns NaN, it has failed there, and the search
        goes on.
    x0
        What is evaluated first.
    method
        A strategy of Sonde; the default is ``"auto"``.
    jac
        A function that returns the gradient, or True if ``fun`` returns (value, gradient). Finite differences
        (``"2-point"``) are not made.
    hess, hessp, tol
        Not used; a warning says so.
    bounds
        Finite bounds of all variables, as pairs or ``scipy.optimize.Bounds``. They are needed.
    constraints
        Inequalities that are quick to evaluate: ``LinearConstraint``, ``NonlinearConstraint`` or dicts with the type
        ``"ineq"``. They are kept exactly.
    callback
        Called with the best x so far, or with an ``OptimizeResult`` if its argument is called
        ``intermediate_result``. ``StopIteration`` ends the run.
    options
        ``maxfev`` (or ``maxiter``): how many evaluations; the default is ten for each variable, at least 30. ``disp``,
        ``seed``, and ``storage``, ``name`` and ``workers`` as ``sonde.minimize`` has them.
    """
    space, start = _space(bounds, constraints), np.atleast_1d(np.asarray(x0, dtype=float))
    if start.shape != (len(space),):
        raise OptionError(f"x0 must have one number for each of the {len(space)} bounds, got an array {start.shape}")
    _warn_of_unused(jac=jac if isinstance(jac, str) else None, hess=hess, hessp=hessp, tol=tol)
    given = _options(options or {}, len(space))
    count, quiet = given.pop("count"), not given.pop("disp")
    workers = given.pop("workers")
    study = Study(space, strategy=_strategy(method), **given)
    first = dict(zip(space.names, _inside(start, space).tolist(), strict=True))
    if not len(study.history) and space.feasible(first):
        study.enqueue(first)
    study.optimize(
        partial(_scalar, fun, args), total_trials=count, workers=workers, progress=not quiet,
        jac=partial(_value, jac, args) if callable(jac) else bool(jac) and not isinstance(jac, str),
        callbacks=[] if callback is None else [partial(_call, callback)],
    )  # fmt: skip
    return _result(study, bool(jac) and not isinstance(jac, str))


def _value(fun: Callable[..., Any], args: tuple[Any, ...], x: Array) -> Any:
    return fun(x, *args)


def _scalar(fun: Callable[..., Any], args: tuple[Any, ...], x: Array) -> Any:
    """Return the value of the function, which may be an array of one number; with its gradient, if it returns both."""
    value, *gradient = returned if isinstance(returned := fun(x, *args), tuple) else (returned,)
    value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    return (value, *gradient) if gradient else value


def _inside(start: Array, space: Space) -> Array:
    """Return the start, moved to the bounds where it is outside of them."""
    ranges: list[Any] = [space[name] for name in space.names]
    inside = np.clip(start, [own.low for own in ranges], [own.high for own in ranges])
    if not np.array_equal(inside, start):
        warnings.warn("x0 is outside of the bounds, and was moved to them", OptimizeWarning, stacklevel=4)
    return inside


def _space(bounds: Any, constraints: Any) -> Space:
    """Return the box, restricted by the constraints."""
    if bounds is None:
        raise OptionError("scipy_minimize needs bounds=[(low, high), ...], as every search with few evaluations does")
    space = Space.of(bounds)
    if not space.is_vector:
        raise OptionError(f"bounds must be pairs (low, high) or scipy.optimize.Bounds, got {bounds!r}")
    many = isinstance(constraints, Iterable) and not isinstance(constraints, Mapping)
    for each in constraints if many else [constraints]:
        space = space.where(partial(_holds, *_inequality(each)))
    return space


def _inequality(constraint: Any) -> tuple[Callable[[Array], Any], Any, Any]:
    """Return a function, and its lower and upper limits."""
    if isinstance(constraint, LinearConstraint):
        limits = partial(_linear, np.atleast_2d(constraint.A)), constraint.lb, constraint.ub
    elif isinstance(constraint, NonlinearConstraint):
        limits = constraint.fun, constraint.lb, constraint.ub
    elif isinstance(constraint, Mapping) and {"type", "fun"} <= constraint.keys():
        upper = 0.0 if constraint["type"] == "eq" else np.inf
        limits = partial(_value, constraint["fun"], tuple(constraint.get("args", ()))), 0.0, upper
    else:
        raise OptionError(
            f"a constraint is a LinearConstraint, a NonlinearConstraint or a dict of type and fun, got {constraint!r}"
        )
    if np.any(np.equal(limits[1], limits[2])):
        raise OptionError("equality constraints leave no volume to search; express one variable by the others")
    return limits


def _linear(matrix: Array, x: Array) -> Array:
    return np.asarray(matrix @ x)


def _holds(function: Callable[[Array], Any], low: Any, high: Any, configuration: Mapping[str, Any]) -> bool:
    value = np.asarray(function(np.array(list(configuration.values()), dtype=float)))
    return bool(np.all((value >= low) & (value <= high)))


def _strategy(method: str | Strategy | None) -> str | Strategy:
    """Return the strategy that a method names."""
    if isinstance(method, str) and method.lower() in METHODS_OF_SCIPY:
        raise OptionError(f"method={method!r} is SciPy's; leave it out, or name a strategy of Sonde, such as 'gp'")
    return "auto" if method is None else method


def _warn_of_unused(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            why = {"tol": UNUSED, "jac": "finite differences cost evaluations"}.get(name, "gradients are, with jac=")
            warnings.warn(f"{name}={value!r} is not used: {why}", OptimizeWarning, stacklevel=3)


def _options(given: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return checked options with their defaults."""
    unknown = given.keys() - set(OPTIONS)
    if unknown:
        warnings.warn(f"Unknown solver options: {', '.join(sorted(unknown))}", OptimizeWarning, stacklevel=3)
    count = checks.optional_count(given.get("maxfev", given.get("maxiter")), "maxfev")
    known = {name: given[name] for name in ("seed", "storage", "name") if name in given}
    return known | {
        "count": max(30, 10 * size) if count is None else count, "disp": bool(given.get("disp", False)),
        "workers": given.get("workers"),
    }  # fmt: skip


def _call(callback: Callable[..., Any], study: Study, trial: Trial) -> None:
    """Call the callback with the best so far."""
    if not len(study.history.completed):
        return
    best = study.best(by="observed")
    x = np.array(list(best.params.values()))
    try:
        if "intermediate_result" in inspect.signature(callback).parameters:
            callback(intermediate_result=OptimizeResult(x=x, fun=best.value))
        else:
            callback(x)
    except StopIteration:
        study.stop()


def _result(study: Study, gradients: bool) -> OptimizeResult:
    """Return the result as SciPy has it, with the study."""
    best, history = study.best_trial, study.history
    known = {} if best.gradient is None else {"jac": np.array([best.gradient[name] for name in study.space.names])}
    count = len(history.completed) + len(history.failed)
    return OptimizeResult(
        x=np.array(list(best.params.values())), fun=best_value(best), success=True,
        status=0, message=f"{count} evaluations, {len(history.failed)} of them failed", nfev=count, nit=count,
        njev=count if gradients else 0, study=study, **known,
    )  # fmt: skip
