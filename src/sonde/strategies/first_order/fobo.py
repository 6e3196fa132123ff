"""The strategy ``"fobo"``: a Gaussian process on values and gradients (Ament & Gomes 2022).

Trials take turns. Those with even numbers go where most is expected within a region around the best result, under a
model of all results. Those with odd numbers descend: to the lowest value that a model of the results nearby foretells,
from starts of their own (see ``descents``), each drawn from where the bottom of the whole may be (see
``surrogates.bowl``). The first find what needs to be resolved, such as a basin among many; the second use up what
gradients say about the nearest one, at the price of a quasi-Newton method.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.gp import GP, feasibility
from sonde.strategies.bayesian.loop import STALLED, Bayesian, Target, feasible_values
from sonde.strategies.bayesian.model import Surrogate, best_points, best_value, features_of
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.search import Box
from sonde.strategies.bayesian.trust_region import GAIN, box_around
from sonde.strategies.bayesian.trust_region import follow as follow_region
from sonde.strategies.first_order.local_search import KNOWN, Results, follow
from sonde.strategies.first_order.observations import seen_of
from sonde.strategies.first_order.schedule import Going, changed_point, followed, goes_on, is_wide, searching_locally
from sonde.strategies.history_warnings import warn_of_history
from sonde.strategies.novelty import novel_rows
from sonde.strategies.options import one_of
from sonde.strategies.threads import one_thread
from sonde.surrogates.exact.feasibility import Feasibility
from sonde.surrogates.features import CENTRE
from sonde.surrogates.gradient.fitting import FORMS, SHAPES, GradientFit, Seen, WarmStartedGradientFits, fit_near
from sonde.surrogates.gradient.global_trend import GlobalTrends, fit_global_trends
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.gradient.subspace import Subspace
from sonde.surrogates.outputs import Scale
from sonde.trials import History

Array = NDArray[np.float64]

FIRST = 4  # trials that are spread evenly: with their gradients they say as much as d times as many values
PATIENCE = 4  # trials without improvement after which the region around the best one is halved
ROWS = 1000  # of the matrix that is factorised for the model of all results: beyond, its mean is iterated
POINTS, FORETOLD = 500, 1500  # results that the mean learns from: to suggest, and to predict
NEAR, LATE = 12, 2  # results that a descent learns from: the nearest, and the last in its region
STEPS = 50  # of the search for the lowest value in a wide space
KERNELS = ("matern52", "rbf", "rational_quadratic")
TRENDS = {"auto": SHAPES, "none": SHAPES[:1], **{str(shape): (shape,) for shape in SHAPES[1:]}}
_START = 13  # purpose of the key's stream


class FOBO(Bayesian):
    """Learns from gradients: a Gaussian process on values and gradients, and descents along them.

    The bare name ``"fobo"`` chooses well by itself. Without any gradient it is ``"gp"``.

    Parameters
    ----------
    kernel
        ``"matern52"`` (default), ``"rbf"`` or ``"rational_quadratic"``. Where Hessians are told, Matern-7/2 stands in
        for Matern-5/2, whose functions have none.
    trend
        What the values are like at large: ``"none"``, ``"quadratic"``, ``"bowl"`` (a quadratic with the same curvature
        in all directions), or what the evidence favours (``"auto"``).
    """

    name = "fobo"

    def __init__(self, *, kernel: str = "matern52", trend: str = "auto") -> None:
        self.kernel = one_of(kernel, "kernel", KERNELS)
        self.trend = one_of(trend, "trend", tuple(TRENDS))
        self._gp = GP()
        self._chains: dict[tuple[str, bool], WarmStartedGradientFits] = {}
        self._last: tuple[History, int, Seen] | None = None  # results are judged once
        self._bowled: tuple[History, int, GlobalTrends] | None = None

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return points that the model of values and gradients favours; those of ``"gp"`` where no slope is known."""
        if self.ready(space, history) and not self._knows_gradients(space, history):
            return self._gp.suggest(space, history, count, key)
        if self.ready(space, history) and is_wide(space):
            return self._local_steps_only(space, history, count, key)
        return super().suggest(space, history, count, key)

    def first(self, space: Space) -> int:
        """Return how many first trials are spread evenly."""
        return FIRST

    def patience(self, space: Space) -> int:
        """Return after how many trials in a row without improvement the region around the best one is halved."""
        return PATIENCE

    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the belief of the process on values and gradients."""
        features, seen = features_of(space), self._seen(space, history)
        fitted = self._chain(seen).fit(features.groups, seen)
        done = history.completed
        usable = history.violations[done.numbers] <= 0
        y = Scale.of(seen.values, fitted.kappa)(seen.values)
        incumbents = best_points(done.units, y, usable)
        rows, seen, scale, posterior = _after(seen, features(incumbents[0]), fitted, POINTS)
        y = scale(seen.values)
        return Surrogate(
            features, scale, (posterior,), y, best=best_value(posterior, seen.x, y, usable[rows]),
            incumbents=incumbents, feasibility=feasibility(features, history),
        )  # fmt: skip

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the process on the values and gradients so far; in a wide space, on the values."""
        if is_wide(space):
            return self._gp.model(space, history)
        features, seen = features_of(space), self._seen(space, history)
        fitted = self._chain(seen, plain=True).fit(features.groups, seen)
        best = int(np.argmin(seen.values))
        rows, seen, scale, posterior = _after(seen, seen.x[best], fitted, FORETOLD)
        y = scale(seen.values)
        belief = Surrogate(features, scale, (posterior,), y, float(y.max()), history.completed.units[[best]], None)

        def left_out() -> tuple[Array, Array]:
            known = posterior.known if isinstance(posterior, IterativePosterior) else posterior
            means, variances = known.leave_one_out(known.observations)
            return means[: len(y)], variances[: len(y)]

        return Predictions(space, belief, history.completed.numbers[rows], left_out)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self.ready(space, history):
            return f"spreads the first {FIRST} configurations evenly, for want of results to learn from"
        if not self._knows_gradients(space, history):
            return f"knows no gradient that it can use, and so does as gp: it {self._gp.explain(space, history)}"
        seen = self._seen(space, history)
        told = np.isfinite(seen.gradients)
        if is_wide(space):
            mixed = not Domain(space, history).free.all()
            gradients, trials = int(told.sum()), int(told.any(axis=1).sum())
            changes = "; every other trial changes one that is not continuous" if mixed else ""
            return f"descends along {gradients} gradients of {trials} trials from several starts{changes}"
        fitted = self._chain(seen).fit(features_of(space).groups, seen)
        trend = f"with a {fitted.form.trend} trend" if fitted.form.trend else "without a trend"
        return (
            f"models {len(seen.values)} values and {int(told.sum())} gradients of {int(told.any(axis=1).sum())} trials by "
            f"a Gaussian process {trend}; every other trial descends from a start of its own"
        )

    def _seen(self, space: Space, history: History) -> Seen:
        """Return the results of a history, with the gradients that agree with them."""
        if self._last is None or self._last[0] is not history or self._last[1] != history.revision:
            self._last = history, history.revision, seen_of(space, history)
        return self._last[2]

    def _knows_gradients(self, space: Space, history: History) -> bool:
        """Whether there are gradients that it can use: in a wide space, those of something to slide along."""
        if not history.has_gradients or (is_wide(space) and not any(axis.continuous for axis in space.codec.axes)):
            return False
        return bool(np.isfinite(self._seen(space, history).gradients).any())

    @staticmethod
    def _best(history: History) -> Array:
        """Return the best point so far, (d,)."""
        done = history.completed
        values = np.where(history.violations[done.numbers] <= 0, history.values[done.numbers], np.inf)
        return np.asarray(done.units[int(np.argmin(values))])

    def _chain(self, seen: Seen, *, plain: bool = False) -> WarmStartedGradientFits:
        """Return the fits to use: ``plain`` ones are of the values as they are, without a logarithm."""
        kernel = "matern72" if self.kernel == "matern52" and seen.hessians is not None else self.kernel
        if (kernel, plain) not in self._chains:
            forms = [form for form in FORMS if form.trend in TRENDS[self.trend] and not (plain and form.kappa)]
            self._chains[kernel, plain] = WarmStartedGradientFits(kernel, tuple(forms))
        return self._chains[kernel, plain]

    def _targets(
        self, space: Space, history: History, field: Domain, count: int, key: Key, *, imagine: bool
    ) -> list[Target]:
        """Return an aim for each point: of the model of all for even numbers, of a descent for odd ones."""
        at_once = len(history.pending) + count
        progress = follow_region(feasible_values(history), FIRST, PATIENCE * at_once)
        stalled = progress.stalled >= STALLED * at_once
        belief = self.fit_surrogate(space, history, key)
        best = belief.incumbents[0]
        slides = bool(field.free.any())  # a lattice has no descents
        going, bottoms = self._local_searches(space, history, field) if slides else ([], history.completed.numbers[:0])
        apart = np.abs(history.units[bottoms] - best)[:, field.free].max(axis=1, initial=0.0)
        if np.any(apart < KNOWN):  # the last digits of a bottom that a descent has come to are nothing to look for
            belief = _demanding(belief)
        whole = Target(belief, Box(*box_around(best, progress.side, field.free), belief.incumbents[:1]))
        if not imagine:  # so many that a pool is chosen from
            return [whole] * count
        cube = np.zeros(len(space)), np.ones(len(space))
        far = Target(belief, Box(*cube, belief.incumbents, shunned=best))
        for aim in (whole, far) if stalled else (whole,):
            aim.imagine(history.pending.units, count, key.seed, self.acquisition)
        aims = []
        for turn in (key.at(offset) for offset in range(count)):
            if turn.number % 2 == 0 or not slides:
                aims.append(far if stalled and turn.number % 4 == 2 else whole)
            elif goes_on(going, turn.number // 2):
                aims.append(self._local_step(space, history, field, going.pop(0)))
            else:
                aims.append(Target(belief, whole.box, place=self._start(space, history, field, bottoms, turn)))
        return aims

    def _local_steps_only(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return steps of descents and starts: in a wide space a model of everything has too many numbers to learn.

        Where not all parameters are continuous, odd trials are the best result with one of the others changed.
        """
        warn_of_history(history)
        field, features = Domain(space, history), features_of(space)
        works = feasibility(features, history)
        going, bottoms = self._local_searches(space, history, field)
        points = []
        for turn in (key.at(offset) for offset in range(count)):
            changes = not searching_locally(space, field, np.array([turn.number]))[0]
            changed = changed_point(field, self._best(history), turn.rng(_START)) if changes else None
            if changed is not None:
                points.append(changed)
            elif goes_on(going, turn.number if field.free.all() else turn.number // 2):
                points.append(self._lowest(space, history, field, going.pop(0), works))
            else:
                points.append(self._start(space, history, field, bottoms, turn))
        return novel_rows(space, history, np.array(points), key)

    def _local_searches(self, space: Space, history: History, field: Domain) -> tuple[list[Going], NDArray[np.int64]]:
        """Return the descents that wait for a trial, the lowest first, and the numbers of trials at known bottoms."""
        done, failed = history.completed, history.failed
        numbers = np.sort(np.concatenate([done.numbers, failed.numbers]))
        asked = searching_locally(space, field, numbers)
        values = np.where(history.violations[numbers] <= 0, history.values[numbers], np.inf)
        values = np.where(np.isnan(values), np.inf, values)
        units, gradients = history.units[numbers], history.unit_gradients(numbers)
        places = np.unique(units[:, ~field.free], axis=0, return_inverse=True)[1].ravel()
        results = Results(values, units[:, field.free], gradients[:, field.free], asked, places)
        descents = [each for each in follow(results, FIRST) if np.isfinite(values[each.best])]
        going = followed(descents, values)
        bottoms = np.unique([each.best for each in descents if each.at_bottom]).astype(np.intp)
        pending = history.pending.units[searching_locally(space, field, history.pending.numbers)]
        waiting = []
        for each in sorted(going, key=lambda each: (each.resting, float(values[each.best]))):
            centre = units[each.best]
            reach = np.where(field.free, each.side / 2, 0.0) + 1e-9
            if not np.any(np.all(np.abs(pending - centre) <= reach, axis=1)):
                others = bottoms[bottoms != each.best]
                waiting.append(Going(each.side, centre, int(numbers[each.best]), each.resting, units[others]))
        return waiting, numbers[bottoms]

    def _local_step(self, space: Space, history: History, field: Domain, going: Going) -> Target:
        """Return the aim at the lowest value foretold near a descent's best result."""
        features = features_of(space)
        local, own = self._near(space, history, going)
        fitted = fit_near(features.groups, local, self._chain(local).profile, TRENDS[self.trend])
        scale, posterior = fitted.posterior(local)
        y = scale(local.values)
        belief = Surrogate(
            features, scale, (posterior,), y, best=float(y[own]), incumbents=going.centre[None],
            feasibility=feasibility(features, history),
        )  # fmt: skip
        box = Box(*box_around(going.centre, going.side, field.free), going.centre[None])
        return Target(belief, box, acquisition="sr")

    def _lowest(self, space: Space, history: History, field: Domain, going: Going, works: Feasibility | None) -> Array:
        """Return the point (d,) of the lowest value foretold near a descent's best result, from there on.

        The model is that of the span of the results nearby; a wide space is not searched elsewhere.
        """
        features = features_of(space)
        local = self._near(space, history, going)[0]._replace(hessians=None)
        span = Subspace.of(local)
        turned = span.reduce(local) if span.hidden else local
        groups = np.zeros(turned.x.shape[1], dtype=np.intp) if span.hidden else features.groups
        fitted = fit_near(groups, turned, self._chain(turned).profile, TRENDS[self.trend], hidden=span.hidden)
        _, posterior = fitted.posterior(turned)
        low, high = box_around(going.centre, going.side, field.free)
        low, high = (np.where(field.free, edge, going.centre) for edge in (low, high))

        def loss(unit: Array) -> tuple[float, Array]:
            x = features(unit[None])
            belief = posterior.marginals(span(x) if span.hidden else x)
            gradients = belief.vjp(np.ones((1, 1)), np.zeros(1))
            gradients = features.vjp(span.vjp(gradients, x) if span.hidden else gradients, unit[None])[0]
            value = float(belief.mean[0, 0])
            if works is not None:
                chance, rise = works(unit[None])
                value, gradients = value + float(chance[0]), gradients + rise[0]
            return -value, -gradients

        found = minimize(loss, going.centre, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
                         options={"maxiter": STEPS})  # fmt: skip
        return np.asarray(field.snap(np.clip(found.x, low, high)[None])[0][0])

    def _near(self, space: Space, history: History, going: Going) -> tuple[Seen, int]:
        """Return the results that a descent learns from, and which of them is its best."""
        seen, side = self._seen(space, history), going.side
        own = int(np.searchsorted(history.completed.numbers, going.number))
        near = np.argsort(np.sum((seen.x - seen.x[own]) ** 2, axis=1), kind="stable")
        if len(going.others):  # what is nearer to the bottom of another belongs to that basin
            places, bottoms = seen.x[near], features_of(space)(going.others)
            apart = np.min([np.sum((places - bottom) ** 2, axis=1) for bottom in bottoms], axis=0)
            near = near[np.sum((places - seen.x[own]) ** 2, axis=1) <= apart]
        inside = np.abs(seen.x[near] - seen.x[own]).max(axis=1) <= side
        chosen = near[: max(2, min(NEAR, int(inside.sum())))]
        late = np.sort(near[inside])[-LATE:]  # a failure that is not among the nearest would be repeated
        chosen = np.union1d(chosen, late)
        return seen.rows(chosen), int(np.searchsorted(chosen, own))

    def _global_trends(self, space: Space, history: History, bottoms: NDArray[np.int64]) -> GlobalTrends:
        """Return the bowls through all results, of which some are at known bottoms: the same for all of a batch."""
        if self._bowled is None or self._bowled[0] is not history or self._bowled[1] != history.revision:
            self._bowled = None  # not two at a time
            seen, ordered = self._seen(space, history), features_of(space).ordered
            scale = Scale.of(seen.values)
            gradients = -scale.slope(seen.values)[:, None] * seen.gradients[:, ordered]
            low = np.isin(history.completed.numbers, bottoms)
            bowls = fit_global_trends(seen.x[:, ordered], -scale(seen.values), gradients, low)
            self._bowled = history, history.revision, bowls
        return self._bowled[2]

    def _start(self, space: Space, history: History, field: Domain, bottoms: NDArray[np.int64], turn: Key) -> Array:
        """Return where to start a descent: where the bottom of the whole may be.

        What is not continuous has any value; in a wide space, without a model to choose it, mostly that of the best.
        """
        features, rng = features_of(space), turn.rng(_START)
        bottom = self._global_trends(space, history, bottoms).bottom(rng)
        point = rng.random(len(space))
        if is_wide(space):
            best = self._best(history)
            kept = ~field.free & field.snap(best[None])[1][0] & (rng.random(len(space)) * np.sum(~field.free) > 1)
            point[kept] = best[kept]
        columns = features.groups[features.ordered]
        moved = field.free[columns]
        point[columns[moved]] = np.clip(bottom + CENTRE, 0.0, 1.0)[moved]
        return np.asarray(field.snap(point[None])[0][0])


def _demanding(belief: Surrogate) -> Surrogate:
    """Return a belief by which only a value is better that is so by what counts as success in ``region``."""
    if belief.best is None:
        return belief
    return replace(belief, best=belief.best + GAIN * max(0.0, belief.best - float(np.median(belief.values))))


def _after(
    seen: Seen, centre: Array, fitted: GradientFit, most: int
) -> tuple[NDArray[np.intp], Seen, Scale, GradientPosterior | IterativePosterior]:
    """Return the belief after results, and those, and which they are, that make its matrix of at most ``ROWS``.

    Where not all do, these are the nearest and the best ones: values take up to half of the rows, gradients the rest. The
    mean learns from all of the nearest and best ones, so many at ``most``.
    """
    near = _ranks(np.sum(((seen.x - centre) * fitted.covariance.roots) ** 2, axis=1))
    order = _ranks(np.minimum(near, _ranks(seen.values)))
    points = np.flatnonzero(order < most)
    many, order = seen.rows(points), order[points]
    rows = np.flatnonzero(order < ROWS // 2)
    few = many.rows(rows)
    count = int((ROWS - len(rows)) / max(1.0, few.width - 1))
    if count >= len(rows) == len(points) or seen.hessians is not None:
        few = few if count >= len(rows) else few.trusting(order[rows] < count)
        return points[rows], few, *fitted.posterior(few)
    few = few.trusting(order[rows] < count)
    return points[rows], few, *fitted.posterior_of_many(many, rows, few)


def _ranks(numbers: Array) -> NDArray[np.intp]:
    return np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
