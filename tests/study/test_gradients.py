"""``jac``: objectives with gradients, as in SciPy."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle
import numpy as np
import pytest

import sonde
from sonde.errors import OptionError
from sonde.study.gradients import with_jac

SPACE = sonde.Space(
    x=sonde.Float(-3, 5),
    rate=sonde.Float(1e-3, 10, log=True),
    n=sonde.Int(1, 4),
    kind=sonde.Categorical(["a", "b"]),
    extra=sonde.Float(0, 1, when={"kind": "b"}),
)
PLANE = sonde.Space(x=sonde.Float(-3, 5), rate=sonde.Float(1e-3, 10, log=True))


def value(trial: Any) -> float:
    return (trial["x"] - 1) ** 2 + math.log(trial["rate"]) ** 2 + trial.get("n", 0)


def gradient(trial: Any) -> dict[str, float]:
    return {"x": 2 * (trial["x"] - 1), "rate": 2 * math.log(trial["rate"]) / trial["rate"]}


def quiet(**options: Any) -> dict[str, Any]:
    return {"progress": False, "seed": 0, **options}


def check(trials: list[sonde.Trial]) -> None:
    """Values and gradients are those of the functions above."""
    for trial in trials:
        assert trial.value == pytest.approx(value(trial))
        assert trial.gradient == pytest.approx(gradient(trial))


PAIR = lambda trial: (value(trial), gradient(trial))  # noqa: E731  (a worker cannot import a test's module)
LIST = lambda trial: [value(trial), gradient(trial)]  # noqa: E731
ARRAY = lambda trial: (value(trial), np.array(list(gradient(trial).values())))  # noqa: E731


@pytest.mark.parametrize("find", [sonde.minimize, sonde.maximize])
def test_an_objective_returns_value_and_gradient(find: Any) -> None:
    result = find(PAIR, SPACE, 6, jac=True, **quiet())
    assert len(result.trials) == 6
    check(result.trials)


@pytest.mark.parametrize("objective", [LIST, ARRAY])
def test_a_list_is_a_pair_and_an_array_is_a_gradient(objective: Any) -> None:
    check(sonde.minimize(objective, PLANE, 5, jac=True, **quiet()).trials)


def test_the_gradient_may_be_a_second_function() -> None:
    result = sonde.minimize(value, SPACE, 4, jac=gradient, **quiet())
    check(result.trials)
    study = sonde.Study(SPACE, seed=0)
    study.optimize(value, 4, jac=gradient, progress=False)
    assert [trial.gradient for trial in study.trials] == [trial.gradient for trial in result.trials]


@pytest.mark.parametrize("jac", [False, None])
def test_without_jac_there_is_no_gradient(jac: Any) -> None:
    result = sonde.minimize(value, SPACE, 3, jac=jac, **quiet())
    assert [trial.gradient for trial in result.trials] == [None] * 3


@pytest.mark.parametrize("jac", [True, "beside"])
def test_gradients_come_from_worker_processes(jac: Any) -> None:
    # Closures: a worker cannot import a test's module.
    def value(trial: sonde.Trial) -> float:
        return float((trial["x"] - 1) ** 2)

    def gradient(trial: sonde.Trial) -> dict[str, float]:
        return {"x": 2 * (trial["x"] - 1)}

    objective = (lambda trial: (value(trial), gradient(trial))) if jac is True else value
    result = sonde.minimize(objective, PLANE, 6, jac=True if jac is True else gradient, workers=2, **quiet())
    for trial in result.trials:
        assert trial.gradient == pytest.approx({"x": 2 * (trial["x"] - 1)})


def test_gradients_come_from_any_executor() -> None:
    study = sonde.Study(SPACE, seed=0)
    with ThreadPoolExecutor(2) as pool:
        study.optimize(PAIR, 6, jac=True, executor=pool, progress=False)
    check(study.trials)


def test_a_wrapped_objective_can_be_sent() -> None:
    trial = {"x": 0.5, "rate": 2.0}
    for wrapped in (with_jac(value, gradient), with_jac(PAIR, True)):
        received = cloudpickle.loads(cloudpickle.dumps(wrapped))
        assert received(trial) == wrapped(trial)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(with_jac(math.sin, math.cos)))(0.5).gradient == math.cos(0.5)  # type: ignore[arg-type]


def test_gradients_may_be_missing_for_some_trials() -> None:
    result = sonde.minimize(
        lambda trial: (value(trial), gradient(trial) if trial["n"] > 2 else None), SPACE, 12, jac=True, **quiet()
    )
    told = {trial.number: trial.gradient is not None for trial in result.trials}
    assert told == {trial.number: trial["n"] > 2 for trial in result.trials}
    assert len(set(told.values())) == 2


def test_with_a_single_parameter_the_gradient_may_be_a_number() -> None:
    line = sonde.Space(x=sonde.Float(-3, 5))
    for gradient in (lambda x: 2 * x, lambda x: np.float64(2 * x), lambda x: [2 * x], lambda x: np.array(2 * x)):
        result = sonde.minimize(
            lambda trial, g=gradient: (trial["x"] ** 2, g(trial["x"])), line, 3, jac=True, **quiet()
        )
        assert [trial.gradient for trial in result.trials] == [{"x": 2 * trial["x"]} for trial in result.trials]


def test_noise_and_constraints_are_kept_with_the_gradient() -> None:
    noisy = lambda trial: sonde.Evaluation(value(trial), noise=0.1, constraints={"c": -1.0})  # noqa: E731
    for objective, jac in ((noisy, gradient), (lambda trial: (noisy(trial), gradient(trial)), True)):
        result = sonde.minimize(objective, SPACE, 3, jac=jac, **quiet())  # type: ignore[arg-type]
        check(result.trials)
        assert [(trial.noise, trial.constraints) for trial in result.trials] == [(0.1, {"c": -1.0})] * 3


def test_a_value_that_is_not_finite_is_a_failure_with_a_gradient_too() -> None:
    study = sonde.Study(SPACE, seed=0)
    study.optimize(lambda trial: (math.nan, gradient(trial)), 1, jac=True, progress=False)
    assert study.trials[0].error == "the value is nan"


@pytest.mark.parametrize(
    ("objective", "jac", "said"),
    [
        (value, True, "with jac=True the objective must return (value, gradient), got float"),
        (lambda trial: (1.0, {}, {}), True, "(value, gradient), got a tuple of 3"),
        (lambda trial: None, True, "(value, gradient), got NoneType"),
        (lambda trial: np.ones(2), True, "(value, gradient), got ndarray"),
        (
            lambda trial: sonde.Evaluation(1.0, gradient={"x": 1.0}),
            True,
            "leave out jac, the Evaluation has the gradient",
        ),
        (lambda trial: sonde.Evaluation(1.0, gradient={"x": 1.0}), gradient, "the gradient came twice"),
        (lambda trial: ("high", {"x": 1.0}), True, "the value must be a number, got str 'high'"),
        (lambda trial: (1.0, {"z": 1.0}), True, "gradient names 'z'"),
        (lambda trial: (1.0, {"kind": 1.0}), True, "a parameter without order; leave it out"),
        (lambda trial: (1.0, [1.0, 2.0]), True, "gradient has shape (2,), expected (5,)"),
        (
            lambda trial: (1.0, {"x": 1.0}),
            False,
            "the objective returned a pair; if that is (value, gradient), give jac",
        ),
    ],
)
def test_errors_say_what_is_wrong_with_the_returned_pair(objective: Any, jac: Any, said: str) -> None:
    study = sonde.Study(SPACE, seed=0)
    study.optimize(objective, 1, jac=jac, progress=False)
    assert said in str(study.trials[0].error)


def test_an_exception_of_jac_is_a_failed_trial() -> None:
    def broken(trial: sonde.Trial) -> None:
        raise FloatingPointError("the adjoint diverged")

    study = sonde.Study(SPACE, seed=0)
    study.optimize(value, 1, jac=broken, progress=False)
    assert "the adjoint diverged" in str(study.trials[0].error)
    with pytest.raises(FloatingPointError):
        study.optimize(value, 1, jac=broken, catch=(), progress=False)


@pytest.mark.parametrize("jac", ["2-point", 1, 0, {"x": 1.0}])
def test_jac_is_true_or_a_function(jac: Any) -> None:
    with pytest.raises(OptionError, match="jac must be True"):
        sonde.minimize(value, SPACE, 3, jac=jac, **quiet())
    with pytest.raises(OptionError, match="the objective must be a function"):
        sonde.minimize(3, SPACE, 3, jac=True, **quiet())  # type: ignore[arg-type]


def test_told_derivatives_come_back(database_url: str) -> None:
    with sonde.Study(SPACE, storage=database_url, name="told", seed=0) as study:
        for trial in study.ask(3):
            study.tell(trial, value(trial), gradient=gradient(trial), hessian={"x": {"x": 2.0, "rate": 0.0}})
        study.tell(study.ask(), 1.0, gradient={"rate": 3.0})  # of one parameter only
        study.tell(study.ask(), 1.0)
        study.optimize(lambda trial: sonde.Evaluation(value(trial), gradient=gradient(trial)), 1, progress=False)
    loaded = sonde.load(database_url, "told")
    check([*loaded.trials[:3], loaded.trials[5]])
    assert loaded.trials[0].hessian == {"x": {"x": 2.0, "rate": 0.0}, "rate": {"x": 0.0}}
    assert [trial.gradient for trial in loaded.trials[3:5]] == [{"rate": 3.0}, None]
    loaded.close()
