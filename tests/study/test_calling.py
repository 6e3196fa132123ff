"""How an objective is called: with the trial, an array, or the parameters by name; decided once, from its signature."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import OptionError
from sonde.study.calling import called

ONE = sonde.Space(x=(-1.0, 1.0))
TWO = sonde.Space(lr=(1e-3, 1.0, "log"), layers=range(1, 5))
CONDITIONAL = sonde.Space(opt=["sgd", "adam"], momentum=sonde.Float(0, 1, when={"opt": "sgd"}))
BOUNDS = sonde.Space.of([(-5, 5)] * 2)


class Squared:
    def __call__(self, lr: float, layers: int) -> float:
        return lr * layers

    def method(self, trial: sonde.Trial) -> float:
        return float(trial["lr"])


def with_data(data: int, lr: float, layers: int) -> float:
    return data + lr * layers


def the_trial(given: sonde.Trial) -> Any:
    return given


@functools.wraps(with_data)
def wrapped(*args: Any, **kwargs: Any) -> float:
    return with_data(*args, data=0, **kwargs)


@pytest.mark.parametrize(
    ("function", "space", "how"),
    [
        (lambda trial: trial["lr"], TWO, "lambda(trial)"),
        (lambda p: p["lr"], TWO, "lambda(trial)"),
        (lambda lr: lr["lr"], TWO, "lambda(trial)"),  # the other parameter has no argument
        (lambda trial, model=None: trial["lr"], TWO, "lambda(trial)"),
        (lambda *everything: everything[0]["lr"], TWO, "lambda(trial)"),
        (Squared().method, TWO, "method(trial)"),
        (lambda trial: trial["x0"], BOUNDS, "lambda(trial)"),
        (the_trial, BOUNDS, "the_trial(trial)"),  # by its annotation
        (math.prod, BOUNDS, "prod(x), x an array of 2 numbers"),
        (lambda x: x.sum(), BOUNDS, "lambda(x), x an array of 2 numbers"),
        (lambda z, shift=1: z.sum() + shift, BOUNDS, "lambda(x), x an array of 2 numbers"),
        (lambda x0, x1: x0 + x1, BOUNDS, "lambda(x0, x1), by name"),
        (lambda x: x, ONE, "lambda(x), by name"),
        (lambda lr, layers: lr * layers, TWO, "lambda(lr, layers), by name"),
        (lambda layers, lr=1: lr * layers, TWO, "lambda(lr, layers), by name"),
        (lambda *, layers, lr: lr * layers, TWO, "lambda(lr, layers), by name"),
        (lambda lr=1, layers=1: lr * layers, TWO, "lambda(lr, layers), by name"),
        (lambda lr, **others: lr * others["layers"], TWO, "lambda(lr, layers), by name"),
        (lambda lr, layers, trial: lr * layers * trial["lr"], TWO, "lambda(lr, layers, trial), by name"),
        (lambda **params: params["lr"], TWO, "lambda(lr, layers), by name"),
        (Squared(), TWO, "Squared(lr, layers), by name"),
        (functools.partial(with_data, 3), TWO, "partial(lr, layers), by name"),
        (lambda opt, momentum=0.0: momentum, CONDITIONAL, "lambda(opt, momentum), by name"),
    ],
)
def test_it_is_called_as_its_signature_says(function: Callable[..., Any], space: sonde.Space, how: str) -> None:
    runs = called(function, space)
    assert runs.how == how
    result = runs.objective(sonde.Study(space, seed=0, strategy="random").ask())
    assert isinstance(result, float | int | np.floating | sonde.Trial)


def test_the_array_has_the_parameters_in_their_order() -> None:
    study = sonde.Study([(0, 1), (10, 20)], strategy="random")
    trial = study.ask()
    assert called(lambda x: x, study.space).objective(trial).tolist() == [trial["x0"], trial["x1"]]


def test_inactive_parameters_are_left_out() -> None:
    study = sonde.Study(CONDITIONAL)
    study.enqueue({"opt": "adam"})
    assert called(lambda opt, momentum=None: (opt, momentum), study.space).objective(study.ask()) == ("adam", None)
    assert called(lambda **active: sorted(active), study.space).objective(study.trial(0)) == ["opt"]


@pytest.mark.parametrize(
    ("function", "space", "says"),
    [
        (5, TWO, ["the objective must be a function", "got 5"]),
        (lambda: 1, TWO, ["takes no argument", "def objective(trial):", "def objective(lr, layers):"]),
        (lambda a, b: 1, TWO, ["takes a, b", "the space has lr, layers", "lambda trial: f(**trial, a=...)"]),
        (with_data, TWO, ["takes data, lr, layers", "data=..."]),
        (lambda lr, layers, /: 1, TWO, ["names"]),
        (lambda lr, layers: 1, sonde.Space(lr=(0.0, 1.0), layers=range(1, 3), opt=["a"]), ["'opt'", "add it or **"]),
        (lambda opt, momentum: 1, CONDITIONAL, ["'momentum'", "conditional", "default"]),
    ],
)
def test_what_cannot_be_called_is_refused_before_any_trial(function: Any, space: sonde.Space, says: list[str]) -> None:
    study = sonde.Study(space)
    with pytest.raises(OptionError) as caught:
        study.optimize(function, 3, progress=False)
    assert [part for part in says if part not in str(caught.value)] == []
    assert study.trials == []


def test_workers_call_it_by_name_and_explain_says_so() -> None:
    def by_name(lr: float, layers: int, trial: sonde.Trial) -> float:
        trial.attributes["seen"] = trial.number
        return lr * layers

    study = sonde.Study(TWO, direction="max", strategy="random", seed=0)
    study.optimize(by_name, 4, workers=2, progress=False)
    assert [trial.value for trial in study.trials] == [trial["lr"] * trial["layers"] for trial in study.trials]
    assert [trial.attributes for trial in study.trials] == [{"seen": number} for number in range(4)]
    assert study.explain().endswith("objective: called as by_name(lr, layers, trial), by name")


def test_gradients_of_arrays() -> None:
    result = sonde.minimize(lambda x: ((x - 1) ** 2).sum(), [(-5, 5)] * 2, 8, jac=lambda x: 2 * (x - 1), progress=False)
    trial = result.trials[0]
    assert trial.gradient == {name: pytest.approx(2 * (trial[name] - 1)) for name in trial}
    assert result.x.tolist() == list(result.best_params.values())
    assert result.fun < 1e-6
    assert result.nfev == 8
    assert result.success
    assert result.message == f"8 completed; best value {result.fun:.6g}"


def test_jac_is_called_as_its_own_signature_says() -> None:
    def value_and_gradient(x: float) -> tuple[float, dict[str, float]]:
        return x**2, {"x": 2 * x}

    both = sonde.minimize(value_and_gradient, ONE, 3, jac=True, strategy="random", seed=0, progress=False)
    apart = sonde.minimize(
        lambda trial: trial["x"] ** 2, ONE, 3, jac=lambda x: [2 * x], strategy="random", seed=0, progress=False
    )
    assert [trial.gradient for trial in both.trials] == [trial.gradient for trial in apart.trials]


def test_a_study_of_bounds_that_is_loaded_takes_arrays_too(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    sonde.minimize(lambda x: x.sum(), [(0, 1)] * 2, 2, storage=url, strategy="random", progress=False)
    with sonde.load(url) as study:
        study.optimize(lambda x: x.sum(), 2, progress=False)
        assert [trial.state for trial in study.trials] == [sonde.State.COMPLETED] * 4
