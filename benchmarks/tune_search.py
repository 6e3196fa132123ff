"""``SondeSearch`` beside Ray Tune's ``OptunaSearch`` and random search: ``python -m benchmarks.tune_search --full``.

All run in the same ``Tuner``, one trial at a time: three functions, 30 trials each, and a network that learns digits
for up to 27 epochs, 40 trials beside ASHA. There Sonde runs twice: with ``max_t=27``, so that trials that ASHA ends are
stopped trials, and with ``max_t=0``, so that their last values count as their results, as in ``OptunaSearch``. A run is
behind another one of the same problem and seed if its best value is higher. Without ``--full``: one seed.

Every run is added to ``tune_search_runs.csv`` as it ends, and is not repeated.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import use_one_core
from benchmarks.records import read
from benchmarks.report import report
from benchmarks.resumed import complete, parser, say_failed

EPOCHS = 27
SEARCHES = ("sonde", "sonde, max_t=0", "optuna", "random")


class Case(NamedTuple):
    """A run of a search."""

    problem: str
    search: str
    seed: int


class Problem(NamedTuple):
    """A training, its space, and how many trials it gets."""

    train: Callable[[dict[str, Any]], Any]
    space: Callable[[], dict[str, Any]]
    trials: int
    epochs: int | None = None


def main() -> None:
    options = parser(__doc__, "10 seeds").parse_args()
    use_one_core(options.core)
    file = options.out / "tune_search_runs.csv"
    seeds = range(options.runs or (10 if options.full else 1))
    plan = [Case(name, search, seed) for seed in seeds for name, problem in PROBLEMS.items() for search in SEARCHES
            if problem.epochs or search != "sonde, max_t=0"]  # fmt: skip
    failed = 0
    if not options.draw:
        with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
            start_ray(folder)
            failed = complete(file, plan, partial(make, folder=folder))
    if runs := read(file):
        report("tune_search", "searches in the same Tuner: means over the seeds", summary(runs))
    say_failed(failed)


def start_ray(folder: str) -> None:
    """Start Ray with one worker; the folder has a short name, as the names of its sockets must be."""
    off = dict.fromkeys(("RAY_USAGE_STATS_ENABLED", "RAY_AIR_NEW_OUTPUT"), "0")
    os.environ.update(off, RAY_AUTH_MODE="disabled", TUNE_DISABLE_AUTO_CALLBACK_LOGGERS="1")
    import ray

    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100_000_000, _temp_dir=folder,
             log_to_driver=False, logging_level="error")  # fmt: skip


def make(case: Case, *, folder: str) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    problem = PROBLEMS[case.problem]
    asha = None
    if problem.epochs:
        asha = ASHAScheduler(max_t=problem.epochs, grace_period=1, reduction_factor=3)
    tuner = tune.Tuner(
        problem.train,
        param_space=problem.space(),
        tune_config=tune.TuneConfig(
            search_alg=search_of(case, problem), scheduler=asha, metric="loss", mode="min",
            num_samples=problem.trials, max_concurrent_trials=1, reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=folder, verbose=0),
    )  # fmt: skip
    began = time.perf_counter()
    results = tuner.fit()
    seconds = time.perf_counter() - began
    if results.errors:
        raise results.errors[0]
    epochs = sum(each.metrics["training_iteration"] for each in results)
    best = min(each.metrics["loss"] for each in results)
    row = case._asdict() | {"best": f"{best:.6g}", "epochs": epochs, "seconds": f"{seconds:.3g}"}
    return row, best


def search_of(case: Case, problem: Problem) -> Any:
    """Return a search algorithm of Ray's."""
    import optuna
    from ray.tune.search.basic_variant import BasicVariantGenerator
    from ray.tune.search.optuna import OptunaSearch

    from sonde.integrations.ray import SondeSearch

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if case.search == "random":
        return BasicVariantGenerator(random_state=case.seed, max_concurrent=1)
    if case.search == "optuna":
        return OptunaSearch(seed=case.seed)
    return SondeSearch(seed=case.seed, max_t=problem.epochs if case.search == "sonde" else 0)


