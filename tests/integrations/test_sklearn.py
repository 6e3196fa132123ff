"""``SondeSearchCV`` in real scikit-learn."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.stats
from distributed import Client, LocalCluster
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import sonde
from sonde.integrations.sklearn import PARTIAL, SondeSearchCV

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
]
X, Y = load_digits(return_X_y=True)
X, Y = X[:300], Y[:300]
SPACE = {"C": (1e-2, 1e3, "log"), "gamma": (1e-6, 1e-1, "log")}


def search(estimator: Any = None, space: Any = SPACE, **options: Any) -> SondeSearchCV:
    return SondeSearchCV(
        SVC() if estimator is None else estimator, space, **{"n_iter": 8, "cv": 3, "random_state": 0} | options
    )


@pytest.mark.parametrize(("estimator", "name"), [(LogisticRegression(), "C"), (Ridge(), "alpha")])
def test_scikit_learns_own_checks(estimator: Any, name: str) -> None:
    """It fails no check that scikit-learn's own search passes."""
    own = search(estimator, {name: (0.1, 10.0, "log")}, n_iter=3)
    missed = failed_checks(own)
    if missed:
        assert missed <= failed_checks(RandomizedSearchCV(estimator, {name: [0.1, 1.0, 10.0]}, n_iter=3, cv=3))


def failed_checks(search: Any) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as where scikit-learn runs them
        checked = check_estimator(search, on_fail=None, on_skip=None)
    assert sum(one["status"] == "passed" for one in checked) > 40
    return {one["check_name"] for one in checked if one["status"] == "failed"}


def test_the_best_of_the_candidates_is_refitted() -> None:
    found = search(early_stopping=False).fit(X, Y)
    results = found.cv_results_
    assert found.best_score_ == results["mean_test_score"].max()
    assert found.best_params_ == results["params"][found.best_index_]
    assert found.best_score_ == pytest.approx(cross_val_score(SVC(**found.best_params_), X, Y, cv=3).mean())
    assert found.score(X, Y) > 0.9
    assert [trial.value for trial in found.study_.trials] == pytest.approx(list(results["mean_test_score"]))
    assert found.study_.best_params == found.best_params_


def test_the_results_have_the_columns_of_a_randomized_search() -> None:
    options: dict[str, Any] = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro", "return_train_score": True}
    own = search(n_iter=4, **options).fit(X, Y).cv_results_
    lists = {"C": [0.1, 1.0, 10.0], "gamma": [1e-4, 1e-3]}
    theirs = RandomizedSearchCV(SVC(), lists, n_iter=4, cv=3, random_state=0, **options).fit(X, Y).cv_results_
    assert set(own) == {*theirs, "n_folds"}
    assert {name: type(column) for name, column in own.items() if name != "n_folds"} == {
        name: type(column) for name, column in theirs.items()
    }


@pytest.mark.parametrize(
    "space",
    [
        {"C": scipy.stats.loguniform(1e-2, 1e3), "kernel": ["rbf", "poly"], "shrinking": [True, False]},
        sonde.Space(kernel=sonde.Categorical(["rbf", "poly"]), degree=sonde.Int(2, 4, when={"kernel": "poly"})),
    ],
)
def test_spaces_of_scipy_and_with_conditions(space: Any) -> None:
    found = search(space=space).fit(X, Y)
    for params in found.cv_results_["params"]:
        sonde.Space.of(space).row(params)
    assert len(found.cv_results_["params"]) == (8 if "C" in space else 4)  # the second space has no more


def test_parameters_of_a_pipeline_and_whole_steps() -> None:
    pipeline = make_pipeline(StandardScaler(), PCA(), LogisticRegression(max_iter=200))
    space = {"pca__n_components": range(2, 30), "logisticregression__C": (1e-3, 1e2, "log"),
             "standardscaler": [StandardScaler(), "passthrough"]}  # fmt: skip
    found = search(pipeline, space, n_iter=6).fit(X, Y)
    assert found.best_estimator_.named_steps["pca"].n_components == found.best_params_["pca__n_components"]
    assert {type(each["standardscaler"]) for each in found.cv_results_["params"]} <= {StandardScaler, str}


def test_the_same_random_state_gives_the_same_candidates() -> None:
    first, again = (search().fit(X, Y).cv_results_["params"] for _ in range(2))
    assert first == again
    assert first != search(random_state=1).fit(X, Y).cv_results_["params"]
    drawn = np.random.RandomState(0)
    assert (
        search(random_state=drawn).fit(X, Y).cv_results_["params"]
        != search(random_state=drawn).fit(X, Y).cv_results_["params"]
    )


def test_random_folds_are_the_same_for_all_candidates() -> None:
    """Two candidates that are the same model have the same scores."""
    found = search(RandomForestClassifier(5, random_state=0), {"verbose": [0, False]}, cv=KFold(3, shuffle=True)).fit(
        X, Y
    )
    results = found.cv_results_
    assert all(len(set(results[f"split{k}_test_score"])) == 1 for k in range(3))


