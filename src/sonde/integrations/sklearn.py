"""Sonde in scikit-learn: ``SondeSearchCV`` chooses the parameters of an estimator by cross-validation.

Candidates are asked for in batches that fill the workers. Each is scored on the same folds; one that is clearly worse
than the best after two folds is not scored on the others.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from scipy.stats import rankdata, t

from sonde.arrays import Array, Mask
from sonde.errors import OptionError, SpaceExhausted
from sonde.extras import require
from sonde.hints import explains_keywords
from sonde.study import Study, checks
from sonde.trials import Trial

require("sklearn", extra="sklearn")

from joblib import effective_n_jobs  # noqa: E402
from sklearn.base import is_classifier  # noqa: E402
from sklearn.exceptions import FitFailedWarning  # noqa: E402
from sklearn.model_selection import check_cv  # noqa: E402
from sklearn.model_selection._search import BaseSearchCV  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402

FIRST = 2  # folds after which a candidate may be given up
KNOWN = 3  # candidates with all folds before one is
PARTIAL = "callback_ctx" in signature(BaseSearchCV._run_search).parameters  # from 1.9 on some folds can be scored
WORDS = dict.fromkeys(["param_distributions", "param_grid", "search_spaces"], "write space=") | {
    "n_trials": "write n_iter=", "seed": "write random_state=", "workers": "write n_jobs=",
}  # fmt: skip
CHANCE = 0.01  # that a candidate that is given up would have become the best one


class SondeSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search for the parameters of an estimator with the best cross-validated score.

    Parameters
    ----------
    estimator
        The estimator, such as a pipeline.
    space
        The space to search, as ``sonde.Space.of`` takes it: a dict of parameters such as
        ``{"svc__C": (1e-3, 1e3, "log"), "svc__kernel": ["rbf", "poly"]}``, SciPy's distributions and lists, or a
        ``sonde.Space`` with conditions.
    n_iter
        How many candidates to score.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in ``RandomizedSearchCV``. The metric that ``refit`` names is maximised. With several metrics and another
        ``refit`` the search is for their Pareto front.
    random_state
        Of the search: an int gives the same candidates again.
    strategy
        Of the study, such as ``"gp"`` or ``sonde.GP(...)``.
    early_stopping
        Whether a candidate that is clearly worse after two folds is not scored on the others.

    Attributes
    ----------
    cv_results_
        As in ``RandomizedSearchCV``, in the order of the search. ``n_folds`` is the number of folds on which a
        candidate was scored; its other folds are NaN, its mean is over the folds that were, and it ranks after all
        candidates with all folds.
    study_
        The ``sonde.Study``, with ``study_.plot``, ``study_.report(path)`` and ``study_.advice()``.
    """

    n_splits_: int

    @partial(explains_keywords, words=WORDS)
    def __init__(
        self, estimator: Any, space: Any, *, n_iter: int = 30, scoring: Any = None, n_jobs: int | None = None,
        refit: Any = True, cv: Any = None, verbose: int = 0, pre_dispatch: Any = "2*n_jobs", random_state: Any = None,
        error_score: Any = np.nan, return_train_score: bool = False, strategy: Any = "auto",
        early_stopping: bool = True,
    ) -> None:  # fmt: skip
        self.space = space
        self.n_iter = n_iter
        self.random_state = random_state
        self.strategy = strategy
        self.early_stopping = early_stopping
        super().__init__(
            estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
            pre_dispatch=pre_dispatch, error_score=error_score, return_train_score=return_train_score,
        )  # fmt: skip

    def _run_search(self, evaluate_candidates: Callable[..., Any], *, callback_ctx: Any = None) -> None:
        """Score ``n_iter`` candidates; called by ``fit``."""
        count = checks.count(self.n_iter, "n_iter")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.study_ = self._study(seed)
        scores = self._scores = Scores(self.n_splits_ if PARTIAL else 0)
        search = None if callback_ctx is None else _began(callback_ctx, self, "search")
        fits = Fits(self, evaluate_candidates, search)
        try:
            with suppress(SpaceExhausted):  # then all candidates have been scored
                while len(scores.candidates) < count:
                    self._run_batch(fits, count - len(scores.candidates))
            if not scores.told:
                raise fits.failure or OptionError("no candidate could be scored; look at the warnings")
            fits.results.update(self._formatted())  # with candidates that failed after the last one that was scored
        finally:
            del self._scores
        if search is not None:
            search.call_on_fit_task_end(estimator=self)

    def _study(self, seed: int) -> Study:
        """Return a new study."""
        several = self._several()
        if isinstance(self.space, list | tuple) and any(isinstance(each, Mapping) for each in self.space):
            raise OptionError(
                "space is one space, not a list of them; what only some candidates have is conditional: "
                'sonde.Float(0, 1, when={"kernel": "poly"})'
            )
        goal: dict[str, Any] = {"objectives": dict.fromkeys(several, "maximize")} if several else {"direction": "max"}
        return Study(self.space, seed=seed, strategy=self.strategy, **goal)

    def _run_batch(self, fits: Fits, most: int) -> None:
        """Ask for as many candidates as the workers take, score them, and tell the study."""
        scores, every = self._scores, range(self._scores.splits)
        stops = PARTIAL and self.early_stopping and not self._several() and scores.splits > FIRST
        stops = stops and len(scores.complete(self._metric)) >= KNOWN
        folds = every[:FIRST] if stops else every
        size = max(1, round(effective_n_jobs(self.n_jobs) / max(1, len(folds))))
        trials = self.study_.ask(min(size, most))
        numbers = scores.add([dict(trial.params) for trial in trials])
        fits.run(numbers, folds)
        predicted = {number: scores.predicted_if_worse(number, self._metric) if stops else None for number in numbers}
        if stops:
            fits.run([number for number in numbers if predicted[number] is None], every[FIRST:])
        for trial, number in zip(trials, numbers, strict=True):
            self._tell(trial, number, predicted[number])

    def _tell(self, trial: Trial, number: int, predicted: float | None) -> None:
        """Tell the study the mean score of a candidate, or that predicted for one that was given up."""
        several = self._several()
        entries = [entry["test_scores"] for entry in self._scores.of(number)]
        means = {name: float(np.mean([each[name] for each in entries])) for name in several} if entries else {}
        if entries and not several:
            means = {"score": float(np.mean([self._metric(each) for each in entries]))}
        if not means or not all(map(math.isfinite, means.values())):
            self.study_.tell(trial, failed="a fit or its score failed; the warnings of scikit-learn say why")
        elif several:
            self.study_.tell(trial, means)
        else:
            self.study_.tell(trial, means["score"] if predicted is None else predicted)

    def _several(self) -> list[str]:
        """Return the metrics whose Pareto front is searched for; none where there is one metric to maximise."""
        known = isinstance(self.scoring, list | tuple | set | dict)
        return list(self.scoring) if known and not isinstance(self.refit, str) and len(self.scoring) > 1 else []

    def _metric(self, scores: Any) -> float:
        """Return the score that is maximised."""
        if not isinstance(scores, Mapping):
            return float(scores)
        if isinstance(self.refit, str):
            return float(scores[self.refit])
        if len(scores) == 1:
            return float(next(iter(scores.values())))
        raise OptionError(f"scoring returns {', '.join(scores)}; refit= must name the one to search for")

    def _format_results(
        self, candidate_params: Any, n_splits: int, out: Sequence[dict[str, Any]], more_results: Any = None
    ) -> dict[str, Any]:
        """Return the results of all candidates so far; ``out`` has those of all fits in their order."""
        self._scores.tell(out)
        return self._formatted(more_results)

    def _formatted(self, more_results: Any = None) -> dict[str, Any]:
        scores = self._scores
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "One or more of the .* scores are non-finite")
            results = super()._format_results(scores.candidates, scores.splits, scores.table(), more_results)
        return {**results, **scores.summary(results)}

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: with the trials of the study, which is in memory; during the search without it."""
        state = dict(super().__getstate__())
        searching, study = state.pop("_scores", None), state.pop("study_", None)
        if study is not None and searching is None:
            state["study_"] = study.seed, study.trials
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the study, too."""
        kept = state.pop("study_", None)
        super().__setstate__(state)
        if kept is not None:
            seed, trials = kept
            self.study_ = self._study(seed)
            self.study_.add_trials(trials)


