"""Seconds per suggestion with two objectives over n, beside Optuna and BoTorch, and of Sonde over the objectives.

    python -m benchmarks.objectives.speed                        # everything
    python -m benchmarks.objectives.speed --short --core 1       # a few sizes
    python -m benchmarks.objectives.speed --tools sonde,botorch

Objectives are rotated quadratics in 6-D; histories are Sobol points, then what the tool itself asked for. Seconds are
of the processor on one core: the median of some suggestions after the first, each with telling the result before. Every
measurement is a process of its own, whose peak memory includes the libraries; tools take turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import use_one_core
from benchmarks.objectives.bayesian import suggest
from benchmarks.objectives.methods import distributions, named
from benchmarks.objectives.problems import Problem
from benchmarks.objectives.variables import box
from benchmarks.report import report

Array = NDArray[np.float64]
Step = Callable[[], None]

D = 6
CONDITION = 100.0
SIZES = (20, 50, 100, 200)
OBJECTIVES = (2, 3, 4, 5, 6)
MANY_SIZE = 100  # results, where the number of objectives grows
STEPS = 5


def quadratics(count: int) -> Problem:
    """Return quadratics in the unit cube with axes and minima of their own."""
    rng = np.random.default_rng(count)
    axes = [np.linalg.qr(rng.standard_normal((D, D)))[0] for _ in range(count)]
    minima = rng.uniform(0.2, 0.8, (count, D))
    weights = CONDITION ** np.linspace(0, 1, D)

    def evaluate(x: Any) -> tuple[Array, Array]:
        values = [weights @ (q @ (np.array(x) - minimum)) ** 2 for q, minimum in zip(axes, minima, strict=True)]
        return np.array(values), np.empty(0)

    return Problem("speed", f"{count} quadratics", 0, box([(0.0, 1.0)] * D), evaluate, np.zeros(count), np.ones(count))


def sonde(problem: Problem, units: Array) -> Step:
    """Return what makes a step of ``gp``."""
    import sonde

    space = problem.space
    study = sonde.Study(space, objectives=["minimize"] * problem.objectives, seed=0, strategy="gp")
    for unit in units:
        study.enqueue(dict(zip(space.names, map(float, unit), strict=True)))

    def step() -> None:
        trial = study.ask()
        study.tell(trial, named(problem([trial[name] for name in space.names])[0]))

    for _ in units:
        step()
    return step


def optuna_gp(problem: Problem, units: Array) -> Step:
    """Return what makes a step of Optuna's Gaussian process."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = distributions(problem)
    sampler = optuna.samplers.GPSampler(seed=0, deterministic_objective=True)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * problem.objectives)
    for unit in units:
        params = dict(zip(ranges, map(float, unit), strict=True))
        values = problem(unit)[0].tolist()
        study.add_trial(optuna.trial.create_trial(params=params, distributions=ranges, values=values))

    def step() -> None:
        trial = study.ask(ranges)
        study.tell(trial, problem([trial.params[name] for name in ranges])[0].tolist())

    return step


def botorch(problem: Problem, units: Array) -> Step:
    """Return what makes a step of BoTorch's qLogNEHVI."""
    import torch

    torch.manual_seed(0)
    points = units.tolist()
    outcomes = [(-problem(unit)[0]).tolist() for unit in units]

    def step() -> None:
        point = suggest(points, outcomes, problem.objectives, {})
        points.append(point)
        outcomes.append((-problem(point)[0]).tolist())

    return step


TOOLS = {"sonde": sonde, "optuna-gp": optuna_gp, "botorch": botorch}


def measure(tool: str, objectives: int, n: int) -> tuple[float, float, float]:
    """Return seconds of the first suggestion and of those after it, and the peak memory of this process in MB."""
    from scipy.stats.qmc import Sobol

    step = TOOLS[tool](quadratics(objectives), Sobol(D, rng=0).random(n - 1))  # the first step brings the n-th
    times = []
    for _ in range(STEPS + 1):
        started = time.process_time()
        step()
        times.append(time.process_time() - started)
    return times[0], median(times[1:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def alone(core: int | None, tool: str, objectives: int, n: int) -> dict[str, Any]:
    """Return the row of a measurement in a process of its own."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, initializer=partial(use_one_core, core)) as pool:
        first, following, memory = pool.submit(measure, tool, objectives, n).result()
    row = {"objectives": objectives, "n": n, "tool": tool, "first (s)": first, "next (s)": following, "peak MB": memory}
    print(row, flush=True)
    return row


def main() -> None:
    options = arguments()
    use_one_core(options.core)
    sizes, counts = (SIZES[:2], OBJECTIVES[:2]) if options.short else (SIZES, OBJECTIVES)
    plan = [(tool, 2, n) for n in sizes for tool in options.tools]
    if "sonde" in options.tools:
        plan += [("sonde", count, MANY_SIZE) for count in counts if ("sonde", count, MANY_SIZE) not in plan]
    rows = [alone(options.core, *each) for each in plan]
    ours = {(row["objectives"], row["n"]): row["next (s)"] for row in rows if row["tool"] == "sonde"}
    for row in rows:
        against = ours.get((row["objectives"], row["n"]))
        row["times sonde"] = row["next (s)"] / against if against else ""
    report(f"objectives_speed{'_short' if options.short else ''}", "Seconds per suggestion, several objectives", rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="two sizes, two and three objectives")
    parser.add_argument("--core", type=int, help="the core to use; by default the first allowed one")
    parser.add_argument("--tools", type=lambda text: text.split(","), default=list(TOOLS), metavar="A,B")
    return parser.parse_args()


if __name__ == "__main__":
    main()
