"""Objectives with gradients in SciPy's form, ``jac``.

Both forms become objectives that return an ``Evaluation``, and that can be sent to workers. What they call are
functions of the trial (see ``calling``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sonde.errors import EvaluationError, OptionError
from sonde.trials import Evaluation, Trial

Objective = Callable[[Trial], Any]


def with_jac(objective: Objective, jac: bool | Objective | None) -> Objective:
    """Return an objective that returns its gradient, too, as ``jac`` says."""
    if jac is None or jac is False:
        return objective
    if jac is True:
        return partial(_with_gradient, objective)
    if not callable(jac):
        raise OptionError(f"jac must be True (the objective returns value and gradient) or a function, got {jac!r}")
    return partial(_separate_gradient, objective, jac)


def _with_gradient(objective: Objective, trial: Trial) -> Evaluation:
    """Return the evaluation of an objective that returns (value, gradient)."""
    returned = objective(trial)
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        kind = type(returned).__name__
        got = f"a {kind} of {len(returned)}" if isinstance(returned, tuple | list) else kind
        hint = "; leave out jac, the Evaluation has the gradient" if isinstance(returned, Evaluation) else ""
        raise EvaluationError(f"with jac=True the objective must return (value, gradient), got {got}{hint}")
    return _joined(*returned)


def _separate_gradient(objective: Objective, jac: Objective, trial: Trial) -> Evaluation:
    """Return the evaluation of an objective whose gradient is a second function."""
    return _joined(objective(trial), jac(trial))


def _joined(value: Any, gradient: Any) -> Evaluation:
    """Return value and gradient as an evaluation; None is an unknown gradient."""
    evaluation = value if isinstance(value, Evaluation) else Evaluation(value)
    if evaluation.gradient is not None:
        raise EvaluationError("the gradient came twice, in the Evaluation and by jac; leave out jac")
    return replace(evaluation, gradient=gradient)
