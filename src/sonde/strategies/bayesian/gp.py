"""The strategy ``"gp"``: an exact Gaussian process and reparameterized acquisitions (Wilson et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sonde.acquisition.utilities import Utility
from sonde.extras import require
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.bayesian.acquisitions import check_acquisition
from sonde.strategies.bayesian.joint_search import SEARCHES
from sonde.strategies.bayesian.loop import THRIFT, Bayesian
from sonde.strategies.bayesian.model import Surrogate, best_points, best_value, features_of, measured_constraints
from sonde.strategies.bayesian.predictions import Predictions
from sonde.strategies.initial_design import first_count
from sonde.strategies.options import one_of
from sonde.strategies.threads import one_thread
from sonde.surrogates.exact.feasibility import Feasibility, combine, learn_constraint, learn_success
from sonde.surrogates.exact.fitting import sample
from sonde.surrogates.exact.gp import ExactPosterior
from sonde.surrogates.exact.warm_starts import PLAIN_FORMS, Data, WarmStartedFits
from sonde.surrogates.features import Features
from sonde.surrogates.gradient.fitting import Observations
from sonde.surrogates.outputs import Scale
from sonde.surrogates.refits import FOLLOWED
from sonde.trials import History

if TYPE_CHECKING:
    from sonde.strategies.bayesian.own_kernel import OwnKernel

Array = NDArray[np.float64]

EXPLORING = {"map": "draw", "draw": "draw", "slice": "slice"}  # hyperparameters, and those of global exploration
KERNELS = ("matern52", "rbf", "rational_quadratic")
DRAWS = {"draw": 1, "slice": 10}  # how many hyperparameters are drawn
WHOLE = 100  # up to so many values a draw is of all hyperparameters; beyond, where it is dearer, of a share of them
DRAWN = 16  # and of at most so many
ANY = Key(0, 0)


class GP(Bayesian):
    """Models the values by a Gaussian process and tries where most is expected.

    The bare name ``"gp"`` chooses well by itself; every option is for those who want to choose.

    Parameters
    ----------
    acquisition
        ``"log_ei"`` (default), ``"ei"``, ``"pi"``, ``"ucb"``, ``"sr"`` or ``"es"``; or a function
        ``(mean (q,), spread (q,), best) -> number`` of a pool's outcomes mean + spread, in JAX: its mean is maximised.
    batch
        Points asked for together are chosen one after the other, each with those before it pending
        (``"greedy"``), or then moved together as well (``"joint"``).
    search
        How the acquisition is searched: ``"bfgs"``, ``"adam"``, ``"direct"`` or ``"random"``.
    hyperparameters
        Drawn from their posterior anew for each suggestion (``"draw"``), the most probable ones (``"map"``), or an
        average over ten draws (``"slice"``).
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
        search: str = "bfgs", hyperparameters: str = "draw", kernel: Any = "matern52",
    ) -> None:  # fmt: skip
        self.acquisition = check_acquisition(acquisition)
        self.batch = one_of(batch, "batch", tuple(THRIFT))
        self.search = one_of(search, "search", tuple(SEARCHES))
        self.hyperparameters = one_of(hyperparameters, "hyperparameters", tuple(EXPLORING))
        self.kernel, self._own = kernel, own_kernel(kernel)
        self._chain = WarmStartedFits()
        self._plain = WarmStartedFits(
            PLAIN_FORMS
        )  # predictions are of the values themselves, far from the best ones too

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Return the points of highest acquisition value; a wrong kernel is reported before the first trial."""
        if self._own is not None:
            self._own.family(space)
        return super().suggest(space, history, count, key)

    def fit_surrogate(self, space: Space, history: History, key: Key, *, far: bool = False) -> Surrogate:
        """Return the Gaussian process of the history."""
        return self._surrogate(space, history, EXPLORING[self.hyperparameters] if far else self.hyperparameters, key)

    def _surrogate(
        self, space: Space, history: History, hyperparameters: str = "map", key: Key = ANY, *, plain: bool = False
    ) -> Surrogate:
        if self._own is not None:
            return fit_own_surrogate(space, history, self._own, hyperparameters, key, plain=plain)
        chain = self._plain if plain else self._chain
        return fit_surrogate(space, history, chain, hyperparameters=hyperparameters, key=key)

    @one_thread()
    def model(self, space: Space, history: History) -> Predictions:
        """Return the Gaussian process on the results so far."""
        surrogate = self._surrogate(space, history, plain=True)
        posterior = surrogate.posteriors[0]
        assert isinstance(posterior, ExactPosterior)
        return Predictions(
            space, surrogate, history.completed.numbers, lambda: posterior.leave_one_out(surrogate.values),
            lambda: self._surrogate(space, history, "slice", plain=True),
        )  # fmt: skip

    @one_thread()
    def explain(self, space: Space, history: History) -> str:
        """Say what it does."""
        if not self.ready(space, history):
            return f"spreads the first {first_count(space)} configurations evenly: too few results to fit a model"
        surrogate = self._surrogate(space, history)
        name = self.acquisition if isinstance(self.acquisition, str) else "a utility of yours"
        scale = "as they are" if surrogate.scale.floor is None else "on a log scale"
        model = f"models {len(surrogate.values)} values, {scale}, by a Gaussian process"
        if self._own is not None:
            return f"{model} with {self._own} and maximises {name}"
        lengths = _lengthscales(surrogate)[: len(space)]
        names = [space.names[k] for k in np.argsort(lengths, kind="stable")[:3]]
        return f"{model} and maximises {name}; the values depend most on {', '.join(names)}"


def own_kernel(kernel: Any) -> OwnKernel | None:
    """Return the kernel of an option; None for the closed form."""
    if isinstance(kernel, str) and one_of(kernel, "kernel", KERNELS) == "matern52":
        return None
    require("jax", "equinox", "lineax", extra="jax")
    from sonde.strategies.bayesian.own_kernel import OwnKernel

    return OwnKernel(kernel)


def fit_surrogate(
    space: Space, history: History, chain: WarmStartedFits, *, hyperparameters: str = "map", key: Key = ANY
) -> Surrogate:
    """Return the surrogate of a history with at least one completed trial."""
    features = features_of(space)
    done = history.completed
    values, deviations = history.values[done.numbers], history.noise[done.numbers]
    draw = hyperparameters in DRAWS and len(done) <= FOLLOWED  # beyond, the posterior is narrow and a draw is dear
    fitted = chain.fit(features, Data(done.units, values, deviations), follow=not draw)
    scale, plain, features = Scale.of(values, fitted.kappa), features, fitted.features
    x, y, noise = features(done.units), scale(values), scale.noise(values, deviations)
    covariances = [fitted.covariance]
    if draw:
        share = min(1.0, WHOLE / len(y), DRAWN / len(fitted.covariance.theta))
        thetas = sample(
            fitted.covariance,
            x,
            y,
            noise,
            count=DRAWS[hyperparameters],
            rng=key.rng(Stream.HYPERPARAMETERS),
            share=share,
        )
        covariances = [replace(fitted.covariance, theta=theta) for theta in thetas]
    posteriors = tuple(ExactPosterior.of(each, x, y, noise) for each in covariances)
    usable = history.violations[done.numbers] <= 0
    return Surrogate(
        features, scale, posteriors, y,
        best=best_value(posteriors[0], x, y, usable),
        incumbents=best_points(done.units, y, usable),
        feasibility=feasibility(plain, history),
    )  # fmt: skip


def fit_own_surrogate(
    space: Space, history: History, own: OwnKernel, hyperparameters: str, key: Key, *, plain: bool = False
) -> Surrogate:
    """Return the surrogate of a history under a kernel of the user's."""
    features, done = features_of(space), history.completed
    x, values = features(done.units), history.values[done.numbers]
    observations = Observations(x, values, history.noise[done.numbers], np.full(x.shape, np.nan))
    scale, posteriors = own.posteriors(
        space, observations, draws=DRAWS.get(hyperparameters, 0) * (len(done) <= FOLLOWED),
        share=min(1.0, WHOLE / len(done)), rng=key.rng(Stream.HYPERPARAMETERS), plain=plain,
    )  # fmt: skip
    y, usable = scale(values), history.violations[done.numbers] <= 0
    return Surrogate(
        features, scale, posteriors, y,
        best=best_value(posteriors[0], x, y, usable),
        incumbents=best_points(done.units, y, usable),
        feasibility=feasibility(features, history),
    )  # fmt: skip


def _lengthscales(surrogate: Surrogate) -> Array:
    posterior = surrogate.posteriors[0]
    assert isinstance(posterior, ExactPosterior)
    return posterior.covariance.theta


def feasibility(features: Features, history: History) -> Feasibility | None:
    """Return what is believed about what works; None where nothing failed and no constraint was measured."""
    done, failed = history.completed, history.failed
    conditions = [
        learn_constraint(features, done.units[rows], levels)
        for rows, levels in measured_constraints(history, done.numbers).values()
    ]
    if len(failed):
        units = np.concatenate([done.units, failed.units])
        conditions.insert(0, learn_success(features, units, np.arange(len(units)) < len(done)))
    return combine(conditions)
