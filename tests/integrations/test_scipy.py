"""``sonde.scipy_minimize`` in the place of ``scipy.optimize.minimize``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeWarning, minimize, rosen, rosen_der

import sonde
from sonde.errors import OptionError
from sonde.integrations.scipy import scipy_minimize

BOX = [(-5.0, 5.0), (-5.0, 5.0)]
FEW: dict[str, Any] = {"maxfev": 12, "seed": 0}


def sphere(x: Any, centre: float = 1.0) -> float:
    return float(np.sum((x - centre) ** 2))


def test_the_result_is_scipys_and_has_the_study() -> None:
    found = sonde.scipy_minimize(sphere, [3.0, 3.0], bounds=BOX, options={"maxfev": 25, "seed": 0})
    theirs = minimize(sphere, [3.0, 3.0], bounds=BOX)
    assert set(theirs) - {"hess_inv"} - set(found) <= {"jac"}  # without gradients there is none
    assert type(found) is type(theirs)
    np.testing.assert_allclose(found.x, theirs.x, atol=1e-2)
    assert found.fun == sphere(found.x)
    assert (found.nfev, found.njev, found.success) == (25, 0, True)
    assert list(found.study.trials[0].params.values()) == [3.0, 3.0]


@pytest.mark.parametrize("joint", [True, False])
def test_gradients_are_learned_from(joint: bool) -> None:
    fun, jac = (lambda x: (rosen(x), rosen_der(x)), True) if joint else (rosen, rosen_der)
    found = scipy_minimize(fun, [-1.0, 1.0], jac=jac, bounds=[(-2, 2)] * 2, options={"maxfev": 40, "seed": 0})
    assert found.fun < 1e-3
    np.testing.assert_allclose(found.jac, rosen_der(found.x))
    assert found.njev == 40


def test_arguments_and_bounds_in_both_forms() -> None:
    found = [
        scipy_minimize(sphere, [0, 0], (2.0,), bounds=own, options=FEW).x for own in (BOX, Bounds([-5] * 2, [5] * 2))
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    "constraint",
    [
        LinearConstraint([[1.0, 1.0]], -np.inf, 0.5),
        [NonlinearConstraint(lambda x: x[0] + x[1], -np.inf, 0.5)],
        {"type": "ineq", "fun": lambda x, limit: limit - x[0] - x[1], "args": (0.5,)},
    ],
)
def test_inequalities_are_kept(constraint: Any) -> None:
    found = scipy_minimize(sphere, [3.0, 3.0], bounds=BOX, constraints=constraint, options={"maxfev": 25, "seed": 0})
    assert all(sum(trial.params.values()) <= 0.5 for trial in found.study.trials)
    assert found.fun == pytest.approx(2 * 0.75**2, abs=0.02)


def test_a_callback_sees_the_best_and_may_end_the_run() -> None:
    seen: list[float] = []

    def plain(x: Any) -> None:
        seen.append(sphere(x))

    scipy_minimize(sphere, [3.0, 3.0], bounds=BOX, callback=plain, options=FEW)
    assert len(seen) == 12
    assert seen == sorted(seen, reverse=True)

    def told(intermediate_result: Any) -> None:
        assert intermediate_result.fun == sphere(intermediate_result.x)
        raise StopIteration

    assert scipy_minimize(sphere, [3.0, 3.0], bounds=BOX, callback=told, options=FEW).nfev == 1


def test_failures_do_not_end_it_and_a_storage_goes_on(tmp_path: Path) -> None:
    def fails(x: Any) -> float:
        if x[0] > 2:
            raise ArithmeticError("no convergence")
        return sphere(x)

    options = {**FEW, "storage": tmp_path / "runs.db", "name": "sphere"}
    found = scipy_minimize(fails, [3.0, 3.0], bounds=BOX, options=options)
    assert found.study.trials[0].state == "failed"
    assert found.message == f"12 evaluations, {sum(t.state == 'failed' for t in found.study.trials)} of them failed"
    assert scipy_minimize(fails, [3.0, 3.0], bounds=BOX, options={**options, "maxfev": 15}).nfev == 15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": None}, r"needs bounds=\[\(low, high\)"),
        ({"bounds": [(-5, None), (0, 1)]}, "bounds must be finite numbers"),
        ({"x0": [1.0]}, "x0 must have one number for each of the 2 bounds"),
        ({"method": "L-BFGS-B"}, "is SciPy's; leave it out"),
        ({"constraints": {"type": "eq", "fun": sphere}}, "equality constraints leave no volume"),
        ({"constraints": 3}, "a constraint is a LinearConstraint"),
        ({"options": {"maxfev": 0}}, "maxfev must be a whole number"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, sonde.SondeError), match=message):
        scipy_minimize(sphere, **({"x0": [0.0, 0.0], "bounds": BOX, "options": FEW} | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"tol": 1e-6}, "tol=1e-06 is not used"), ({"jac": "2-point"}, "finite differences"),
     ({"options": {**FEW, "gtol": 1}}, "Unknown solver options: gtol")],
)  # fmt: skip
def test_what_is_not_used_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.warns(OptimizeWarning, match=message):
        scipy_minimize(sphere, **({"x0": [0.0, 0.0], "bounds": BOX, "options": FEW} | arguments))


def test_words_of_sondes_own_functions_get_a_hint() -> None:
    with pytest.raises(TypeError, match=r"scipy_minimize takes no seed=; write options=\{'seed': ...\}"):
        scipy_minimize(sphere, [0.0, 0.0], bounds=BOX, seed=0)  # type: ignore[call-arg]


def test_a_start_outside_is_moved_to_the_bounds() -> None:
    with pytest.warns(OptimizeWarning, match="x0 is outside of the bounds"):
        found = scipy_minimize(sphere, [9.0, 1.0], bounds=BOX, options=FEW)
    assert found.study.trials[0].params == {"x0": BOX[0][1], "x1": 1.0}


@pytest.mark.parametrize("joint", [True, False])
def test_a_value_may_be_an_array_of_one_number(joint: bool) -> None:
    def fun(x: Any) -> Any:
        value = np.array([sphere(x)])
        return (value, 2 * x) if joint else value

    found = scipy_minimize(fun, [3.0, 3.0], bounds=BOX, jac=joint, options=FEW)
    assert found.fun == pytest.approx(sphere(found.x))
