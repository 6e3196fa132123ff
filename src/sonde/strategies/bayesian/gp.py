"""The strategy ``"gp"``: an exact Gaussian process and reparameterized acquisitions (Wilson et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.utilities import Utility
from sonde.extras import require
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.bayesian.acquisitions import check_acquisition
from sonde.strategies.bayesian.exact_model import EXPLORING, ExactModel
from sonde.strategies.bayesian.joint_search import SEARCHES
from sonde.strategies.bayesian.loop import Loop
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.bayesian.schedule import TrustRegionSchedule
from sonde.strategies.bayesian.search import THRIFT, Search
from sonde.strategies.bayesian.several import Separately, SeveralObjectives
from sonde.strategies.initial_design import explain_initial_design, first_count
from sonde.strategies.options import one_of
from sonde.strategies.port import Strategy
from sonde.strategies.sobol import AroundCentre
from sonde.strategies.threads import one_thread
from sonde.trials import History

if TYPE_CHECKING:
    from sonde.strategies.bayesian.own_kernel import OwnKernelModel

KERNELS = ("matern52", "rbf", "rational_quadratic")


class GP(Strategy):
    """Models the values by a Gaussian process and tries where most is expected.

    The bare name ``"gp"`` chooses well by itself; every option is for those who want to choose.

    Parameters
    ----------
    acquisition
        ``"log_ei"`` (default), ``"ei"``, ``"pi"``, ``"ucb"``, ``"sr"`` or ``"es"``; or a function
        ``(mean (q,), spread (q,), best) -> number`` of a pool's outcomes mean + spread, in JAX: its mean is maximised.
        Several objectives have the expected improvement of the hypervolume instead of ``"log_ei"`` and ``"ei"``; others
        are maximised for random trade-offs, one for each batch.
    batch
        Points asked for together are chosen one after the other, each with those before it pending
        (``"greedy"``), or then moved together as well (``"joint"``); of several objectives, where they and the pending
        ones are five at most.
    search
        How the acquisition is searched: ``"bfgs"``, ``"adam"``, ``"direct"`` or ``"random"``.
    hyperparameters
        ``"auto"`` (default): where all parameters are continuous, none asks for a warp and no trial failed or broke a
        constraint, a model of the trust region with the most probable ones. Otherwise one model of all results, with
        those drawn from their posterior anew for each suggestion (``"draw"``, also ``"auto"`` elsewhere), the most
        probable ones (``"map"``), or an average over ten draws (``"slice"``).
    kernel
        ``"matern52"`` (default) in closed form; or, with ``pip install 'sonde[jax]'``, ``"rbf"``,
        ``"rational_quadratic"``, or any kernel of ``sonde.kernels``, yours included. It gets the continuous parameters
        in the order of the space, scaled to [0, 1]; a mapping ``{"x": k1, ("y", "z"): k2}`` names others. Parameters
        without a kernel have Matern-5/2, and all kernels are multiplied. Their parameters are fitted by marginal
        likelihood, from the given values on.
    """

    name = "gp"

    def __init__(
        self, acquisition: str | Utility | Callable[..., Any] = "log_ei", *, batch: str = "greedy",
        search: str = "bfgs", hyperparameters: str = "auto", kernel: Any = "matern52",
    ) -> None:  # fmt: skip
        self._search = Search(
            check_acquisition(acquisition), one_of(batch, "batch", tuple(THRIFT)), one_of(search, "search", SEARCHES)
        )
        self._model = _model(kernel, one_of(hyperparameters, "hyperparameters", tuple(EXPLORING)))
        self._loop = Loop(TrustRegionSchedule(self._model), self._search, AroundCentre())
        models = Separately(partial(_model, kernel, hyperparameters))
        self._several = SeveralObjectives(models, self._search, self._loop)

    def suggest(self, space: Space, history: History, count: int, key: Key) -> NDArray[np.float64]:
        """Return the points of highest acquisition value; a wrong kernel is reported before the first trial."""
        self._model.check(space)
        loop = self._several if history.objectives.several else self._loop
        return loop.suggest(space, history, count, key)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the Gaussian process on the results so far."""
        return self._model.predictions(space, history)

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self._loop.ready(space, history):
            return explain_initial_design(first_count(space))
        if history.objectives.several:
            return self._several.explain(history)
        surrogate, remark = self._model.summary(space, history)
        scale = "as they are" if surrogate.scale.floor is None else "on a log scale"
        return (
            f"models {len(surrogate.values)} values, {scale}, by a Gaussian process and maximises "
            f"{self._search.acquisition_name}; {remark}"
        )


def _model(kernel: Any, hyperparameters: str) -> ExactModel | OwnKernelModel:
    if isinstance(kernel, str) and one_of(kernel, "kernel", KERNELS) == "matern52":
        return ExactModel(hyperparameters)
    require("jax", "equinox", "lineax", extra="jax")
    from sonde.strategies.bayesian.own_kernel import OwnKernelModel

    return OwnKernelModel(kernel, hyperparameters)
