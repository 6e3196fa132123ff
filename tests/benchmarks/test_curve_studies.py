"""Whole studies of real models: the curves of the models, the steps of a run, and the table made of runs."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from benchmarks.curves.models import PROBLEMS, Configuration, Problem
from benchmarks.curves.searches import SEARCHES, Run, SpentError, search
from benchmarks.curves.studies import LEAST, OURS, best_after, summary

import sonde

STEPS = 9
SPACE = sonde.Space(
    x=sonde.Float(0.01, 1, log=True), k=sonde.Int(1, 64, log=True), c=sonde.Categorical(["left", "right"])
)
GOOD = {
    "linear": {"alpha": 1e-4, "eta0": 0.05, "learning_rate": "constant", "penalty": "l2", "loss": "hinge"},
    "perceptron": {"hidden_layer_sizes": 32, "learning_rate_init": 0.01, "alpha": 1e-4, "batch_size": 32},
    "boosting": {"learning_rate": 0.2, "max_depth": 2, "subsample": 0.7, "min_samples_leaf": 5},
    "network": {"learning_rate": 0.1, "momentum": 0.5, "weight_decay": 1e-5, "scale": 1.0},
}


def toy() -> Problem:
    """A problem whose curves tell from the first step on how they end."""

    def errors(params: Configuration) -> Iterator[float]:
        for step in range(1, STEPS + 1):
            yield params["x"] + params["k"] / 64 + (params["c"] == "left") + 1 / step

    return Problem("toy", SPACE, STEPS, errors)


@pytest.mark.jax  # one of them is in it
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_model_learns_the_same_each_time(name: str) -> None:
    pytest.importorskip("sklearn")
    problem = _problem(name)
    problem.space.row(GOOD[name])  # it is of the space
    first, again = (list(islice(problem.errors(GOOD[name]), 4)) for _ in range(2))
    assert first == again
    assert first[-1] < 0.75 * first[0]
    assert all(type(error) is float for error in first)


@pytest.mark.jax
@pytest.mark.parametrize("name", ["linear", "perceptron", "network"])
def test_what_diverges_guesses(name: str) -> None:
    pytest.importorskip("sklearn")
    rates = {"linear": {"eta0": 1e300}, "perceptron": {"learning_rate_init": 1e300}, "network": {"learning_rate": 1e30}}
    errors = list(islice(_problem(name).errors(GOOD[name] | rates[name]), 3))
    assert np.isfinite(errors).all()
    assert errors[-1] == pytest.approx(0.9, abs=0.03)


def _problem(name: str) -> Problem:
    problem = PROBLEMS[name](0)
    try:
        next(problem.errors(GOOD[name]))  # data are loaded with the first step
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return problem


def test_a_run_ends_when_its_steps_are_spent() -> None:
    run, reports = Run(toy(), 2 * STEPS + 3), []

    def train(stops: bool) -> float | None:
        params = {"x": 0.5, "k": 32, "c": "right"}
        return run.train(params, lambda step, error: reports.append((step, error)), lambda: stops)

    assert train(False) == pytest.approx(1 + 1 / STEPS)
    assert train(True) is None
    assert run.spent == STEPS + 1 == len(reports)
    train(False)
    with pytest.raises(SpentError):
        train(False)
    assert (run.spent, run.started, run.stopped) == (2 * STEPS + 3, 4, 1)
    assert [spent for spent, _ in run.ends] == [STEPS, 2 * STEPS + 1]


def test_it_is_not_asked_whether_to_stop_after_the_last_step() -> None:
    asked: list[int] = []
    params = {"x": 0.5, "k": 32, "c": "right"}
    Run(toy(), STEPS).train(params, lambda step, error: None, lambda: bool(asked.append(1)))
    assert len(asked) == STEPS - 1


@pytest.mark.filterwarnings("ignore")  # the peers' own
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_spends_its_steps(name: str) -> None:
    if name.startswith("tpe"):
        pytest.importorskip("optuna")
    run = search(name, toy(), 15 * STEPS, 0)
    assert run.spent == 15 * STEPS
    assert run.ends
    whole = name in {"sonde-none", "random", "tpe"}
    assert (run.stopped == 0) == whole
    assert run.started == 15 if whole else run.started > 15
    assert best_after(run.ends, run.steps) < best_after(run.ends, STEPS)


def row(method: str, seed: int, ends: str) -> dict[str, str]:
    counts = {"steps": "90", "started": "3", "stopped": "0", "seconds": "1"}
    return {"problem": "toy", "method": method, "seed": str(seed), "ends": ends} | counts


def test_the_best_error_is_of_trials_that_have_run_to_their_end() -> None:
    ends = [(10, 0.5), (30, 0.7), (40, 0.2)]
    assert [best_after(ends, steps) for steps in (9, 10, 39, 40)] == [np.inf, 0.5, 0.5, 0.2]


def test_regret_is_a_share_of_the_distance_to_the_median_of_random_trials() -> None:
    pytest.importorskip("scipy")
    rows = [
        each
        for seed in range(3)
        for each in (row("random", seed, "30:0.5 60:0.4 90:0.7"), row(OURS, seed, "31:0.2 60:0.1"))
    ]
    ours, random = summary([*rows, row("tpe", 0, "30:0.45")])[:2]
    assert (ours["method"], ours["runs"], ours["regret at a third"], ours["regret at the end"]) == (
        OURS, "1", "1.000", f"{LEAST:.3f}",
    )  # fmt: skip
    assert (random["regret at a third"], random["regret at the end"]) == ("1.000", "0.750")
    assert (random[f"{OURS} wins:ties:losses at a third"], random[f"{OURS} wins:ties:losses at the end"]) == (
        "0:1:0", "1:0:0",
    )  # fmt: skip
    assert [line["runs"] for line in summary(rows)] == ["3", "3"]
