"""``sonde.autograd``: what holds for both libraries, then what is particular to each."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import sonde
from sonde.errors import EvaluationError, MissingExtra, OptionError
from sonde.integrations import by_jax

FRAMEWORKS = {"jax": jnp, "torch": torch}
SPACE = sonde.Space(
    x=sonde.Float(-3, 5),
    rate=sonde.Float(1e-3, 10, log=True),
    n=sonde.Int(1, 4),
    on=sonde.Bool(),
    dropout=sonde.Categorical([0.1, 0.5]),
    kind=sonde.Categorical(["a", "b"]),
    extra=sonde.Float(0, 1, when={"kind": "b"}),
)
POINT = {"x": 0.5, "rate": 0.2, "n": 3, "on": True, "kind": "b", "extra": 0.25}


def smooth(np_: Any) -> Any:
    """Return a function of all parameters that uses the discrete ones where only plain Python values work."""

    def function(p: Mapping[str, Any]) -> Any:
        weight = {"a": 1.0, "b": 2.0}[p["kind"]] + sum(range(p["n"])) + {0.1: 1.0, 0.5: 2.0}[p.get("dropout", 0.1)]
        extra = np_.sin(3 * p["extra"]) * p["x"] if "extra" in p else 0.0
        square = (p["x"] - 1) ** 2 if p["on"] else np_.exp(p["x"])
        return weight * square + np_.log(p["rate"]) ** 2 * p["x"] + extra

    return function


def gradient_of_smooth(p: Mapping[str, Any]) -> dict[str, float]:
    """Return the gradient of ``smooth``, derived by hand."""
    weight = {"a": 1.0, "b": 2.0}[p["kind"]] + sum(range(p["n"])) + {0.1: 1.0, 0.5: 2.0}[p.get("dropout", 0.1)]
    log = math.log(p["rate"])
    found = {
        "x": weight * (2 * (p["x"] - 1) if p["on"] else math.exp(p["x"])) + log**2,
        "rate": 2 * log / p["rate"] * p["x"],
    }
    if "extra" in p:
        found["x"] += math.sin(3 * p["extra"])
        found["extra"] = 3 * math.cos(3 * p["extra"]) * p["x"]
    return found


@pytest.fixture(params=list(FRAMEWORKS))
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def study_of(objective: Any, count: int, direction: str = "minimize", **options: Any) -> sonde.Study:
    study = sonde.Study(SPACE, seed=0, strategy="sobol", direction=direction)
    study.optimize(objective, count, progress=False, **options)
    assert [trial.error for trial in study.trials] == [None] * count
    return study


def test_values_and_gradients(framework: str) -> None:
    evaluation = sonde.autograd(smooth(FRAMEWORKS[framework]), framework=framework)(POINT)
    assert type(evaluation.value) is float
    assert evaluation.value == pytest.approx(smooth(np)(POINT), rel=1e-14)
    assert evaluation.gradient == pytest.approx(gradient_of_smooth(POINT), rel=1e-13)
    assert evaluation.hessian is None


def test_every_trial_of_a_mixed_space_has_the_gradient_of_its_floats(framework: str) -> None:
    study = study_of(sonde.autograd(smooth(FRAMEWORKS[framework]), framework=framework), 24)
    for trial in study.trials:
        assert trial.value == pytest.approx(smooth(np)(trial))
        assert trial.gradient == pytest.approx(gradient_of_smooth(trial), rel=1e-12)
    combinations = {(trial["on"], trial["dropout"], trial["kind"], len(trial.gradient or {})) for trial in study.trials}
    assert len(combinations) == 8


def test_discrete_values_reach_the_function_unchanged(framework: str) -> None:
    received: list[dict[str, type]] = []

    def function(p: Mapping[str, Any]) -> Any:
        received.append({name: type(value) for name, value in p.items() if name not in ("x", "rate", "extra")})
        assert list(p) == [name for name in SPACE.names if name in p]
        return p["x"] ** 2

    study_of(sonde.autograd(function, framework=framework), 6)
    assert received[0] == {"n": int, "on": bool, "dropout": float, "kind": str}


def test_hessians_are_right_and_symmetric(framework: str) -> None:
    evaluation = sonde.autograd(smooth(FRAMEWORKS[framework]), hessian=True, framework=framework)(POINT)
    assert evaluation.gradient == pytest.approx(gradient_of_smooth(POINT), rel=1e-13)
    hessian: Any = evaluation.hessian
    step = 1e-6
    for one in ("x", "rate", "extra"):
        up = gradient_of_smooth({**POINT, one: POINT[one] + step})  # type: ignore[operator]
        down = gradient_of_smooth({**POINT, one: POINT[one] - step})  # type: ignore[operator]
        for other in ("x", "rate", "extra"):
            assert hessian[one][other] == pytest.approx((up[other] - down[other]) / (2 * step), rel=1e-6, abs=1e-6)
            assert hessian[one][other] == hessian[other][one]


@cache
def study_with_hessians(framework: str, direction: str) -> sonde.Study:
    objective = sonde.autograd(smooth(FRAMEWORKS[framework]), hessian=True, framework=framework)
    return study_of(objective, 8, direction)


def test_hessians_are_stored(framework: str) -> None:
    for trial in study_with_hessians(framework, "minimize").trials:
        names = [name for name in ("x", "rate", "extra") if name in trial]
        assert trial.hessian is not None
        assert {name: list(line) for name, line in trial.hessian.items()} == dict.fromkeys(names, names)
        assert trial.hessian["x"]["rate"] == pytest.approx(2 * math.log(trial["rate"]) / trial["rate"])


def test_a_linear_function_has_no_curvature(framework: str) -> None:
    flat = sonde.autograd(lambda p: 3 * p["x"] + p["y"] * 2, True, framework=framework)({"x": 1.0, "y": 2.0})
    assert flat == sonde.Evaluation(
        7.0, gradient={"x": 3.0, "y": 2.0}, hessian={"x": {"x": 0.0, "y": 0.0}, "y": {"x": 0.0, "y": 0.0}}
    )


@pytest.mark.parametrize(
    ("framework", "direction"), [("jax", "minimize"), ("torch", "minimize"), ("torch", "maximize")]
)
def test_unit_cube_gradients_follow_the_chain_rule(framework: str, direction: str) -> None:
    function = smooth(np)
    study = study_with_hessians(framework, direction)
    history, names = study.history, SPACE.names
    numbers = np.arange(8)
    gradients, hessians = history.unit_gradients(numbers), history.unit_hessians(numbers)
    sign, step = (1 if direction == "minimize" else -1), 1e-5

    def at(unit: Any) -> float:
        return sign * float(function(SPACE.codec.configuration(SPACE.codec.decode(unit[None])[0])))

    for trial, unit, gradient, hessian in zip(study.trials, history.units, gradients, hessians, strict=True):
        floats = [names.index(name) for name in ("x", "rate", "extra") if name in trial]
        assert np.flatnonzero(~np.isnan(gradient)).tolist() == floats
        for column in floats:
            move = step * np.eye(len(names))[column]
            first = (at(unit + move) - at(unit - move)) / (2 * step)
            second = (at(unit + move) - 2 * at(unit) + at(unit - move)) / step**2
            assert gradient[column] == pytest.approx(first, rel=1e-5, abs=1e-5)
            assert hessian[column, column] == pytest.approx(second, rel=1e-3, abs=1e-2)


def test_worker_processes_return_the_same_derivatives(framework: str) -> None:
    numpy_like = "jax.numpy" if framework == "jax" else "torch"

    @partial(sonde.autograd, hessian=True, framework=framework)
    def objective(p: Mapping[str, Any]) -> Any:  # a closure: a worker cannot import a test's module
        import importlib

        np_ = importlib.import_module(numpy_like)
        return np_.exp(0.1 * p["x"]) * p["rate"] + p["n"]

    study = study_of(objective, 4, workers=2)
    for trial in study.trials:
        alone = objective(trial)
        assert (trial.value, trial.gradient) == (alone.value, pytest.approx(alone.gradient))
        assert trial.hessian == alone.hessian


def test_pickles_leave_out_the_compiled_programs(framework: str) -> None:
    objective = sonde.autograd(smooth(FRAMEWORKS[framework]), framework=framework)
    before = cloudpickle.dumps(objective)
    expected = objective(POINT)
    assert len(cloudpickle.dumps(objective)) == len(before)
    assert cloudpickle.loads(before)(POINT) == expected
    plain = sonde.autograd(abs, framework=framework)  # type: ignore[arg-type]
    assert repr(pickle.loads(pickle.dumps(plain))) == repr(plain)


def test_it_is_a_decorator() -> None:
    @sonde.autograd
    def square(p: Mapping[str, Any]) -> Any:
        """Square."""
        return p["x"] ** 2

    assert square({"x": 3.0}) == sonde.Evaluation(9.0, gradient={"x": 6.0})
    assert square.__doc__ == "Square."
    assert "square" in repr(square)


def test_control_flow_on_values(framework: str) -> None:
    def function(p: Mapping[str, Any]) -> Any:
        total = p["x"] * 0
        while total < 4:  # how often depends on x
            total = total + p["x"]
        return total**2 if p["y"] > 0 else p["y"] * p["x"]

    objective = sonde.autograd(function, True, framework=framework)
    for _ in range(2):
        up = objective({"x": 1.5, "y": 1.0})
        assert (up.value, up.gradient["x"]) == pytest.approx((20.25, 27.0))  # type: ignore[index, call-overload]
        assert up.hessian["x"]["x"] == pytest.approx(18.0)  # type: ignore[index, call-overload]
        down = objective({"x": 1.5, "y": -2.0})
        assert (down.value, down.gradient) == (-3.0, {"x": -2.0, "y": 1.5})


def test_an_exception_of_the_function_is_raised_unchanged(framework: str) -> None:
    def broken(p: Mapping[str, Any]) -> Any:
        raise ZeroDivisionError("the mesh is empty")

    with pytest.raises(ZeroDivisionError, match="the mesh is empty"):
        sonde.autograd(broken, framework=framework)(POINT)
    study = sonde.Study(SPACE)
    study.optimize(sonde.autograd(broken, framework=framework), 1, progress=False)
    assert "ZeroDivisionError: the mesh is empty" in str(study.trials[0].error)


@pytest.mark.parametrize(
    "result",
    [
        lambda np_, x: np_.stack([x, x]), lambda np_, x: np_.stack([x]), lambda np_, x: (x, x), lambda np_, x: "x",
        lambda np_, x: None, lambda np_, x: x > 0, lambda np_, x: True, lambda np_, x: sonde.Evaluation(1.0, noise=0.1),
        lambda np_, x: x * 1j, lambda np_, x: {"value": x},
    ],
)  # fmt: skip
def test_a_result_that_is_not_a_real_number_is_refused(framework: str, result: Any) -> None:
    objective = sonde.autograd(lambda p: result(FRAMEWORKS[framework], p["x"]), framework=framework)
    with pytest.raises(EvaluationError, match=r"a function under sonde\.autograd must return .* got \w+"):
        objective(POINT)


def test_the_error_names_the_shape(framework: str) -> None:
    with pytest.raises(EvaluationError, match=r"of shape \(3,\)"):
        sonde.autograd(lambda p: p["x"] * FRAMEWORKS[framework].ones(3), framework=framework)({"x": 1.0})


def test_an_infinite_value_is_a_failure_and_an_infinite_derivative_is_missing(framework: str) -> None:
    np_ = FRAMEWORKS[framework]
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1)))
    study.enqueue({"x": 0.0, "y": 0.5})
    study.enqueue({"x": 0.0, "y": 0.5})
    study.optimize(sonde.autograd(lambda p: np_.log(p["x"]) + p["y"], framework=framework), 1, progress=False)
    study.optimize(sonde.autograd(lambda p: np_.sqrt(p["x"]) + p["y"], framework=framework), 1, progress=False)
    assert study.trials[0].error == "the value is -inf"
    assert study.trials[1].gradient == {"y": 1.0}


def test_without_float_parameters_there_is_only_a_value(framework: str) -> None:
    for hessian in (False, True):
        objective = sonde.autograd(lambda p: p["n"] ** 2, hessian, framework=framework)
        assert objective({"n": 3, "on": True}) == sonde.Evaluation(9.0)


def test_minimize_and_maximize_find_the_optimum() -> None:
    space = sonde.Space(x=sonde.Float(-3, 5), y=sonde.Float(0.1, 10, log=True))
    loss = sonde.autograd(lambda p: (p["x"] - 1) ** 2 + jnp.log(p["y"]) ** 2)
    gain = sonde.autograd(lambda p: -((p["x"] - 1) ** 2) - jnp.log(p["y"]) ** 2)
    low = sonde.minimize(loss, space, 12, seed=0, progress=False)
    high = sonde.maximize(gain, space, 12, seed=0, progress=False)
    assert low.best_value < 0.1
    assert high.best_value > -0.1


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3,), {}, "autograd takes a function"),
        ((abs, 1), {}, "hessian must be True or False, got 1"),
        ((abs,), {"framework": "tensorflow"}, "framework must be one of jax, torch, got 'tensorflow'"),
    ],
)
def test_wrong_options(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sonde.autograd(*arguments, **options)


# JAX


def test_the_configuration_of_jax_does_not_change() -> None:
    precisions = []
    before = jax.config.jax_enable_x64  # type: ignore[attr-defined]

    def function(p: Mapping[str, Any]) -> Any:
        precisions.append(jnp.asarray(p["x"]).dtype)
        return p["x"] ** 2

    sonde.autograd(function)({"x": 1 / 3})
    assert precisions == [np.float64]
    assert jax.config.jax_enable_x64 == before  # type: ignore[attr-defined]
    assert jnp.asarray(1.0).dtype == (np.float64 if before else np.float32)


def test_float32_data_stay_float32_and_results_are_float64() -> None:
    with jax.enable_x64(False):
        data = jnp.arange(3.0)
    evaluation = sonde.autograd(lambda p: jnp.sum(data * p["x"]))({"x": 0.5})
    assert evaluation == sonde.Evaluation(1.5, gradient={"x": 3.0})


def test_a_program_is_compiled_once_for_each_combination_of_discrete_values() -> None:
    calls = []

    def function(p: Mapping[str, Any]) -> Any:
        calls.append((p["n"], p["c"]))
        return p["x"] * 2

    objective = sonde.autograd(function)
    for choice in (1, True, [1, 2], {"a": 1}, "1", None, math.sin):
        for x in (0.5, 1.5, 2.5):
            assert objective({"x": x, "n": 1, "c": choice}).value == 2 * x
    assert len(calls) == 7  # 1 and True are two


def test_the_cache_of_programs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_jax, "MAX_PROGRAMS", 8)
    compiled = []

    def function(p: Mapping[str, Any]) -> Any:
        compiled.append(p["n"])
        return p["x"] * p["n"]

    objective, numbers = sonde.autograd(function), range(8 + 3)
    for number in [*numbers, *numbers[-3:], 0]:  # the last ones are still there, the first is not
        assert objective({"x": 2.0, "n": number}).gradient == {"x": number}
    assert compiled == [*numbers, 0]


def test_a_value_that_cannot_be_pickled_runs_uncompiled() -> None:
    lock = threading.Lock()
    objective = sonde.autograd(lambda p: p["x"] ** 2 if p["lock"] is lock else 0.0)
    assert objective({"x": 3.0, "lock": lock}).gradient == {"x": 6.0}


def test_a_value_that_leaves_jax_is_an_error_and_not_a_zero_gradient() -> None:
    with pytest.raises(jax.errors.ConcretizationTypeError):
        sonde.autograd(lambda p: math.sin(p["x"]) + p["x"])({"x": 1.0})
    with pytest.raises(jax.errors.TracerArrayConversionError):
        sonde.autograd(lambda p: np.sin(p["x"]) + p["x"])({"x": 1.0})


# PyTorch


def test_torch_equals_jax() -> None:
    ours = sonde.autograd(smooth(jnp), True)(POINT)
    theirs = sonde.autograd(smooth(torch), True, framework="torch")(POINT)
    assert theirs.value == pytest.approx(ours.value, rel=1e-14)
    assert theirs.gradient == pytest.approx(ours.gradient, rel=1e-12)
    for name, line in ours.hessian.items():  # type: ignore[union-attr]
        assert theirs.hessian[name] == pytest.approx(line, rel=1e-12, abs=1e-12)  # type: ignore[index]


def test_a_parameter_outside_the_graph_has_no_derivative() -> None:
    constant = sonde.autograd(lambda p: torch.tensor(3), True, framework="torch")({"x": 1.0})
    assert constant == sonde.Evaluation(3.0)
    other = sonde.autograd(lambda p: p["x"] ** 2 + math.sin(p["y"].detach()), True, framework="torch")
    found = other({"x": 1.0, "y": 0.0})
    assert found == sonde.Evaluation(1.0, gradient={"x": 2.0}, hessian={"x": {"x": 2.0}})


@pytest.mark.parametrize("lost", [lambda x: (x**2).item(), lambda x: 1.0])
def test_a_plain_number_is_not_a_tensor(lost: Any) -> None:
    with pytest.raises(EvaluationError, match=r"itself, not its item\(\) or float\(\)\), got float"):
        sonde.autograd(lambda p: lost(p["x"]), framework="torch")({"x": 1.0})


def test_gradients_of_a_model_and_grad_mode_do_not_change() -> None:
    model = torch.nn.Linear(2, 1)
    objective = sonde.autograd(lambda p: model(torch.stack([p["x"], p["y"]]).float()).sum(), True, framework="torch")
    with torch.no_grad():
        evaluation = objective({"x": 1.0, "y": 2.0})
        assert not torch.is_grad_enabled()
    weights = model.weight.detach()[0].tolist()
    assert evaluation.gradient == pytest.approx({"x": weights[0], "y": weights[1]})
    assert model.weight.grad is None


@pytest.mark.parametrize("framework", ["torch"])
def test_a_missing_extra_says_how_to_get_it(framework: str) -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"  # as if it were not installed
        "import sonde\n"
        "try:\n    sonde.autograd(abs, framework='torch')\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"{MissingExtra.__name__} {MissingExtra(framework, framework)}"
    assert "pip install 'sonde[torch]'" in done.stdout


def test_neither_library_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys, sonde; sonde.autograd(abs); sonde.autograd(abs, framework='torch')\n"
        "print({'jax', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
