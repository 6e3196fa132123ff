"""The strategy ``"fobo"``: a Gaussian process on values and gradients (Ament & Gomes 2022).

Trials alternate. Trials with even numbers maximise the acquisition function under a global model of all observations,
in a trust region around the incumbent. Trials with odd numbers are steps of local searches (see ``local_search``): each
goes to the minimizer of the posterior mean of a local model. Local searches start from samples of the minimizer of a
global quadratic trend (see ``surrogates.gradient.global_trend``). The global model finds the promising basin among
many; the local searches exploit the gradients in it, at the price of a quasi-Newton method.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.gp import GP
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.search import Search
from sonde.strategies.first_order.active_searches import FIRST, is_high_dimensional
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.strategies.first_order.schedule import FirstOrderSchedule
from sonde.strategies.initial_design import explain_initial_design
from sonde.strategies.options import one_of
from sonde.strategies.port import Strategy
from sonde.strategies.sobol import CentreFirst
from sonde.strategies.threads import one_thread
from sonde.surrogates.gradient.fitting import TREND_NAMES
from sonde.trials import History

KERNELS = ("matern52", "rbf", "rational_quadratic")
TRENDS = {"auto": TREND_NAMES, "none": TREND_NAMES[:1], **{str(name): (name,) for name in TREND_NAMES[1:]}}


class FOBO(Strategy):
    """First-order Bayesian optimization: a Gaussian process on values and gradients, and multi-start local searches.

    The bare name ``"fobo"`` chooses well by itself. Without any gradient it is ``"gp"``.

    Parameters
    ----------
    kernel
        ``"matern52"`` (default), ``"rbf"`` or ``"rational_quadratic"``. Where Hessians are told, Matern-7/2 replaces
        Matern-5/2, whose sample paths have no second derivative.
    trend
        The mean function: ``"none"``, ``"quadratic"``, ``"bowl"`` (a quadratic with the same curvature in all
        directions), or the one with the highest marginal likelihood (``"auto"``).
    """

    name = "fobo"

    def __init__(self, *, kernel: str = "matern52", trend: str = "auto") -> None:
        kernel, trend = one_of(kernel, "kernel", KERNELS), one_of(trend, "trend", tuple(TRENDS))
        self._model = GradientModel(kernel, TRENDS[trend])
        self._loop = Loop(FirstOrderSchedule(self._model), Search(), CentreFirst())
        self._gp = GP()

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return points of high acquisition value and steps of local searches; those of ``"gp"`` without gradients."""
        without = self._loop.ready(space, history) and not self._knows_gradients(space, history)
        return (self._gp if without else self._loop).suggest(space, history, count, key)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the Gaussian process on the values and gradients so far; in high dimension, on the values."""
        return self._gp.model(space, history) if is_high_dimensional(space) else self._model.predictions(space, history)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self._loop.ready(space, history):
            return explain_initial_design(FIRST)
        if not self._knows_gradients(space, history):
            return f"has no gradient that it can use, and so works as gp: it {self._gp.explain(space, history)}"
        observations = self._model.observations(space, history)
        known = np.isfinite(observations.gradients)
        partial, trials = int(known.sum()), int(known.any(axis=1).sum())
        if is_high_dimensional(space):
            mixed = not Domain(space, history).continuous.all()
            changes = "; every other trial changes a parameter that is not continuous" if mixed else ""
            return (
                f"searches locally from several starts with {partial} partial derivatives of {trials} trials{changes}"
            )
        chosen = self._model.fitted(space, history).form.trend
        trend = f"with a {chosen} trend" if chosen else "without a trend"
        return (
            f"models {len(observations.values)} values and {partial} partial derivatives of {trials} trials by "
            f"a Gaussian process {trend}; every other trial is a step of a local search"
        )

    def _knows_gradients(self, space: Space, history: History) -> bool:
        """Whether there are gradients to use: in high dimension, of a continuous parameter."""
        continuous = any(axis.continuous for axis in space.codec.axes)
        if not history.has_gradients or (is_high_dimensional(space) and not continuous):
            return False
        return bool(np.isfinite(self._model.observations(space, history).gradients).any())