def test_a_candidate_that_is_clearly_worse_is_scored_on_two_folds() -> None:
    options: dict[str, Any] = {"n_iter": 25, "cv": 6, "strategy": "random"}
    found, whole = search(**options).fit(X, Y), search(early_stopping=False, **options).fit(X, Y)
    results = found.cv_results_
    stopped = results["n_folds"] == 2
    if not PARTIAL:  # before 1.9 scikit-learn cannot score some of the folds
        assert (results["n_folds"] == 6).all()
        return
    assert stopped.sum() >= 3
    assert set(results["n_folds"]) == {2, 6}
    assert (whole.cv_results_["n_folds"] == 6).all()
    assert results["rank_test_score"][stopped].min() > results["rank_test_score"][~stopped].max()
    assert np.isnan([results[f"split{k}_test_score"][stopped] for k in range(2, 6)]).all()
    assert results["mean_test_score"][stopped] == pytest.approx(
        (results["split0_test_score"] + results["split1_test_score"])[stopped] / 2
    )
    for params in np.array(results["params"])[stopped]:  # they would not have been the best
        assert cross_val_score(SVC(**params), X, Y, cv=6).mean() < found.best_score_
    assert found.best_score_ == whole.best_score_  # random candidates are the same ones


class Fails(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """It fails where ``x`` is large."""

    def __init__(self, x: float = 0.0) -> None:
        self.x = x

    def fit(self, X: Any, y: Any) -> Fails:
        if self.x > 0.5:
            raise MemoryError("too large")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return float(self.x)


def test_candidates_whose_fits_fail_are_learned_from() -> None:
    with pytest.warns(FitFailedWarning):
        found = search(Fails(), {"x": (0.0, 1.0)}, n_iter=16, n_jobs=1).fit(X, Y)
    results, x = found.cv_results_, np.array([each["x"] for each in found.cv_results_["params"]])
    np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), x > 0.5)
    assert 0.4 < found.best_params_["x"] <= 0.5
    assert [trial.state == "failed" for trial in found.study_.trials] == list(x > 0.5)
    assert results["rank_test_score"][x > 0.5].min() > results["rank_test_score"][x <= 0.5].max()


def test_if_all_fail_the_error_of_scikit_learn_is_raised() -> None:
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        search(Fails(), {"x": (0.6, 1.0)}, n_iter=3, n_jobs=1).fit(X, Y)
    with pytest.raises(MemoryError, match="too large"):
        search(Fails(), {"x": (0.6, 1.0)}, error_score="raise").fit(X, Y)


def test_several_metrics_give_a_front() -> None:
    metrics = ["precision_macro", "recall_macro"]
    found = search(LogisticRegression(max_iter=50), {"C": (1e-4, 1e2, "log")}, scoring=metrics, refit=False).fit(X, Y)
    assert found.study_.objectives.names == ("precision_macro", "recall_macro")
    assert found.study_.pareto_front
    assert not hasattr(found, "best_index_")


def test_a_search_can_be_cloned_and_pickled_before_and_after() -> None:
    found = clone(search(n_jobs=2)).fit(X, Y)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert [trial.value for trial in again.study_.trials] == [trial.value for trial in found.study_.trials]
    assert not hasattr(clone(found), "study_")


def test_workers_give_the_results_of_one() -> None:
    """With as many fits at once as a candidate has folds, batches have one candidate."""
    one, three = (search(n_jobs=jobs, early_stopping=False).fit(X, Y) for jobs in (1, 3))
    assert one.cv_results_["params"] == three.cv_results_["params"]
    np.testing.assert_allclose(one.cv_results_["mean_test_score"], three.cv_results_["mean_test_score"])


def test_a_backend_of_joblib_has_the_workers() -> None:
    options = {"n_iter": 6, "cv": 2, "early_stopping": False}
    six = search(n_jobs=6, **options).fit(X, Y)
    with joblib.parallel_config("threading", n_jobs=6):
        threads = search(**options).fit(X, Y)
    assert [trial.batch.size for trial in threads.study_.trials] == [3] * 6  # each has two folds
    assert threads.cv_results_["params"] == six.cv_results_["params"]


@pytest.mark.filterwarnings("ignore")  # of a cluster that ends
def test_a_dask_cluster_has_the_workers() -> None:
    with (
        LocalCluster(n_workers=1, threads_per_worker=6, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = search(n_iter=6, cv=2, early_stopping=False).fit(X, Y)
    assert [trial.batch.size for trial in found.study_.trials] == [3] * 6
    assert found.best_score_ > 0.8


def test_metadata_are_routed() -> None:
    x, y = make_classification(120, random_state=0)
    groups, weights = np.repeat(np.arange(12), 10), np.linspace(0, 1, 120)
    found = search(LogisticRegression(), {"C": (0.01, 10.0, "log")}, cv=GroupKFold(3), n_iter=3)
    found.fit(x, y, groups=groups, sample_weight=weights)
    assert found.best_estimator_.score(x, y) > 0.8
    with pytest.raises(ValueError, match="groups"):
        search(LogisticRegression(), {"C": (0.01, 10.0, "log")}, cv=GroupKFold(3)).fit(x, y)


def test_regression_and_a_callable_refit() -> None:
    x, y = make_regression(80, 5, noise=3.0, random_state=0)
    found = search(Ridge(), {"alpha": (1e-4, 1e4, "log")}, scoring="neg_mean_squared_error",
                   refit=lambda results: int(np.argmax(results["mean_test_score"]))).fit(x, y)  # fmt: skip
    assert found.best_params_["alpha"] < 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_iter": 0}, "n_iter must be a whole number, 1 or more"),
        ({"space": 3}, "a space is a dict of parameters"),
        ({"space": [{"C": [1, 2]}, {"C": [3]}]}, "space is one space, not a list"),
        ({"param_distributions": SPACE}, "takes no param_distributions=; write space="),
        ({"seed": 0}, "takes no seed=; write random_state="),
        ({"strategy": "tpe"}, "tpe"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        search(**options).fit(X, Y)
