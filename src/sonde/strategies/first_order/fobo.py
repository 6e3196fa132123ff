"""The strategy ``"fobo"``: a Gaussian process on values and gradients (Ament & Gomes 2022).

Trials are steps of local searches (see ``local_search``) until a local minimum is known: each goes to the minimizer of
a local model (see ``local_model``). After that they alternate. Trials with even numbers maximise the acquisition
function under a global model of all observations, in a trust region around the incumbent; those with odd numbers are
steps of local searches, which start from samples of the minimizer of a global quadratic trend (see
``surrogates.gradient.global_trend``). The global model finds the promising basin among many; the local searches exploit
the gradients in it, at the price of a quasi-Newton method.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.errors import OptionError
from sonde.extras import require
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.domain import Domain
from sonde.strategies.bayesian.gp import GP, KERNELS
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.search import Search
from sonde.strategies.bayesian.several import MOST, Separately, SeveralObjectives
from sonde.strategies.first_order.active_searches import FIRST, is_high_dimensional
from sonde.strategies.first_order.algorithm1 import Algorithm1
from sonde.strategies.first_order.gradient_model import GradientModel, ValuesOrGradients
from sonde.strategies.first_order.schedule import FirstOrderSchedule
from sonde.strategies.initial_design import explain_initial_design
from sonde.strategies.options import one_of
from sonde.strategies.port import Strategy
from sonde.strategies.sobol import CentreFirst
from sonde.strategies.threads import one_thread
from sonde.surrogates.gradient.fitting import TREND_NAMES
from sonde.trials import History

TRENDS = {"auto": TREND_NAMES, "none": TREND_NAMES[:1], **{str(name): (name,) for name in TREND_NAMES[1:]}}


class FOBO(Strategy):
    """First-order Bayesian optimization: a Gaussian process on values and gradients, and multi-start local searches.

    The bare name ``"fobo"`` chooses well by itself. Without any gradient it is ``"gp"``.

    Parameters
    ----------
    kernel
        ``"matern52"`` (default), ``"rbf"`` or ``"rational_quadratic"``. Where Hessians are told, Matern-7/2 replaces
        Matern-5/2, whose sample paths have no second derivative. With ``pip install 'sonde[jax]'`` also any kernel of
        ``sonde.kernels`` with differentiable sample paths, as in ``sonde.GP``: the global model has it, in any
        dimension, and learns from values and gradients. Local searches keep their own.
    trend
        The mean function: ``"none"``, ``"quadratic"``, ``"bowl"`` (a quadratic with the same curvature in all
        directions), or the one with the highest marginal likelihood (``"auto"``). A kernel of yours has its trend in
        it: add ``sonde.kernels.Polynomial(2)``.
    """

    name = "fobo"

    def __init__(self, *, kernel: Any = "matern52", trend: str = "auto") -> None:
        self._model = _model(kernel, one_of(trend, "trend", tuple(TRENDS)))
        self._loop = Loop(FirstOrderSchedule(self._model), Search(), CentreFirst())
        self._gp = GP() if isinstance(kernel, str) else GP(kernel=kernel)
        models = Separately(partial(_values_or_gradients, kernel, trend))
        self._several = SeveralObjectives(models, Search(), self._gp)

    @staticmethod
    def paper(*, quadratic: bool = False) -> Algorithm1:
        """Return the method of the paper: its Algorithm 1, with Matern-5/2, or with its kernel "Q" (``quadratic``)."""
        return Algorithm1(quadratic=quadratic)

    @one_thread()
    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return points of high acquisition value and steps of local searches; those of ``"gp"`` without gradients."""
        self._model.check(space)  # a wrong kernel is reported before the first trial
        if history.objectives.several:
            by_gradients = self._models_gradients(space, history)
            return (self._several if by_gradients else self._gp).suggest(space, history, count, key)
        without = self._loop.ready(space, history) and not self._knows_gradients(space, history)
        return (self._gp if without else self._loop).suggest(space, history, count, key)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the Gaussian process on the values and gradients so far; in high dimension, on the values."""
        return (self._gp.model if self._only_local(space) else self._model.predictions)(space, history)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if history.objectives.several:
            if self._models_gradients(space, history) and self._several.loop.ready(space, history):
                return f"{self._several.explain(history)}, with the gradients that were told"
            return self._gp.explain(space, history)
        if not self._loop.ready(space, history):
            return explain_initial_design(FIRST)
        if not self._knows_gradients(space, history):
            return f"has no gradient that it can use, and so works as gp: it {self._gp.explain(space, history)}"
        observations = self._model.observations(space, history)
        known = np.isfinite(observations.gradients)
        partial, trials = int(known.sum()), int(known.any(axis=1).sum())
        if self._only_local(space):
            mixed = not Domain(space, history).continuous.all()
            changes = "; every other trial changes a parameter that is not continuous" if mixed else ""
            return (
                f"searches locally from several starts with {partial} partial derivatives of {trials} trials{changes}"
            )
        return (
            f"models {len(observations.values)} values and {partial} partial derivatives of {trials} trials by "
            f"a Gaussian process {self._model.describe(space, history)}; steps of local searches are all trials until "
            "a local minimum is known, and then, or where not all parameters are continuous, every other one"
        )

    def _only_local(self, space: Space) -> bool:
        """Whether there is no global model."""
        return is_high_dimensional(space) and not self._model.in_any_dimension

    def _models_gradients(self, space: Space, history: History) -> bool:
        """Whether surrogates of several objectives learn from gradients; those of a random trade-off do not."""
        return len(history.objectives) <= MOST and history.has_gradients and not self._only_local(space)

    def _knows_gradients(self, space: Space, history: History) -> bool:
        """Whether there are gradients to use: in high dimension, of a continuous parameter."""
        continuous = any(axis.continuous for axis in space.codec.axes)
        if not history.has_gradients or (is_high_dimensional(space) and not continuous):
            return False
        return bool(np.isfinite(self._model.observations(space, history).gradients).any())


def _values_or_gradients(kernel: Any, trend: str) -> ValuesOrGradients:
    return ValuesOrGradients(_model(kernel, trend))


def _model(kernel: Any, trend: str) -> GradientModel:
    if isinstance(kernel, str):
        return GradientModel(one_of(kernel, "kernel", KERNELS), TRENDS[trend])
    if trend != "auto":
        raise OptionError("trend= is for the kernels in closed form; add sonde.kernels.Polynomial(2) to your own")
    require("jax", "equinox", "lineax", extra="jax")
    from sonde.strategies.first_order.own_kernel import OwnKernelGradientModel

    return OwnKernelGradientModel(kernel)
