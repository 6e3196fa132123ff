"""``SondeSearchCV`` beside scikit-learn's searches at equal time: ``python -m benchmarks.sklearn_search --full``.

On five data sets that ship with scikit-learn, each split in halves: the searches see one, the other measures. Sonde
scores 40 candidates in five folds. ``RandomizedSearchCV`` goes on with further candidates until the same time has
passed; ``HalvingRandomSearchCV`` runs again, with another seed, as long as there is time. The best candidate is scored
by cross-validation with other folds, repeated four times, and on the other half. Without ``--full``: one seed.

Every run is added to ``sklearn_search_runs.csv`` as it ends, and is not repeated.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import use_one_core
from benchmarks.records import read
from benchmarks.report import report
from benchmarks.resumed import complete, parser, say_failed

CANDIDATES, FOLDS, CHUNK = 40, 5, 5
SEARCHES = ("sonde", "sonde, all folds", "random", "halving")


class Case(NamedTuple):
    """A search on a data set."""

    data: str
    search: str
    seed: int


class Problem(NamedTuple):
    """An estimator, the space of its parameters, and data."""

    estimator: Any
    space: dict[str, Any]
    x: Any
    y: Any
    scoring: str


def main() -> None:
    options = parser(__doc__, "10 seeds").parse_args()
    use_one_core(options.core)
    file = options.out / "sklearn_search_runs.csv"
    plan = [Case(data, search, seed) for seed in range(options.runs or (10 if options.full else 1))
            for data in PROBLEMS for search in SEARCHES]  # fmt: skip
    failed = 0 if options.draw else complete(file, plan, partial(make, file=file))
    if runs := read(file):
        report("sklearn_search", "searches at equal time: mean over the seeds", summary(runs))
    say_failed(failed)


def make(case: Case, *, file: Path) -> tuple[dict[str, Any], float]:
    """Return the row of a run, and its score in cross-validation."""
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_val_score, train_test_split

    warnings.simplefilter("ignore")
    problem = PROBLEMS[case.data]()
    is_class = problem.scoring == "neg_log_loss"
    x, x_test, y, y_test = train_test_split(
        problem.x, problem.y, test_size=0.5, random_state=case.seed, stratify=problem.y if is_class else None
    )
    problem = problem._replace(x=x, y=y)
    began = time.perf_counter()
    limit = sum(
        float(run["seconds"]) for run in read(file)
        if (run["data"], run["search"], run["seed"]) == (case.data, "sonde", str(case.seed))
    )  # fmt: skip
    params, seconds, count = {
        "sonde": partial(sonde, stops=True), "sonde, all folds": partial(sonde, stops=False),
        "random": partial(random, limit=limit), "halving": partial(halving, limit=limit),
    }[case.search](problem, case.seed)  # fmt: skip
    chosen = problem.estimator().set_params(**params)
    repeated = (RepeatedStratifiedKFold if is_class else RepeatedKFold)(n_splits=5, n_repeats=4, random_state=case.seed)
    cross = float(np.mean(cross_val_score(chosen, x, y, scoring=problem.scoring, cv=repeated)))
    test = float(get_scorer(problem.scoring)(chosen.fit(x, y), x_test, y_test))
    row = case._asdict() | {"seconds": f"{seconds:.3g}", "candidates": count, "cross": f"{cross:.6g}",
                            "test": f"{test:.6g}", "whole": f"{time.perf_counter() - began:.3g}"}  # fmt: skip
    return row, cross


def sonde(problem: Problem, seed: int, stops: bool) -> tuple[dict[str, Any], float, int]:
    """Return the best parameters, the seconds, and the number of candidates."""
    from sonde.integrations.sklearn import SondeSearchCV

    search = SondeSearchCV(
        problem.estimator(), problem.space, n_iter=CANDIDATES, cv=FOLDS, scoring=problem.scoring, random_state=seed,
        refit=False, early_stopping=stops,
    )  # fmt: skip
    began = time.perf_counter()
    search.fit(problem.x, problem.y)
    return search.best_params_, time.perf_counter() - began, CANDIDATES


def random(problem: Problem, seed: int, limit: float) -> tuple[dict[str, Any], float, int]:
    """Score random candidates, some at a time, until the time has passed."""
    from sklearn.model_selection import RandomizedSearchCV

    def some(turn: int) -> Any:
        return RandomizedSearchCV(
            problem.estimator(), distributions(problem.space), n_iter=CHUNK, cv=FOLDS, scoring=problem.scoring,
            random_state=1000 * seed + turn, refit=False,
        )  # fmt: skip

    return repeated(problem, some, limit, lambda search: CHUNK)


def halving(problem: Problem, seed: int, limit: float) -> tuple[dict[str, Any], float, int]:
    """Run successive halving over the number of samples, again and again, until the time has passed."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingRandomSearchCV

    def one(turn: int) -> Any:
        return HalvingRandomSearchCV(
            problem.estimator(), distributions(problem.space), cv=FOLDS, scoring=problem.scoring,
            random_state=1000 * seed + turn, refit=False, min_resources="exhaust", n_candidates=27,
        )  # fmt: skip

    return repeated(problem, one, limit, lambda search: search.n_candidates_[0])


