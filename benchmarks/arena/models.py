"""Ten data sets of scikit-learn, each with three kinds of model to choose from and the parameters of each.

The value is the loss in cross-validation on folds that belong to the seed, so it has no noise. Parameters depend on
the kind. Some of the models and their ranges are those of ``benchmarks.sklearn_search``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.arena.problems import Point, Problem, Told

FOLDS, ROWS = 3, 400  # of more rows the first ones are used
KIND = "kind"


class Model(NamedTuple):
    """An estimator, and its parameters by the names that it gives them."""

    estimator: Callable[[], Any]
    space: dict[str, Any]


class Data(NamedTuple):
    """A data set, and the kinds of model for it."""

    load: Callable[[], Any]  # of rows and targets
    models: tuple[str, ...]
    scoring: str


def models(suite: str, function: int, dimension: int, seed: int) -> Problem:
    """Return the choice of a model for a data set."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    import sonde

    data = DATA[list(DATA)[function - 1]]
    own = {kind: _model(kind) for kind in data.models}
    parameters: dict[str, Any] = {KIND: sonde.Categorical(list(own))}
    for kind, model in own.items():
        for name, parameter in sonde.Space.of(model.space).parameters.items():
            parameters[f"{kind} {name}"] = replace(parameter, when={KIND: kind})  # type: ignore[type-var]
    space = sonde.Space(parameters)
    x, y = (column[:ROWS] for column in _loaded(function))
    folds = (StratifiedKFold if data.scoring == LOG_LOSS else KFold)(FOLDS, shuffle=True, random_state=seed)

    def evaluate(point: Point) -> Told:
        chosen = dict(zip(space.names, point, strict=True))
        kind = chosen[KIND]
        params = {name: chosen[f"{kind} {name}"] for name in own[kind].space}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = cross_val_score(own[kind].estimator().set_params(**params), x, y, scoring=data.scoring, cv=folds)
        loss = -float(np.mean(scores))
        return Told(loss if math.isfinite(loss) else math.nan)

    return Problem(suite, function, seed, (), evaluate, declared=space, worst=WORST[data.scoring])


LOG_LOSS, ERROR = "neg_log_loss", "neg_root_mean_squared_error"
WORST = {LOG_LOSS: 10.0, ERROR: 1e3}


@cache
def _loaded(function: int) -> tuple[Any, Any]:
    """Return rows and targets, in an order in which the first ones are a sample."""
    data = DATA[list(DATA)[function - 1]]
    x, y = data.load()
    order = np.random.default_rng(0).permutation(len(x))
    y = np.asarray(y)[order]
    return np.asarray(x)[order], (y - y.mean()) / y.std() if data.scoring == ERROR else y


# models


def _model(kind: str) -> Model:
    """Return a model: one of ``benchmarks.sklearn_search``, or one from here."""
    from benchmarks.sklearn_search import PROBLEMS

    if kind in SHARED:
        problem = PROBLEMS[SHARED[kind]]()
        return Model(problem.estimator, problem.space)
    return MODELS[kind]()


SHARED = {
    "svm": "breast cancer, SVM", "network": "wine, network", "components": "digits, logistic",
    "kernel ridge": "diabetes, kernel ridge", "boosting": "Friedman 1, boosting",
}  # fmt: skip


def forest() -> Model:
    from sklearn.ensemble import RandomForestClassifier

    space = {"n_estimators": range(5, 61), "max_depth": range(1, 16), "max_features": (0.1, 1.0),
             "min_samples_leaf": range(1, 21)}  # fmt: skip
    return Model(lambda: RandomForestClassifier(random_state=0), space)


def trees() -> Model:
    from sklearn.ensemble import ExtraTreesRegressor

    space = {"n_estimators": range(5, 61), "max_depth": range(1, 16), "max_features": (0.1, 1.0),
             "min_samples_leaf": range(1, 21)}  # fmt: skip
    return Model(lambda: ExtraTreesRegressor(random_state=0), space)


def neighbours() -> Model:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    space = {"n_neighbors": range(1, 61), "weights": ["uniform", "distance"], "p": (1.0, 3.0)}
    named = {f"kneighborsclassifier__{name}": own for name, own in space.items()}
    return Model(lambda: make_pipeline(StandardScaler(), KNeighborsClassifier()), named)


def logistic() -> Model:
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    space = {"alpha": (1e-6, 10.0, "log"), "penalty": ["l2", "l1", "elasticnet"], "eta0": (1e-4, 1.0, "log"),
             "learning_rate": ["optimal", "invscaling", "adaptive"]}  # fmt: skip
    named = {f"sgdclassifier__{name}": own for name, own in space.items()}
    return Model(
        lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", max_iter=200, random_state=0)), named
    )


def net() -> Model:
    from sklearn.linear_model import ElasticNet
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    space = {"polynomialfeatures__degree": range(1, 4), "elasticnet__alpha": (1e-4, 10.0, "log"),
             "elasticnet__l1_ratio": (0.0, 1.0)}  # fmt: skip
    return Model(lambda: make_pipeline(StandardScaler(), PolynomialFeatures(), ElasticNet(max_iter=300)), space)


def support() -> Model:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    space = {"C": (1e-2, 1e3, "log"), "gamma": (1e-4, 10.0, "log"), "epsilon": (1e-3, 1.0, "log")}
    return Model(
        lambda: make_pipeline(StandardScaler(), SVR(max_iter=20_000)), {f"svr__{k}": v for k, v in space.items()}
    )


MODELS: dict[str, Callable[[], Model]] = {
    "forest": forest, "trees": trees, "neighbours": neighbours, "logistic": logistic, "net": net, "support": support,
}  # fmt: skip


# data: the development half, then the report half


def _data(name: str, **options: Any) -> Callable[[], Any]:
    """Return what loads or makes a data set of scikit-learn."""

    def load() -> Any:
        from sklearn import datasets

        return getattr(datasets, name)(**options)

    return load


DATA: dict[str, Data] = {
    "wine": Data(_data("load_wine", return_X_y=True), ("network", "forest", "svm"), LOG_LOSS),
    "digits": Data(_data("load_digits", return_X_y=True), ("components", "neighbours", "forest"), LOG_LOSS),
    "moons": Data(
        _data("make_moons", n_samples=400, noise=0.3, random_state=0), ("neighbours", "network", "logistic"), LOG_LOSS
    ),
    "Friedman 2": Data(
        _data("make_friedman2", n_samples=300, noise=50.0, random_state=0), ("kernel ridge", "net", "boosting"), ERROR
    ),
    "few features": Data(
        _data("make_regression", n_samples=200, n_features=20, n_informative=5, noise=20.0, random_state=0),
        ("net", "trees", "support"), ERROR,
    ),
    "breast cancer": Data(_data("load_breast_cancer", return_X_y=True), ("svm", "forest", "logistic"), LOG_LOSS),
    "iris": Data(_data("load_iris", return_X_y=True), ("network", "neighbours", "svm"), LOG_LOSS),
    "classes": Data(
        _data("make_classification", n_samples=400, n_features=20, n_informative=8, n_classes=3, random_state=0),
        ("network", "forest", "neighbours"), LOG_LOSS,
    ),
    "diabetes": Data(_data("load_diabetes", return_X_y=True), ("kernel ridge", "boosting", "net"), ERROR),
    "Friedman 1": Data(
        _data("make_friedman1", n_samples=300, noise=1.0, random_state=0), ("boosting", "support", "trees"), ERROR
    ),
}  # fmt: skip
