"""``SondeSampler`` beside Optuna's samplers in the same Optuna study: ``python -m benchmarks.optuna_sampler --full``.

Six functions each of COCO's bbob and bbob-mixint in five dimensions, stated define-by-run, and two models of
scikit-learn whose parameters depend on each other, 50 trials each. A run is behind another one of the same problem and
seed if its best value is higher. Without ``--full``: two problems, one seed.

Every run is added to ``optuna_sampler_runs.csv`` as it ends, and is not repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import use_one_core
from benchmarks.records import numbers, read
from benchmarks.report import report
from benchmarks.resumed import complete, parser, say_failed

TRIALS, DIMENSION = 50, 5
SAMPLERS = ("sonde", "tpe", "gp")
Objective = Callable[[Any], float]


class Case(NamedTuple):
    """A run of a sampler."""

    group: str
    problem: str
    sampler: str
    seed: int


PROBLEMS = [
    *product(("bbob",), ("1", "4", "8", "12", "15", "21")),
    *product(("bbob-mixint",), ("2", "5", "9", "13", "17", "22")),
    *product(("models",), ("wine", "diabetes")),
]


def main() -> None:
    options = parser(__doc__, "14 problems, 5 seeds").parse_args()
    use_one_core(options.core)
    file = options.out / "optuna_sampler_runs.csv"
    problems = PROBLEMS if options.full else [("bbob", "8"), ("models", "wine")]
    seeds = range(options.runs or (5 if options.full else 1))
    plan = [Case(*problem, sampler, seed) for seed in seeds for problem in problems for sampler in SAMPLERS]
    failed = 0 if options.draw else complete(file, plan, make)
    if runs := read(file):
        report("optuna_sampler", f"{TRIALS} trials in one Optuna study", summary(runs))
    say_failed(failed)


def make(case: Case) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its best value."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective, key = objective_of(case)
    study = optuna.create_study(sampler=sampler(case.sampler, key))
    began = time.perf_counter()
    study.optimize(objective, TRIALS)
    seconds = (time.perf_counter() - began) / TRIALS
    best = np.minimum.accumulate([trial.value for trial in study.trials])
    return case._asdict() | {"seconds": f"{seconds:.3g}", "best": numbers(best.tolist(), 6)}, float(best[-1])


def sampler(name: str, seed: int) -> Any:
    """Return a sampler."""
    import optuna

    from sonde.integrations.optuna import SondeSampler

    if name == "sonde":
        return SondeSampler(seed=seed)
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed)
    return optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)


def objective_of(case: Case) -> tuple[Objective, int]:
    """Return an objective of an Optuna trial, and a seed for samplers."""
    if case.group == "models":
        return {"wine": wine, "diabetes": diabetes}[case.problem](case.seed), case.seed
    from benchmarks.arena.problems import coco

    problem = coco(case.group, int(case.problem), DIMENSION, case.seed)

    def evaluate(trial: Any) -> float:
        def one(name: str, kind: str, low: float, high: float) -> float:
            return (
                trial.suggest_int(name, int(low), int(high)) if kind == "int" else trial.suggest_float(name, low, high)
            )

        return problem([one(f"x{i}", *variable) for i, variable in enumerate(problem.variables)])

    return evaluate, problem.key


def wine(seed: int) -> Objective:
    """Return the log loss of a classifier, which is one of two kinds."""
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_wine(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)

    def evaluate(trial: Any) -> float:
        if trial.suggest_categorical("kind", ["forest", "network"]) == "forest":
            model: Any = RandomForestClassifier(
                trial.suggest_int("trees", 5, 60), max_depth=trial.suggest_int("depth", 1, 12),
                max_features=trial.suggest_float("features", 0.1, 1.0), random_state=0,
            )  # fmt: skip
        else:
            network = MLPClassifier(
                trial.suggest_int("width", 2, 64, log=True), alpha=trial.suggest_float("alpha", 1e-6, 10, log=True),
                learning_rate_init=trial.suggest_float("rate", 1e-4, 1e-1, log=True), max_iter=60, random_state=0,
            )  # fmt: skip
            model = make_pipeline(StandardScaler(), network)
        return -float(np.mean(cross_val_score(model, x, y, cv=folds, scoring="neg_log_loss")))

    return evaluate


def diabetes(seed: int) -> Objective:
    """Return the error of a support vector machine, whose kernel decides which parameters it has."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    x, y = load_diabetes(return_X_y=True)
    folds = KFold(3, shuffle=True, random_state=seed)

    def evaluate(trial: Any) -> float:
        kernel = trial.suggest_categorical("kernel", ["rbf", "poly", "linear"])
        more: dict[str, Any] = {"degree": trial.suggest_int("degree", 2, 4)} if kernel == "poly" else {}
        if kernel != "linear":
            more["gamma"] = trial.suggest_float("gamma", 1e-5, 1.0, log=True)
        machine = SVR(
            kernel=kernel, C=trial.suggest_float("C", 1e-2, 1e3, log=True),
            epsilon=trial.suggest_float("epsilon", 1e-2, 50.0, log=True), max_iter=20_000, **more,
        )  # fmt: skip
        model = make_pipeline(StandardScaler(), machine)
        return -float(np.mean(cross_val_score(model, x, y, cv=folds, scoring="neg_root_mean_squared_error")))

    return evaluate


def summary(runs: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return for each group in how many paired runs Sonde is ahead of each other sampler, and its seconds a trial."""
    final = {
        (run["group"], run["problem"], run["seed"], run["sampler"]): float(run["best"].split()[-1]) for run in runs
    }
    rows = []
    for group in dict.fromkeys(run["group"] for run in runs):
        for name in SAMPLERS:
            own = [run for run in runs if (run["group"], run["sampler"]) == (group, name)]
            pairs = [(final[(*place, "sonde")], final[(*place, name)]) for run in own
                     if (*(place := (group, run["problem"], run["seed"])), "sonde") in final]  # fmt: skip
            ahead = float(np.mean([(a < b) + 0.5 * (a == b) for a, b in pairs])) if name != "sonde" else float("nan")
            seconds = float(np.mean([float(run["seconds"]) for run in own]))
            rows.append({"group": group, "sampler": name, "sonde ahead": ahead, "runs": len(pairs),
                         "seconds a trial, with the objective": seconds})  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
