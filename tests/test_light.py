"""Everything a study does, it does without JAX; what needs JAX says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sonde

SONDE = Path(sonde.__file__).parents[1]  # children import the same one, also where another one is installed
PATHS = {True: os.pathsep.join(map(str, [Path(__file__).with_name("without_jax"), SONDE])), False: str(SONDE)}


@pytest.mark.parametrize("hidden", [True, False])
def test_jax_is_hidden_where_it_should_be(hidden: bool) -> None:
    environment = os.environ | {"PYTHONPATH": PATHS[hidden]}
    code = "from importlib.util import find_spec as find; print([find(name) is None for name in ('jax', 'equinox')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == str([hidden] * 2)


@pytest.mark.parametrize(
    "needing",
    [
        "sonde.kernels",
        "sonde.autograd(lambda p: p['x'] ** 2)",
        "sonde.GP(acquisition=lambda mean, spread, best: 0.0)",
        "sonde.GP(kernel='rbf')",
        "sonde.FOBO(kernel=lambda x, y: 1.0)",
        "sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy=sonde.DNGO(device='gpu')).ask()",
    ],
)
def test_what_needs_jax_says_so_in_one_line(needing: str) -> None:
    program = f"import sonde\ntry:\n    {needing}\nexcept sonde.SondeError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": PATHS[True]})  # fmt: skip
    assert done.stdout == "jax is not installed; get it with: pip install 'sonde[jax]'\n"


SUGGESTIONS = """
import sys, sonde
from sonde.trials import Evaluation
from sonde import Categorical, Float, Int
space = sonde.Space(x=Float(0, 1), y=Float(1e-3, 10, log=True), k=Int(1, 9), c=Categorical(["a", "b", "c"]))
def objective(t):
    if t["x"] > 0.9:
        raise ValueError("too large")
    value = (t["x"] - 0.3) ** 2 + (t["k"] - 4) ** 2 / 9 + (t["c"] == "b")
    gradient = {"x": 2 * (t["x"] - 0.3), "y": 0.0} if strategy == "fobo" else None
    return Evaluation(value, gradient=gradient, constraints={"size": t["y"] - 5.0})
strategies = {"auto": 14, "gp": 13, "fobo": 13, "igo": 30, "random": 3, "sobol": 3, "dngo": 13}
for strategy, count in strategies.items():
    made = sonde.DNGO("networks") if strategy == "dngo" else strategy
    study = sonde.Study(space, strategy=made, seed=3)
    study.optimize(objective, count, progress=False)
    print(strategy, [tuple(map(repr, trial.values())) for trial in [*study.trials[-3:], *study.ask(4)]])
    print(study.explain(), study.predict({"x": 0.4, "y": 1.0, "k": 3, "c": "a"}) if strategy in ("auto", "gp") else "")
print([name for name in ("jax", "equinox", "lineax") if name in sys.modules])
"""


@pytest.mark.jax
def test_suggestions_are_the_same_with_and_without_jax() -> None:
    said = []
    for path in PATHS.values():
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", SUGGESTIONS], check=True, capture_output=True,
                              text=True, timeout=250, env=os.environ | {"PYTHONPATH": path})  # fmt: skip
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].splitlines()[-1] == "[]"
    assert len(said[0].splitlines()) == 22


def test_the_first_trials_load_no_scipy() -> None:
    """It is half of the time of a start; models need it, and the first suggestions have none."""
    program = """
import sys, sonde
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), seed=0)
trial = study.ask()
trial.report(1, 0.5)
study.tell(trial, 1.0)
print([name for name in ("scipy", "sqlalchemy", "jax") if name in sys.modules])
"""
    environment = os.environ | {"PYTHONPATH": PATHS[False]}
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[]"
