"""The strategy ``"fobo"``: a Gaussian process on values and gradients (Ament & Gomes 2022).

Trials alternate. Trials with even numbers maximise the acquisition function under a global model of all observations,
in a trust region around the incumbent. Trials with odd numbers are steps of local searches (see ``local_search``): each
goes to the minimizer of the posterior mean of a local model. Local searches start from samples of the minimizer of a
global quadratic trend (see ``surrogates.gradient.global_trend``). The global model finds the promising basin among
many; the local searches exploit the gradients in it, at the price of a quasi-Newton method.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.errors import OptionError
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.gp import GP, KERNELS, feasibility, own_kernel
from sonde.strategies.bayesian.loop import STALLED, Bayesian, Target, feasible_values
from sonde.strategies.bayesian.model import Surrogate, best_points, best_value, features_of
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.search import Box
from sonde.strategies.bayesian.trust_region import GAIN, box_around
from sonde.strategies.bayesian.trust_region import follow as follow_region
from sonde.strategies.first_order.algorithm1 import Algorithm1
from sonde.strategies.first_order.local_search import SAME_MINIMUM, Evaluated, replay
from sonde.strategies.first_order.observations import observations_of
from sonde.strategies.first_order.schedule import (
    ActiveSearch,
    active_searches,
    changed_point,
    continues_search,
    is_high_dimensional,
    searching_locally,
)
from sonde.strategies.history_warnings import warn_of_history
from sonde.strategies.novelty import novel_rows
from sonde.strategies.options import one_of
from sonde.strategies.threads import one_thread
from sonde.surrogates.exact.feasibility import Feasibility
from sonde.surrogates.features import CENTRE
from sonde.surrogates.gradient.fitting import (
    FORMS,
    TREND_NAMES,
    GradientFit,
    Observations,
    WarmStartedGradientFits,
    fit_near,
)
from sonde.surrogates.gradient.global_trend import GlobalTrends, fit_global_trends
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.gradient.subspace import Subspace
from sonde.surrogates.outputs import Scale
from sonde.trials import History

if TYPE_CHECKING:
    from sonde.surrogates.kernel.fitting import KernelFit

Array = NDArray[np.float64]

FIRST = 4  # trials of the initial design: with gradients each tells as much as d + 1 values
PATIENCE = 4  # trials without improvement after which the trust region around the incumbent is halved
ROWS = 1000  # rows of the matrix that the global model factorises; beyond, the mean is solved iteratively
POINTS, PREDICTION_POINTS = 500, 1500  # observations of the iterative mean: to suggest, and to predict
NEAREST, LATEST = 12, 2  # observations of a local model: the nearest, and the last ones in its trust region
STEPS = 50  # of L-BFGS on the posterior mean in high dimension
TRENDS = {"auto": TREND_NAMES, "none": TREND_NAMES[:1], **{str(name): (name,) for name in TREND_NAMES[1:]}}


class FOBO(Bayesian):
    """First-order Bayesian optimization: a Gaussian process on values and gradients, and multi-start local searches.

    The bare name ``"fobo"`` chooses well by itself. Without any gradient it is ``"gp"``.

    Parameters
    ----------
    kernel
        ``"matern52"`` (default), ``"rbf"`` or ``"rational_quadratic"``. Where Hessians are told, Matern-7/2 replaces
        Matern-5/2, whose sample paths have no second derivative. With ``pip install 'sonde[jax]'`` also any kernel of
        ``sonde.kernels`` with differentiable sample paths, as in ``sonde.GP``: the global model has it, in any
        dimension, and learns from values and gradients. Local searches keep Matern-5/2.
    trend
        The mean function: ``"none"``, ``"quadratic"``, ``"bowl"`` (a quadratic with the same curvature in all
        directions), or the one with the highest marginal likelihood (``"auto"``). A kernel of yours has its trend in
        it: add ``sonde.kernels.Polynomial(2)``.
    """

    name = "fobo"

    def __init__(self, *, kernel: Any = "matern52", trend: str = "auto") -> None:
        self.kernel = kernel
        self.trend = one_of(trend, "trend", tuple(TRENDS))
        self._own = None if isinstance(kernel, str) and kernel in KERNELS else own_kernel(kernel)
        if self._own is not None and trend != "auto":
            raise OptionError("trend= is for the kernels in closed form; add sonde.kernels.Polynomial(2) to your own")
        self._gp = GP() if self._own is None else GP(kernel=kernel)
        self._fits: dict[tuple[str, bool], WarmStartedGradientFits] = {}
        self._last_observations: tuple[History, int, Observations] | None = None  # gradients are checked once
        self._last_trends: tuple[History, int, GlobalTrends] | None = None

    @staticmethod
    def paper(*, quadratic: bool = False) -> Algorithm1:
        """Return the method of the paper: its Algorithm 1, with Matern-5/2, or with its kernel "Q" (``quadratic``)."""
        return Algorithm1(quadratic=quadratic)

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return points of high acquisition value and steps of local searches; those of ``"gp"`` without gradients."""
        if self._own is not None:
            self._own.family(space, with_gradients=True)  # a wrong kernel is reported before the first trial
        if self.ready(space, history) and not self._knows_gradients(space, history):
            return self._gp.suggest(space, history, count, key)
        if self.ready(space, history) and self._without_global_model(space):
            return self._local_steps_only(space, history, count, key)
        return super().suggest(space, history, count, key)

    def first(self, space: Space) -> int:
        """Return the number of trials of the initial design."""
        return FIRST

    def patience(self, space: Space) -> int:
        """Return the number of trials without improvement after which the trust region is halved."""
        return PATIENCE

    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the global model: the Gaussian process on all values and gradients."""
        features, observations = features_of(space), self._observations(space, history)
        fitted = self._fit(space, observations)
        done = history.completed
        usable = history.violations[done.numbers] <= 0
        y = Scale.of(observations.values, fitted.kappa)(observations.values)
        incumbents = best_points(done.units, y, usable)
        rows, observations, scale, posterior = _posterior(observations, features(incumbents[0]), fitted, POINTS)
        y = scale(observations.values)
        return Surrogate(
            features, scale, (posterior,), y, best=best_value(posterior, observations.x, y, usable[rows]),
            incumbents=incumbents, feasibility=feasibility(features, history),
        )  # fmt: skip

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the Gaussian process on the values and gradients so far; in high dimension, on the values."""
        if self._without_global_model(space):
            return self._gp.model(space, history)
        features, observations = features_of(space), self._observations(space, history)
        fitted = self._fit(space, observations, plain=True)
        best = int(np.argmin(observations.values))
        centre = observations.x[best]
        rows, observations, scale, posterior = _posterior(observations, centre, fitted, PREDICTION_POINTS)
        y = scale(observations.values)
        surrogate = Surrogate(features, scale, (posterior,), y, float(y.max()), history.completed.units[[best]], None)

        def left_out() -> tuple[Array, Array]:
            exact = posterior.factorised if isinstance(posterior, IterativePosterior) else posterior
            means, variances = exact.leave_one_out(exact.observations)
            return means[: len(y)], variances[: len(y)]

        return Predictions(space, surrogate, history.completed.numbers[rows], left_out)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self.ready(space, history):
            return f"spreads the first {FIRST} configurations evenly, for want of results to learn from"
        if not self._knows_gradients(space, history):
            return f"has no gradient that it can use, and so works as gp: it {self._gp.explain(space, history)}"
        observations = self._observations(space, history)
        known = np.isfinite(observations.gradients)
        partial, trials = int(known.sum()), int(known.any(axis=1).sum())
        if self._without_global_model(space):
            mixed = not Domain(space, history).free.all()
            changes = "; every other trial changes a parameter that is not continuous" if mixed else ""
            return (
                f"searches locally from several starts with {partial} partial derivatives of {trials} trials{changes}"
            )
        if self._own is None:
            trend = self._fits_for(observations).fit(features_of(space).groups, observations).form.trend
            kind = f"with a {trend} trend" if trend else "without a trend"
        else:
            kind = f"with {self._own}"
        return (
            f"models {len(observations.values)} values and {partial} partial derivatives of {trials} trials by "
            f"a Gaussian process {kind}; every other trial is a step of a local search"
        )

    def _without_global_model(self, space: Space) -> bool:
        """Whether all trials are steps of local searches: in high dimension, unless the user gave a kernel."""
        return is_high_dimensional(space) and self._own is None

    def _searching_locally(self, space: Space, domain: Domain, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which trials (n,) belong to local searches; with a global model, the odd ones."""
        if self._without_global_model(space):
            return searching_locally(space, domain, numbers)
        return np.asarray(numbers % 2 == 1)

    def _fit(self, space: Space, observations: Observations, *, plain: bool = False) -> GradientFit | KernelFit:
        """Return the hyperparameters of the global model; ``plain`` ones are of the values without a logarithm."""
        if self._own is not None:
            return self._own.fit(space, observations, with_gradients=True, plain=plain)
        return self._fits_for(observations, plain=plain).fit(features_of(space).groups, observations)

    def _observations(self, space: Space, history: History) -> Observations:
        """Return the observations of a history, with the gradients that agree with the values."""
        last = self._last_observations
        if last is None or last[0] is not history or last[1] != history.revision:
            observations = observations_of(space, history)
            if self._own is not None:  # its posterior has no Hessians
                observations = observations._replace(hessians=None)
            self._last_observations = last = history, history.revision, observations
        return last[2]

    def _knows_gradients(self, space: Space, history: History) -> bool:
        """Whether there are gradients to use: in high dimension, of a continuous parameter."""
        continuous = any(axis.continuous for axis in space.codec.axes)
        if not history.has_gradients or (is_high_dimensional(space) and not continuous):
            return False
        return bool(np.isfinite(self._observations(space, history).gradients).any())

    @staticmethod
    def _incumbent(history: History) -> Array:
        """Return the best point so far, (d,)."""
        done = history.completed
        values = np.where(history.violations[done.numbers] <= 0, history.values[done.numbers], np.inf)
        return np.asarray(done.units[int(np.argmin(values))])

    def _fits_for(self, observations: Observations, *, plain: bool = False) -> WarmStartedGradientFits:
        """Return the warm-started fits to use; ``plain`` ones are of the values without a logarithm."""
        hessians = observations.hessians is not None
        kernel = "matern52" if self._own is not None else str(self.kernel)
        kernel = "matern72" if kernel == "matern52" and hessians else kernel
        if (kernel, plain) not in self._fits:
            forms = [form for form in FORMS if form.trend in TRENDS[self.trend] and not (plain and form.kappa)]
            self._fits[kernel, plain] = WarmStartedGradientFits(kernel, tuple(forms))
        return self._fits[kernel, plain]

    def _targets(
        self, space: Space, history: History, domain: Domain, count: int, key: Key, *, imagine: bool
    ) -> list[Target]:
        """Return a target for each point: of the global model for even numbers, of a local search for odd ones."""
        at_once = len(history.pending) + count
        progress = follow_region(feasible_values(history), FIRST, PATIENCE * at_once)
        stalled = progress.stalled >= STALLED * at_once
        surrogate = self.fit_surrogate(space, history, key)
        best = surrogate.incumbents[0]
        local = bool(domain.free.any())  # a lattice has no local searches
        active, minima = self._local_searches(space, history, domain) if local else ([], history.completed.numbers[:0])
        distances = np.abs(history.units[minima] - best)[:, domain.free].max(axis=1, initial=0.0)
        if np.any(distances < SAME_MINIMUM):  # the last digits of a minimum are the local search's business
            surrogate = _with_margin(surrogate)
        trust_region = Box(*box_around(best, progress.side, domain.free), surrogate.incumbents[:1])
        incumbent = Target(surrogate, trust_region)
        if not imagine:  # a large batch is selected from a candidate set
            return [incumbent] * count
        cube = np.zeros(len(space)), np.ones(len(space))
        exploration = Target(surrogate, Box(*cube, surrogate.incumbents, excluded=best))
        for target in (incumbent, exploration) if stalled else (incumbent,):
            target.imagine(history.pending.units, count, key.seed, self.acquisition)
        targets = []
        for trial in (key.at(offset) for offset in range(count)):
            if trial.number % 2 == 0 or not local:
                targets.append(exploration if stalled and trial.number % 4 == 2 else incumbent)
            elif continues_search(active, trial.number // 2):
                step = (space, history, domain, active.pop(0), surrogate.feasibility)
                if is_high_dimensional(space):
                    targets.append(Target(surrogate, trust_region, place=self._posterior_minimizer(*step)))
                else:
                    targets.append(self._local_step(*step))
            else:
                start = self._search_start(space, history, domain, minima, trial)
                targets.append(Target(surrogate, trust_region, place=start))
        return targets

    def _local_steps_only(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return steps and starts of local searches: in high dimension a global model has too much to learn.

        If not all parameters are continuous, every other trial is the incumbent with one discrete parameter changed.
        """
        warn_of_history(history)
        domain = Domain(space, history)
        success = feasibility(features_of(space), history)
        active, minima = self._local_searches(space, history, domain)
        points = []
        for trial in (key.at(offset) for offset in range(count)):
            changes = not searching_locally(space, domain, np.array([trial.number]))[0]
            changed = (
                changed_point(domain, self._incumbent(history), trial.rng(Stream.LOCAL_STARTS)) if changes else None
            )
            if changed is not None:
                points.append(changed)
            elif continues_search(active, trial.number if domain.free.all() else trial.number // 2):
                points.append(self._posterior_minimizer(space, history, domain, active.pop(0), success))
            else:
                points.append(self._search_start(space, history, domain, minima, trial))
        return novel_rows(space, history, np.array(points), key)

    def _local_searches(
        self, space: Space, history: History, domain: Domain
    ) -> tuple[list[ActiveSearch], NDArray[np.int64]]:
        """Return the local searches without a pending trial, the lowest first, and the trials at known minima."""
        done, failed = history.completed, history.failed
        numbers = np.sort(np.concatenate([done.numbers, failed.numbers]))
        requested = self._searching_locally(space, domain, numbers)
        values = np.where(history.violations[numbers] <= 0, history.values[numbers], np.inf)
        values = np.where(np.isnan(values), np.inf, values)
        units, gradients = history.units[numbers], history.unit_gradients(numbers)
        discrete = np.unique(units[:, ~domain.free], axis=0, return_inverse=True)[1].ravel()
        trials = Evaluated(values, units[:, domain.free], gradients[:, domain.free], requested, discrete)
        searches = [each for each in replay(trials, FIRST) if np.isfinite(values[each.best])]
        active = active_searches(searches, values)
        minima = np.unique([each.best for each in searches if each.at_minimum]).astype(np.intp)
        pending = history.pending.units[self._searching_locally(space, domain, history.pending.numbers)]
        waiting = []
        for each in sorted(active, key=lambda each: (each.converged, float(values[each.best]))):
            centre = units[each.best]
            half_side = np.where(domain.free, each.side / 2, 0.0) + 1e-9
            if not np.any(np.all(np.abs(pending - centre) <= half_side, axis=1)):
                others = minima[minima != each.best]
                waiting.append(ActiveSearch(each.side, centre, int(numbers[each.best]), each.converged, units[others]))
        return waiting, numbers[minima]

    def _local_step(
        self, space: Space, history: History, domain: Domain, search: ActiveSearch, success: Feasibility | None
    ) -> Target:
        """Return the target of a step: the lowest posterior mean of the local model in the trust region."""
        features = features_of(space)
        local, own = self._local_observations(space, history, search)
        fitted = fit_near(features.groups, local, self._fits_for(local).profile, TRENDS[self.trend])
        scale, posterior = fitted.posterior(local)
        y = scale(local.values)
        surrogate = Surrogate(
            features, scale, (posterior,), y, best=float(y[own]), incumbents=search.centre[None], feasibility=success
        )
        box = Box(*box_around(search.centre, search.side, domain.free), search.centre[None])
        return Target(surrogate, box, acquisition="sr")

    def _posterior_minimizer(
        self, space: Space, history: History, domain: Domain, search: ActiveSearch, success: Feasibility | None
    ) -> Array:
        """Return the point (d,) of the lowest posterior mean in the trust region of a local search, by L-BFGS.

        The local model is that of the subspace of its observations. L-BFGS starts from the search's best point alone.
        """
        features = features_of(space)
        local = self._local_observations(space, history, search)[0]._replace(hessians=None)
        subspace = Subspace.of(local)
        outside = subspace.complement_dim
        reduced = subspace.reduce(local) if outside else local
        groups = np.zeros(reduced.x.shape[1], dtype=np.intp) if outside else features.groups
        fitted = fit_near(groups, reduced, self._fits_for(reduced).profile, TRENDS[self.trend], complement_dim=outside)
        _, posterior = fitted.posterior(reduced)
        low, high = box_around(search.centre, search.side, domain.free)
        low, high = (np.where(domain.free, edge, search.centre) for edge in (low, high))

        def loss(unit: Array) -> tuple[float, Array]:
            x = features(unit[None])
            marginals = posterior.marginals(subspace(x) if outside else x)
            gradient = marginals.vjp(np.ones((1, 1)), np.zeros(1))
            gradient = features.vjp(subspace.vjp(gradient, x) if outside else gradient, unit[None])[0]
            value = float(marginals.mean[0, 0])
            if success is not None:
                log_probability, its_gradient = success(unit[None])
                value, gradient = value + float(log_probability[0]), gradient + its_gradient[0]
            return -value, -gradient

        found = minimize(loss, search.centre, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
                         options={"maxiter": STEPS})  # fmt: skip
        return np.asarray(domain.snap(np.clip(found.x, low, high)[None])[0][0])

    def _local_observations(self, space: Space, history: History, search: ActiveSearch) -> tuple[Observations, int]:
        """Return the observations of a search's local model, and which of them is its best."""
        observations = self._observations(space, history)
        own = int(np.searchsorted(history.completed.numbers, search.number))
        near = np.argsort(np.sum((observations.x - observations.x[own]) ** 2, axis=1), kind="stable")
        if len(search.other_minima):  # an observation nearer to another minimum belongs to that basin
            x, minima = observations.x[near], features_of(space)(search.other_minima)
            squares = np.min([np.sum((x - minimum) ** 2, axis=1) for minimum in minima], axis=0)
            near = near[np.sum((x - observations.x[own]) ** 2, axis=1) <= squares]
        inside = np.abs(observations.x[near] - observations.x[own]).max(axis=1) <= search.side
        chosen = near[: max(2, min(NEAREST, int(inside.sum())))]
        latest = np.sort(near[inside])[-LATEST:]  # a failed step that is not among the nearest would be repeated
        chosen = np.union1d(chosen, latest)
        return observations.rows(chosen), int(np.searchsorted(chosen, own))

    def _global_trends(self, space: Space, history: History, minima: NDArray[np.int64]) -> GlobalTrends:
        """Return the global trends of all observations, given the trials at known minima: one fit for a batch."""
        last = self._last_trends
        if last is None or last[0] is not history or last[1] != history.revision:
            self._last_trends = None  # not two at a time in memory
            observations, ordered = self._observations(space, history), features_of(space).ordered
            scale = Scale.of(observations.values)
            gradients = -scale.slope(observations.values)[:, None] * observations.gradients[:, ordered]
            at_minimum = np.isin(history.completed.numbers, minima)
            trends = fit_global_trends(observations.x[:, ordered], -scale(observations.values), gradients, at_minimum)
            self._last_trends = last = history, history.revision, trends
        return last[2]

    def _search_start(
        self, space: Space, history: History, domain: Domain, minima: NDArray[np.int64], trial: Key
    ) -> Array:
        """Return the start of a local search: a sample of the minimizer of the global trend.

        Discrete parameters are random; in high dimension, without a model to choose them, mostly the incumbent's.
        """
        features, rng = features_of(space), trial.rng(Stream.LOCAL_STARTS)
        minimizer = self._global_trends(space, history, minima).sample_minimizer(rng)
        point = rng.random(len(space))
        if is_high_dimensional(space):
            best = self._incumbent(history)
            discrete = ~domain.free
            kept = discrete & domain.snap(best[None])[1][0] & (rng.random(len(space)) * np.sum(discrete) > 1)
            point[kept] = best[kept]
        columns = features.groups[features.ordered]
        continuous = domain.free[columns]
        point[columns[continuous]] = np.clip(minimizer + CENTRE, 0.0, 1.0)[continuous]
        return np.asarray(domain.snap(point[None])[0][0])


def _with_margin(surrogate: Surrogate) -> Surrogate:
    """Return a surrogate whose best value is higher by the gain that counts as a success in a trust region."""
    if surrogate.best is None:
        return surrogate
    margin = GAIN * max(0.0, surrogate.best - float(np.median(surrogate.values)))
    return replace(surrogate, best=surrogate.best + margin)


def _posterior(
    observations: Observations, centre: Array, fitted: GradientFit | KernelFit, most: int
) -> tuple[NDArray[np.intp], Observations, Scale, GradientPosterior | IterativePosterior]:
    """Return the factorised observations with their indices, the output scale and the posterior.

    At most ``ROWS`` rows are factorised: values of the nearest and best observations take up to half of them, gradients
    the rest. The mean learns from all values and gradients of the ``most`` nearest and best observations.
    """
    near = _ranks(np.sum(((observations.x - centre) * fitted.covariance.roots) ** 2, axis=1))
    order = _ranks(np.minimum(near, _ranks(observations.values)))
    points = np.flatnonzero(order < most)
    many, order = observations.rows(points), order[points]
    rows = np.flatnonzero(order < ROWS // 2)
    few = many.rows(rows)
    count = int((ROWS - len(rows)) / max(1.0, few.width - 1))
    if count >= len(rows) == len(points) or observations.hessians is not None:
        few = few if count >= len(rows) else few.trusting(order[rows] < count)
        return points[rows], few, *fitted.posterior(few)
    few = few.trusting(order[rows] < count)
    return points[rows], few, *fitted.posterior_of_many(many, rows, few)


def _ranks(numbers: Array) -> NDArray[np.intp]:
    return np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
