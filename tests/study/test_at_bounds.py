"""A run warns where the best trials lie at a bound."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import sonde
from sonde.errors import AtBound

SPACE = {"rate": (1e-4, 1e-1, "log"), "width": (1.0, 9.0)}


def run(value: object, space: object = SPACE, **options: object) -> sonde.Study:
    study = sonde.Study(space, seed=0, **options)  # type: ignore[arg-type]
    study.optimize(value, 40, progress=False)  # type: ignore[arg-type]
    return study


def test_a_run_says_which_bound_to_widen() -> None:
    with pytest.warns(AtBound, match=r"best trials have rate at its upper bound 0\.1.*widen it, if larger") as said:
        run(lambda rate, width: -math.log(rate) + (width - 4) ** 2)
    assert len(said) == 1
    assert said[0].filename == __file__


def test_the_bounds_of_a_front_count() -> None:
    study = sonde.Study(SPACE, objectives=["minimize", "minimize"], seed=0)
    for k in range(40):
        study.enqueue({"rate": 10 ** (-4 + k % 10 / 5), "width": max(1.0, k / 5)})
    with pytest.warns(AtBound, match=r"\d+ of the \d+ trials of the front have width at its lower bound 1,"):
        study.optimize(lambda rate, width: [width + math.log(rate), width - math.log(rate)], 40, progress=False)


def test_a_best_trial_inside_is_nothing_to_say() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(lambda rate, width: (math.log10(rate) + 2.5) ** 2 + (width - 4) ** 2)
        run(lambda trial: trial["on"], {"on": [False, True], "x": (0.0, 1.0)}, strategy="random")


def test_the_command_line_says_it_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "run", "-n", "20", "--seed", "0", "--", "echo", "{x:float:0..1}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"warning: \d of the 5 best trials have x at its lower bound 0", done.stderr)


def test_values_that_do_not_change_towards_a_bound_are_nothing_to_say() -> None:
    study = sonde.Study(SPACE, seed=0)
    for k in range(40):
        study.enqueue({"rate": 10 ** (-4 + 3 * min(1.0, k / 15)), "width": 3.0 + k / 50})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(lambda rate, width: -min(math.log10(rate), -2.0), 40, progress=False)