class Scores:
    """Which candidate was scored on which fold, and the outcomes. The number of folds may not be known yet."""

    def __init__(self, splits: int) -> None:
        self.splits = splits
        self.candidates: list[dict[str, Any]] = []
        self.told: dict[tuple[int, int], dict[str, Any]] = {}
        self.planned: list[tuple[Sequence[int], range]] = []  # the candidates and the folds of each batch of fits

    def add(self, candidates: Sequence[dict[str, Any]]) -> list[int]:
        """Add candidates and return their numbers."""
        self.candidates += candidates
        return list(range(len(self.candidates) - len(candidates), len(self.candidates)))

    def tell(self, out: Sequence[dict[str, Any]]) -> None:
        """Take the outcomes of all fits so far."""
        self.splits = self.splits or len(out) // len(self.planned[0][0])
        fits = [(n, k) for numbers, folds in self.planned for n in numbers for k in folds or range(self.splits)]
        self.told = dict(zip(fits, out, strict=True))

    def of(self, number: int) -> list[dict[str, Any]]:
        """Return the outcomes of a candidate."""
        return [self.told[number, fold] for fold in range(self.splits) if (number, fold) in self.told]

    def complete(self, metric: Callable[[Any], float]) -> Array:
        """Return the scores (m, splits) of the candidates that were scored on all folds, the best one first."""
        found = [[metric(entry["test_scores"]) for entry in self.of(number)] for number in range(len(self.candidates))]
        rows = np.array([row for row in found if len(row) == self.splits]).reshape(-1, self.splits)
        rows = rows[np.isfinite(rows).all(axis=1)]
        return np.asarray(rows[np.argsort(-rows.mean(axis=1), kind="stable")])

    def predicted_if_worse(self, number: int, metric: Callable[[Any], float]) -> float | None:
        """Return the predicted mean score of a candidate that is clearly worse than the best; None if it is not.

        Scores on one fold differ less between candidates than between folds, so the differences to the best one, fold
        by fold, are what counts. Their mean over all folds is predicted from the first ones by a t distribution. If it
        were as good as the best, they would vary like those of good candidates: the variance is pooled over the better
        half of those that were scored on all folds.
        """
        best, *others = self.complete(metric)
        first = np.array([metric(entry["test_scores"]) for entry in self.of(number)][:FIRST])
        if len(first) < FIRST or not np.isfinite(first).all():
            return None
        behind = float(np.mean(best[:FIRST] - first))
        others = others[: max(2, len(others) // 2)]
        variance = float(np.mean(np.var(best - np.array(others), axis=1, ddof=1)))
        spread = math.sqrt(variance * (1 / FIRST - 1 / self.splits))
        freedom = len(others) * (self.splits - 1)
        return float(best.mean()) - behind if behind > t.ppf(1 - CHANCE, freedom) * spread else None

    def table(self) -> list[dict[str, Any]]:
        """Return an outcome of each candidate on each fold; NaN where it was not scored."""
        blank = _blank(next(iter(self.told.values())))
        every = ((number, fold) for number in range(len(self.candidates)) for fold in range(self.splits))
        return [self.told.get(each, blank) for each in every]

    def summary(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Return mean, deviation and rank over the folds that were run."""
        ran = np.array([[(n, k) in self.told for k in range(self.splits)] for n in range(len(self.candidates))])
        counts = ran.sum(axis=1)
        found: dict[str, Any] = {"n_folds": counts}
        for name in [key.removeprefix("split0_") for key in results if key.startswith("split0_")]:
            found |= _moments(name, np.stack([results[f"split{k}_{name}"] for k in range(self.splits)], axis=1), ran)
            if f"rank_{name}" in results:
                found[f"rank_{name}"] = _ranks(found[f"mean_{name}"], counts == self.splits)
        for name in ("fit_time", "score_time"):
            found |= _moments(name, np.array([entry[name] for entry in self.table()]).reshape(ran.shape), ran)
        return found


class Fits:
    """Runs fits by the function that ``fit`` gives."""

    def __init__(self, search: SondeSearchCV, evaluate: Callable[..., Any], context: Any) -> None:
        self.search = search
        self.evaluate = evaluate
        self.context = context
        self.folds = Folds(search)
        self.results: dict[str, Any] = {}  # those that ``fit`` keeps
        self.failure: Exception | None = None  # of the last batch of which all fits failed

    def run(self, numbers: Sequence[int], folds: range) -> None:
        """Score candidates on some of the folds."""
        if not numbers:
            return
        search, scores = self.search, self.search._scores
        scores.planned.append((numbers, folds))
        if PARTIAL:
            search.n_splits_ = len(folds)
        context = None if self.context is None else _began(self.context, search, "batch", len(numbers) * len(folds))
        given = {} if context is None else {"callback_ctx": context}
        try:
            candidates = [scores.candidates[number] for number in numbers]
            self.results = self.evaluate(candidates, cv=self.folds.some(folds), **given)
        except ValueError as error:
            if search.error_score == "raise" or "fits failed" not in str(error):
                raise
            self.failure = error  # these candidates have failed; the search goes on
            warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            scores.planned.pop()
        finally:
            if PARTIAL:
                search.n_splits_ = scores.splits
        if context is not None:
            context.call_on_fit_task_end(estimator=search)


class Folds:
    """The folds of a search as a splitter, the same ones for all candidates."""

    def __init__(self, search: SondeSearchCV) -> None:
        self._search = search
        self._pairs: list[Any] = []
        self._wanted = range(0)

    def some(self, wanted: range) -> Folds:
        """Return some of the folds; an empty range stands for all."""
        self._wanted = wanted
        return self

    def split(self, x: Any, y: Any = None, **more: Any) -> list[Any]:
        """Return the indices for training and test of these folds."""
        if not self._pairs:
            splitter = check_cv(self._search.cv, y, classifier=is_classifier(self._search.estimator))
            self._pairs = list(splitter.split(x, y, **more))
        return [self._pairs[fold] for fold in self._wanted or range(len(self._pairs))]


def _began(context: Any, search: SondeSearchCV, name: str, tasks: int | None = None) -> Any:
    """Begin a task of scikit-learn's callbacks."""
    inner = context.subcontext(task_name=name, max_subtasks=tasks, sequential_subtasks=tasks is None)
    return inner.call_on_fit_task_begin(estimator=search)


def _blank(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a fit that was not made."""

    def nothing(value: Any) -> Any:
        return dict.fromkeys(value, math.nan) if isinstance(value, Mapping) else math.nan

    return {**entry, "fit_time": math.nan, "score_time": math.nan,
            **{name: nothing(entry[name]) for name in ("test_scores", "train_scores") if name in entry}}  # fmt: skip


def _moments(name: str, values: Array, ran: Mask) -> dict[str, Array]:
    """Return mean and deviation over the folds that were run; NaN where there is none."""
    counts = np.where(ran.any(axis=1), ran.sum(axis=1), np.nan)
    mean = np.where(ran, values, 0.0).sum(axis=1) / counts
    squares = np.where(ran, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return {f"mean_{name}": mean, f"std_{name}": np.sqrt(squares / counts)}


def _ranks(means: Array, complete: Any) -> Any:
    """Return the ranks of candidates: those with all folds first, those without a score last."""
    ranks = np.empty(len(means), dtype=np.int32)
    before = 0
    groups = (complete & np.isfinite(means), ~complete & np.isfinite(means), ~np.isfinite(means))
    for place, group in enumerate(groups):
        ranks[group] = before + (1 if place == 2 else rankdata(-means[group], method="min"))
        before += int(group.sum())
    return ranks