def summary(runs: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the mean results of each search, and how often Sonde is ahead of it."""
    found = {(run["problem"], run["search"], run["seed"]): float(run["best"]) for run in runs}
    rows = []
    for problem in PROBLEMS:
        for search in SEARCHES:
            own = [run for run in runs if (run["problem"], run["search"]) == (problem, search)]
            if not own:
                continue
            pairs = [(found[problem, "sonde", run["seed"]], float(run["best"])) for run in own
                     if (problem, "sonde", run["seed"]) in found]  # fmt: skip
            ahead = [(mine < other) + 0.5 * (mine == other) for mine, other in pairs]
            means = {name: float(np.mean([float(run[name]) for run in own])) for name in ("best", "epochs", "seconds")}
            share = math.nan if search == "sonde" else float(np.mean(ahead))
            rows.append({"problem": problem, "search": search, **means, "sonde ahead": share, "runs": len(own)})
    return rows


# problems


def branin(config: dict[str, Any]) -> dict[str, float]:
    """Branin's function; its minimum is 0.397887."""
    import math

    x, y = config["x"], config["y"]
    bowl = (y - 5.1 * x**2 / (4 * math.pi**2) + 5 * x / math.pi - 6) ** 2
    return {"loss": bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10}


def branin_space() -> dict[str, Any]:
    from ray import tune

    return {"x": tune.uniform(-5, 10), "y": tune.uniform(0, 15)}


def hartmann(config: dict[str, Any]) -> dict[str, float]:
    """Hartmann's function in six dimensions; its minimum is -3.32237."""
    from benchmarks.functions import hartmann6

    return {"loss": float(hartmann6([config[f"x{i}"] for i in range(6)]))}


def hartmann_space() -> dict[str, Any]:
    from ray import tune

    return {f"x{i}": tune.uniform(0, 1) for i in range(6)}


def mixed(config: dict[str, Any]) -> dict[str, float]:
    """A rate, a size and a kind, as trainings have them; its minimum is 0."""
    import math

    right = {"a": -2.0, "b": -3.0, "c": -1.5}[config["kind"]]
    far = math.log10(config["rate"]) - right - 0.1 * (config["size"] - 12)
    return {"loss": far**2 + (config["size"] / 8 - 1.5) ** 2 + {"a": 0.2, "b": 0.0, "c": 0.4}[config["kind"]]}


def mixed_space() -> dict[str, Any]:
    from ray import tune

    return {"rate": tune.loguniform(1e-6, 1), "size": tune.randint(1, 33), "kind": tune.choice(["a", "b", "c"])}


def network(config: dict[str, Any]) -> None:
    """Train a network on digits, and report the log loss on others after each epoch."""
    import warnings

    from ray import tune
    from sklearn.datasets import load_digits
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    warnings.simplefilter("ignore")
    x, x_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
    model = MLPClassifier(
        (config["width"],) * config["layers"], learning_rate_init=config["rate"], alpha=config["alpha"],
        batch_size=config["batch"], activation=config["activation"], random_state=0,
    )  # fmt: skip
    for _ in range(EPOCHS):
        model.partial_fit(x / 16, y, classes=range(10))
        tune.report({"loss": log_loss(y_test, model.predict_proba(x_test / 16), labels=range(10))})


def network_space() -> dict[str, Any]:
    from ray import tune

    return {
        "rate": tune.loguniform(1e-5, 1e-1), "alpha": tune.loguniform(1e-6, 10), "width": tune.lograndint(4, 65),
        "layers": tune.randint(1, 4), "batch": tune.lograndint(16, 257), "activation": tune.choice(["relu", "tanh"]),
    }  # fmt: skip


PROBLEMS = {
    "Branin": Problem(branin, branin_space, 30),
    "Hartmann 6": Problem(hartmann, hartmann_space, 30),
    "mixed": Problem(mixed, mixed_space, 30),
    "digits, network, ASHA": Problem(network, network_space, 40, EPOCHS),
}


if __name__ == "__main__":
    main()
