"""Small studies of many kinds, for the tests of all figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import sonde

HOSTILE = "<b>bold</b><script>alert(1)</script> %{x} $a$ &amp; \u202eevil \x1b[31m" + "long" * 45


def _space() -> sonde.Space:
    return sonde.Space(
        lr=sonde.Float(1e-5, 1e-1, log=True),
        layers=sonde.Int(1, 8),
        opt=sonde.Categorical(["sgd", "adam"]),
        momentum=sonde.Float(0, 1, when={"opt": "sgd"}),
    )


def _value(trial: Any) -> float:
    return (math.log10(trial["lr"]) + 3) ** 2 + abs(trial["layers"] - 3) + trial.get("momentum", 0) + 0.001


def empty() -> sonde.Study:
    return sonde.Study(_space(), name="empty", seed=0)


def one() -> sonde.Study:
    study = sonde.Study(_space(), name="one", strategy="random", seed=0)
    study.optimize(_value, 1, progress=False)
    return study


def failures() -> sonde.Study:
    study = sonde.Study(_space(), name="failures", seed=0)
    study.add_trials([{"params": {"lr": 1e-3, "layers": k, "opt": "adam"}, "failed": "out of memory"} for k in (1, 2)])
    return study


def plain() -> sonde.Study:
    """Conditional and logarithmic parameters, failures, constraints, learning curves, some of them stopped."""
    study = sonde.Study(_space(), name="plain", strategy="random", seed=0, stopping="none")

    def objective(trial: sonde.Trial) -> Any:
        value = _value(trial)
        for step in range(1, 6):
            trial.report(step, value + 5 / step)
        if trial["layers"] == 8:
            raise RuntimeError("out of memory")
        return sonde.Evaluation(value=value, constraints={"size": trial["layers"] - 6})

    study.optimize(objective, 25, progress=False)
    for _ in range(3):  # told to stop by a person
        trial = study.ask()
        for step in (1, 2):
            trial.report(step, 9 / step)
        study.tell(trial, stopped=True)
    return study


def maximum() -> sonde.Study:
    """Values of both signs, to be maximized."""
    study = sonde.Study(_space(), name="maximum", strategy="random", seed=1, direction="maximize")
    study.optimize(lambda trial: 2 - _value(trial), 12, progress=False)
    return study


def _front(names: list[str], name: str) -> sonde.Study:
    space = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1), w=sonde.Int(1, 64, log=True))
    directions = {each: "maximize" if each == "size" else "minimize" for each in names}
    study = sonde.Study(space, name=name, strategy="sobol", seed=0, objectives=directions, thresholds={"latency": 1.2})

    def objective(trial: sonde.Trial) -> Any:
        if trial.number == 5:
            raise RuntimeError("no device")
        x, y = trial["x"], trial["y"]
        known = {"loss": (x - 0.2) ** 2 + y**2 + 0.1, "latency": (x - 0.8) ** 2 + y + 0.3, "size": trial["w"] / 64}
        return sonde.Evaluation(value={each: known[each] for each in names}, constraints={"c": x - 0.9})

    study.optimize(objective, 30, progress=False)
    return study


def two() -> sonde.Study:
    return _front(["loss", "latency"], "two")


def three() -> sonde.Study:
    return _front(["loss", "latency", "size"], "three")


def _igo(bits: int, trials: int) -> sonde.Study:
    parameters: dict[str, Any] = {f"b{i}": sonde.Bool() for i in range(bits)}
    parameters |= {"colour": sonde.Categorical(["red", "green", "blue"]), "z": sonde.Float(1e-3, 1, log=True)}
    study = sonde.Study(sonde.Space(parameters), name=f"igo{bits}", strategy="igo", seed=0)
    study.optimize(lambda t: sum(t[f"b{i}"] for i in range(bits)) + (t["colour"] != "red"), trials, progress=False)
    return study


def igo() -> sonde.Study:
    return _igo(3, 80)


def many_bits() -> sonde.Study:
    return _igo(20, 60)


def hostile() -> sonde.Study:
    space = sonde.Space({
        HOSTILE: sonde.Float(0, 1), "שלום": sonde.Int(1, 5),
        "😀 &amp;": sonde.Categorical(["<i>x</i>", "שלום", "😀" * 30, "\x1b[31mred", 1, "1", None]),
    })  # fmt: skip
    study = sonde.Study(space, name="<b>%{x}</b>", strategy="random", seed=0,
                        objectives={"<b>l</b> %{y}": "min", "😀": "max"})  # fmt: skip
    study.optimize(lambda trial: [trial[HOSTILE] * trial["שלום"], trial["שלום"]], 15, progress=False)
    return study


ZOO: dict[str, Callable[[], sonde.Study]] = {
    make.__name__: cache(make)
    for make in (empty, one, failures, plain, maximum, two, three, igo, many_bits, hostile)
}  # fmt: skip