def repeated(
    problem: Problem, search_of: Callable[[int], Any], limit: float, count: Callable[[Any], int]
) -> tuple[dict[str, Any], float, int]:
    """Run searches until the time has passed; return the parameters with the best score of all."""
    began, turn, tried, best = time.perf_counter(), 0, 0, (-np.inf, {})
    while turn == 0 or time.perf_counter() - began < limit:
        search = search_of(turn).fit(problem.x, problem.y)
        best = max(best, (search.best_score_, search.best_params_), key=lambda one: one[0])
        tried += count(search)
        turn += 1
    return best[1], time.perf_counter() - began, tried


def distributions(space: dict[str, Any]) -> dict[str, Any]:
    """Return a space as scikit-learn's searches take it."""
    from scipy.stats import loguniform, randint, uniform

    def one(own: Any) -> Any:
        match own:
            case (low, high, "log"):
                return loguniform(low, high)
            case (float() as low, high):
                return uniform(low, high - low)
            case range():
                return randint(own.start, own.stop)
        return own

    return {name: one(own) for name, own in space.items()}


def summary(runs: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the mean results of each search, and how often Sonde is better in cross-validation."""
    known = {(run["data"], run["search"], run["seed"]): run for run in runs}
    rows = []
    for data in PROBLEMS:
        for search in SEARCHES:
            own = [run for run in runs if (run["data"], run["search"]) == (data, search)]
            if not own:
                continue
            mine = [known.get((data, "sonde", run["seed"])) for run in own]
            ahead = [(float(a["cross"]) > float(b["cross"])) + 0.5 * (a["cross"] == b["cross"])
                     for a, b in zip(mine, own, strict=True) if a is not None]  # fmt: skip
            means = {
                name: float(np.mean([float(run[name]) for run in own]))
                for name in ("cross", "test", "seconds", "candidates")
            }
            rows.append(
                {"data": data, "search": search, **means, "sonde ahead": float(np.mean(ahead)), "runs": len(own)}
            )
    return rows


# data


def digits() -> Problem:
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def made() -> Any:
        return make_pipeline(PCA(random_state=0), LogisticRegression(max_iter=100))

    space = {
        "pca__n_components": range(5, 61),
        "pca__whiten": [True, False],
        "logisticregression__C": (1e-5, 1e3, "log"),
    }
    return Problem(made, space, *load_digits(return_X_y=True), "neg_log_loss")


def cancer() -> Problem:
    from sklearn.datasets import load_breast_cancer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    def made() -> Any:
        return make_pipeline(StandardScaler(), SVC(probability=True, random_state=0))

    space = {"svc__C": (1e-3, 1e4, "log"), "svc__gamma": (1e-6, 10.0, "log"), "svc__kernel": ["rbf", "poly", "sigmoid"]}
    return Problem(made, space, *load_breast_cancer(return_X_y=True), "neg_log_loss")


def wine() -> Problem:
    from sklearn.datasets import load_wine
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def made() -> Any:
        return make_pipeline(StandardScaler(), MLPClassifier(max_iter=150, random_state=0))

    network = {"hidden_layer_sizes": range(2, 101), "alpha": (1e-6, 10.0, "log"),
               "learning_rate_init": (1e-4, 1e-1, "log"), "activation": ["relu", "tanh"]}  # fmt: skip
    space = {f"mlpclassifier__{name}": own for name, own in network.items()}
    return Problem(made, space, *load_wine(return_X_y=True), "neg_log_loss")


def diabetes() -> Problem:
    from sklearn.datasets import load_diabetes
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def made() -> Any:
        return make_pipeline(StandardScaler(), KernelRidge())

    space = {"kernelridge__alpha": (1e-4, 1e3, "log"), "kernelridge__gamma": (1e-6, 1.0, "log"),
             "kernelridge__kernel": ["rbf", "laplacian", "sigmoid"]}  # fmt: skip
    return Problem(made, space, *load_diabetes(return_X_y=True), "neg_root_mean_squared_error")


def friedman() -> Problem:
    from sklearn.datasets import make_friedman1
    from sklearn.ensemble import GradientBoostingRegressor

    def made() -> Any:
        return GradientBoostingRegressor(random_state=0)

    space = {"n_estimators": range(20, 201), "learning_rate": (1e-3, 1.0, "log"), "max_depth": range(1, 9),
             "subsample": (0.3, 1.0), "min_samples_leaf": range(1, 31)}  # fmt: skip
    return Problem(made, space, *make_friedman1(600, noise=1.0, random_state=0), "neg_root_mean_squared_error")


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "digits, logistic": digits, "breast cancer, SVM": cancer, "wine, network": wine, "diabetes, kernel ridge": diabetes,
    "Friedman 1, boosting": friedman,
}  # fmt: skip


if __name__ == "__main__":
    main()
